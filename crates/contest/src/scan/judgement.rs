//! What is wanted of the scans, and what the pairs say.

use measure::statistics::median;
use measure::{Statistics, Unit};
use subjects::access_paths::{AccessPath, Asked};

use crate::bars::{Bar, Wanted, figure};
use crate::scan::bandwidth::Comparison;
use crate::scan::engine::{BY_CLOCK, COLUMN_COUNT, COLUMN_SCAN, row_path_name};
use crate::scan::ledger::{Ledger, QUESTIONS};
use crate::scan::postgres;

/// The libraries, as the names of the contenders begin.
const LIBRARIES: [&str; 4] = ["DuckDB", "Polars", "Arrow", "NumPy"];

/// Times as fast as the quickest library.
const COLUMN_SCAN_SPEED: Wanted = Wanted::AtLeast(2.0);
/// The time of a count without a predicate, in Polars'.
const COLUMN_COUNT_TIME: Wanted = Wanted::AtMost(1.0);
/// A row's time in PostgreSQL's.
const ROW_TIMES: [(AccessPath, Wanted); 3] = [
    (AccessPath::FullScan, Wanted::AtMost(0.2)),
    (AccessPath::IndexGoodClustering, Wanted::AtMost(0.2)),
    (AccessPath::IndexBadClustering, Wanted::AtMost(0.25)),
];
/// Two threads in one.
const TWO_THREADS: f64 = 1.8;
/// The bandwidth of the memory: what a scan of columns beyond the caches has to reach, and from where on more threads
/// cannot be quicker.
const OF_BANDWIDTH: f64 = 0.7;
/// MB/s of rows that become columns, on one thread.
const BUILDING: Wanted = Wanted::AtLeast(150.0);
/// Instructions a row with a predicate, and without.
const INSTRUCTIONS: [Wanted; 2] = [Wanted::AtMost(1.0), Wanted::AtMost(0.1)];

/// The question's name on the page.
pub(crate) fn in_words(asked: Asked) -> &'static str {
    QUESTIONS.iter().find(|(known, _)| *known == asked).map_or("", |(_, words)| words)
}

/// The bars of what stands in the ledger.
pub(crate) fn of_ledger(ledger: &Ledger) -> Vec<Bar> {
    let mut bars: Vec<Bar> = [Asked::AllPass, Asked::HalfPass].map(|asked| column_scan(ledger, asked)).into();
    bars.push(column_count(ledger));
    for (path, wanted) in ROW_TIMES {
        let measured = ratios(ledger, (&row_path_name(path), &postgres::name(path)), Asked::AllPass)
            .ok_or_else(|| "PostgreSQL was not measured".into());
        let name = format!("{}: a row in PostgreSQL's time", path.name());
        bars.push(Bar { name, wanted, word: "dearer", unit: Unit::Ratio, measured });
    }
    bars.extend([Asked::AllPass, Asked::HalfPass].map(|asked| two_threads(ledger, asked)));
    bars
}

fn column_scan(ledger: &Ledger, asked: Asked) -> Bar {
    let quickest = ledger.quickest(&LIBRARIES, asked);
    let peer = quickest.map_or("the quickest library".into(), |name| format!("`{name}`"));
    let measured = quickest.and_then(|name| ratios(ledger, (name, COLUMN_SCAN), asked));
    Bar {
        name: format!("column-scan, {}: times as fast as {peer}", in_words(asked)),
        wanted: COLUMN_SCAN_SPEED,
        word: "slower",
        unit: Unit::Ratio,
        measured: measured.ok_or_else(|| "no library was measured".into()),
    }
}

fn column_count(ledger: &Ledger) -> Bar {
    let quickest = ledger.quickest(&["Polars"], Asked::NoPredicate);
    let peer = quickest.map_or("Polars".into(), |name| format!("`{name}`"));
    let measured = quickest.and_then(|name| ratios(ledger, (COLUMN_COUNT, name), Asked::NoPredicate));
    Bar {
        name: format!("column-count: a row in the time of {peer}"),
        wanted: COLUMN_COUNT_TIME,
        word: "dearer",
        unit: Unit::Ratio,
        measured: measured.ok_or_else(|| "Polars was not measured".into()),
    }
}

fn two_threads(ledger: &Ledger, asked: Asked) -> Bar {
    Bar {
        name: format!("column-scan, {}: two threads in one, by the clock", in_words(asked)),
        wanted: Wanted::AtLeast(TWO_THREADS),
        word: "slower",
        unit: Unit::Ratio,
        measured: ratios(ledger, (BY_CLOCK[0], BY_CLOCK[1]), asked).ok_or_else(|| "no pair".into()),
    }
}

/// The first contender's time in the second's, pair by pair.
fn ratios(ledger: &Ledger, (first, second): (&str, &str), asked: Asked) -> Option<Statistics> {
    let (first, second) = (ledger.samples(first, asked), ledger.samples(second, asked));
    Statistics::of_samples(&first.iter().zip(second).map(|(first, second)| first / second).collect::<Vec<f64>>())
}

