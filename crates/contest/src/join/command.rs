//! The contest from its arguments to its bars: the engine's nested loops, fio and PostgreSQL on the same rows.

use std::io::Write;

use clap::Args;
use measure::quantity::grouped;
use sys::time::Clock;

use crate::conductor::Conductor;
use crate::fio::peer;
use crate::join::engine::{Engine, METHODS, Turn};
use crate::join::postgres::Postgres;
use crate::join::question::Keys;
use crate::join::{bars, device};
use crate::options::{Contender, Options, ServerOptions};
use crate::progress::progress;

/// Look-ups with everything cached: their blocks take less than half of the large pools.
const CACHED_OUTER_ROWS: u64 = 50_000;

/// Compares the engine's nested loops with fio and PostgreSQL, in turn, on the same rows.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    server: ServerOptions,
    /// Rows of the table, seven to a block.
    #[arg(long, default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1000..))]
    rows: u64,
    /// Outer rows of a join that is held against PostgreSQL.
    #[arg(long, default_value_t = 5000)]
    outer_rows: u64,
    /// Outer rows of a join that is held against fio.
    #[arg(long, default_value_t = 30_000)]
    rate_outer_rows: u64,
    /// How long fio reads at each depth, in milliseconds.
    #[arg(long, default_value_t = 500)]
    fio_milliseconds: u64,
    /// Leave PostgreSQL out.
    #[arg(long)]
    without_postgres: bool,
}

/// Holds the contest and gives the exit code. An error is a sentence: nothing could be compared.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, String> {
    let Arguments { options, server, rows, outer_rows, rate_outer_rows, fio_milliseconds, without_postgres } =
        arguments;
    let (rows, fio) = (*rows, peer::version()?);
    let what = format!(
        "readpath's nested loops, {fio} and PostgreSQL have turns on {} rows in {} blocks.",
        grouped(rows),
        grouped(rows.div_ceil(7))
    );
    let mut conductor = Conductor::begin("join", options.pairs, what)?;
    let folder = tempfile::Builder::new().prefix("readpath-join-").tempdir_in(server.directory());
    let folder = folder.map_err(|error| format!("no folder for the tables: {error}"))?;
    progress("loading the engine's table");
    let mut engine = Engine::new(folder.path(), rows, Clock::calibrate())?;
    let file = engine.table_file()?;
    peer::warm_up(&file)?;
    let interruption = conductor.interruption.clone();
    let found = server.start_each(*without_postgres, rows, &interruption.flag(), |installation| {
        Postgres::start(installation, &server.directory(), rows, &interruption)
    })?;
    conductor.describe("rows", rows);
    conductor.describe("outer_rows", *outer_rows);
    conductor.describe("rate_outer_rows", *rate_outer_rows);
    conductor.describe("fio", fio);
    let mut servers = present(&mut conductor, found);
    conductor.pairs("joins", 2 + servers.len(), |turn, ledger| {
        let cold = Keys::of_turn(turn.pair, *outer_rows, rows, false);
        let cached = Keys::of_turn(turn.pair, CACHED_OUTER_ROWS, rows, false);
        match turn.contender {
            0 => device::take_turn(&file, *fio_milliseconds, turn.pair + 1, ledger),
            1 => {
                let place = turn.pair * METHODS.len() as u64;
                let rate = [0, 1, 2, 3].map(|method| Keys::of_turn(place + method, *rate_outer_rows, rows, false));
                engine.take_turn(&Turn { rate, cold, cached }, turn.pair as usize, ledger)
            }
            server => servers[server - 2].take_turn(cold, cached, ledger),
        }
    })?;
    conductor.judge_by(bars::all);
    conductor.conclude(options, out)
}

/// The servers that are there. Records their versions, and which are absent and why.
fn present(conductor: &mut Conductor, found: Vec<Contender<Postgres>>) -> Vec<Postgres> {
    let mut servers = Vec::new();
    for (name, server) in found {
        match server {
            Err(reason) => conductor.absent(&name, &reason),
            Ok(server) => {
                for (way, reason) in server.absent() {
                    conductor.absent(&format!("PostgreSQL {way}"), reason);
                }
                servers.push(server);
            }
        }
    }
    if !servers.is_empty() {
        conductor.describe("postgres", servers.iter().map(Postgres::name).collect::<Vec<_>>().join(", "));
    }
    servers
}
