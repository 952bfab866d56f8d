//! The column scan at a size that no cache holds, beside the bandwidth of the memory.

use measure::statistics::median;
use measure::{Nanos, Unit};
use subjects::access_paths::{AccessPath, Asked};
use sys::memory::{Pages, Stream};
use sys::time::Clock;

use crate::document::{Document, samples};
use crate::interruption::Interruption;
use crate::report::progress;
use crate::scan::engine::{SAMPLE_TIME, access_engine, sample, turn_to};
use crate::turn_order::order;

/// What is read in sequence to learn the bandwidth, as the ladder reads it: far beyond any cache.
const STREAM_BYTES: usize = 1 << 30;
/// How long it is read in each pair.
const STREAM_TIME: Nanos = Nanos(300_000_000);

/// One number of threads and one question in all pairs, in bytes a second.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    /// What was asked.
    pub(crate) asked: Asked,
    /// How many scanned.
    pub(crate) threads: usize,
    /// Bytes that one scan reads.
    pub(crate) bytes: f64,
    /// Whether a cache of the processor holds them: then the memory is no limit.
    pub(crate) is_cached: bool,
    /// The scan, and as many threads that read in sequence, pair by pair.
    pub(crate) pairs: Vec<(f64, f64)>,
}

impl Comparison {
    /// The scan in the bandwidth.
    pub(crate) fn shares(&self) -> Vec<f64> {
        self.pairs.iter().map(|(scan, stream)| scan / stream).collect()
    }

    /// A case with both rates.
    pub(crate) fn write_to(&self, document: &mut Document) {
        let rate = |name, figure: fn(&(f64, f64)) -> f64| {
            samples(name, Unit::MebibytesPerSecond, self.pairs.iter().map(|pair| figure(pair) / 1_048_576.0))
        };
        let parameters = [("question", self.asked.name().into()), ("threads", self.threads.into())];
        document.case(parameters, vec![rate("scanned", |pair| pair.0), rate("streamed", |pair| pair.1)]);
    }

    /// Bytes a second of the scans.
    pub(crate) fn scans(&self) -> Vec<f64> {
        self.pairs.iter().map(|(scan, _)| *scan).collect()
    }
}

/// Makes the columns of so many rows and compares, pair by pair.
pub(crate) fn compare(rows: u64, pairs: u64, interruption: &Interruption) -> Result<Vec<Comparison>, String> {
    progress(&format!("making the columns of {rows} rows"));
    let clock = Clock::calibrate();
    let mut engine = access_engine(rows, &[AccessPath::ColumnScan], clock)?;
    let stream = Stream::new(STREAM_BYTES, Pages::Huge).map_err(|error| format!("no memory to read: {error}"))?;
    let cases = [(Asked::AllPass, 1), (Asked::HalfPass, 1), (Asked::AllPass, 2), (Asked::HalfPass, 2)];
    let none = |(asked, threads)| Comparison { asked, threads, bytes: 0.0, is_cached: false, pairs: Vec::new() };
    let cache = sys::host::describe().caches.iter().map(|cache| cache.bytes).max().unwrap_or(0) as f64;
    let mut found = cases.map(none);
    for index in 0..pairs {
        progress(&format!("bandwidth: pair {} of {pairs}", index + 1));
        for case in &mut found {
            interruption.check()?;
            let (mut scanned, mut streamed) = (None, None);
            for contender in order(index, 2) {
                if contender == 0 {
                    turn_to(&mut engine, AccessPath::ColumnScan, case.asked)?;
                    scanned = Some(sample(&mut engine, case.threads, SAMPLE_TIME)?);
                } else {
                    streamed = median(&stream.measure(&clock, case.threads, STREAM_TIME).bytes_per_second);
                }
            }
            let (Some(scanned), Some(streamed)) = (scanned, streamed) else { return Err("nobody read".into()) };
            case.bytes = scanned.bytes();
            case.is_cached = case.bytes <= cache;
            case.pairs.push((scanned.bytes_per_second(), streamed));
        }
    }
    Ok(found.to_vec())
}
