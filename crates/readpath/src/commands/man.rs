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
    let whole = (context.definition)();
    let names: Vec<String> = whole.get_subcommands().map(|command| command.get_name().to_string()).collect();
    let about = whole.get_about().map(ToString::to_string).unwrap_or_default();
    let whole = whole.long_about(format!("{about}.\n\n`readpath COMMAND --help` describes a command and its options."));
    let rendered = Man::new(whole).render(&mut page);
    rendered.map_err(|error| Failure::failed(format!("the manual page could not be made: {error}")))?;
    output::print(&without_references(&String::from_utf8_lossy(&page), &names))?;
    Ok(Exit::Done)
}

/// A page whose commands are named as they are typed: they have no pages that `readpath-ladder(1)` could refer to. A
/// hyphen has a backslash before it.
fn without_references(page: &str, names: &[String]) -> String {
    let reference = |name: &str| format!("readpath\\-{}(1)", name.replace('-', "\\-"));
    // One more is the parser's own.
    let names = names.iter().map(String::as_str).chain(["help"]);
    names.fold(page.into(), |page: String, name| page.replace(&reference(name), &format!("readpath {name}")))
}
