//! How fast rows become columns.
//!
//! `cargo run --release -p storage --example column_build_speed [-- ROWS]`: ROWS rows of customers (2 million), made
//! page by page and appended. Printed is the time of appending alone, on one thread, against the rows' bytes as they
//! are stored; what was forecast from the rows of one unit; and how each column came out.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use std::sync::Arc;

use measure::Nanos;
use storage::column::{Budget, ColumnSpec, ColumnTable, TableBuilder, UNIT_ROWS};
use storage::customers::{CustomerGenerator, ROWS_PER_PAGE, SCHEMA};
use storage::page::{PageBytes, PageKind, PageMut, PageView};
use storage::page_id::PAGE_SIZE;
use storage::{PageId, SegmentId, StorageError};
use sys::account::thread_cpu;

/// Pages that are made before they are appended.
const PAGES_AT_ONCE: usize = 512;

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

/// The table, its rows' bytes and the time that appending took.
fn build(rows: u64, budget: &Arc<Budget>) -> Result<(ColumnTable, usize, Nanos), StorageError> {
    let specs: Vec<ColumnSpec> = SCHEMA.iter().map(ColumnSpec::from).collect();
    let mut builder = TableBuilder::new(&specs, rows as usize, budget)?;
    let generator = CustomerGenerator::new(1);
    let mut pages: Vec<PageBytes> = vec![[0; PAGE_SIZE]; PAGES_AT_ONCE];
    let (mut row_bytes, mut time, mut number) = (0, Nanos::ZERO, 0);
    while number < rows {
        let mut made = 0;
        for (page, bytes) in (0..).zip(&mut pages) {
            let end = (number + u64::from(ROWS_PER_PAGE)).min(rows);
            let id = PageId { segment: SegmentId(0), number: page };
            generator.fill_page(number..end, &mut PageMut::format(bytes, id, PageKind::Heap), &mut Vec::new());
            row_bytes += PageView::verified(bytes).rows().map(|row| row.bytes().len()).sum::<usize>();
            (number, made) = (end, made + usize::from(number < end));
        }
        let start = thread_cpu();
        pages[..made].iter().try_for_each(|bytes| builder.append_page(PageView::verified(bytes)))?;
        time += thread_cpu().since(start);
    }
    let start = thread_cpu();
    let table = builder.finish()?;
    Ok((table, row_bytes, time + thread_cpu().since(start)))
}