/// How fast rows became columns in each pair.
pub(crate) fn of_building(megabytes_per_second: &[f64]) -> Bar {
    Bar {
        name: "columns from rows: MB/s on one thread".into(),
        wanted: BUILDING,
        word: "slower",
        unit: Unit::Count,
        measured: Statistics::of_samples(megabytes_per_second).ok_or_else(|| "no pair".into()),
    }
}

/// Instructions a row of one question.
pub(crate) fn of_instructions(asked: Asked, per_row: Result<f64, String>) -> Bar {
    let (path, wanted) =
        if asked == Asked::NoPredicate { ("column-count", INSTRUCTIONS[1]) } else { ("column-scan", INSTRUCTIONS[0]) };
    Bar {
        name: format!("{path}, {}: instructions a row", in_words(asked)),
        wanted,
        word: "dearer",
        unit: Unit::Count,
        measured: per_row.map(Statistics::single),
    }
}

/// The scans beyond the caches: one thread in the bandwidth, and two threads in one or in the bandwidth.
pub(crate) fn of_bandwidth(found: &[Comparison], rows: u64) -> Vec<Bar> {
    found.iter().map(|case| bandwidth(case, found, rows)).collect()
}

fn bandwidth(case: &Comparison, found: &[Comparison], rows: u64) -> Bar {
    let place = format!("column-scan of {rows} rows, {}", in_words(case.asked));
    let rate = median(&case.scans()).map_or("?".into(), |rate| figure(rate / 1e9));
    let of_shares = |name: String, word| Bar {
        name,
        wanted: Wanted::AtLeast(OF_BANDWIDTH),
        word,
        unit: Unit::Ratio,
        measured: Statistics::of_samples(&case.shares()).ok_or_else(|| "no pair".into()),
    };
    if case.threads == 1 {
        return of_shares(format!("{place}: {rate} GB/s in the memory's bandwidth"), "slower");
    }
    let alone = found.iter().find(|other| other.asked == case.asked && other.threads == 1);
    let gains: Vec<f64> =
        alone.map_or(Vec::new(), |alone| case.scans().iter().zip(alone.scans()).map(|(two, one)| two / one).collect());
    let gain = median(&gains).unwrap_or(f64::NAN);
    let is_bound = !case.is_cached && median(&case.shares()).is_some_and(|share| share >= OF_BANDWIDTH);
    if gain < TWO_THREADS && is_bound {
        let gain = figure(gain);
        return of_shares(
            format!("{place}: two threads are {gain} times one; the memory is the limit, {rate} GB/s in its bandwidth"),
            "slower",
        );
    }
    Bar {
        name: format!("{place}: two threads in one, by the clock"),
        wanted: Wanted::AtLeast(TWO_THREADS),
        word: "slower",
        unit: Unit::Ratio,
        measured: Statistics::of_samples(&gains).ok_or_else(|| "no pair".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::Verdict;
    use crate::scan::ledger::Reading;

    fn ledger(times: &[(&str, f64)]) -> Ledger {
        let mut ledger = Ledger::default();
        for (contender, row_ns) in times {
            let reading = Reading { contender: (*contender).into(), asked: Asked::AllPass, row_ns: *row_ns, count: 1 };
            ledger.add(reading).unwrap();
        }
        ledger
    }

    fn case(threads: usize, pairs: &[(f64, f64)]) -> Comparison {
        Comparison { asked: Asked::AllPass, threads, bytes: 1.0, is_cached: false, pairs: pairs.to_vec() }
    }

    #[test]
    fn the_scan_is_held_against_the_quickest_library() {
        let bar = column_scan(&ledger(&[(COLUMN_SCAN, 0.1), ("NumPy", 0.15), ("DuckDB", 1.0)]), Asked::AllPass);
        assert!(bar.name.ends_with("`NumPy`") && matches!(bar.verdict(), Verdict::Missed(_)), "{}", bar.sentence());
        let bar = column_scan(&ledger(&[(COLUMN_SCAN, 0.1)]), Asked::AllPass);
        assert_eq!(bar.verdict(), Verdict::Unanswered);
    }

    #[test]
    fn two_threads_at_the_memorys_limit_are_told_so_and_others_are_too_slow() {
        let bound = [case(1, &[(30.0, 32.0)]), case(2, &[(33.0, 35.0)])];
        let bar = &of_bandwidth(&bound, 7)[1];
        assert!(bar.verdict() == Verdict::Met && bar.name.contains("the memory is the limit"), "{}", bar.sentence());
        let cached = [case(1, &[(60.0, 32.0)]), Comparison { is_cached: true, ..case(2, &[(66.0, 35.0)]) }];
        assert!(matches!(of_bandwidth(&cached, 7)[1].verdict(), Verdict::Missed(_)));
        let free = [case(1, &[(10.0, 32.0)]), case(2, &[(12.0, 60.0)])];
        let bars = of_bandwidth(&free, 7);
        assert!(bars.iter().all(|bar| matches!(bar.verdict(), Verdict::Missed(_))));
        assert!(bars[1].name.ends_with("two threads in one, by the clock"));
    }
}
