//! The scans of columns, rows and indexes held against databases and column libraries, in turn and in one run.
//!
//! ```sh
//! cargo run --release -p contest -- scan [--rows 7000000] [--pairs 5] [--results DIR] [--large [ROWS]]
//!     [--postgres BIN] [--python PROGRAM] [--without-postgres] [--without-valgrind] [--fail-on-miss]
//! ```
//!
//! All contenders have the rows of the engine's own table of customers, and must give the same counts, or nothing is
//! compared. In every pair all contenders answer all questions that they can, one after the other; the order turns
//! around from pair to pair, and only ratios within a pair count.
//!
//! - PostgreSQL: a private server with the whole table and two indexes, all in shared buffers. What counts is the
//!   backend's processor time for the plain statement.
//! - DuckDB, Polars, PyArrow and NumPy, those that `python3` has, each with one thread and with the three columns that
//!   the questions are about. Where a library has a slow and a quick way to ask, both are measured, and the bar is held
//!   against the quickest of all. DuckDB's inference from statistics is off: it would drop `cust_id > 0` as true.
//! - readpath's engine through its library: columns with zone maps off, blocks of rows, and both indexes.
//!
//! Instructions are counted by valgrind in a child of this program, which knows no AVX-512: they are those of the AVX2
//! kernel. The published size (`--large`) takes 8 GiB of memory and some minutes more.
//!
//! It is not part of `cargo test`: it takes minutes and wants a quiet machine. What it computes is tested by
//! `tests/contests/scan.rs`.

mod bandwidth;
mod bars;
pub(crate) mod columns;
pub(crate) mod command;
mod engine;
mod instructions;
mod peers;
mod postgres;
mod question;
mod rows;
mod rows_to_columns;
