//! Its findings, read on both sides of their conditions.

use measure::quantity::format_nanos;
use measure::schema::conditions;
use sides::proptest::prelude::any;
use sides::{Reading, both_sides, reading, says};

use super::*;

impl Machine {
    /// The same with a last cache of this many bytes.
    pub(crate) fn with_last_cache(self, bytes: u64) -> Machine {
        Machine { last_cache: OnceCell::from(Some(LastCache::of(bytes, bytes, [1.0, 1.0]))), ..self }
    }
}

#[test]
fn a_dry_run_does_not_walk_through_the_last_cache() {
    let machine = Machine::observe(Stop::default());
    assert!(machine.rehearsal().last_cache().is_none());
    assert!(machine.last_cache.get().is_none(), "the run itself has yet to measure it");
}

const UNCHANGED: Change =
    Change { core_ghz: None, additions: None, stolen: None, throttled: None, elapsed: Nanos(1_000_000_000) };

/// What is found when two measurements saw these changes, the first while a scan was timed.
fn found(first: Change, sensitivity: Sensitivity) -> Vec<Finding> {
    let mut noted = Disturbances::default();
    noted.note("a scan", &first, sensitivity, 4);
    noted.note("another", &UNCHANGED, Sensitivity::Core, 4);
    noted.findings()
}

#[test]
fn a_run_that_is_one_measurement_is_not_said_to_be_one_of_one() {
    let mut noted = Disturbances::default();
    let change = Change { core_ghz: Some((2.0, 3.0)), stolen: Some(Nanos::from_millis(500)), ..UNCHANGED };
    noted.note("the whole run", &change, Sensitivity::Core, 4);
    let said: Vec<String> = noted.findings().into_iter().map(|finding| finding.message).collect();
    assert!(said.iter().all(|said| said.contains(" during the whole run (") && !said.contains(" of 1 ")), "{said:?}");
    assert_eq!(said.len(), 2);
}

#[test]
fn one_disturbed_measurement_is_not_said_to_be_the_worst_of_several() {
    assert_eq!(during(1, 22, "rung l3"), "during 1 of 22 measurements, namely rung l3");
    assert_eq!(during(2, 22, "rung l3"), "during 2 of 22 measurements, most during rung l3");
}

fn cores_that_differ() -> Reading {
    let kind = |(name, processors): (&str, &str)| CoreKind { name: name.into(), processors: processors.into() };
    let kinds = [("cpu_atom", "8-11,14"), ("cpu_core", "0-7")].map(kind);
    let of = move |count: &usize| cores_differ(&kinds[..*count]);
    reading(row::CORES_DIFFER, 0..3_usize, of, |count| {
        (*count > 1).then(|| says!["(cpu_atom: 8-11,14; cpu_core: 0-7)"])
    })
}

fn throttled() -> Reading {
    // In hundredths of a percent of a second: a value half-way between two figures of three digits is rounded up or
    // down by the last bit of how it was computed, and a test that draws it fails once in a while.
    let of = |hundredths: &u64| {
        let change = Change { throttled: Some(Nanos::from_micros(*hundredths * 100)), ..UNCHANGED };
        found(change, Sensitivity::Core)
    };
    reading(row::CPU_THROTTLED, 0..600_u64, of, |hundredths| {
        let share = format!("({} % of the time, summed over", three_digits(*hundredths as f64 / 100.0));
        (*hundredths > 200).then(|| says!["during 1 of 2 measurements", share])
    })
}

#[test]
fn what_disturbs_a_measurement_is_found_beyond_its_limit_and_not_before() {
    let ghz = |core_ghz: f64| Change { core_ghz: Some((2.0, core_ghz)), ..UNCHANGED };
    let changed = |core_ghz: f64| (core_ghz - 2.0).abs() / 2.0 > 0.02;
    let clock = move |row, sensitivity| {
        let says = move |after: &f64| {
            let figures = format!("during 1 of 2 measurements, namely a scan (2.00 to {} GHz)", three_digits(*after));
            changed(*after).then(|| says![figures])
        };
        reading(row, 1.9..2.1, move |after: &f64| found(ghz(*after), sensitivity), says)
    };
    let shared = |additions: &(f64, f64)| {
        let mut noted = Disturbances::default();
        for (additions, what) in [(additions.0, "a scan"), (additions.1, "another")] {
            let change = Change { additions: Some((4.0, additions)), ..UNCHANGED };
            noted.note(what, &change, Sensitivity::Core, 4);
        }
        noted.findings()
    };
    let stolen =
        |millis: &u64| found(Change { stolen: Some(Nanos::from_millis(*millis)), ..UNCHANGED }, Sensitivity::Core);
    let device = |ratios: &Vec<f64>| {
        let noted = ratios.iter().map(|ratio| (*ratio, "a scan".into())).collect();
        Disturbances { blocks: 3, shared: noted, ..Disturbances::default() }.findings()
    };
    let cache = |deep: &f64| LastCache::of(32 << 20, 4 << 20, [34.0, *deep]).finding();
    both_sides(
        &conditions::findings::ALL,
        vec![
            clock(row::CORE_CLOCK_CHANGED, Sensitivity::Core),
            clock(row::CORE_CLOCK_CHANGED_BESIDE_STORAGE, Sensitivity::Storage),
            reading(row::CORE_SHARED, (3.0..4.0, 3.0..4.0), shared, |(one, other)| {
                let (least, best) = (one.min(*other), one.max(*other));
                let count = "during 1 of 2 measurements";
                (least < best * 0.9).then(|| says![count, three_digits(least / best), three_digits(best / least)])
            }),
            reading(row::STOLEN_TIME, 0..200_u64, stolen, |millis| {
                // 4 processors for a second.
                let share = *millis as f64 / 4000.0 * 100.0;
                (share > 2.0).then(|| says!["during 1 of 2 measurements", format!("({} % of", three_digits(share))])
            }),
            throttled(),
            cores_that_differ(),
            reading(row::DEVICE_SHARED, sides::proptest::collection::vec(1.1..9.0, 0..3), device, |ratios| {
                let most = ratios.iter().copied().max_by(f64::total_cmp)?;
                Some(says![format!("in {} of 3 measurements, {} times", ratios.len(), three_digits(most))])
            }),
            reading(row::L3_SMALLER_THAN_SAID, 30.0..200.0, cache, |deep| {
                (*deep > 34.0 * 2.5).then(|| says!["claims 32 MiB", format!("16 MiB costs {}", format_nanos(*deep))])
            }),
            reading(
                row::SLOW_CLOCK,
                any::<bool>(),
                |is_slow| slow_clock(is_slow.then_some("it jumps")),
                |is_slow| is_slow.then(|| says!["because it jumps:"]),
            ),
            reading(
                row::NO_CORE_CLOCK,
                any::<Option<f64>>(),
                |ghz| no_core_clock(*ghz),
                |ghz| ghz.is_none().then(Vec::new),
            ),
        ],
    );
}
