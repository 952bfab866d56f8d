//! `readpath compare`: what differs between two runs or two traces, and whether that is more than noise.

mod traces;

use ::measure::compare::compare;
use clap::{ArgMatches, Args, Command};
use report::Shown;

use super::named::{Named, named};
use super::show::refuse_store_of_files;
use super::unused::refuse_unused;
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};
use crate::output;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "compare", define, run };

const EXAMPLES: &str = "\
Examples:
  readpath compare last~1 last
  readpath compare 0197c0de 0197c0ff --format csv
  readpath compare ./before.json last
  readpath compare before.trc after.trc              what became faster and slower, by class, event and statement
  readpath compare monday/ 'tuesday/*.trc.gz'        folders and patterns of traces
  readpath compare monday.log tuesday.log            server logs of PostgreSQL";

#[derive(Args)]
struct Arguments {
    /// What ratios divide by: a run (an identifier or its beginning, `last`, `last~1`, or its file), or a trace or
    /// server log of PostgreSQL, a folder or a pattern of them
    first: String,
    /// What is held against it
    second: String,
    /// Of traces: how many statements of each kind to show
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Of traces: leave out the texts of statements, with the literals in them
    #[arg(long)]
    no_text: bool,
}

fn define(command: Command) -> Command {
    let about = "Compares two runs, or two traces: what differs, and whether that is more than noise";
    Arguments::augment_args(command).about(about).after_help(EXAMPLES)
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let arguments = arguments::<Arguments>(matches)?;
    let Arguments { first, second, .. } = &arguments;
    match (named(first, context)?, named(second, context)?) {
        (Named::Run(before), Named::Run(after)) => {
            refuse_store_of_files(matches, &[first, second])?;
            let reason = "runs have no statements";
            refuse_unused(matches, &[("top", false, reason), ("no_text", false, reason)])?;
            output::print_result(Shown::Comparison(&compare(&before, &after)), context)?;
            Ok(Exit::Done)
        }
        (Named::Profiled(before), Named::Profiled(after)) => {
            let reason = "traces are read from files, and none from a store";
            refuse_unused(matches, &[("store", false, reason), ("no_store", false, reason)])?;
            traces::compare([before, after], &arguments, context)
        }
        (Named::Run(_), _) => Err(mixed(first, second)),
        _ => Err(mixed(second, first)),
    }
}

fn mixed(run: &str, trace: &str) -> Failure {
    let sentence = format!("{run} is a run and {trace} is none: compare two runs, or two traces or logs.");
    Failure::new(Exit::WrongCommandLine, sentence)
}
