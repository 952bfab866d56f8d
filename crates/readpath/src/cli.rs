//! The command line as a whole, and its help. Each command defines its own part.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, Command};

use crate::commands::{COMMANDS, HIDDEN};
use crate::exit::EXIT_CODES;
use crate::options::{CommandRow, Globals};
use crate::output;
use crate::version;

/// What stands at the end of `readpath --help`.
const EXAMPLES: &str = "\
Examples:
  readpath ladder                what one read costs at every level of this machine
  readpath disk PATH             random and sequential reads by place
  readpath roundtrip PATH        the path to the storage, and which level served each read
  readpath lio                   the cost of a block that is cached
  readpath counters -- COMMAND   what the processor did for a command
  readpath scan                  one question to the same rows by six access paths
  readpath profile FILE          where the time of a traced program went
  readpath runs                  the runs that are kept, newest first
  readpath show last             the newest run again
  readpath compare last~1 last   what changed between the two newest runs";

/// The whole command line, built from the table of commands.
pub(crate) fn definition() -> Command {
    let define = |row: &CommandRow| (row.define)(Command::new(row.name));
    let commands = COMMANDS.iter().map(define).chain(HIDDEN.iter().map(|row| define(row).hide(true)));
    // The description comes after the options: adding them puts their own in its place.
    Globals::augment_args(Command::new("readpath"))
        .version(version::text())
        .about("Measures what a database read costs, from the CPU cache to the disk")
        .after_help(EXAMPLES)
        .after_long_help(format!("{EXAMPLES}\n\n{EXIT_CODES}"))
        .max_term_width(100)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(commands)
}

/// Prints help, a version or what is wrong with the command line: 0 for what was asked for, else 2; what was asked for
/// and could not be printed has failed like any other result.
pub(crate) fn print_answer(answer: &clap::Error) -> ExitCode {
    // Flushing here, not at the process's end, where an error such as a full disk would go unnoticed.
    let printed = answer.print().and_then(|()| io::stdout().flush());
    match printed {
        Err(error) if !answer.use_stderr() && error.kind() != io::ErrorKind::BrokenPipe => {
            let failure = output::not_printed(error);
            output::complain(&failure.message);
            failure.exit.code()
        }
        // A complaint that cannot be printed has nowhere to be reported.
        _ => ExitCode::from(u8::try_from(answer.exit_code()).unwrap_or(2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        definition().debug_assert();
    }

    #[test]
    fn every_command_that_is_listed_shows_examples() {
        for command in definition().get_subcommands().filter(|command| !command.is_hide_set()) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:"), "{}", command.get_name());
        }
    }
}
