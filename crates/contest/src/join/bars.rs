//! What is wanted of the joins, and what the pairs say.

use measure::schema::contest::{BLOCKS_PER_SECOND, CPU_PER_ROW, JOIN_TIME};

use crate::bars::{Bar, Judged, Wanted};
use crate::join::device::FIO;
use crate::join::engine::{METHODS, name};
use crate::join::postgres::{BITMAP, NESTED_LOOP};
use crate::join::question::{CACHED, COLD, ONE_BY_ONE, READS};
use crate::ledger::{Best, Ledger};

/// Blocks of the table per second in those of fio's best depth.
const RATES: [(&str, f64); 3] = [("batched-rowid", 0.95), ("batch", 0.85), ("prefetch", 0.85)];
/// Reads one after the other: gathering gains nothing.
const SYNC: Judged = Judged::ratio(Wanted::Between(0.9, 1.1), "off");
/// CPU time of a look-up in that of the best server.
const CPU: [(&str, f64); 3] = [("one-at-a-time", 1.0 / 3.0), ("prefetch", 1.0 / 6.0), ("batch", 1.0 / 6.0)];
/// Elapsed time in that of the best of all servers' nested loops, and of all their bitmap scans.
const OF_NESTED_LOOP: Judged = Judged::ratio(Wanted::AtMost(0.25), "slower");
const OF_BITMAP: Judged = Judged::ratio(Wanted::AtMost(1.0), "slower");

/// All bars.
pub(crate) fn all(ledger: &Ledger) -> Vec<Bar> {
    let rate = |(method, least)| {
        let judged = Judged::ratio(Wanted::AtLeast(least), "slower");
        let best = ledger.against_best(READS, &name(method), &BLOCKS_PER_SECOND, &[FIO], Best::Most);
        Bar::against_best(format!("{method}: blocks per second in those of fio"), judged, &best, "fio")
    };
    let gathered = || METHODS.iter().skip(1).map(|(method, _)| *method);
    let sync = |method| {
        let measured = ledger.ratio(ONE_BY_ONE, &name(method), &name(METHODS[0].0), &JOIN_TIME);
        Bar::new(format!("{method}: elapsed in one-at-a-time's, reads one after the other"), SYNC, measured)
    };
    let cpu = |(method, most)| {
        let best = ledger.against_best(CACHED, &name(method), &CPU_PER_ROW, &[NESTED_LOOP], Best::Least);
        let what = format!("{method}: CPU time of a cached look-up in PostgreSQL's nested loop");
        Bar::against_best(what, Judged::ratio(Wanted::AtMost(most), "dearer"), &best, "PostgreSQL")
    };
    let elapsed = |method, judged, peer, words| {
        let best = ledger.against_best(COLD, &name(method), &JOIN_TIME, &[peer], Best::Least);
        let what = format!("{method}: elapsed in that of PostgreSQL's {words}");
        Bar::against_best(what, judged, &best, "PostgreSQL")
    };
    let mut bars: Vec<Bar> = RATES.map(rate).into();
    bars.extend(gathered().map(sync));
    bars.extend(CPU.map(cpu));
    bars.extend(gathered().map(|method| elapsed(method, OF_NESTED_LOOP, NESTED_LOOP, "nested loop")));
    bars.extend(gathered().map(|method| elapsed(method, OF_BITMAP, BITMAP, "best bitmap scan")));
    bars
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::Outcome;

    #[test]
    fn the_best_depth_and_the_best_of_all_servers_are_the_peers() {
        let mut ledger = Ledger::default();
        for (name, sample) in [("fio io_uring, depth 16", 50.0), ("fio io_uring, depth 64", 100.0)] {
            ledger.add(READS, name, &BLOCKS_PER_SECOND, sample);
        }
        ledger.add(READS, &name("batched-rowid"), &BLOCKS_PER_SECOND, 94.0);
        ledger.add(COLD, &name("batch"), &JOIN_TIME, 20.0);
        ledger.add(COLD, &format!("{NESTED_LOOP}, 15"), &JOIN_TIME, 90.0);
        ledger.add(COLD, &format!("{NESTED_LOOP}, 18 worker"), &JOIN_TIME, 70.0);
        ledger.add(COLD, &format!("{BITMAP}, 15, concurrency 64"), &JOIN_TIME, 80.0);
        ledger.add(COLD, &format!("{BITMAP}, 18 io_uring, concurrency 64"), &JOIN_TIME, 21.0);
        let bars = all(&ledger);
        let find = |beginning: &str, what: &str| {
            bars.iter().find(|bar| bar.name.starts_with(beginning) && bar.name.contains(what)).unwrap()
        };
        let rate = find("batched-rowid: blocks", "fio");
        assert!(matches!(rate.outcome(), Outcome::Missed(_)) && rate.sentence().contains("depth 64"));
        let nested_loop = find("batch: elapsed", "nested loop");
        assert!(matches!(nested_loop.outcome(), Outcome::Missed(_)) && nested_loop.sentence().contains("18 worker"));
        let bitmap = find("batch: elapsed", "bitmap scan");
        assert!(bitmap.outcome() == Outcome::Met && bitmap.sentence().contains("18 io_uring, concurrency 64"));
        assert_eq!(find("prefetch: elapsed", "bitmap scan").outcome(), Outcome::NotJudged);
    }
}
