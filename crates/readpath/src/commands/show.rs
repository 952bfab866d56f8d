//! `readpath show`: a kept run again, in any format.

use clap::{ArgMatches, Args, Command};
use report::Shown;

use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};
use crate::output;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "show", define, run };

const EXAMPLES: &str = "\
Examples:
  readpath show last
  readpath show 0197c0de --format json
  readpath show ./run-of-another-machine.json";

#[derive(Args)]
struct Arguments {
    /// An identifier or its beginning, `last`, `last~1` for the one before, or a file
    run: String,
}

fn define(command: Command) -> Command {
    Arguments::augment_args(command).about("Shows a kept run again").after_help(EXAMPLES)
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let Arguments { run } = arguments(matches)?;
    output::print_result(Shown::Run(&context.load(&run)?), context)?;
    Ok(Exit::Done)
}
