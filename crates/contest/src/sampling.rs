//! What it costs a busy PostgreSQL to be profiled: readpath's samples of its memory, alone and with the tier of every
//! read traced, against no profile at all, and against pg_wait_sampling, pg_wait_tracer, pg_activity and pgcenter at
//! their usual rates, in turn and in one run.
//!
//! ```sh
//! cargo run --release -p contest -- sampling [--pairs 7] [--clients 16] [--seconds 15] [--backends 50,500,5000]
//!     [--peers DIR] [--results DIR] [--postgres DIR|postgres:18] [--directory DIR] [--fail-on-miss]
//! cargo run --release -p contest -- sampling --growth 50,500,5000
//! ```
//!
//! The load is pgbench, which only selects and is served from shared buffers, as fast as it goes: its clients keep all
//! processors busy, so that whatever a profiler takes is lost to it. The server is started anew for each turn, because
//! pg_wait_sampling is part of a server from its start. A second load looks up rows of a table that the buffers do not
//! hold and the page cache keeps forgetting, so that each comes from the device: readpath alone runs beside it, without
//! and with the tier of every read, and the devices' own counters say how many blocks they delivered. After the pairs
//! the processor time of each profiler's own processes, and of the server's sessions that work for it, is measured with
//! each number of sessions, at a load that leaves the processors half idle. A thread that only wakes as often as
//! readpath looks takes part in the first load, and its processor time is measured too.
//!
//! With `--growth` readpath's samples are measured alone, with each of these numbers of sessions in turn: its processor
//! time, the looks a second that it reaches, and its memory.
//!
//! A peer is run as its documentation says, and looked for in `--peers` and in `PATH`; one that is not there, or that
//! does not begin on this server and machine, is absent with its own words.
//!
//! It is not part of `cargo test`: it takes minutes and wants a quiet machine. What it computes is tested by
//! `tests/contests/sampling.rs`.

mod bars;
mod cold;
pub(crate) mod command;
mod cost;
mod load;
mod peers;
pub(crate) mod profiler;
mod timer;
mod watcher;
