//! Its findings, read on both sides of their conditions.

use measure::schema::ladder;
use sides::proptest::option;
use sides::proptest::prelude::{Just, Strategy, any, prop_oneof};
use sides::proptest::sample::select;
use sides::{Reading, both_sides, reading, says};

use super::*;

/// What the rungs found, each or nothing.
fn found() -> impl Strategy<Value = Found> {
    let rung = || option::weighted(0.8, 1e3..1e7);
    let logical = option::weighted(0.8, (100.0..1e4, 100.0..1e4));
    (rung(), rung(), 1..256_usize, rung(), logical).prop_map(|(single, best, depth, sequential, logical)| Found {
        single,
        best,
        depth,
        sequential,
        logical: logical.map(|(random, in_order)| LogicalCost { random, in_order }),
    })
}

fn touch(latency: f64, tier: Option<Tier>) -> Measured {
    Measured::of(vec![reads::READ_LATENCY.single("clock", latency)], tier)
}

/// A footprint's exponent, a cache in MiB, and the cost of a load within half of the footprint over one within all.
type Walked = (u32, u64, Option<f64>);

/// Footprints of 64 MiB to 1 GiB against caches of up to half of that.
fn walked() -> impl Strategy<Value = Walked> {
    (26..31_u32, 1..512_u64, option::weighted(0.8, 0.8..1.1))
}

fn reach(walked: &Walked) -> (Reach, Option<Loads>) {
    let (exponent, mebibytes, ratio) = *walked;
    let reach = Reach { footprint: 1_u64 << exponent, cache: mebibytes << 20, share: 4 };
    (reach, ratio.map(|ratio| Loads { half: ratio * 100.0, whole: 100.0 }))
}

/// Whether loads show that the cache serves few of them, where half of the footprint exceeds the cache.
fn is_shown(walked: &Walked) -> bool {
    let (exponent, mebibytes, ratio) = *walked;
    let footprint = 1_u64 << (exponent - 20);
    (2 * mebibytes..4 * mebibytes).contains(&footprint) && ratio.is_some_and(|ratio| ratio * 100.0 >= 90.0)
}

fn absent_memory() -> Reading {
    let of = |walked: &Walked| {
        let (reach, loads) = reach(walked);
        without_memory(&reach, loads)
    };
    reading(row::ABSENT_MEMORY, walked(), of, |walked| {
        let (exponent, mebibytes, _) = *walked;
        let footprint = 1_u64 << (exponent - 20);
        let free = (16 * mebibytes).next_power_of_two();
        let free = if free < 1024 { format!("{free} MiB") } else { format!("{} GiB", free >> 10) };
        let of_cache = format!("which holds {mebibytes} MiB, could");
        let is_absent = footprint < 4 * mebibytes && !is_shown(walked);
        is_absent.then(|| says![of_cache, format!("Free {free} of memory")])
    })
}

fn memory_near_cache() -> Reading {
    let of = |walked: &Walked| {
        let (reach, loads) = reach(walked);
        near_cache(&reach, loads)
    };
    reading(row::MEMORY_NEAR_CACHE, walked(), of, |walked| {
        let half = walked.2.map(|ratio| format_nanos(ratio * 100.0)).unwrap_or_default();
        is_shown(walked).then(|| says![format!("({} MiB)", walked.1), format!("about as much ({half})")])
    })
}

#[test]
fn a_footprint_within_the_cache_is_not_taken_for_memory_however_even_its_loads_are() {
    let even = Some(Loads { half: 20.0, whole: 20.0 });
    let reach = |mebibytes: u64, cache: u64| Reach { footprint: mebibytes << 20, cache: cache << 20, share: 4 };
    assert_eq!(without_memory(&reach(512, 300), even).len(), 3);
    assert!(without_memory(&reach(1024, 504), even).is_empty(), "a machine with 8 GiB of memory");
    assert!(near_cache(&reach(2048, 504), even).is_none(), "no finding is needed");
}

fn untried() -> Reading {
    let of = |(number, is_depth, is_refused): &(usize, bool, bool)| {
        let reason = "no thread was left";
        let found = if *is_depth { untried_depths(*number, &reason) } else { untried_threads(*number, &reason) };
        is_refused.then_some(found)
    };
    reading(row::UNTRIED, (1..257_usize, any::<bool>(), any::<bool>()), of, |(number, _, is_refused)| {
        is_refused.then(|| says![number, "(no thread was left). Raise the limit on processes"])
    })
}

#[test]
fn what_the_ladder_says_follows_from_its_rungs() {
    let of = |found: &Found| report(found, false);
    let tier = || prop_oneof![Just(None), select(&[Tier::PageCache, Tier::Storage, Tier::Unknown][..]).prop_map(Some)];
    let lost = |tier: &Option<Tier>| {
        let verdict = tier.map(|tier| Verdict { tier, proof: "they counted 7 MiB".into(), is_by_layer: false });
        page_cache_lost(verdict.as_ref())
    };
    both_sides(
        &ladder::findings::ALL,
        vec![
            reading(row::ANSWER_RATIO, found(), of, |found| {
                let (single, logical) = found.single.zip(found.logical)?;
                let costs = format!("costs {} logical I/Os here", three_digits(single / logical.random));
                let of_a_scan = |sequential: f64| {
                    format!("costs {} logical I/Os of a full scan", three_digits(sequential / logical.in_order))
                };
                Some([costs].into_iter().chain(found.sequential.map(of_a_scan)).collect())
            }),
            reading(row::ANSWER_SINGLE_AGAINST_SEQUENTIAL, found(), of, |found| {
                let (single, sequential) = found.single.zip(found.sequential)?;
                let times = format!("{} times a block", three_digits(single / sequential));
                Some(says![format_nanos(single), times, format!("({}).", format_nanos(sequential))])
            }),
            reading(row::ANSWER_DEPTH, found(), of, |found| {
                let (single, best) = found.single.zip(found.best)?;
                let takes = format!("takes {}, {} times the time", format_nanos(single), three_digits(single / best));
                Some(says![takes, format!("at depth {} ({}): both are medians.", found.depth, format_nanos(best))])
            }),
            reading(
                row::JUST_WRITTEN,
                any::<bool>(),
                |is_just_written| report(&Found::default(), *is_just_written),
                |is| is.then(Vec::new),
            ),
            reading(
                row::LAZILY_LOADED,
                (100.0..1e3, 1.0..6.0, tier()),
                |(later, ratio, tier)| {
                    first_touch("device-sequential", &touch(later * ratio, *tier), &touch(*later, *tier))
                },
                |(_, ratio, tier)| {
                    let is_of_device = matches!(tier, None | Some(Tier::Storage));
                    (is_of_device && *ratio >= 3.0)
                        .then(|| says!["Rung \"device, in sequence\":", format!(": {} times.", three_digits(*ratio))])
                },
            ),
            reading(row::PAGE_CACHE_LOST, tier(), lost, |tier| {
                tier.filter(|tier| *tier == Tier::Storage).map(|_| says!["did not: they counted 7 MiB."])
            }),
            absent_memory(),
            memory_near_cache(),
            untried(),
            reading(
                row::ABSENT_RUNG,
                (any::<bool>(), option::of(Just("tmpfs"))),
                |(is_buffered, name)| {
                    if *is_buffered { without_direct_io(*name) } else { Vec::new() }
                },
                |(is_buffered, name)| {
                    is_buffered.then(|| says![format!("{} refuses direct I/O", name.unwrap_or("The file system"))])
                },
            ),
        ],
    );
}
