//! What is wanted of the joins, and what the pairs say.

use crate::bars::{Bar, Wanted};
use crate::join::device::FIO;
use crate::join::engine::{METHODS, cached, elapsed, rate, sync};
use crate::join::ledger::Ledger;
use crate::join::postgres::{BITMAP, NESTED_LOOP, NESTED_LOOP_CACHED};
use measure::Unit;

/// Blocks of the table per second in those of fio's best depth.
const RATES: [(&str, Wanted); 3] =
    [("batched-rowid", Wanted::AtLeast(0.95)), ("batch", Wanted::AtLeast(0.85)), ("prefetch", Wanted::AtLeast(0.85))];
/// Reads one after the other: gathering gains nothing.
const SYNC: Wanted = Wanted::Between(0.9, 1.1);
/// Processor time of a look-up in PostgreSQL's.
const CPU: [(&str, f64); 3] = [("one-at-a-time", 1.0 / 3.0), ("prefetch", 1.0 / 6.0), ("batch", 1.0 / 6.0)];
/// Elapsed time in that of PostgreSQL's nested loop, and of its best bitmap scan.
const OF_NESTED_LOOP: Wanted = Wanted::AtMost(0.25);
const OF_BITMAP: Wanted = Wanted::AtMost(1.0);

/// All bars.
pub(crate) fn bars(ledger: &Ledger) -> Vec<Bar> {
    let mut bars = Vec::new();
    let best = ledger.best(FIO, |one, best| one > best);
    for (method, wanted) in RATES {
        bars.push(Bar {
            name: format!("{method}: blocks per second in those of `{}`", best.unwrap_or(FIO)),
            wanted,
            word: "slower",
            unit: Unit::Ratio,
            measured: ledger.ratio(&rate(method), best.unwrap_or(FIO)),
        });
    }
    for (method, _) in METHODS.iter().skip(1) {
        bars.push(Bar {
            name: format!("{method}: elapsed in one-at-a-time's, reads one after the other"),
            wanted: SYNC,
            word: "off",
            unit: Unit::Ratio,
            measured: ledger.ratio(&sync(method), &sync("one-at-a-time")),
        });
    }
    for (method, most) in CPU {
        bars.push(Bar {
            name: format!("{method}: processor time of a cached look-up in PostgreSQL's nested loop"),
            wanted: Wanted::AtMost(most),
            word: "dearer",
            unit: Unit::Ratio,
            measured: ledger.ratio(&cached(method), NESTED_LOOP_CACHED),
        });
    }
    bars.extend(of_elapsed(ledger));
    bars
}

fn of_elapsed(ledger: &Ledger) -> Vec<Bar> {
    let best = ledger.best(BITMAP, |one, best| one < best).unwrap_or(BITMAP);
    let bar = |method: &str, peer: &str, wanted| Bar {
        name: format!("{method}: elapsed in that of `{peer}`"),
        wanted,
        word: "slower",
        unit: Unit::Ratio,
        measured: ledger.ratio(&elapsed(method), peer),
    };
    let gathered = || METHODS.iter().skip(1).map(|(method, _)| *method);
    let of_nested_loop = gathered().map(|method| bar(method, NESTED_LOOP, OF_NESTED_LOOP));
    of_nested_loop.chain(gathered().map(|method| bar(method, best, OF_BITMAP))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::Verdict;

    #[test]
    fn the_best_depth_and_the_best_bitmap_scan_are_the_peers() {
        let mut ledger = Ledger::default();
        for (name, sample) in [("fio io_uring, depth 16", 50.0), ("fio io_uring, depth 64", 100.0)] {
            ledger.add(name, Unit::PerSecond, sample);
        }
        ledger.add(&rate("batched-rowid"), Unit::PerSecond, 94.0);
        ledger.add(&elapsed("batch"), Unit::Milliseconds, 20.0);
        ledger.add(NESTED_LOOP, Unit::Milliseconds, 90.0);
        ledger.add("PostgreSQL bitmap scan, cold, concurrency 0", Unit::Milliseconds, 80.0);
        ledger.add("PostgreSQL bitmap scan, cold, concurrency 64", Unit::Milliseconds, 21.0);
        let bars = bars(&ledger);
        let find = |beginning: &str, peer: &str| {
            bars.iter().find(|bar| bar.name.starts_with(beginning) && bar.name.contains(peer)).unwrap()
        };
        assert!(matches!(find("batched-rowid: blocks", "depth 64").verdict(), Verdict::Missed(_)));
        assert_eq!(find("batch: elapsed", "nested loop").verdict(), Verdict::Met);
        assert_eq!(find("batch: elapsed", "concurrency 64").verdict(), Verdict::Met);
        assert_eq!(find("prefetch: elapsed", "concurrency 64").verdict(), Verdict::Unanswered);
    }
}
