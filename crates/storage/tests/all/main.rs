//! The tests of the engine from outside, in one program.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests fail by panicking and print what they skip")]

mod damaged;
mod formats;
mod full_disk;
mod killed_load;
mod nested_loop;
mod pool_loom;
mod pool_reads;
mod units;
