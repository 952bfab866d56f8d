//! `readpath roundtrip`: what a read costs on its way to the storage and back, and which level served the read.

use std::path::PathBuf;

use ::measure::Size;
use clap::{ArgMatches, Args, Command};
use experiments::roundtrip::{self, OnServer, RoundtripParameters};
use server::Address;

use super::measure::measure;
use super::on_server::{ServerArguments, rehearse};
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments, fresh_seed};

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "roundtrip", define, run };

const EXAMPLES: &str = "\
Examples:
  readpath roundtrip /data/old.dbf               single blocks and requests of 8 and 128
  readpath roundtrip /data/old.dbf --blocks 1024 more of them
  sudo readpath roundtrip /dev/sdb               a block device, never written
  readpath roundtrip model:network-array         a modelled array behind a network
  readpath roundtrip --on postgres:18            through SQL, on a private PostgreSQL
  readpath roundtrip --on postgres://me@db.example/shop --dry-run   every statement that would be sent";

/// Most blocks of a statement on a server, which names each of them; the table has 16 times as many.
const BLOCKS_ON_SERVER_MAX: u64 = 8192;

/// Shared buffers of a private server.
const BUFFERS: u64 = 128 << 20;

#[derive(Args)]
struct Arguments {
    /// Files or block devices, opened for reading only, or a model as in `readpath disk`
    #[arg(required_unless_present = "on", conflicts_with = "on", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Blocks read singly; the passes of 8 and 128 blocks a request read as many, in at least 16 requests
    #[arg(long, default_value_t = RoundtripParameters::default().blocks)]
    blocks: u64,
    /// Bytes a block
    #[arg(long, default_value_t = RoundtripParameters::default().block_size)]
    block_size: Size,
    /// Which blocks [default: others each run; the same ones again were touched before]
    #[arg(long)]
    seed: Option<u64>,
    /// Where there is no direct I/O: drop the blocks from the page cache before each pass; for files of your own
    #[arg(long, conflicts_with = "on")]
    evict: bool,
    #[command(flatten)]
    server: ServerArguments,
}

fn define(command: Command) -> Command {
    let about = "Measures the round trip to the storage: first touch, storage's cache, page cache";
    Arguments::augment_args(command).about(about).after_help(EXAMPLES).allow_negative_numbers(true)
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let (parameters, server) = arguments::<Arguments>(matches)?.parameters();
    parameters.check().map_err(|error| Failure::new(Exit::WrongCommandLine, error))?;
    if let Some(address) = server.address(context)? {
        let RoundtripParameters { blocks, seed, .. } = parameters;
        if blocks > BLOCKS_ON_SERVER_MAX {
            let sentence = format!("--blocks {blocks} is too much for a server: give at most {BLOCKS_ON_SERVER_MAX}");
            return Err(Failure::new(Exit::WrongCommandLine, sentence));
        }
        let on = OnServer { address, limits: server.limits(), blocks, seed: seed.unwrap_or_default() };
        return run_on_server(&server, on, context);
    }
    measure(context, COMMAND.name, |journal, machine| roundtrip::run(&parameters, machine, journal))
}

impl Arguments {
    fn parameters(self) -> (RoundtripParameters, ServerArguments) {
        let Arguments { paths, blocks, block_size, seed, evict, server } = self;
        let seed = Some(seed.unwrap_or_else(fresh_seed));
        (RoundtripParameters { paths, blocks, block_size, seed, evict }, server)
    }
}

fn run_on_server(server: &ServerArguments, mut on: OnServer, context: &Context) -> Result<Exit, Failure> {
    if server.dry_run() {
        return rehearse(|machine, statements| roundtrip::rehearse(&on, machine, statements));
    }
    measure(context, COMMAND.name, |journal, machine| {
        let mut private = server.start(BUFFERS, context, journal, machine)?;
        if let Some(private) = &private {
            on.address = Address::of(private.config());
        }
        roundtrip::run_on(&on, private.as_mut(), machine, journal)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::from_file::{of_file, of_line};

    #[test]
    fn a_file_and_a_command_line_give_the_same_parameters() {
        let of_line = |line: &str| of_line::<Arguments>(define, line).parameters().0;
        assert_eq!(of_file::<RoundtripParameters>("paths = ['/data/x']\nseed = 7"), of_line("/data/x --seed 7"));
        let file = "paths = ['/data/x']\nblocks = 64\nblock_size = '16KiB'\nseed = 7\nevict = true";
        let line = "/data/x --blocks 64 --block-size 16KiB --seed 7 --evict";
        assert_eq!(of_file::<RoundtripParameters>(file), of_line(line));
    }
}
