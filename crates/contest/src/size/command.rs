//! The contest from its arguments to its bars: a table is loaded in each pair, and the paths are scanned once.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use dataset::DataSet;
use dataset::uniform::RowShape;
use measure::quantity::{grouped, parse_size};
use measure::schema::contest::{ELAPSED, LOADED};
use measure::schema::scan::{ROW_TIME, TABLE_ROWS, parameters};
use storage::catalog::TableSpec;
use storage::heap::loader;
use sys::time::Clock;

use crate::conductor::Conductor;
use crate::interruption::Interruption;
use crate::kept_run::run_of;
use crate::options::Options;
use crate::program::argv;
use crate::progress::progress;
use crate::size::bars::{self, LOADING, PATHS, READPATH};

/// The paths that the engine has.
const PATHS_OF_ENGINE: usize = 6;

/// Bytes of a MiB.
const MEBIBYTE: f64 = 1_048_576.0;

/// Loads a table, and scans the published number of rows by six access paths.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Bytes of all columns of all rows of the table that is loaded.
    #[arg(long, default_value = "1GiB", value_parser = parse_size)]
    payload: u64,
    /// Rows of the table that is scanned; by default the published number, which takes 16 GB of memory.
    #[arg(long, default_value_t = TABLE_ROWS.value as u64, value_parser = clap::value_parser!(u64).range(1..))]
    rows: u64,
    /// Where the table is made and removed; by default the system's directory for temporary files.
    #[arg(long)]
    directory: Option<PathBuf>,
}

/// Holds the contest and gives the exit code. An error is a sentence: nothing could be measured.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, String> {
    let Arguments { options, payload, rows, directory } = arguments;
    let what = format!("readpath loads a table, and scans {} rows by six access paths.", grouped(*rows));
    let mut conductor = Conductor::begin("size", options.pairs, what)?;
    conductor.describe("readpath", options.build_readpath()?);
    conductor.describe("payload", *payload);
    conductor.describe("rows", *rows);
    let (clock, interruption) = (Clock::calibrate(), conductor.interruption.clone());
    let directory = directory.clone().unwrap_or_else(std::env::temp_dir);
    conductor.pairs("loading", 1, |_, ledger| {
        let rate = loaded(&directory, *payload, &clock, &interruption)?;
        ledger.add(LOADING, READPATH, &LOADED, rate / MEBIBYTE);
        Ok(())
    })?;
    progress("six access paths");
    let (readpath, rows_of_scan) = (options.readpath(), format!("--rows={rows}"));
    let words = [&*readpath, "scan", &rows_of_scan, "--no-valgrind", "--format=json", "--no-store", "--quiet"];
    let start = clock.now();
    let scanned = run_of(&argv(words))?;
    let elapsed = clock.now().since(start).as_seconds();
    if scanned.cases.len() != PATHS_OF_ENGINE {
        return Err(format!("readpath's run has {} paths, not {PATHS_OF_ENGINE}", scanned.cases.len()));
    }
    conductor.ledger.add(PATHS, READPATH, &ELAPSED, elapsed);
    for case in &scanned.cases {
        let path = parameters::PATH.in_case(case).unwrap_or_default();
        let row_time = ROW_TIME.median(case).ok_or_else(|| format!("readpath's run has no row_time of {path}"))?;
        conductor.ledger.add(&path, READPATH, &measure::schema::contest::ROW_TIME, row_time);
    }
    conductor.judge_by(|ledger| bars::all(ledger, *rows));
    conductor.conclude(options, out)
}

/// Bytes a second of a table that is loaded into a folder of its own.
fn loaded(directory: &Path, payload: u64, clock: &Clock, interruption: &Interruption) -> Result<f64, String> {
    let folder = tempfile::Builder::new().prefix("readpath-size-").tempdir_in(directory);
    let folder = folder.map_err(|error| format!("no folder for the table: {error}"))?;
    let spec = TableSpec::new("t", DataSet::uniform(RowShape { row_length: 250, columns: 5 }, payload, 1));
    let start = clock.now();
    let table = loader::load(folder.path(), &spec, &mut |_| (), &interruption.flag());
    let table = table.map_err(|error| error.to_string())?;
    Ok(table.file_bytes() as f64 / clock.now().since(start).as_seconds().max(1e-9))
}
