//! How fast rows become columns, and how each column comes out.
//!
//! The rows of customers are made page by page and appended. What counts is the time of appending alone, on one thread,
//! against the rows' bytes as they are stored.

use std::io::Write;
use std::sync::Arc;

use clap::Args;
use measure::quantity::{counted, grouped};
use measure::schema::contest::{BUILT, COLUMN_BYTES, COMPRESSION_RATIO};
use storage::column::{Budget, Forecast, UNIT_ROWS};

use crate::conductor::Conductor;
use crate::scan::rows_to_columns::build;

/// What is measured, as the question of its case.
pub(crate) const COLUMNS_FROM_ROWS: &str = "columns from rows";

/// More than any table of this contest takes.
const BUDGET: u64 = 16 << 30;

/// Rows that become columns in each pair, and more bytes than they take.
const BUILT_ROWS: u64 = 1_000_000;
const BUILT_BYTES_MAX: u64 = 2 << 30;

/// Bytes of a MiB.
pub(crate) const MEBIBYTE: f64 = 1_048_576.0;

/// Shows how fast rows become columns.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Rows of the table.
    #[arg(long, default_value_t = 2_000_000)]
    rows: u64,
}

/// Builds the columns and shows what they came to, and what was forecast from the rows of one unit.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, String> {
    let rows = arguments.rows;
    let what = format!("{} rows of customers become columns on one thread.", grouped(rows));
    let mut conductor = Conductor::begin("columns", 1, what)?;
    let refused = |error: storage::StorageError| error.to_string();
    let unit = build(rows.min(UNIT_ROWS as u64), &Arc::new(Budget::new(BUDGET))).map_err(refused)?.0;
    if let Some(forecast) = forecast(unit.forecast(rows)) {
        conductor.note("forecast", forecast);
    }
    let budget = Arc::new(Budget::new(BUDGET));
    let (table, row_bytes, time) = build(rows, &budget).map_err(refused)?;
    let (bytes, taken) = (table.bytes(), budget.taken_max());
    conductor.note("memory", memory(bytes, taken));
    let rate = row_bytes as f64 / time.as_seconds() / MEBIBYTE;
    conductor.ledger.add(COLUMNS_FROM_ROWS, "readpath", &BUILT, rate);
    for column in table.summary() {
        let encodings: Vec<String> = column.encodings.iter().map(|share| format!("{} {share}", share.units)).collect();
        let question = format!("{}: units by encoding: {}", column.name, encodings.join(", "));
        conductor.ledger.add(&question, "readpath", &COLUMN_BYTES, column.bytes as f64);
        if let Some(ratio) = column.compression_ratio() {
            conductor.ledger.add(&question, "readpath", &COMPRESSION_RATIO, ratio);
        }
    }
    conductor.show(out)
}

/// What was forecast from the rows of one unit.
pub(crate) fn forecast(forecast: Option<Forecast>) -> Option<String> {
    let Forecast { table_bytes, building_bytes } = forecast?;
    Some(format!(
        "One unit forecast the columns to take {}, and {} more for each thread that builds them.",
        counted(table_bytes, "byte", "bytes"),
        counted(building_bytes, "byte", "bytes")
    ))
}

/// What columns take, and took at most while they were built.
pub(crate) fn memory(bytes: u64, taken: u64) -> String {
    let [bytes, taken] = [bytes, taken].map(|bytes| counted(bytes, "byte", "bytes"));
    format!("The columns take {bytes}, and took {taken} at most while they were built.")
}

/// Bytes of rows that become columns in a second, for the rows of one pair.
pub(crate) fn built_bytes_per_second(rows: u64) -> Result<f64, String> {
    let built = build(rows.min(BUILT_ROWS), &Arc::new(Budget::new(BUILT_BYTES_MAX)));
    let (_, row_bytes, time) = built.map_err(|error| error.to_string())?;
    Ok(row_bytes as f64 / time.as_seconds())
}
