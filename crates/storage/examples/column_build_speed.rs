//! How fast rows become columns.
//!
//! `cargo run --release -p storage --example column_build_speed [-- ROWS]`: ROWS rows (2 million) of 23 columns of the
//! kinds that a table of customers has, some unique, some of few values, some null, are made a few thousand at a time
//! and appended. Printed is the time of appending alone, on one thread, against the rows' bytes as they are stored;
//! then how each column came out, and what was forecast from the first rows.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use std::sync::Arc;

use measure::Nanos;
use measure::random::SplitMix64;
use storage::StorageError;
use storage::column::{Budget, ColumnSpec, ColumnTable, TableBuilder, ValueType};
use storage::row::{self, RowView};
use sys::account::thread_cpu;

/// Rows that are made before they are appended.
const ROWS_AT_ONCE: usize = 4096;

/// Rows from which the memory of all is forecast.
const ROWS_OF_SAMPLE: usize = 1 << 19;

/// What a column holds.
#[derive(Clone, Copy)]
enum Kind {
    /// The row's number.
    Dense,
    /// One of so many numbers from the first on.
    Number(i64, u64),
    /// One of so many texts of this length; 0 is a new one each time.
    Text(u64, usize),
    /// A text of this length, or null, in equal parts.
    Sometimes(usize),
    /// Null.
    Null,
}

const COLUMNS: [Kind; 23] = [
    Kind::Dense,
    Kind::Text(1300, 6),
    Kind::Text(900, 7),
    Kind::Text(2, 1),
    Kind::Number(1911, 80),
    Kind::Sometimes(7),
    Kind::Text(0, 22),
    Kind::Text(623, 5),
    Kind::Text(620, 9),
    Kind::Number(51_000, 620),
    Kind::Text(145, 10),
    Kind::Number(52_000, 145),
    Kind::Number(52_700, 19),
    Kind::Text(0, 12),
    Kind::Text(12, 20),
    Kind::Number(1500, 8),
    Kind::Text(0, 24),
    Kind::Text(1, 14),
    Kind::Number(52_772, 1),
    Kind::Null,
    Kind::Number(10_227, 1),
    Kind::Null,
    Kind::Sometimes(1),
];

fn main() -> Result<(), StorageError> {
    let rows = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(2_000_000);
    let budget = Arc::new(Budget::new(16 << 30));
    let forecast = build(ROWS_OF_SAMPLE.min(rows), &budget)?.0.forecast(rows as u64);
    println!("forecast for {rows} rows: {forecast:?}");
    let budget = Arc::new(Budget::new(16 << 30));
    let (table, row_bytes, time) = build(rows, &budget)?;
    let (seconds, taken) = (time.as_seconds(), budget.taken_max());
    println!("{row_bytes} bytes of rows in {seconds:.2} s: {:.0} MB/s", row_bytes as f64 / seconds / 1e6);
    println!("{:.0} ns a row; {} bytes in columns, {taken} while building", seconds * 1e9 / rows as f64, table.bytes());
    for column in table.summary() {
        let ratio = column.compression_ratio().map_or("    -".into(), |ratio| format!("{ratio:5.1}"));
        let encodings: Vec<String> =
            column.encodings.iter().map(|share| format!("{} x {share}", share.units)).collect();
        println!("{:10} {:11} bytes, ratio {ratio}: {}", column.name, column.bytes, encodings.join(", "));
    }
    Ok(())
}

/// The table, its rows' bytes and the time that appending took.
fn build(rows: usize, budget: &Arc<Budget>) -> Result<(ColumnTable, usize, Nanos), StorageError> {
    let specs: Vec<ColumnSpec> = (0..).zip(COLUMNS).map(|(index, kind)| spec(index, kind)).collect();
    let mut builder = TableBuilder::new(&specs, rows, budget)?;
    let mut random = SplitMix64::new(1);
    let (mut row_bytes, mut time, mut number) = (0, Nanos::ZERO, 0);
    while number < rows {
        let count = ROWS_AT_ONCE.min(rows - number);
        let made: Vec<Vec<u8>> = (number..number + count).map(|number| make(number, &mut random)).collect();
        row_bytes += made.iter().map(Vec::len).sum::<usize>();
        let start = thread_cpu();
        made.iter().try_for_each(|row| builder.append_row(RowView::new(row).columns()))?;
        time += thread_cpu().since(start);
        number += count;
    }
    let start = thread_cpu();
    let table = builder.finish()?;
    Ok((table, row_bytes, time + thread_cpu().since(start)))
}

fn spec(index: usize, kind: Kind) -> ColumnSpec {
    let value_type = if matches!(kind, Kind::Dense | Kind::Number(..)) { ValueType::Signed } else { ValueType::Text };
    ColumnSpec { name: format!("column {}", index + 1), value_type }
}

/// A row in its stored form.
fn make(number: usize, random: &mut SplitMix64) -> Vec<u8> {
    let values: Vec<Option<Vec<u8>>> = COLUMNS.iter().map(|kind| value(*kind, number, random)).collect();
    let values: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
    let mut row = Vec::new();
    row::encode(&values, &mut row);
    row
}

fn value(kind: Kind, number: usize, random: &mut SplitMix64) -> Option<Vec<u8>> {
    let text = |seed: u64, length| {
        let mut letters = SplitMix64::new(seed);
        (0..length).map(|_| b'a' + letters.below(26) as u8).collect()
    };
    match kind {
        Kind::Dense => Some((number as u32 + 1).to_le_bytes().to_vec()),
        Kind::Number(first, many) => Some((first as i32 + random.below(many) as i32).to_le_bytes().to_vec()),
        Kind::Text(0, length) => Some(text(number as u64, length)),
        Kind::Text(many, length) => Some(text(random.below(many), length)),
        Kind::Sometimes(length) => (random.below(2) == 0).then(|| text(random.below(5), length)),
        Kind::Null => None,
    }
}
