//! `readpath show`: a kept run again, in any format.

use clap::{ArgMatches, Args};

use super::named::load;
use super::unused::refuse_unused;
use crate::exit::{Exit, Failure};
use crate::job::repeat::repeat;
use crate::options::{CommandRow, Context, arguments, is_path};
use crate::output;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "show", define: Arguments::augment_args, run };

const EXAMPLES: &str = "\
Examples:
  readpath show last
  readpath show 0197c0de --format json
  readpath show last --job > again.toml          a job file that repeats it: readpath run again.toml
  readpath show ./run-of-another-machine.json";

/// Shows a kept run again
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    /// An identifier or its beginning, `last`, `last~1` for the one before, or a file
    run: String,
    /// Print a job file that repeats the run
    #[arg(long)]
    job: bool,
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let Arguments { run, job } = arguments(matches)?;
    refuse_store_of_files(matches, &[&run])?;
    if job {
        refuse_unused(matches, &[("format", false, "a job file is TOML")])?;
        let text = repeat(&load(&run, context)?, (context.definition)());
        output::print(&text.map_err(Failure::failed)?)?;
        return Ok(Exit::Done);
    }
    let run = load(&run, context)?;
    output::print_result(context.shown(&run), context)?;
    Ok(Exit::Done)
}

/// Refuses what is said of a store where all runs are files.
pub(super) fn refuse_store_of_files(matches: &ArgMatches, references: &[&String]) -> Result<(), Failure> {
    let is_used = !references.iter().all(|reference| is_path(reference));
    let reason = "runs are read from files, and none from a store";
    refuse_unused(matches, &[("store", is_used, reason), ("no_store", is_used, reason)])
}
