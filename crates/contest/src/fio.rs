//! The reader held against fio, in turn and in one run.
//!
//! ```sh
//! cargo run --release -p contest -- fio [--file PATH] [--pairs 5] [--seconds 3] [--results DIR]
//!     [--reader-arguments "..."] [--memory] [--fail-on-miss]
//! ```
//!
//! Storage drifts by a tenth or more within minutes, so two runs made one after the other cannot be compared. Here
//! every pair runs the reader and all of fio's engines back to back on the same file, the order turns around from
//! pair to pair, and only ratios within a pair count: to fio's fastest engine for reads per second, to its cheapest
//! for processor time, each picked by its median over the other pairs. The median of the ratios is the result; smallest
//! and largest stand next to it.
//!
//! It is not part of `cargo test`: it takes minutes and wants a quiet machine. What it computes is tested by
//! `tests/contests/fio.rs`, and so is that it notices a reader that was slowed down.

pub(crate) mod command;
mod dram;
pub(crate) mod peer;
mod reader;
mod resident;
mod test_file;
mod workload;
