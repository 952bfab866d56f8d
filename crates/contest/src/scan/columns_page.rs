//! `readpath-contest columns`: how fast rows become columns.
//!
//! The rows of customers are made page by page and appended. Printed is the time of appending alone, on one thread,
//! against the rows' bytes as they are stored; what was forecast from the rows of one unit; and how each column came
//! out.

use std::io::Write;
use std::sync::Arc;

use clap::Args;
use storage::StorageError;
use storage::column::{Budget, UNIT_ROWS};

use crate::scan::rows_to_columns::build;

/// More than any table of this page takes.
const BUDGET: u64 = 16 << 30;

/// How fast rows become columns.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Rows of the table.
    #[arg(long, default_value_t = 2_000_000)]
    rows: u64,
}

/// Builds the columns and writes what they came to.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, String> {
    let page = page(arguments.rows).map_err(|error| error.to_string())?;
    out.write_all(page.as_bytes()).map_err(|error| error.to_string())?;
    Ok(0)
}

fn page(rows: u64) -> Result<String, StorageError> {
    let forecast = build(rows.min(UNIT_ROWS as u64), &Arc::new(Budget::new(BUDGET)))?.0.forecast(rows);
    let budget = Arc::new(Budget::new(BUDGET));
    let (table, row_bytes, time) = build(rows, &budget)?;
    let (seconds, taken) = (time.as_seconds(), budget.taken_max());
    let mut page = format!("forecast for {rows} rows: {forecast:?}\n");
    page += &format!("{row_bytes} bytes of rows in {seconds:.2} s: {:.0} MB/s\n", row_bytes as f64 / seconds / 1e6);
    let row_ns = seconds * 1e9 / rows as f64;
    page += &format!("{row_ns:.0} ns a row; {} bytes in columns, {taken} while building\n", table.bytes());
    for column in table.summary() {
        let ratio = column.compression_ratio().map_or("      -".into(), |ratio| format!("{ratio:7.1}"));
        let encodings: Vec<String> =
            column.encodings.iter().map(|share| format!("{} x {share}", share.units)).collect();
        page += &format!("{:22} {:11} bytes, ratio {ratio}: {}\n", column.name, column.bytes, encodings.join(", "));
    }
    Ok(page)
}
