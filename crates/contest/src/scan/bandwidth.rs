//! The column scan at a size that no cache holds, against the bandwidth of the memory.

use measure::Nanos;
use measure::quantity::three_digits;
use measure::schema::contest::{SCANNED, STREAMED};
use measure::statistics::median;
use subjects::access_paths::{AccessPath, Asked};
use sys::memory::{Pages, Stream};
use sys::time::Clock;

use crate::bars::{Bar, Judged, Wanted};
use crate::conductor::Conductor;
use crate::ledger::Ledger;
use crate::progress::progress;
use crate::scan::bars::{TWO_THREADS, TWO_THREADS_JUDGED};
use crate::scan::engine::{COLUMN_SCAN, SAMPLE_TIME, access_engine, sample, turn_to};
use crate::scan::question::in_words;
use crate::turn_order::order;

/// What is read in sequence to learn the bandwidth, as the ladder reads it: far beyond any cache.
const STREAM_BYTES: usize = 1 << 30;
/// How long it is read in each pair.
const STREAM_TIME: Nanos = Nanos(300_000_000);

/// The bandwidth of the memory: what a scan of columns beyond the caches has to reach, and from where on more threads
/// cannot be quicker.
const OF_BANDWIDTH: f64 = 0.7;

/// A scan's rate, in the memory's.
const IN_BANDWIDTH: Judged = Judged::ratio(Wanted::AtLeast(OF_BANDWIDTH), "slower");

/// Bytes of a MiB, and MiB/s in a GB/s.
const MEBIBYTE: f64 = 1_048_576.0;
const MEBIBYTES_OF_GB: f64 = 1e9 / MEBIBYTE;

/// The memory's name among the contenders.
const MEMORY: &str = "memory in sequence";

/// One number of threads and one question.
#[derive(Clone, Copy, Debug)]
struct Setting {
    asked: Asked,
    threads: usize,
    /// Whether a cache of the processor holds what is scanned: then the memory is no limit.
    is_cached: bool,
}

impl Setting {
    fn question(self) -> String {
        format!("{} of all rows, threads {}", self.asked.name(), self.threads)
    }

    /// What is compared, and how it is judged where the memory is no limit to two threads.
    fn bar(self, rows: u64) -> (String, Judged) {
        let compared = if self.threads == 1 {
            ("one thread in the memory's bandwidth", IN_BANDWIDTH)
        } else {
            ("two threads in one, by the clock", TWO_THREADS_JUDGED)
        };
        (format!("{}: {}", self.place(rows), compared.0), compared.1)
    }

    fn place(self, rows: u64) -> String {
        format!("column-scan of {rows} rows, {}", in_words(self.asked))
    }
}

/// Makes the columns of this many rows, compares pair by pair, and judges. Where that cannot be, as in too little
/// memory, its bars say so: what was measured before it took minutes.
pub(crate) fn compare(rows: u64, conductor: &mut Conductor) -> Result<(), String> {
    let setting = |(asked, threads)| Setting { asked, threads, is_cached: false };
    let mut settings =
        [(Asked::AllPass, 1), (Asked::HalfPass, 1), (Asked::AllPass, 2), (Asked::HalfPass, 2)].map(setting);
    let measured = take_turns(rows, &mut settings, conductor);
    conductor.interruption.check()?;
    let bars = settings.map(|setting| match &measured {
        Ok(()) => bar(setting, rows, &conductor.ledger),
        Err(reason) => {
            let (name, judged) = setting.bar(rows);
            Bar::new(name, judged, Err(reason.clone()))
        }
    });
    conductor.judge(bars);
    Ok(())
}

fn take_turns(rows: u64, settings: &mut [Setting], conductor: &mut Conductor) -> Result<(), String> {
    progress(&format!("making the columns of {rows} rows"));
    let clock = Clock::calibrate();
    let mut engine = access_engine(rows, &[AccessPath::ColumnScan], clock)?;
    let stream = Stream::new(STREAM_BYTES, Pages::Huge).map_err(|error| format!("no memory to read: {error}"))?;
    let cache = sys::host::describe().caches.iter().map(|cache| cache.bytes).max().unwrap_or(0) as f64;
    let interruption = conductor.interruption.clone();
    // In each pair the settings come one after the other, and in each of them both contenders.
    conductor.pairs("bandwidth", 1, |turn, ledger| {
        for setting in settings.iter_mut() {
            interruption.check()?;
            for contender in order(turn.pair, 2) {
                if contender == 0 {
                    turn_to(&mut engine, AccessPath::ColumnScan, setting.asked)?;
                    let scanned = sample(&mut engine, setting.threads, SAMPLE_TIME)?;
                    setting.is_cached = scanned.bytes() <= cache;
                    let rate = scanned.bytes_per_second() / MEBIBYTE;
                    ledger.add(&setting.question(), COLUMN_SCAN, &SCANNED, rate);
                } else {
                    let streamed = stream.measure(&clock, setting.threads, STREAM_TIME);
                    let streamed = streamed.map_err(|error| error.to_string())?;
                    let rate = median(&streamed.bytes_per_second).ok_or("the memory was not read")? / MEBIBYTE;
                    ledger.add(&setting.question(), MEMORY, &STREAMED, rate);
                }
            }
        }
        Ok(())
    })
}

