//! `readpath counters`: what the processor and the kernel counted while a command ran, or over a while of a process.

use std::env;
use std::ffi::OsString;

use ::measure::Nanos;
use ::measure::quantity::parse_time;
use clap::{ArgMatches, Args, Command};
use experiments::counters::{self, CommandOutput, CommandParameters, CountersParameters, Outcome, ValgrindRun};

use super::measure::measure;
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, Format, arguments};

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "counters", define, run };

const EXAMPLES: &str = "\
Examples:
  readpath counters -- gzip -k big.log              a command from its start to its end
  readpath counters --valgrind -- ./scan 1000       and its instructions, where the counters are hidden
  readpath counters --pid 4711 --duration 10s       ten seconds of a process, all its threads
  readpath counters --format json -- make 2>log     the run document; the command's output goes to standard error";

/// What is counted when, for `--help`.
const ABOUT: &str = "\
Counts cycles, instructions, branches, stalls and cache misses, as far as this machine tells

The exit code is the command's own; 127 where there is no such command, 126 where it cannot be carried out. Under
valgrind a command takes about fifty times as long, and is run a second time: do not count so what must not be done
twice.";

#[derive(Args)]
struct Arguments {
    /// The command to count, with its arguments, behind `--`
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "pid", conflicts_with = "pid")]
    words: Vec<OsString>,
    /// Count a process that runs, with all its threads
    #[arg(long)]
    pid: Option<u32>,
    /// For how long the process is counted
    #[arg(long, default_value = "5s", value_parser = parse_time, requires = "pid")]
    duration: Nanos,
    /// Run the command a second time under valgrind, about fifty times slower, and count its instructions there
    #[arg(long, conflicts_with = "pid")]
    valgrind: bool,
    /// Longest time that the run under valgrind may take
    #[arg(long, default_value = "3600s", value_parser = parse_time, requires = "valgrind")]
    valgrind_limit: Nanos,
}

fn define(command: Command) -> Command {
    let short = ABOUT.lines().next().unwrap_or(ABOUT);
    Arguments::augment_args(command).about(short).long_about(ABOUT).after_help(EXAMPLES)
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let Arguments { words, pid, duration, valgrind, valgrind_limit } = arguments(matches)?;
    let parameters = match pid {
        Some(_) if duration.0 == 0 => {
            return Err(Failure::new(Exit::WrongCommandLine, "nothing is to be counted: give --duration above 0"));
        }
        Some(pid) => CountersParameters::Process { pid, duration: duration.into() },
        None => {
            let is_page = context.globals.format == Format::Table;
            let output = if is_page { CommandOutput::Output } else { CommandOutput::Error };
            let limit = valgrind_limit.into();
            let valgrind = valgrind.then(|| ValgrindRun { scratch: env::temp_dir(), limit });
            CountersParameters::Command(CommandParameters { words, output, valgrind })
        }
    };
    let mut outcome = Outcome::None;
    let measured = measure(context, COMMAND.name, |journal, machine| {
        let (ended, result) = counters::run(&parameters, machine, journal);
        outcome = ended;
        result
    });
    let exit = match (outcome, &measured) {
        (Outcome::Ended(code), Ok(Exit::Done)) => return Ok(Exit::OfCommand { code }),
        (Outcome::NotFound, _) => Exit::OfCommand { code: 127 },
        (Outcome::NotExecutable, _) => Exit::OfCommand { code: 126 },
        _ => return measured,
    };
    measured.map_err(|failure| Failure { exit, ..failure })
}
