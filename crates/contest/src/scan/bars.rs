//! What is wanted of the scans, and what the pairs say.

use measure::Statistics;
use measure::schema::contest::{BUILT, ROW_TIME};
use subjects::access_paths::{AccessPath, Asked};

use crate::bars::{Bar, Judged, Wanted};
use crate::ledger::{Best, Ledger};
use crate::scan::columns::COLUMNS_FROM_ROWS;
use crate::scan::engine::{BY_CLOCK, COLUMN_COUNT, COLUMN_SCAN, row_path_name};
use crate::scan::postgres;
use crate::scan::question::in_words;

/// The libraries, as the names of the contenders begin.
const LIBRARIES: [&str; 4] = ["DuckDB", "Polars", "Arrow", "NumPy"];

/// Times as fast as the quickest library.
const COLUMN_SCAN_SPEED: Judged = Judged::ratio(Wanted::AtLeast(2.0), "slower");
/// The time of a count without a predicate, in Polars'.
const COLUMN_COUNT_TIME: Judged = Judged::ratio(Wanted::AtMost(1.0), "dearer");
/// A row's time in PostgreSQL's.
const ROW_TIMES: [(AccessPath, f64); 3] =
    [(AccessPath::FullScan, 0.2), (AccessPath::IndexGoodClustering, 0.2), (AccessPath::IndexBadClustering, 0.25)];
/// Two threads in one. More than twice, and what the clock may be off, is no speed but a mistake.
pub(crate) const TWO_THREADS: f64 = 1.8;
pub(crate) const TWO_THREADS_JUDGED: Judged = Judged::ratio(Wanted::Between(TWO_THREADS, 2.1), "out of range");
/// MB/s of rows that become columns, on one thread.
const BUILDING: Judged = Judged::figure(Wanted::AtLeast(150.0), "slower");
/// Instructions a row with a predicate, and without.
const INSTRUCTIONS: [Judged; 2] =
    [Judged::figure(Wanted::AtMost(1.0), "dearer"), Judged::figure(Wanted::AtMost(0.1), "dearer")];

/// MB in a MiB.
const MEGABYTES_OF_MIB: f64 = 1.048_576;

/// The bars of what stands in the ledger.
pub(crate) fn of_ledger(ledger: &Ledger) -> Vec<Bar> {
    let mut bars: Vec<Bar> = [Asked::AllPass, Asked::HalfPass].map(|asked| column_scan(ledger, asked)).into();
    bars.push(column_count(ledger));
    for (path, most) in ROW_TIMES {
        let samples = ratios(ledger, &row_path_name(path), &postgres::name(path), Asked::AllPass);
        let judged = Judged::ratio(Wanted::AtMost(most), "dearer");
        let name = format!("{}: a row in PostgreSQL's time", path.name());
        bars.push(Bar::of_samples(name, judged, &samples, "PostgreSQL was not measured"));
    }
    bars.extend([Asked::AllPass, Asked::HalfPass].map(|asked| two_threads(ledger, asked)));
    bars.push(building(ledger));
    bars
}

fn column_scan(ledger: &Ledger, asked: Asked) -> Bar {
    let mut best = ledger.against_best(asked.name(), COLUMN_SCAN, &ROW_TIME, &LIBRARIES, Best::Least);
    // What is wanted is a speed, the inverse of a time.
    best.ratios.iter_mut().for_each(|ratio| *ratio = 1.0 / *ratio);
    let name = format!("column-scan, {}: times as fast as the quickest library", in_words(asked));
    Bar::against_best(name, COLUMN_SCAN_SPEED, &best, "a library")
}

fn column_count(ledger: &Ledger) -> Bar {
    let best = ledger.against_best(Asked::NoPredicate.name(), COLUMN_COUNT, &ROW_TIME, &["Polars"], Best::Least);
    Bar::against_best("column-count: a row in the time of Polars", COLUMN_COUNT_TIME, &best, "Polars")
}

fn two_threads(ledger: &Ledger, asked: Asked) -> Bar {
    let name = format!("column-scan, {}: two threads in one, by the clock", in_words(asked));
    Bar::of_samples(name, TWO_THREADS_JUDGED, &ratios(ledger, BY_CLOCK[0], BY_CLOCK[1], asked), "no pair")
}

/// The first contender's time in the second's, pair by pair.
fn ratios(ledger: &Ledger, first: &str, second: &str, asked: Asked) -> Vec<f64> {
    ledger.ratios(asked.name(), (first, &ROW_TIME), (second, &ROW_TIME))
}

/// How fast rows became columns in each pair.
fn building(ledger: &Ledger) -> Bar {
    let rates = ledger.samples(COLUMNS_FROM_ROWS, "readpath", &BUILT);
    let megabytes: Vec<f64> = rates.iter().map(|rate| rate * MEGABYTES_OF_MIB).collect();
    Bar::of_samples("columns from rows: MB/s on one thread", BUILDING, &megabytes, "no pair").from("one rate a pair")
}

/// Instructions a row of one question.
pub(crate) fn of_instructions(asked: Asked, per_row: Result<f64, String>) -> Bar {
    let (path, judged) =
        if asked == Asked::NoPredicate { ("column-count", INSTRUCTIONS[1]) } else { ("column-scan", INSTRUCTIONS[0]) };
    let name = format!("{path}, {}: instructions a row", in_words(asked));
    Bar::new(name, judged, per_row.map(Statistics::single)).from("valgrind")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::Outcome;

    #[test]
    fn two_threads_that_are_more_than_twice_as_fast_are_a_mistake() {
        let outcome = |ratio: f64| {
            let (mut ledger, asked) = (Ledger::default(), Asked::AllPass);
            ledger.add(asked.name(), BY_CLOCK[0], &ROW_TIME, ratio);
            ledger.add(asked.name(), BY_CLOCK[1], &ROW_TIME, 1.0);
            two_threads(&ledger, asked).outcome()
        };
        assert_eq!((outcome(1.8), outcome(2.0)), (Outcome::Met, Outcome::Met));
        assert!(matches!((outcome(1.7), outcome(2.37)), (Outcome::Missed(_), Outcome::Missed(_))));
    }

    #[test]
    fn the_scan_is_held_against_the_quickest_library() {
        let mut ledger = Ledger::default();
        let asked = Asked::AllPass;
        ledger.add(asked.name(), COLUMN_SCAN, &ROW_TIME, 0.1);
        assert_eq!(column_scan(&ledger, asked).outcome(), Outcome::NotJudged);
        ledger.add(asked.name(), "NumPy", &ROW_TIME, 0.15);
        ledger.add(asked.name(), "DuckDB", &ROW_TIME, 1.0);
        let bar = column_scan(&ledger, asked);
        assert!(
            bar.sentence().contains("`NumPy`") && matches!(bar.outcome(), Outcome::Missed(_)),
            "{}",
            bar.sentence()
        );
    }
}
