//! The commands: one file and one row each.

mod calibrate;
mod clean;
mod compare;
mod completions;
mod counted_scan;
mod counters;
mod disk;
mod export;
mod join;
mod ladder;
mod lio;
mod man;
mod measure;
mod null;
mod profile;
mod roundtrip;
mod runs;
mod scan;
mod show;
mod subjects;
mod time_scale;

use clap::ArgMatches;

use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context};

/// The commands in the order of the help.
pub(crate) const COMMANDS: &[CommandRow] = &[
    ladder::COMMAND,
    disk::COMMAND,
    roundtrip::COMMAND,
    lio::COMMAND,
    counters::COMMAND,
    scan::COMMAND,
    join::COMMAND,
    calibrate::COMMAND,
    profile::COMMAND,
    export::COMMAND,
    runs::COMMAND,
    show::COMMAND,
    compare::COMMAND,
    clean::COMMAND,
];

/// Commands that the help leaves out: two for packages, the command layer's own null experiment, and the process that
/// `scan` starts under valgrind.
pub(crate) const HIDDEN: &[CommandRow] = &[completions::COMMAND, man::COMMAND, null::COMMAND, counted_scan::COMMAND];

/// Runs the command that the command line names.
pub(crate) fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let named = matches.subcommand().and_then(|(name, matches)| Some((row(name)?, matches)));
    match named {
        Some((row, matches)) => (row.run)(matches, context),
        None => Err(Failure::new(Exit::WrongCommandLine, "no command is given: see `readpath --help`.")),
    }
}

fn row(name: &str) -> Option<&'static CommandRow> {
    COMMANDS.iter().chain(HIDDEN).find(|row| row.name == name)
}
