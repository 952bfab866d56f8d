//! `readpath job-run`: the process that `readpath run` starts for each run of a job file, so that each is measured as
//! its command line would be. What it is to do comes on standard input: a password in it is on no command line.
//! Standard input is a file without a name, and takes what the next run has to know.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use ::measure::run::Job;
use clap::{ArgMatches, Command};
use serde::{Deserialize, Serialize};

use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context};

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: JOB_RUN, define, run };

/// The hidden command that `readpath run` starts.
pub(super) const JOB_RUN: &str = "job-run";

/// A run as its process gets it.
#[derive(Serialize, Deserialize)]
pub(super) struct Order {
    /// The command line, with the program's name.
    pub(super) line: Vec<String>,
    /// The job that asks for it.
    pub(super) job: Job,
    /// The heading under which the run before printed its rows; empty where none did.
    pub(super) heading: String,
}

fn define(command: Command) -> Command {
    command.about("Makes one run of a job file").after_help("Examples:\n  readpath job-run")
}

fn run(_matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let no_run = |error: String| {
        Failure::wrong(format!("only `readpath run` calls this, with a run on standard input: {error}"))
    };
    let given = io::read_to_string(io::stdin()).map_err(|error| no_run(error.to_string()))?;
    let order: Order = serde_json::from_str(&given).map_err(|error| no_run(error.to_string()))?;
    let line: Vec<_> = order.line.iter().map(Into::into).collect();
    let matches = (context.definition)().try_get_matches_from(&line).map_err(Failure::wrong)?;
    let own = Context::new(&matches, context.settings.clone(), &line, (context.definition, context.dispatch))?;
    (context.dispatch)(&matches, &Context { job: Some(order.job), rows_under: Some((order.heading, tell)), ..own })
}

/// Tells the process that makes the runs under which heading this one printed its rows, behind what it was to do.
fn tell(heading: &str) -> io::Result<()> {
    let own = io::stdin().as_fd().try_clone_to_owned()?;
    File::from(own).write_all(heading.as_bytes())
}
