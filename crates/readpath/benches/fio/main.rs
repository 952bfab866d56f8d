//! The reader held against fio, in turn and in one run.
//!
//! ```sh
//! cargo bench -p readpath --bench fio -- [--file PATH] [--pairs 5] [--seconds 3] [--results DIR]
//!     [--reader-arguments "..."] [--memory] [--fail-on-miss]
//! ```
//!
//! Storage drifts by a tenth or more within minutes, so two runs made one after the other cannot be compared. Here
//! every pair runs the reader and all of fio's engines back to back on the same file, the order turns around from
//! pair to pair, and only ratios within a pair count: to fio's fastest engine for reads per second, to its cheapest
//! for processor time, each picked by its median over all pairs. The median of the ratios is the result; smallest and
//! largest stand beside it.
//!
//! It is not part of `cargo test`: it takes minutes and wants a quiet machine. What it computes is tested by
//! `tests/fio_bench.rs`, and so is that it notices a reader that was slowed down.
// Cargo sets `test` for a bench when it checks all targets, and then runs no test of it.
#![cfg_attr(test, allow(dead_code, unused_imports))]

mod arguments;
mod command;
#[path = "../contest/mod.rs"]
#[allow(dead_code, reason = "each benchmark has contenders and bars of some kinds only")]
mod contest;
mod dram;
mod fio;
mod own_cost;
mod page;
mod pairs;
mod reader;
mod resident;
mod test_file;
mod wanted;
mod workload;

use std::process::ExitCode;

fn main() -> ExitCode {
    contest::main(command::run)
}
