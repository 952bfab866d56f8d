//! `readpath roundtrip`: what a read costs on its way to the storage and back, and which level served the read.

use std::path::PathBuf;

use ::measure::Size;
use clap::{Arg, ArgMatches, Args, Command};
use experiments::roundtrip::{self, RoundtripParameters, SubjectTripParameters};

use super::measure::{measure, refuse_ahead};
use super::subjects::{OF_SERVERS, SubjectArguments, measure_on, refuse_databases, servers};
use super::unused::refuse_unread;
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments, fresh_seed};

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "roundtrip", define, run };

const ON: &str = "Measure through SQL on these PostgreSQL servers: postgres://USER@HOST:PORT/DATABASE, or postgres:18";

const EXAMPLES: &str = "\
Examples:
  readpath roundtrip /data/old.dbf               single blocks and requests of 8 and 128
  readpath roundtrip /data/old.dbf --blocks 1024 more of them
  sudo readpath roundtrip /dev/sdb               a block device, never written
  readpath roundtrip model:network-array         a modelled array behind a network
  readpath roundtrip --on postgres:18            through SQL, on a private PostgreSQL
  readpath roundtrip --on postgres://me@db.example/shop --dry-run   every statement that would be sent";

const USAGE: &str = "\
readpath roundtrip [OPTIONS] <PATH>...
       readpath roundtrip [OPTIONS] --on <URL,...>";

/// Measures the round trip to the storage: first touch, storage's cache, page cache
#[derive(Args)]
#[command(after_help = EXAMPLES)]
#[command(override_usage = USAGE)]
struct Arguments {
    /// Files or block devices, opened for reading only, or a model as in `readpath disk`
    #[arg(required_unless_present = "on", conflicts_with = "on", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Blocks read singly; the passes of 8 and 128 blocks a request read as many, in at least 16 requests, or below
    /// 16 blocks in that many
    #[arg(long, default_value_t = RoundtripParameters::default().blocks)]
    blocks: u64,
    #[arg(long, conflicts_with = "on", help = format!("Bytes per block [default: {}]; a server reads blocks of its own \
        size", RoundtripParameters::default().block_size))]
    block_size: Option<Size>,
    /// Which blocks [default: different ones each run; repeated ones would have been touched before]
    #[arg(long)]
    seed: Option<u64>,
    /// Where there is no direct I/O: drop the blocks from the page cache before each pass; for files of your own
    #[arg(long, conflicts_with = "on")]
    evict: bool,
    #[command(flatten)]
    subjects: SubjectArguments,
}

fn define(command: Command) -> Command {
    let in_full = format!("{ON}\n\n{OF_SERVERS}");
    let on = |on: Arg| on.value_name("URL,...").value_parser(servers).help(ON).long_help(in_full);
    let command = Arguments::augment_args(command).mut_arg("on", on);
    // What conflicts with `on` takes the requirement of it away, so that a path alone would pass.
    ["dry_run", "statement_timeout"]
        .into_iter()
        .fold(command, |command, name| command.mut_arg(name, |arg| arg.conflicts_with("paths")))
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let (parameters, subjects) = arguments::<Arguments>(matches)?.parameters();
    parameters.check().map_err(Failure::wrong)?;
    if subjects.is_named() {
        return run_on(&parameters, &subjects, context);
    }
    refuse_databases(COMMAND.name, &parameters.paths)?;
    refuse_unread(matches, &parameters.paths)?;
    refuse_ahead(context, || roundtrip::check_paths(&parameters))?;
    measure(context, COMMAND.name, |journal, machine| roundtrip::run(&parameters, machine, journal))
}

impl Arguments {
    fn parameters(self) -> (RoundtripParameters, SubjectArguments) {
        let Arguments { paths, blocks, block_size, seed, evict, subjects } = self;
        let seed = Some(seed.unwrap_or_else(fresh_seed));
        let block_size = block_size.unwrap_or(RoundtripParameters::default().block_size);
        (RoundtripParameters { paths, blocks, block_size, seed, evict }, subjects)
    }
}

fn run_on(parameters: &RoundtripParameters, subjects: &SubjectArguments, context: &Context) -> Result<Exit, Failure> {
    let RoundtripParameters { blocks, seed, .. } = *parameters;
    let parameters = SubjectTripParameters { on: subjects.places()?, blocks, seed: seed.unwrap_or_default() };
    parameters.check().map_err(Failure::wrong)?;
    measure_on(context, COMMAND.name, (&parameters.on, subjects.options()), |on, environment, machine, journal| {
        let parameters = SubjectTripParameters { on: on.clone(), ..parameters.clone() };
        roundtrip::run_on(&parameters, environment, machine, journal)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::from_file::{of_file, of_line};

    #[test]
    fn a_command_line_that_names_nothing_to_read_is_answered_with_the_way_through_a_server_too() {
        let refused = define(Command::new("roundtrip")).try_get_matches_from(["roundtrip"]).unwrap_err().to_string();
        assert!(refused.contains("<PATH>...") && refused.contains("--on <URL,...>"), "{refused}");
    }

    #[test]
    fn a_file_and_a_command_line_give_the_same_parameters() {
        let of_line = |line: &str| of_line::<Arguments>(define, line).parameters().0;
        assert_eq!(of_file::<RoundtripParameters>("paths = ['/data/x']\nseed = 7"), of_line("/data/x --seed 7"));
        let file = "paths = ['/data/x']\nblocks = 64\nblock_size = '16KiB'\nseed = 7\nevict = true";
        let line = "/data/x --blocks 64 --block-size 16KiB --seed 7 --evict";
        assert_eq!(of_file::<RoundtripParameters>(file), of_line(line));
    }
}