/// One thread in the bandwidth, and two threads in one or in the bandwidth.
fn bar(setting: Setting, rows: u64, ledger: &Ledger) -> Bar {
    let (name, judged) = setting.bar(rows);
    let question = setting.question();
    let scans = ledger.samples(&question, COLUMN_SCAN, &SCANNED);
    let rate = median(scans).map_or("?".into(), |rate| three_digits(rate / MEBIBYTES_OF_GB));
    let shares = ledger.ratios(&question, (COLUMN_SCAN, &SCANNED), (MEMORY, &STREAMED));
    if setting.threads == 1 {
        return Bar::of_samples(name, judged, &shares, "no pair").from(format!("{rate} GB/s"));
    }
    let alone = Setting { threads: 1, ..setting }.question();
    let alone = ledger.samples(&alone, COLUMN_SCAN, &SCANNED);
    let gains: Vec<f64> = scans.iter().zip(alone).map(|(two, one)| two / one).collect();
    let gain = median(&gains).unwrap_or(f64::NAN);
    let is_bound = !setting.is_cached && median(&shares).is_some_and(|share| share >= OF_BANDWIDTH);
    if gain < TWO_THREADS && is_bound {
        let gain = three_digits(gain);
        let limit = format!("{rate} GB/s; two threads are {gain} times one, and the memory is the limit");
        let name = format!("{}: two threads in the memory's bandwidth", setting.place(rows));
        return Bar::of_samples(name, IN_BANDWIDTH, &shares, "no pair").from(limit);
    }
    Bar::of_samples(name, judged, &gains, "no pair")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::Outcome;

    /// The bar of two threads, where one and two scanned and streamed at these rates.
    fn bar_of(one: (f64, f64), two: (f64, f64), is_cached: bool) -> Bar {
        let mut ledger = Ledger::default();
        let setting = |threads| Setting { asked: Asked::AllPass, threads, is_cached };
        for (setting, (scan, stream)) in [(setting(1), one), (setting(2), two)] {
            ledger.add(&setting.question(), COLUMN_SCAN, &SCANNED, scan);
            ledger.add(&setting.question(), MEMORY, &STREAMED, stream);
        }
        bar(setting(2), 7, &ledger)
    }

    #[test]
    fn a_size_that_cannot_be_leaves_its_bars_unjudged_and_what_was_measured_is_kept() {
        let mut conductor = Conductor::begin("scan", 1, "scans".into()).unwrap();
        conductor.ledger.add("before", COLUMN_SCAN, &SCANNED, 1.0);
        compare(u64::MAX, &mut conductor).unwrap();
        let run = conductor.finish();
        let sentences: Vec<&str> = run.findings.iter().map(|finding| finding.message.as_str()).collect();
        let unjudged = sentences.iter().filter(|sentence| sentence.contains(": not judged, ")).count();
        assert_eq!((unjudged, SCANNED.median(&run.cases[0])), (4, Some(1.0)), "{sentences:?}");
    }

    #[test]
    fn two_threads_at_the_memorys_limit_are_excused_and_others_are_too_slow() {
        let bound = bar_of((30.0, 32.0), (33.0, 35.0), false);
        assert!(bound.outcome() == Outcome::Met && bound.sentence().contains("the memory is the limit"));
        assert!(matches!(bar_of((60.0, 32.0), (66.0, 35.0), true).outcome(), Outcome::Missed(_)));
        let free = bar_of((10.0, 32.0), (12.0, 60.0), false);
        assert!(
            matches!(free.outcome(), Outcome::Missed(_)) && free.name.ends_with("two threads in one, by the clock")
        );
    }
}
