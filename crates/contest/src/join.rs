//! The nested loops of the engine held against fio and PostgreSQL, in turn and in one run.
//!
//! ```sh
//! cargo run --release -p contest -- join [--pairs 5] [--rows 2000000] [--results DIR] [--directory DIR]
//!     [--postgres DIR|postgres:18]... [--without-postgres] [--fail-on-miss]
//! ```
//!
//! One table of rows in an order that has nothing to do with their keys, once in the engine's files and once in those
//! of each private PostgreSQL server, row by row in the same blocks. In every pair each contender has its turn; the
//! order turns around from pair to pair, and only ratios within a pair count.
//!
//! - fio reads random blocks of the engine's file at several depths; its best setting by the median over the other
//!   pairs is the device's rate. The engine's joins are held against it by blocks of the table over the whole time of
//!   the join.
//! - PostgreSQL joins the same keys by an index nested loop, and finds the same rows by bitmap heap scans with several
//!   settings of effective_io_concurrency. Before each statement the server is restarted and its files leave the page
//!   cache; the engine's pool is new for each join, and its reads are direct.
//! - Servers are the newest installed one, and the newest that readpath fetches where that is newer, or those that
//!   `--postgres` names. One of 18 or later reads by each of its io_methods. Bars are held against the best of all.
//! - With everything cached, processor time counts: the backend's for the whole statement, this process's for the join.
//!
//! All must give the same sums, or nothing is compared. It is not part of `cargo test`: it takes minutes and
//! wants a quiet machine. What it computes is tested by `tests/contests/join.rs`.

mod bars;
pub(crate) mod command;
mod device;
mod engine;
mod postgres;
mod question;
mod startups;
