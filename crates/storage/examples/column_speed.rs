//! What a scan of columns in memory costs, beside the memory's own bandwidth in the same process.
//!
//! `cargo run --release -p storage --example column_speed [-- ROWS [KERNEL]]`: three columns of ROWS rows (7 million)
//! as of a table of customers: a dense number, a year of birth (80 of them, in random order) and a flag that may be
//! null. Zone maps are off: every code is read. Each kernel and number of threads has its turn in each round, and the
//! median of the rounds counts. With KERNEL, nothing but three scans of each question with this kernel on one thread is
//! done, for a program that counts instructions.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use std::hint::black_box;
use std::sync::Arc;

use measure::Nanos;
use measure::random::SplitMix64;
use storage::StorageError;
use storage::column::{
    Budget, ColumnSpec, ColumnTable, Kernel, Predicate, Question, Scan, Scanned, TableBuilder, ValueRange, ValueType,
    ZoneMaps,
};
use sys::bandwidth::Stream;
use sys::clock::Clock;
use sys::region::Pages;

/// Turns of every variant.
const ROUNDS: usize = 15;

/// What is streamed to learn the memory's bandwidth: far beyond any cache.
const STREAM_BYTES: usize = 1 << 30;

/// How long the bandwidth is measured, before and after the scans.
const STREAM_TIME: Nanos = Nanos(500_000_000);

fn main() -> Result<(), StorageError> {
    let rows = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(7_000_000);
    let kernel = std::env::args().nth(2).and_then(|name| Kernel::named(&name));
    let clock = Clock::calibrate();
    let start = clock.now();
    let (table, row_bytes) = build(rows)?;
    let built = clock.now().since(start).as_seconds();
    let [id, year, count] = questions();
    if let Some(kernel) = kernel {
        return [id, year, count].iter().try_for_each(|question| repeat(&table, question, kernel));
    }
    println!("{rows} rows built at {:.0} MB/s of row bytes, {} bytes", row_bytes as f64 / built / 1e6, table.bytes());
    for column in table.summary() {
        let ratio = column.compression_ratio().unwrap_or(f64::NAN);
        let encodings: Vec<String> =
            column.encodings.iter().map(|share| format!("{} x {share}", share.units)).collect();
        println!("{:20} {:10} bytes, ratio {ratio:5.2}: {}", column.name, column.bytes, encodings.join(", "));
    }
    let bandwidths = bandwidths(&clock);
    for (name, question) in [("id > 0", &id), ("year > 1950", &year), ("no predicate", &count)] {
        compare(&table, name, question, &clock, &bandwidths)?;
    }
    Ok(())
}

/// Three scans of a question.
fn repeat(table: &ColumnTable, question: &Question, kernel: Kernel) -> Result<(), StorageError> {
    for _ in 0..3 {
        let scanned = table.scan(question, Scan { kernel, zone_maps: ZoneMaps::Off, threads: 1 })?;
        println!("{} {scanned:?}", kernel.name());
    }
    Ok(())
}

/// The table, and the bytes that its rows would have.
fn build(rows: usize) -> Result<(ColumnTable, u64), StorageError> {
    let column = |name: &str, value_type| ColumnSpec { name: name.into(), value_type };
    let specs = [
        column("cust_id", ValueType::Signed),
        column("cust_year_of_birth", ValueType::Signed),
        column("cust_valid", ValueType::Text),
    ];
    let budget = Arc::new(Budget::new(4 << 30));
    let mut builder = TableBuilder::new(&specs, rows, &budget)?;
    let mut random = SplitMix64::new(1);
    let mut row_bytes = 0;
    for row in 0..rows {
        let id = (row as u32 + 1).to_le_bytes();
        let year = (1911 + random.below(80) as u16).to_le_bytes();
        let valid: Option<&[u8]> = [Some(&b"A"[..]), Some(b"I"), None][random.below(3) as usize];
        row_bytes += 1 + 5 + 3 + 1 + valid.map_or(0, <[u8]>::len) as u64;
        builder.append_row([Some(&id[..]), Some(&year), valid])?;
    }
    Ok((builder.finish()?, row_bytes))
}

fn questions() -> [Question; 3] {
    let above = |value| Predicate::Integers(ValueRange::above(value));
    let question = |predicate| Question { counted: 2, predicate };
    [question(Some((0, above(0)))), question(Some((1, above(1950)))), question(None)]
}

/// The median bandwidth of one thread and of two, in bytes a nanosecond.
fn bandwidths(clock: &Clock) -> [f64; 2] {
    let Ok(stream) = Stream::new(STREAM_BYTES, Pages::Huge) else { return [f64::NAN; 2] };
    let found = [1, 2].map(|threads| {
        let rates = stream.measure(clock, threads, STREAM_TIME).bytes_per_second;
        median(rates) / 1e9
    });
    println!("memory in sequence: one thread {:.1} GB/s, two {:.1}", found[0], found[1]);
    found
}

/// Every kernel with one thread and with two, in turn.
fn compare(
    table: &ColumnTable,
    name: &str,
    question: &Question,
    clock: &Clock,
    bandwidths: &[f64; 2],
) -> Result<(), StorageError> {
    let kernels: Vec<Kernel> = Kernel::ALL.into_iter().filter(|kernel| kernel.is_available()).collect();
    let variants: Vec<(Kernel, usize)> = kernels.iter().flat_map(|kernel| [(*kernel, 1), (*kernel, 2)]).collect();
    let mut times = vec![Vec::new(); variants.len()];
    let mut found = Scanned::default();
    for _ in 0..ROUNDS {
        for ((kernel, threads), times) in variants.iter().zip(&mut times) {
            let (scanned, ns) = turn(table, question, *kernel, *threads, clock)?;
            times.push(ns);
            assert!(found == Scanned::default() || found == scanned, "kernels differ");
            found = scanned;
        }
    }
    println!("{name}: {found:?}");
    println!("  kernel   threads   ns/row   (least)    GB/s   of memory   against one thread");
    let mut alone = f64::NAN;
    for ((kernel, threads), times) in variants.into_iter().zip(times) {
        let least = times.iter().copied().fold(f64::INFINITY, f64::min) / table.rows() as f64;
        let ns = median(times);
        alone = if threads == 1 { ns } else { alone };
        let rate = found.bytes as f64 / ns;
        let (share, speedup) = (100.0 * rate / bandwidths[threads - 1], alone / ns);
        let per_row = ns / table.rows() as f64;
        let kernel = kernel.name();
        println!("  {kernel:9} {threads:6}  {per_row:8.5}  {least:8.5}  {rate:6.1}  {share:6.0} %   {speedup:6.2}");
    }
    Ok(())
}

/// The third of three scans by threads that are there already, and what it took in ns.
fn turn(
    table: &ColumnTable,
    question: &Question,
    kernel: Kernel,
    threads: usize,
    clock: &Clock,
) -> Result<(Scanned, f64), StorageError> {
    let scan = Scan { kernel, zone_maps: ZoneMaps::Off, threads };
    table.with_crew(threads, |crew| {
        for _ in 0..2 {
            crew.scan(question, scan)?;
        }
        let start = clock.now();
        let scanned = black_box(crew.scan(question, scan)?);
        Ok((scanned, clock.now().since(start).as_seconds() * 1e9))
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
