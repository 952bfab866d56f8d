//! `readpath profile` held against `wc -l` and against decompressors, in turn and in one run.
//!
//! ```sh
//! cargo run --release -p contest -- profile [--size 4GiB] [--compressed-size 1GiB] [--traces DIR] [--rounds 5]
//!     [--results DIR] [--readpath BINARY] [--without-cpu-profile] [--fail-on-miss]
//! ```
//!
//! It makes a trace of the wanted size in cargo's folder for files of benches: the traces of a folder again and again,
//! each time later in time than before, or, without such a folder, a synthetic one. The file is read once, so that it
//! is cached; then all contenders run in turn, and the order turns around from round to round. `wc -l` does the least
//! that a reader of lines can do, so it is the distance to the limit. One core is the first that the process may use,
//! by `taskset`, where that is there.
//!
//! The compressed files are the beginning of the same trace, packed as one and in parts of 16 MiB one behind the other;
//! next to them the decompressor runs alone, its output to `/dev/null`. One that is not installed leaves its bars
//! without a figure.
//!
//! Where `perf` works, one more run says where the processor's time goes, function by function; that run is not timed.
//!
//! It is not part of `cargo test`: it takes minutes and wants a quiet machine.

pub(crate) mod command;
mod compressed;
pub(crate) mod cpu_profile;
mod scanner;
mod trace_file;
