//! The contest from its arguments to its bars: the engine's scans, PostgreSQL and column libraries on the same rows.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use measure::quantity::grouped;
use measure::schema::contest::BUILT;
use subjects::access_paths::Asked;
use sys::time::Clock;

use crate::bars::Bar;
use crate::conductor::Conductor;
use crate::interruption::Interruption;
use crate::options::{Options, ServerOptions};
use crate::progress::progress;
use crate::scan::columns::{COLUMNS_FROM_ROWS, MEBIBYTE, built_bytes_per_second};
use crate::scan::engine::Engine;
use crate::scan::peers::{Absent, Peers};
use crate::scan::postgres::Postgres;
use crate::scan::question::Reading;
use crate::scan::rows::write_columns;
use crate::scan::{bandwidth, bars, instructions};

/// Compares the engine's scans with PostgreSQL, DuckDB, Polars, PyArrow and NumPy, in turn, on the same rows.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    server: ServerOptions,
    /// Rows of the table.
    #[arg(long, default_value_t = 7_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    rows: u64,
    /// Compare the column scan of this many rows with the bandwidth of the memory; without a number, of the published
    /// size.
    #[arg(
        long,
        value_name = "ROWS",
        num_args = 0..=1,
        default_missing_value = "69642625",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    large: Option<u64>,
    /// The Python that has the libraries.
    #[arg(long, default_value = "python3")]
    python: PathBuf,
    /// Leave PostgreSQL out.
    #[arg(long)]
    without_postgres: bool,
    /// Count no instructions.
    #[arg(long)]
    without_valgrind: bool,
    /// Be the child that valgrind counts: scan for this question and say nothing.
    #[arg(long, hide = true, value_name = "QUESTION")]
    counted_under_valgrind: Option<Asked>,
}

/// Holds the contest and gives the exit code. An error is a sentence: nothing could be compared.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, String> {
    if let Some(asked) = arguments.counted_under_valgrind {
        return instructions::scan_counted(asked).map(|()| 0);
    }
    let what = format!(
        "readpath's scans and its peers have turns on {} rows of 23 columns; CPU time of one thread, everything in \
         memory.",
        grouped(arguments.rows)
    );
    let mut conductor = Conductor::begin("scan", arguments.options.pairs, what)?;
    conductor.describe("rows", arguments.rows);
    compare(arguments, &mut conductor)?;
    conductor.describe_answers();
    conductor.judge_by(bars::of_ledger);
    let counted = of_instructions(arguments, &conductor.interruption)?;
    conductor.judge(counted);
    if let Some(rows) = arguments.large {
        bandwidth::compare(rows, &mut conductor)?;
    }
    conductor.conclude(&arguments.options, out)
}

fn compare(arguments: &Arguments, conductor: &mut Conductor) -> Result<(), String> {
    let (rows, directory) = (arguments.rows, arguments.server.directory());
    let interruption = conductor.interruption.clone();
    let folder = tempfile::Builder::new().prefix("readpath-scan-").tempdir_in(&directory);
    let folder = folder.map_err(|error| format!("no folder for the columns: {error}"))?;
    let mut postgres =
        arguments.server.start(arguments.without_postgres, rows, &interruption.flag(), |installation| {
            Postgres::start(installation, &directory, rows, &interruption)
        })?;
    progress("making the columns of the libraries");
    write_columns(rows, folder.path())?;
    let mut peers = Peers::start(&arguments.python, folder.path(), rows);
    progress("making the engine's table");
    let mut engine = Engine::new(rows, Clock::calibrate())?;
    describe(conductor, &postgres, &peers);
    conductor.pairs("scans", 3, |turn, ledger| {
        let readings: Vec<Reading> = match turn.contender {
            0 => postgres.as_mut().map_or(Ok(Vec::new()), |postgres| postgres.take_turn(&interruption)),
            1 => peers.as_mut().map_or(Ok(Vec::new()), Peers::take_turn),
            _ => engine.take_turn(),
        }?;
        readings.into_iter().try_for_each(|reading| reading.add_to(ledger))?;
        if turn.is_last {
            ledger.add(COLUMNS_FROM_ROWS, "readpath", &BUILT, built_bytes_per_second(rows)? / MEBIBYTE);
        }
        Ok(())
    })
}

/// Records who takes turns, with versions, and who does not and why.
fn describe(conductor: &mut Conductor, postgres: &Result<Postgres, String>, peers: &Result<Peers, String>) {
    let postgres = conductor.present("PostgreSQL", postgres);
    let mut present: Vec<String> = postgres.map(|postgres| postgres.name().into()).into_iter().collect();
    if let Some(peers) = conductor.present("Python with its libraries", peers) {
        present.extend(peers.versions.iter().map(|(name, version)| format!("{name} {version}")));
        peers.absent.iter().for_each(|Absent { name, reason }| conductor.absent(name, reason));
    }
    conductor.describe("contenders", present);
}

fn of_instructions(arguments: &Arguments, interruption: &Interruption) -> Result<Vec<Bar>, String> {
    if arguments.without_valgrind {
        return Ok(Vec::new());
    }
    let program = std::env::current_exe().map_err(|error| format!("this program is not to be found: {error}"))?;
    let mut bars = Vec::new();
    for asked in [Asked::AllPass, Asked::HalfPass, Asked::NoPredicate] {
        interruption.check()?;
        progress(&format!("instructions of {}", asked.name()));
        let per_row = instructions::per_row(&program, asked, &arguments.server.directory());
        bars.push(bars::of_instructions(asked, per_row));
    }
    Ok(bars)
}
