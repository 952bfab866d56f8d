//! `readpath roundtrip`: what the way to the storage costs, and who answered.

use std::path::PathBuf;

use ::measure::quantity::parse_size;
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
    #[arg(long, default_value_t = 256)]
    blocks: u64,
    /// Bytes a block
    #[arg(long, default_value = "8KiB", value_parser = parse_size)]
    block_size: u64,
    /// Which blocks [default: others each run; the same ones again were touched before]
    #[arg(long)]
    seed: Option<u64>,
    /// Where direct I/O cannot be had: drop the blocks from the page cache before each pass; for files of your own
    #[arg(long, conflicts_with = "on")]
    evict: bool,
    #[command(flatten)]
    server: ServerArguments,
}

fn define(command: Command) -> Command {
    let about = "Measures the way to the storage and back: first touch, storage's cache, page cache";
    Arguments::augment_args(command).about(about).after_help(EXAMPLES).allow_negative_numbers(true)
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let Arguments { paths, blocks, block_size, seed, evict, server } = arguments(matches)?;
    if blocks == 0 || block_size == 0 {
        let sentence = "nothing is to be read: give --blocks and --block-size above 0";
        return Err(Failure::new(Exit::WrongCommandLine, sentence));
    }
    if let Some(address) = server.address(context)? {
        if blocks > BLOCKS_ON_SERVER_MAX {
            let sentence = format!("--blocks {blocks} is too much for a server: give at most {BLOCKS_ON_SERVER_MAX}");
            return Err(Failure::new(Exit::WrongCommandLine, sentence));
        }
        let seed = seed.unwrap_or_else(fresh_seed);
        return run_on_server(&server, OnServer { address, limits: server.limits(), blocks, seed }, context);
    }
    let too_large = |_| Failure::new(Exit::WrongCommandLine, "--block-size is too large for this machine");
    let block_size = usize::try_from(block_size).map_err(too_large)?;
    let parameters = RoundtripParameters { paths, blocks, block_size, seed: seed.unwrap_or_else(fresh_seed), evict };
    measure(context, COMMAND.name, |journal, machine| roundtrip::run(&parameters, machine, journal))
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
