//! `readpath-contest`: readpath held against its peers, in turn and in one run. One subcommand a contest.
//!
//! All contests keep to the same rules: contenders take turns, the order turns around from pair to pair, only ratios
//! within a pair count, and every contender must give the same answer. A bar says what is wanted of readpath; what
//! could not be measured is `not judged`. `--results` keeps a report, named by date and processor.

mod bars;
mod document;
mod fio;
mod installed;
mod interruption;
mod join;
mod options;
mod postgres;
mod private_postgres;
mod profile;
mod program;
mod report;
mod run_document;
mod scan;
mod turn_order;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

/// Holds readpath against its peers, in turn and in one run.
#[derive(Debug, Parser)]
#[command(name = "cargo run --release -p contest --", version)]
enum Contest {
    Fio(fio::arguments::Arguments),
    Postgres(postgres::arguments::Arguments),
    Scan(scan::arguments::Arguments),
    Join(join::arguments::Arguments),
    Profile(profile::arguments::Arguments),
    Pool(postgres::pool_page::Arguments),
    Columns(scan::columns_page::Arguments),
}

impl Contest {
    /// Writes the contest's page to `out` and gives the exit code. An error is a sentence: nothing could be compared.
    fn run(&self, out: &mut dyn Write) -> Result<u8, String> {
        match self {
            Contest::Fio(arguments) => fio::command::run(arguments, out),
            Contest::Postgres(arguments) => postgres::command::run(arguments, out),
            Contest::Scan(arguments) => scan::command::run(arguments, out),
            Contest::Join(arguments) => join::command::run(arguments, out),
            Contest::Profile(arguments) => profile::command::run(arguments, out),
            Contest::Pool(arguments) => postgres::pool_page::run(arguments, out),
            Contest::Columns(arguments) => scan::columns_page::run(arguments, out),
        }
    }
}

#[allow(clippy::print_stderr, reason = "a contest is a program for people")]
fn main() -> ExitCode {
    match Contest::parse().run(&mut io::stdout()) {
        Ok(status) => ExitCode::from(status),
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::from(2)
        }
    }
}
