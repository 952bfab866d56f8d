//! What the benchmarks have in common: contenders that run in turn, bars, and a report that is kept.

pub(crate) mod bars;
pub(crate) mod interruption;
pub(crate) mod options;
pub(crate) mod postgres;
pub(crate) mod program;
pub(crate) mod report;
pub(crate) mod run_document;
pub(crate) mod turn_order;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

/// The whole of a benchmark's `main`: `run` gets the command line and writes its page, and says how to exit. Its error
/// is a sentence: nothing could be compared.
#[allow(clippy::print_stderr, reason = "a benchmark is a program for people")]
pub(crate) fn main<Arguments: Parser>(run: fn(&Arguments, &mut dyn Write) -> Result<u8, String>) -> ExitCode {
    match run(&Arguments::parse(), &mut io::stdout()) {
        Ok(status) => ExitCode::from(status),
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::from(2)
        }
    }
}
