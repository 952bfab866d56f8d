//! `readpath ladder`: what one read costs at every level of this machine.

use std::fs;
use std::path::PathBuf;

use ::measure::Size;
use clap::ArgAction::Set;
use clap::builder::BoolishValueParser;
use clap::{ArgMatches, Args};
use experiments::ladder::{self, CACHED_PART, FILE, LadderParameters};

use super::measure::{measure, refuse_ahead};
use super::subjects::refuse_databases;
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments, fresh_seed};

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "ladder", define: Arguments::augment_args, run };

const EXAMPLES: &str = "\
Examples:
  readpath ladder                        this machine, with a test file of 1 GiB
  readpath ladder --on /data/old.dbf     the device rungs on an old, large file
  sudo readpath ladder --on /dev/nvme0n1  the device rungs on a block device, never written
  readpath ladder --dir /mnt/fast        the test file on another file system
  readpath ladder --format json          the run document, for programs";

/// Measures what one read costs at every level of this machine, from the CPU cache to the disk
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    /// Directory of the test file, which has no name and leaves nothing behind
    /// [default: $XDG_CACHE_HOME/readpath or ~/.cache/readpath]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    #[arg(long, help = format!("Size of the test file [default: {}, with --on {}]", Size(FILE), Size(CACHED_PART)))]
    size: Option<Size>,
    /// Measure the device rungs on this file, block device or model (model:NAME), first and second touch separately; a
    /// database is measured by `readpath roundtrip --on`
    #[arg(long, value_name = "PATH")]
    on: Option<PathBuf>,
    /// Buffers of device reads on huge pages; large reads then take fewer requests than most databases send
    #[arg(long, value_name = "on|off", default_value = "on", value_parser = BoolishValueParser::new(), action = Set,
        hide_possible_values = true)]
    huge_pages: bool,
    /// Order of the random accesses [default: a different one each run]
    #[arg(long)]
    seed: Option<u64>,
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let arguments: Arguments = arguments(matches)?;
    refuse_databases(COMMAND.name, &arguments.on)?;
    let parameters = arguments.parameters(|given| test_dir(given, context))?;
    parameters.check().map_err(Failure::wrong)?;
    refuse_ahead(context, || ladder::check_device(&parameters))?;
    measure(context, COMMAND.name, |journal, machine| ladder::run(&parameters, machine, journal))
}

impl Arguments {
    fn parameters(
        self,
        directory: impl Fn(Option<PathBuf>) -> Result<PathBuf, Failure>,
    ) -> Result<LadderParameters, Failure> {
        let Arguments { dir, size, on, huge_pages, seed } = self;
        let seed = Some(seed.unwrap_or_else(fresh_seed));
        Ok(LadderParameters { dir: directory(dir)?, size, on, huge_pages, seed, memory_max: None })
    }
}

/// The directory that was given, or the user's cache directory, made where it is missing.
fn test_dir(given: Option<PathBuf>, context: &Context) -> Result<PathBuf, Failure> {
    if let Some(dir) = given {
        return Ok(dir);
    }
    let nowhere = "there is no directory for the test file, because neither XDG_CACHE_HOME nor HOME is set: name one \
                   with --dir DIR.";
    let dir = context.settings.cache_dir.clone().ok_or_else(|| Failure::failed(nowhere))?;
    let refused = |error| {
        format!(
            "the directory {} for the test file cannot be made: {error}; name another one with --dir.",
            dir.display()
        )
    };
    fs::create_dir_all(&dir).map_err(|error| Failure::failed(refused(error)))?;
    Ok(dir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::from_file::{of_file, of_line};

    #[test]
    fn a_file_and_a_command_line_give_the_same_parameters() {
        let of_line = |line: &str| {
            let arguments = of_line::<Arguments>(Arguments::augment_args, line);
            arguments.parameters(|given| Ok(given.unwrap_or_default())).unwrap()
        };
        assert_eq!(of_file::<LadderParameters>("seed = 7"), of_line("--seed 7"));
        let file = "dir = '/mnt/fast'\nsize = '2GiB'\non = '/dev/sdb'\nhuge_pages = false\nseed = 7";
        let line = "--dir /mnt/fast --size 2GiB --on /dev/sdb --huge-pages off --seed 7";
        assert_eq!(of_file::<LadderParameters>(file), of_line(line));
    }
}
