//! `readpath runs`: the runs that are kept.

use clap::{ArgMatches, Command};

use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, Format};
use crate::output;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "runs", define, run };

const EXAMPLES: &str = "\
Examples:
  readpath runs
  readpath runs --format csv > runs.csv
  readpath runs --store /srv/readpath";

fn define(command: Command) -> Command {
    command.about("Lists the runs that are kept, newest first").after_help(EXAMPLES)
}

fn run(_matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let listing = context.store_to_read()?.list()?;
    match context.globals.format {
        Format::Table => output::print(&report::render_runs(&listing, &context.settings.style))?,
        Format::Json => output::print_json(&listing)?,
        Format::Csv => output::print_csv(report::csv::runs(&listing))?,
    }
    Ok(Exit::Done)
}
