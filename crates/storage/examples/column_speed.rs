//! What a scan of columns in memory costs, beside the memory's own bandwidth in the same process.
//!
//! `cargo run --release -p storage --example column_speed [-- ROWS [KERNEL [QUESTION]]]`: three columns of ROWS rows
//! (7 million) as of a table of customers: a dense number, a year of birth (80 of them, in random order) and a flag
//! that may be null. Zone maps are off: every code is read. Each kernel and number of threads has its turn in each
//! round, the memory's bandwidth too; printed are medians and the least, because others on the machine can only add.
//! One thread is timed by its processor time, two by the clock: beside other work, compare the kernels on one thread.
//! With KERNEL, each question (or number QUESTION, from 0) is only asked three times on one thread, for a program that
//! counts instructions.
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
use sys::account::thread_cpu;
use sys::bandwidth::Stream;
use sys::clock::Clock;
use sys::region::{Pages, Region};

/// Turns of every variant.
const ROUNDS: usize = 11;

/// What is streamed to learn the memory's bandwidth: far beyond any cache.
const STREAM_BYTES: usize = 1 << 30;

fn main() -> Result<(), StorageError> {
    let rows = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(7_000_000);
    let kernel = std::env::args().nth(2).and_then(|name| Kernel::named(&name));
    let clock = Clock::calibrate();
    let start = thread_cpu();
    let (table, row_bytes) = build(rows)?;
    let built = thread_cpu().since(start).as_seconds();
    let [id, year, count] = questions();
    if let Some(kernel) = kernel {
        let number = std::env::args().nth(3).and_then(|text| text.parse().ok());
        let asked = (0..).zip([id, year, count]).filter(|(at, _)| number.is_none_or(|number: u8| number == *at));
        return asked.map(|(_, question)| question).try_for_each(|question| repeat(&table, &question, kernel));
    }
    println!(
        "{rows} rows built at {:.0} MB/s of row bytes and CPU time, {} bytes",
        row_bytes as f64 / built / 1e6,
        table.bytes()
    );
    for column in table.summary() {
        let ratio = column.compression_ratio().unwrap_or(f64::NAN);
        let encodings: Vec<String> =
            column.encodings.iter().map(|share| format!("{} x {share}", share.units)).collect();
        println!("{:20} {:10} bytes, ratio {ratio:5.2}: {}", column.name, column.bytes, encodings.join(", "));
    }
    let memory = Region::new(STREAM_BYTES, Pages::Huge).expect("memory to be summed");
    let stream = Stream::new(STREAM_BYTES, Pages::Huge).expect("memory to be streamed");
    let memory = Memory { memory, stream };
    let questions = [("id > 0", &id), ("year > 1950", &year), ("no predicate", &count)];
    questions.into_iter().try_for_each(|(name, question)| compare(&table, name, question, &clock, &memory))
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
        column("cust_id", ValueType::Number),
        column("cust_year_of_birth", ValueType::Number),
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

/// Every kernel with one thread and with two, in turn, and the memory's bandwidth among them.
fn compare(
    table: &ColumnTable,
    name: &str,
    question: &Question,
    clock: &Clock,
    memory: &Memory,
) -> Result<(), StorageError> {
    let kernels: Vec<Kernel> = Kernel::ALL.into_iter().filter(|kernel| kernel.is_available()).collect();
    let variants: Vec<(Kernel, usize)> = kernels.iter().flat_map(|kernel| [(*kernel, 1), (*kernel, 2)]).collect();
    let mut times = vec![Vec::new(); variants.len()];
    let mut bandwidths = [Vec::new(), Vec::new()];
    let mut found = Scanned::default();
    for _ in 0..ROUNDS {
        bandwidths[0].push(memory.alone());
        bandwidths[1].extend(memory.by_two(clock));
        for ((kernel, threads), times) in variants.iter().zip(&mut times) {
            let (scanned, ns) = turn(table, question, *kernel, *threads, clock)?;
            times.push(ns);
            assert!(found == Scanned::default() || found == scanned, "kernels differ");
            found = scanned;
        }
    }
    println!("{name}: {found:?}");
    let bandwidths = bandwidths.map(Middle::of);
    for (threads, bandwidth) in (1..).zip(&bandwidths) {
        println!("  memory, {threads}: {:.1} GB/s, at best {:.1}", 1.0 / bandwidth.median, 1.0 / bandwidth.least);
    }
    println!("  kernel   threads   ns/row   (least)    GB/s   of memory  (best of each)   against one thread");
    let mut alone = f64::NAN;
    for ((kernel, threads), times) in variants.into_iter().zip(times) {
        let (kernel, ns, memory) = (kernel.name(), Middle::of(times), bandwidths[threads - 1]);
        alone = if threads == 1 { ns.median } else { alone };
        let bytes = found.bytes as f64;
        let (median, least) = (ns.median / table.rows() as f64, ns.least / table.rows() as f64);
        let shares = [memory.median / ns.median, memory.least / ns.least].map(|ratio| 100.0 * ratio * bytes);
        print!("  {kernel:9} {threads:6}  {median:8.5}  {least:8.5}  {:6.1}", bytes / ns.median);
        println!("  {:6.0} %  {:6.0} %   {:6.2}", shares[0], shares[1], alone / ns.median);
    }
    Ok(())
}

/// The middle and the least of some times.
#[derive(Clone, Copy)]
struct Middle {
    median: f64,
    least: f64,
}

impl Middle {
    fn of(mut values: Vec<f64>) -> Middle {
        values.sort_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
        Middle { median: at(values.len() / 2), least: at(0) }
    }
}

/// Memory that is read in sequence.
struct Memory {
    memory: Region,
    stream: Stream,
}

impl Memory {
    /// Nanoseconds of processor time in which one thread sums a byte.
    fn alone(&self) -> f64 {
        let (words, _) = self.memory.bytes().as_chunks::<8>();
        let start = thread_cpu();
        black_box(words.iter().fold(0, |sum: u64, word| sum.wrapping_add(u64::from_ne_bytes(*word))));
        thread_cpu().since(start).as_seconds() * 1e9 / self.memory.len() as f64
    }

    /// Nanoseconds in which two threads sum a byte, each time.
    fn by_two(&self, clock: &Clock) -> Vec<f64> {
        let rates = self.stream.measure(clock, 2, Nanos::ZERO).bytes_per_second;
        rates.into_iter().map(|rate| 1e9 / rate).collect()
    }
}

/// The third of three scans by threads that are there already, and what it took in ns: one thread's own time, or of
/// several by the clock.
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
        let (start, start_cpu) = (clock.now(), thread_cpu());
        let scanned = black_box(crew.scan(question, scan)?);
        let time = if threads == 1 { thread_cpu().since(start_cpu) } else { clock.now().since(start) };
        Ok((scanned, time.as_seconds() * 1e9))
    })
}
