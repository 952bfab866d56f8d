//! `readpath completions`: the completion script of a shell, for packages.

use clap::{ArgMatches, Args, Command};
use clap_complete::Shell;

use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};
use crate::output;
use crate::version;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "completions", define, run };

const EXAMPLES: &str = "\
Examples:
  readpath completions bash > /etc/bash_completion.d/readpath";

#[derive(Args)]
struct Arguments {
    /// The shell
    shell: Shell,
}

fn define(command: Command) -> Command {
    Arguments::augment_args(command).about("Prints the completions of a shell").after_help(EXAMPLES)
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let Arguments { shell } = arguments(matches)?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut shown(&(context.definition)()), "readpath", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

/// The command line without the commands that its help leaves out, of which a shell would offer even those that no user
/// calls.
fn shown(whole: &Command) -> Command {
    let commands = whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let empty = Command::new("readpath").version(version::text());
    empty.args(whole.get_arguments().cloned()).subcommands(commands)
}
