//! `readpath completions`: the completion script of a shell, for packages.

use clap::{Arg, ArgMatches, Args, Command, ValueEnum};
use clap_complete::Shell;

use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};
use crate::output;
use crate::version;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "completions", define: Arguments::augment_args, run };

const EXAMPLES: &str = "\
Examples:
  readpath completions bash > /etc/bash_completion.d/readpath";

/// Prints the completions of a shell
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    /// The shell
    shell: Shell,
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let Arguments { shell } = arguments(matches)?;
    let whole = (context.definition)();
    let common: Vec<Arg> = whole.get_arguments().cloned().collect();
    let mut shown = shown(&whole, &common).version(version::text());
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut shown, "readpath", &mut script);
    output::print(&(String::from_utf8_lossy(&script) + addition(shell).as_str()))?;
    Ok(Exit::Done)
}

/// What the script of a shell lacks: that of fish completes options alone, and not the names of shells.
fn addition(shell: Shell) -> String {
    if shell != Shell::Fish {
        return String::new();
    }
    let names: Vec<String> = Shell::value_variants().iter().map(ToString::to_string).collect();
    let (command, names) = (COMMAND.name, names.join(" "));
    format!("complete -c readpath -n \"__fish_readpath_using_subcommand {command}\" -f -a \"{names}\"\n")
}

/// A command without the commands and options that its help leaves out, which a shell would still offer. It offers
/// this command, because a user who sets the completions up types it. Each command gets its own copies of the common
/// options: the parser would add a global one to every command that lacks it.
fn shown(command: &Command, common: &[Arg]) -> Command {
    let has = |option: &Arg| command.get_arguments().any(|own| own.get_id() == option.get_id());
    let all = command.get_arguments().chain(common.iter().filter(|option| !has(option)));
    // A hidden argument without a name stays: a shell completes a file there.
    let offered = all.filter(|arg| arg.is_positional() || !arg.is_hide_set());
    let arguments: Vec<Arg> = offered.map(|arg| arg.clone().global(false)).collect();
    let is_offered = |below: &&Command| !below.is_hide_set() || below.get_name() == COMMAND.name;
    let commands = command.get_subcommands().filter(is_offered);
    let commands: Vec<Command> = commands.map(|below| shown(below, common)).collect();
    // The parser takes only names that live as long as the process.
    let name: &'static str = command.get_name().to_string().leak();
    let empty = Command::new(name).args(arguments).subcommands(commands);
    command.get_about().cloned().into_iter().fold(empty, Command::about)
}
