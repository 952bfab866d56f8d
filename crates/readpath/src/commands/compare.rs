//! `readpath compare`: what differs between two runs, and whether that is more than noise.

use ::measure::compare::compare;
use clap::{ArgMatches, Args, Command};
use report::Shown;

use super::show::refuse_store_of_files;
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};
use crate::output;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "compare", define, run };

const EXAMPLES: &str = "\
Examples:
  readpath compare last~1 last
  readpath compare 0197c0de 0197c0ff --format csv
  readpath compare ./before.json last";

#[derive(Args)]
struct Arguments {
    /// The run that ratios divide by: an identifier or its beginning, `last`, `last~1`, or a file
    first: String,
    /// The run that is held against it
    second: String,
}

fn define(command: Command) -> Command {
    let about = "Compares two runs: medians, their ratio, and whether the samples support a difference";
    Arguments::augment_args(command).about(about).after_help(EXAMPLES)
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let Arguments { first, second } = arguments(matches)?;
    refuse_store_of_files(matches, &[&first, &second])?;
    let comparison = compare(&context.load(&first)?, &context.load(&second)?);
    output::print_result(Shown::Comparison(&comparison), context)?;
    Ok(Exit::Done)
}
