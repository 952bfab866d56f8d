//! What it costs a busy PostgreSQL to be profiled: readpath's samples of its memory against no profile at all, and
//! against pg_wait_sampling at its usual rate, in turn and in one run.
//!
//! ```sh
//! cargo run --release -p contest -- sampling [--pairs 7] [--clients 16] [--seconds 15] [--backends 50,500,5000]
//!     [--results DIR] [--postgres DIR|postgres:18] [--directory DIR] [--fail-on-miss]
//! ```
//!
//! The load is pgbench, which only selects and is served from shared buffers, as fast as it goes: its clients keep all
//! processors busy, so that whatever a profiler takes is lost to it. The server is started anew for each turn, because
//! pg_wait_sampling is part of a server from its start. After the pairs readpath's own processor time is measured with
//! each number of sessions, at a load that leaves the processors half idle.
//!
//! It is not part of `cargo test`: it takes minutes and wants a quiet machine. What it computes is tested by
//! `tests/contests/sampling.rs`.

pub(crate) mod command;
mod judgement;
mod load;
mod watcher;
