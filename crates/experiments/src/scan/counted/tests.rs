//! What a scan says of its counts, read on both sides of its conditions.

use measure::quantity::grouped;
use measure::schema::events;
use measure::{Case, Finding, Nanos};
use sides::proptest::option;
use sides::proptest::prelude::any;
use sides::proptest::sample::select;
use sides::{Reading, both_sides, reading, says};
use subjects::access_paths::ScanCost;
use sys::counters::{Absence, HARDWARE_EVENTS, Raw, SOFTWARE_EVENTS, Tally};

use super::super::counters::report_absences;
use super::*;
use crate::journal::Kept;

/// A pass of which one event was not counted, and whether it is known from elsewhere.
fn absent_counters() -> Reading {
    let reasons = option::of(select(vec![Absence::Hidden, Absence::Forbidden]));
    let on = |name: &Option<&'static str>| name.map_or(String::new(), |name| format!(" on {name}"));
    let of = move |(reason, is_known, name): &(Option<Absence>, bool, Option<&'static str>)| {
        let mut tally = Tally::default();
        for event in SOFTWARE_EVENTS.iter().chain(HARDWARE_EVENTS) {
            match reason.filter(|_| ["task_clock", "cache_misses"].contains(&event.name)) {
                Some(reason) => tally.add_absent(*event, reason),
                None => tally.add(*event, Raw { value: 9, enabled: 9, running: 9 }),
            }
        }
        let known = is_known.then(|| events::EVENT.of("cache_misses").single("valgrind", 5.0));
        let case = Case { metrics: known.into_iter().collect(), ..Case::default() };
        let mut journal = Kept::default();
        report_absences((&case, &on(name)), &[ScanCost { cpu: Nanos(9), tally, ..ScanCost::default() }], &mut journal);
        journal.findings
    };
    let subjects = option::of(select(vec!["engine", "sqlite"]));
    let values = (reasons, any::<bool>(), subjects);
    reading(events::findings::ABSENT_COUNTERS, values, of, move |(reason, is_known, name)| {
        let reason = reason.filter(|_| !is_known)?;
        Some(says![format!("Not counted{}, because {reason}: cache-misses.", on(name))])
    })
}

/// A path and its rows that were counted, its kernel, or why nothing was counted.
fn under_valgrind() -> [Reading; 2] {
    let of = |(outcome, rows, has_kernel): &(Result<(), &'static str>, u64, bool)| -> Vec<Finding> {
        let of =
            CountedRows { path: AccessPath::ColumnScan, rows: *rows, gets: 0, how: "", events: Simulated::default() };
        let kernel = has_kernel.then(|| "avx2".to_string());
        let counted = outcome.map(|()| CountedPaths(vec![Counted { of, kernel, units: None }]));
        let mut journal = Kept::default();
        counted_or_absent(counted.map_err(String::from), *rows, &mut journal);
        journal.findings
    };
    let outcomes = || select(vec![Ok(()), Err("it counted nothing of column-scan"), Err("valgrind gave up: enough.")]);
    let values = || (outcomes(), 2..99_999_u64, any::<bool>());
    let absent = reading(events::findings::ABSENT_VALGRIND, values(), of, |(outcome, ..)| {
        let reason = outcome.err()?.trim_end_matches('.');
        Some(says![format!("cache misses were not counted under valgrind: {reason}.")])
    });
    let counts = reading(events::findings::VALGRIND, values(), of, |(outcome, rows, has_kernel)| {
        let kernel = if *has_kernel { "are those of the avx2 kernel," } else { "" };
        let rows = format!("Instructions are of the same scan of {} rows by one thread", grouped(*rows));
        outcome.ok().map(|()| says![rows, kernel, "without prefetching; the last one"])
    });
    [absent, counts]
}

#[test]
fn what_a_scan_says_of_its_counts_is_so() {
    both_sides(&events::findings::ALL, under_valgrind().into_iter().chain([absent_counters()]));
}
