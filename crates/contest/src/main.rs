//! `readpath-contest`: readpath held against its peers, in turn and in one run. One subcommand a contest.
//!
//! All contests keep to the same rules: contenders take turns, the order turns around from pair to pair, only ratios
//! within a pair count, and every contender must give the same answer. A bar says what is wanted of readpath; what
//! could not be measured is `not judged`. What comes out is a run like any other: `--results` keeps it, named by date
//! and processor, and `readpath show` and `readpath compare` read it.

mod bars;
mod calibrate;
mod conductor;
mod fio;
mod installed;
mod interruption;
mod join;
mod kept_run;
mod ledger;
mod options;
mod postgres;
mod private_postgres;
mod profile;
mod program;
mod progress;
mod results;
mod sampling;
mod scan;
mod size;
#[cfg(test)]
mod tests;
mod turn_order;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

/// Compares readpath with its peers, in turn and in one run.
#[derive(Debug, Parser)]
#[command(name = "cargo run --release -p contest --", version)]
enum Contest {
    Fio(fio::command::Arguments),
    Postgres(postgres::command::Arguments),
    Scan(scan::command::Arguments),
    Join(join::command::Arguments),
    Profile(profile::command::Arguments),
    Pool(postgres::pool::Arguments),
    Columns(scan::columns::Arguments),
    Size(size::command::Arguments),
    Calibrate(calibrate::command::Arguments),
    Sampling(sampling::command::Arguments),
}

impl Contest {
    /// Holds the contest, writes its page to `out` and gives the exit code. An error is a sentence: nothing could be
    /// compared.
    fn run(&self, out: &mut dyn Write) -> Result<u8, String> {
        match self {
            Contest::Fio(arguments) => fio::command::run(arguments, out),
            Contest::Postgres(arguments) => postgres::command::run(arguments, out),
            Contest::Scan(arguments) => scan::command::run(arguments, out),
            Contest::Join(arguments) => join::command::run(arguments, out),
            Contest::Profile(arguments) => profile::command::run(arguments, out),
            Contest::Pool(arguments) => postgres::pool::run(arguments, out),
            Contest::Columns(arguments) => scan::columns::run(arguments, out),
            Contest::Size(arguments) => size::command::run(arguments, out),
            Contest::Calibrate(arguments) => calibrate::command::run(arguments, out),
            Contest::Sampling(arguments) => sampling::command::run(arguments, out),
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
