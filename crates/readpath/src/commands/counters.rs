//! `readpath counters`: what the processor and the kernel counted while a command ran, or over a while of a process.

use std::env;
use std::path::PathBuf;

use ::measure::Nanos;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{ArgMatches, Args};
use experiments::counters::{self, CommandOutput, CountersParameters, Outcome, Surroundings};
use report::Media;
use sys::process::Adoption;

use super::measure::measure;
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "counters", define: Arguments::augment_args, run };

const EXAMPLES: &str = "\
Examples:
  readpath counters -- gzip -k big.log              a command from its start to its end
  readpath counters --valgrind -- ./scan 1000       and its instructions, where the counters are hidden
  readpath counters --pid 4711 --duration 10s       ten seconds of a process, all its threads
  readpath counters --format json -- make 2>log     the run document; the command's output goes to standard error";

/// Counts cycles, instructions, branches, stalls and cache misses, as far as this machine counts them
///
/// The exit code is the command's own; 127 where there is no such command, 126 where it cannot be run. Under valgrind a
/// command takes about fifty times as long, and runs a second time: do not use it for a command that must not run
/// twice.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    /// The command to count, with its arguments, after `--`
    // A path on a command line may not be empty, and an argument of a command may.
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "pid", conflicts_with = "pid",
          value_parser = OsStringValueParser::new().map(PathBuf::from))]
    command: Vec<PathBuf>,
    /// Count a process that runs, with all its threads
    // The kernel gives no greater number.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=4_194_304))]
    pid: Option<u32>,
    /// For how long the process is counted
    #[arg(long, default_value_t = CountersParameters::default().duration, requires = "pid", conflicts_with = "command")]
    duration: Nanos,
    /// Run the command a second time under valgrind, about fifty times slower, and count its instructions there
    #[arg(long, conflicts_with = "pid")]
    valgrind: bool,
    /// Longest time that the run under valgrind may take
    // What conflicts with `valgrind` takes the requirement of it away.
    #[arg(long, default_value_t = CountersParameters::default().valgrind_limit, requires = "valgrind",
          conflicts_with = "pid")]
    valgrind_limit: Nanos,
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let parameters = arguments::<Arguments>(matches)?.parameters();
    parameters.check().map_err(Failure::wrong)?;
    let output = match context.globals.format.media {
        Media::Terminal => CommandOutput::Output,
        Media::Document | Media::Rows | Media::Page => CommandOutput::Error,
    };
    // Without a PATH the C library looks in folders of its own, which are not known here.
    let folders = env::var_os("PATH").map_or_else(Vec::new, |path| env::split_paths(&path).collect());
    let surroundings = Surroundings { output, folders, scratch: env::temp_dir() };
    let mut outcome = Outcome::None;
    let measured = measure(context, COMMAND.name, |journal, machine| {
        // A line that is drawn again and again would erase what the command writes, and its prompts.
        if !parameters.command.is_empty() {
            journal.end_progress();
        }
        // Without it, what a command has in the background when ^C ends the command is not found, and goes on. So it
        // does where the kernel refuses.
        let _adoption = Adoption::begin();
        let (ended, result) = counters::run(&parameters, &surroundings, machine, journal);
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

impl Arguments {
    fn parameters(self) -> CountersParameters {
        let Arguments { command, pid, duration, valgrind, valgrind_limit } = self;
        CountersParameters { command, pid, duration, valgrind, valgrind_limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::from_file::{of_file, of_line};

    #[test]
    fn a_file_and_a_command_line_give_the_same_parameters() {
        let of_line = |line: &str| of_line::<Arguments>(Arguments::augment_args, line).parameters();
        let command = "command = ['gzip', '-k', 'big.log']";
        assert_eq!(of_file::<CountersParameters>(command), of_line("-- gzip -k big.log"));
        let valgrind = format!("{command}\nvalgrind = true\nvalgrind_limit = '10m'");
        let line = "--valgrind --valgrind-limit 10m -- gzip -k big.log";
        assert_eq!(of_file::<CountersParameters>(&valgrind), of_line(line));
        let process = of_file::<CountersParameters>("pid = 4711\nduration = '10s'");
        assert_eq!(process, of_line("--pid 4711 --duration 10s"));
    }
}
