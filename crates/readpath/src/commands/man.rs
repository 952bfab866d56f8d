//! `readpath man`: the manual page, for packages.

use clap::{ArgMatches, Command};
use clap_mangen::Man;

use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context};
use crate::output;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "man", define, run };

fn define(command: Command) -> Command {
    command.about("Prints the manual page").after_help("Examples:\n  readpath man > readpath.1")
}

fn run(_matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let mut page = Vec::new();
    let rendered = Man::new((context.definition)()).render(&mut page);
    rendered.map_err(|error| Failure::new(Exit::Failed, format!("the manual page could not be made: {error}")))?;
    output::print(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Done)
}
