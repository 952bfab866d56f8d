//! The commands: one file and one row each.

mod calibrate;
mod clean;
mod compare;
mod completions;
mod counted_scan;
mod counters;
mod disk;
mod export;
mod init;
mod job_run;
mod join;
mod ladder;
mod lio;
mod man;
mod measure;
mod named;
mod null;
mod profile;
mod record;
mod report;
mod roundtrip;
mod run;
mod runs;
mod sampling;
mod scan;
mod show;
mod subjects;
mod time_scale;
mod top;
mod unused;

use clap::ArgMatches;

use self::unused::refuse_unused;
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
    top::COMMAND,
    record::COMMAND,
    export::COMMAND,
    run::COMMAND,
    init::COMMAND,
    runs::COMMAND,
    show::COMMAND,
    compare::COMMAND,
    report::COMMAND,
    clean::COMMAND,
];

/// Commands that the help leaves out: two for packages, the command layer's own null experiment, and the processes that
/// `scan` starts under valgrind and `run` for each of its runs.
pub(crate) const HIDDEN: &[CommandRow] =
    &[completions::COMMAND, man::COMMAND, null::COMMAND, counted_scan::COMMAND, job_run::COMMAND];

/// Commands whose output is no run, so that it is neither kept nor printed in another format. `export` looks itself: it
/// can read runs.
const WITHOUT_RUN: &[CommandRow] = &[
    top::COMMAND,
    record::COMMAND,
    init::COMMAND,
    clean::COMMAND,
    completions::COMMAND,
    man::COMMAND,
    counted_scan::COMMAND,
];

/// The common options about a run that is measured.
const OF_RUNS: [&str; 3] = ["format", "store", "no_store"];

/// The common options that have no effect on a command, whatever else is given, so that its help leaves them out.
pub(crate) fn without_effect(command: &str) -> &'static [&'static str] {
    let is_named = |row: &CommandRow| row.name == command;
    if WITHOUT_RUN.iter().any(is_named) {
        &OF_RUNS
    } else if [report::COMMAND, export::COMMAND].iter().any(is_named) {
        &["format", "no_store"]
    } else if [runs::COMMAND, show::COMMAND, compare::COMMAND].iter().any(is_named) {
        &["no_store"]
    } else if command == runs::REMOVE {
        &["format", "no_store"]
    } else {
        &[]
    }
}

/// Runs the command that the command line names.
pub(crate) fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let named = matches.subcommand().and_then(|(name, matches)| Some((row(name)?, matches)));
    match named {
        Some((row, matches)) => {
            let is_dry_run = matches.try_get_one("dry_run").is_ok_and(|given| given == Some(&true));
            if is_dry_run {
                refuse_options_of_runs("a dry run", matches)?;
            } else if WITHOUT_RUN.iter().any(|other| other.name == row.name) {
                refuse_options_of_runs(&format!("readpath {}", row.name), matches)?;
            }
            let exit = (row.run)(matches, context)?;
            // What failed in the store counts more than what failed in a file.
            let is_past_damage = matches!(exit, Exit::Done | Exit::Failed) && named::has_passed();
            Ok(if is_past_damage { Exit::NotKept } else { exit })
        }
        None => Err(Failure::wrong("no command is given: see `readpath --help`.")),
    }
}

/// Refuses what is said of a run where there is none.
fn refuse_options_of_runs(what: &str, matches: &ArgMatches) -> Result<(), Failure> {
    let reason = format!("{what} measures nothing, so there is no run to keep or to format");
    refuse_unused(matches, &OF_RUNS.map(|id| (id, false, reason.as_str())))
}

fn row(name: &str) -> Option<&'static CommandRow> {
    COMMANDS.iter().chain(HIDDEN).find(|row| row.name == name)
}
