//! `readpath ladder`: what one read costs at every level of this machine.

use std::fs;
use std::path::PathBuf;

use ::measure::quantity::parse_size;
use clap::{ArgMatches, Args, Command};
use experiments::ladder::{self, LadderParameters};

use super::measure::measure;
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments, fresh_seed};

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "ladder", define, run };

const EXAMPLES: &str = "\
Examples:
  readpath ladder                        this machine, with a test file of 1 GiB
  readpath ladder --on /data/old.dbf     the device rungs on an old, large file
  sudo readpath ladder --on /dev/nvme0n1 the device rungs on a block device, never written
  readpath ladder --dir /mnt/fast        the test file on another file system
  readpath ladder --format json          the run document, for programs";

#[derive(Args)]
struct Arguments {
    /// Directory of the test file, which has no name and leaves nothing behind
    /// [default: $XDG_CACHE_HOME/readpath or ~/.cache/readpath]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Size of the test file
    #[arg(long, default_value = "1GiB", value_parser = parse_size)]
    size: u64,
    /// Measure the device rungs on this file or block device, first and second touch apart
    #[arg(long, value_name = "PATH")]
    on: Option<PathBuf>,
    /// Order of the random accesses [default: another one each run]
    #[arg(long)]
    seed: Option<u64>,
}

fn define(command: Command) -> Command {
    let about = "Measures what one read costs at every level of this machine, from the CPU cache to the disk";
    Arguments::augment_args(command).about(about).after_help(EXAMPLES).allow_negative_numbers(true)
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let Arguments { dir, size, on, seed } = arguments(matches)?;
    let parameters = LadderParameters { dir: test_dir(dir, context)?, size, on, seed: seed.unwrap_or_else(fresh_seed) };
    measure(context, COMMAND.name, |journal, machine| ladder::run(&parameters, machine, journal))
}

/// The directory that was given, or the user's cache directory, made where it is missing.
fn test_dir(given: Option<PathBuf>, context: &Context) -> Result<PathBuf, Failure> {
    if let Some(dir) = given {
        return Ok(dir);
    }
    let nowhere = "there is no directory for the test file, because neither XDG_CACHE_HOME nor HOME is set: name one \
                   with --dir DIR.";
    let dir = context.settings.cache_dir.clone().ok_or_else(|| Failure::new(Exit::Failed, nowhere))?;
    let refused = |error| {
        format!(
            "the directory {} for the test file cannot be made: {error}; name another one with --dir.",
            dir.display()
        )
    };
    fs::create_dir_all(&dir).map_err(|error| Failure::new(Exit::Failed, refused(error)))?;
    Ok(dir)
}
