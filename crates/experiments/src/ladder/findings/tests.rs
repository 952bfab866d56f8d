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

/// Footprints of 64 MiB to 1 GiB against caches of up to half of that.
fn absent_memory() -> Reading {
    let of = |(exponent, mebibytes): &(u32, u64)| {
        without_memory(&Reach { footprint: 1_u64 << *exponent, cache: *mebibytes << 20, share: 4 })
    };
    reading(row::ABSENT_MEMORY, (26..31_u32, 1..512_u64), of, |(exponent, mebibytes)| {
        let footprint = 1_u64 << (*exponent - 20);
        let free = (16 * *mebibytes).next_power_of_two();
        let free = if free < 1024 { format!("{free} MiB") } else { format!("{} GiB", free >> 10) };
        let of_cache = format!("which holds {mebibytes} MiB, would");
        (footprint < 4 * *mebibytes).then(|| says![of_cache, format!("Free {free} of memory")])
    })
}

fn untried() -> Reading {
    let of = |(number, is_depth, is_refused): &(usize, bool, bool)| {
        let error = "no thread was left";
        let found = if *is_depth { untried_depths(*number, &error) } else { untried_threads(*number, &error) };
        is_refused.then_some(found)
    };
    reading(row::UNTRIED, (1..257_usize, any::<bool>(), any::<bool>()), of, |(number, _, is_refused)| {
        is_refused.then(|| says![number, "no thread was left."])
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
                let times = three_digits(found.single? / found.best?);
                Some(says![format!("At depth {} the device gives {times} times", found.depth)])
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
                        .then(|| says!["Rung device-sequential:", format!(": {} times.", three_digits(*ratio))])
                },
            ),
            reading(row::PAGE_CACHE_LOST, tier(), lost, |tier| {
                tier.filter(|tier| *tier == Tier::Storage).map(|_| says!["did not: they counted 7 MiB."])
            }),
            absent_memory(),
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
