//! How fast rows become columns.
//!
//! `cargo run --release -p storage --example column_build_speed [-- ROWS]`: ROWS rows of customers (2 million), made
//! page by page and appended. Printed is the time of appending alone, on one thread, against the rows' bytes as they
//! are stored; what was forecast from the rows of one unit; and how each column came out.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

mod build;

use std::sync::Arc;

use build::build;
use storage::StorageError;
use storage::column::{Budget, UNIT_ROWS};

/// More than any table of this example takes.
const BUDGET: u64 = 16 << 30;

fn main() -> Result<(), StorageError> {
    let rows = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(2_000_000);
    let forecast = build(rows.min(UNIT_ROWS as u64), &Arc::new(Budget::new(BUDGET)))?.0.forecast(rows);
    println!("forecast for {rows} rows: {forecast:?}");
    let budget = Arc::new(Budget::new(BUDGET));
    let (table, row_bytes, time) = build(rows, &budget)?;
    let (seconds, taken) = (time.as_seconds(), budget.taken_max());
    println!("{row_bytes} bytes of rows in {seconds:.2} s: {:.0} MB/s", row_bytes as f64 / seconds / 1e6);
    println!("{:.0} ns a row; {} bytes in columns, {taken} while building", seconds * 1e9 / rows as f64, table.bytes());
    for column in table.summary() {
        let ratio = column.compression_ratio().map_or("      -".into(), |ratio| format!("{ratio:7.1}"));
        let encodings: Vec<String> =
            column.encodings.iter().map(|share| format!("{} x {share}", share.units)).collect();
        println!("{:22} {:11} bytes, ratio {ratio}: {}", column.name, column.bytes, encodings.join(", "));
    }
    Ok(())
}
