//! The engine's logical reads held against PostgreSQL's, in turn and in one run.
//!
//! ```sh
//! cargo run --release -p contest -- postgres [--payload 256MiB] [--pairs 5] [--results DIR] [--postgres BIN]
//!     [--lio-arguments "..."] [--without-pool] [--fail-on-miss]
//! ```
//!
//! It needs an installed PostgreSQL server, but none that runs: it makes a private one in a temporary directory, loads
//! the rows of the engine's own generator into it, and removes it at the end. About 4.5 GiB of memory and 10 GiB of
//! disk serve the default payload.
//!
//! One pair is all cells in PostgreSQL and one `readpath lio` over the same cells; the order turns around from pair to
//! pair, and only ratios within a pair count. What is compared is processor time per block: PostgreSQL's is the
//! backend's own, by the kernel's count, over the shared hits of the statement. The statement is a plain
//! `SELECT count(..)`; `EXPLAIN (ANALYZE, BUFFERS)` shows the hits and that nothing was read, in a run of its own,
//! because it accounts for buffers row by row and makes a scan of narrow rows dearer. What a statement costs on an
//! empty table is taken off.
//!
//! It is not part of `cargo test`: it takes minutes and wants a quiet machine. What it computes is tested by
//! `tests/contests/postgres.rs`.

mod bars;
mod cell;
pub(crate) mod command;
mod engine;
mod peer;
pub(crate) mod pool;
pub(crate) mod pool_speed;
mod tables;
