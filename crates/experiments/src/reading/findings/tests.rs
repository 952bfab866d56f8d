//! Its findings, read on both sides of their conditions.

use std::path::Path;

use device::audit::AuditCounts;
use device::content::Sample;
use device::tier::Stored;
use measure::quantity::size_in_words;
use measure::schema::reads;
use sides::proptest::collection::vec;
use sides::proptest::prelude::{Just, Strategy, any, prop_oneof};
use sides::{Reading, both_sides, reading, says};
use sys::file::extents::Extents;

use super::*;
use crate::region;

/// What can serve reads, and what they were opened and meant for.
type Served = (Caching, Tier, bool, PageCache);

fn served() -> impl Strategy<Value = Served> {
    let caching = prop_oneof![Just(Caching::Direct), Just(Caching::Buffered)];
    let mixed = (0.02..0.98).prop_map(|from_storage| Tier::Mixed { from_storage });
    let whole = prop_oneof![Just(Tier::PageCache), Just(Tier::Storage), Just(Tier::NeverWritten), Just(Tier::Unknown)];
    let page_cache = prop_oneof![Just(PageCache::Meant), Just(PageCache::InTheWay("use --direct"))];
    (caching, prop_oneof![mixed, whole], any::<bool>(), page_cache)
}

fn of_tier(row: measure::schema::FindingSpec, stands: impl Fn(Served) -> Option<Vec<String>> + 'static) -> Reading {
    let find = |(caching, tier, is_by_layer, page_cache): &Served| {
        let verdict = Verdict { tier: *tier, proof: "they counted 7 MiB".into(), is_by_layer: *is_by_layer };
        super::of_tier(*caching, &verdict, ("reads of a file", *page_cache))
    };
    reading(row, served(), find, move |served| {
        let mut said = stands(*served)?;
        said.push("reads of a file".into());
        said.push(": they counted 7 MiB.".into());
        Some(said)
    })
}

/// Bytes of a region by kind: written, in holes, unwritten.
fn region() -> impl Strategy<Value = [u64; 3]> {
    [1_u64..1 << 30, 0..1 << 24, 0..1 << 24]
}

fn extents([data, hole, unwritten]: [u64; 3]) -> Option<Finding> {
    let coverage = Extents { data, hole, unwritten, ..Extents::default() };
    region::unwritten_extents(Path::new("a.dat"), coverage, data + hole + unwritten)
}

/// What served the reads.
fn served_by() -> Vec<Reading> {
    let is_part = |tier| matches!(tier, Tier::PageCache | Tier::Mixed { .. });
    let layer = of_tier(row::DEVICE_SAW_FEWER_READS, move |(_, tier, is_by_layer, _)| {
        (is_part(tier) && is_by_layer).then(Vec::new)
    });
    let ignored = of_tier(row::DIRECT_IO_IGNORED, |(caching, tier, is_by_layer, _)| {
        (caching == Caching::Direct && tier == Tier::PageCache && !is_by_layer).then(Vec::new)
    });
    let mixed = of_tier(row::READS_NOT_ALL_FROM_STORAGE, |(caching, tier, is_by_layer, _)| {
        (caching == Caching::Direct && matches!(tier, Tier::Mixed { .. }) && !is_by_layer).then(Vec::new)
    });
    let cached = of_tier(row::SERVED_FROM_PAGE_CACHE, |(caching, tier, is_by_layer, page_cache)| {
        let is_cached = caching == Caching::Buffered && tier == Tier::PageCache;
        (is_cached && !is_by_layer && page_cache != PageCache::Meant).then(|| says!["not the device: use --direct."])
    });
    let partly = of_tier(row::PARTLY_PAGE_CACHE, |(caching, tier, is_by_layer, page_cache)| match tier {
        Tier::Mixed { from_storage } if caching == Caching::Buffered && !is_by_layer => {
            let advice = if page_cache == PageCache::Meant { "more free memory" } else { "use --direct" };
            Some(says![format!("About {} % of", three_digits(100.0 - from_storage * 100.0)), advice])
        }
        _ => None,
    });
    let unknown = of_tier(row::TIER_UNKNOWN, |(_, tier, ..)| (tier == Tier::Unknown).then(Vec::new));
    vec![layer, ignored, mixed, cached, partly, unknown]
}

/// How the reads were made, and at which rate.
fn manner() -> Vec<Reading> {
    let segments = |rates: &Vec<f64>| {
        let level = |(at, rate): (usize, &f64)| Level { at: at as f64, rate: *rate, service: None };
        let levels: Vec<Level> = rates.iter().enumerate().map(level).collect();
        levels.windows(2).map(|pair| changed([&pair[0], &pair[1]], "a file")).collect::<Vec<_>>()
    };
    let went = |pair: &[f64]| {
        let cause = if pair[1] < pair[0] { "a spent burst credit" } else { "a cache that filled" };
        let [before, after] = [pair[0], pair[1]].map(three_digits);
        format!(
            "from {before} to {after} reads a second (medians of short windows; tables show means) and stayed there. \
             Likely causes: {cause}"
        )
    };
    let rate_changed = reading(row::RATE_CHANGED, vec(1.0..1e6, 1..4), segments, move |rates| {
        (rates.len() > 1).then(|| rates.windows(2).map(went).chain(["1.00 s into a file".into()]).collect())
    });
    let open_loop = |(rates, micros): &([f64; 2], [f64; 2])| {
        let level = |at: usize| Level { at: at as f64, rate: rates[at], service: Some(micros[at] * 1e3) };
        [changed([&level(0), &level(1)], "a file")]
    };
    let values = ([99.0..100.0, 50.0..100.0], [10.0..50.0, 10.0..50.0]);
    let latency_changed = reading(row::LATENCY_CHANGED, values, open_loop, |(rates, [before, after])| {
        let cause = if after > before { "a spent burst credit" } else { "a cache that filled" };
        let [before, after] = [before, after].map(|micros| format_nanos(micros * 1e3));
        let went = format!("1.00 s into a file, a read went from {before} to {after} (means, from submission)");
        (rates[1] > rates[0] * 0.75).then(|| says![went, format!("stayed there. Likely causes: {cause}")])
    });
    let not_reached = reading(
        row::RATE_NOT_REACHED,
        (prop_oneof![Just(0.0), 1.0..1e6], 0.5..1.2),
        |(asked, part)| rate_not_reached(*asked, asked * part, (None, 1.0)),
        |(asked, part)| {
            let figures = || format!("reached {} of the {} reads", three_digits(asked * part), three_digits(*asked));
            (*asked > 0.0 && *part < 0.95).then(|| says![figures()])
        },
    );
    let stalled = reading(
        row::STALLED_AT_END,
        [0_u64..10_000, 0..3_000],
        |[late, counted]| stalled_at_end(Nanos::from_millis(*late), Nanos::from_millis(*counted), "the reads"),
        |[late, counted]| {
            let [took, longest] = [late, counted].map(|millis| format_nanos(*millis as f64 * 1e6));
            let stands = *late >= 100 && late / 2 >= *counted;
            stands.then(|| says![format!("took {took}; the longest that counted took {longest}")])
        },
    );
    let fallback = reading(
        row::METHOD_FALLBACK,
        0..3_usize,
        |count| fallback(&["It reads by threads"; 3][..*count]),
        |count| (*count > 0).then(|| says!["It reads by threads."]),
    );
    let pages = prop_oneof![Just(Pages::Huge), Just(Pages::Small)];
    let settings = prop_oneof![Just(None), Just(Some("madvise")), Just(Some("never"))];
    let buffers = reading(
        row::HUGE_PAGE_BUFFERS,
        (pages, settings),
        |(pages, setting)| huge_page_buffers(*pages, *setting),
        |(pages, setting)| (*pages == Pages::Huge && *setting != Some("never")).then(|| says![size_in_words(1 << 20)]),
    );
    let counted = |delivered: &Option<u64>| {
        let counts = AuditCounts { delivered_by_device: *delivered, ..AuditCounts::default() };
        let (caching, stored) = (Caching::Direct, Stored::default());
        no_device_counters(&Evidence { caching, issued: 1, sharing_pages: None, counts, stored, layer: None })
    };
    let counters =
        reading(row::NO_DEVICE_COUNTERS, any::<Option<u64>>(), counted, |delivered| delivered.is_none().then(Vec::new));
    vec![rate_changed, latency_changed, not_reached, stalled, fallback, buffers, counters]
}

/// What the region holds.
fn content() -> Vec<Reading> {
    let share = |part: u64, all: &[u64; 3]| three_digits(part as f64 / all.iter().sum::<u64>() as f64 * 100.0);
    let unwritten = reading(
        row::UNWRITTEN_EXTENTS,
        region(),
        |bytes| extents(*bytes),
        move |bytes| {
            let [_, hole, unwritten] = *bytes;
            let whole = format!("{} % of the region of a.dat", share(hole + unwritten, bytes));
            let parts = format!("{} % holes, {} % allocated", share(hole, bytes), share(unwritten, bytes));
            ((hole + unwritten) as f64 > 0.01 * bytes.iter().sum::<u64>() as f64).then(|| says![whole, parts])
        },
    );
    let untold = |is_known: &bool| {
        let answer = if *is_known { Ok(Extents::default()) } else { Err("not supported") };
        region::extents_unknown(Path::new("a.dat"), answer.as_ref().err())
    };
    let unknown = reading(row::EXTENTS_UNKNOWN, any::<bool>(), untold, |is_known| {
        (!is_known).then(|| says!["whether a.dat has holes: not supported."])
    });
    let sample = |[zero, repeated]: &[u64; 2]| {
        region::of_sample(Path::new("a.dat"), Sample { blocks: 200, zero: *zero, repeated: *repeated })
    };
    let said =
        |count: u64| (count as f64 / 200.0 > 0.01).then(|| says![format!("{count} of 200 sampled blocks of a.dat")]);
    let zero = reading(row::ZERO_BLOCKS, [0..5_u64, 0..5], sample, move |[zero, _]| said(*zero));
    let repeated = reading(row::REPEATED_BLOCKS, [0..5_u64, 0..5], sample, move |[_, repeated]| said(*repeated));
    vec![unwritten, unknown, zero, repeated]
}

#[test]
fn what_served_reads_and_what_they_found_is_said_where_it_holds_and_nowhere_else() {
    both_sides(&reads::findings::ALL, [served_by(), manner(), content()].into_iter().flatten());
}

#[test]
fn reads_that_are_still_in_flight_at_the_end_do_not_make_a_rate_that_was_held_a_missed_one() {
    // Each takes 0.2 of 2 s, so that those begun in the last tenth are not counted.
    let found = |reached: f64, service: f64| rate_not_reached(100.0, reached, (Some(service), 2.0));
    assert_eq!(found(90.0, 0.2), None);
    assert!(found(90.0, 0.0).is_some() && found(80.0, 0.2).is_some());
    assert_eq!(found(1.0, 6.0), None, "a read that takes longer than the run shows no rate");
}

#[test]
fn the_sentence_on_a_rate_that_was_not_reached_names_no_figure_that_the_page_lacks() {
    let said = |service| rate_not_reached(100.0, 50.0, (service, 2.0)).unwrap().message;
    let known = said(Some(0.02));
    assert!(known.contains("as the run lasts; from submission, a read took 20.0 ms on average. Give a"), "{known}");
    assert!(said(None).contains("as long as the run lasts. Give a lower --rate") && !known.contains("service_time"));
}

#[test]
fn what_a_file_system_reads_to_verify_blocks_was_not_read_by_other_processes() {
    let ratio = |caching: Caching, delivered: u64, fetched: Option<u64>| {
        let counts =
            AuditCounts { fetched_by_process: fetched, delivered_by_device: Some(delivered), ..AuditCounts::default() };
        let stored = Stored::default();
        of_others(&Evidence { caching, issued: 1000, sharing_pages: None, counts, stored, layer: None })
    };
    // Cold random reads on btrfs: a block of checksums for many of the blocks that are read.
    assert_eq!(ratio(Caching::Direct, 1900, Some(1900)), None);
    assert_eq!(ratio(Caching::Direct, 3800, Some(1900)), Some(2.0));
    for fetched in [Some(0), Some(1000), None] {
        assert_eq!(ratio(Caching::Direct, 1900, fetched), Some(1.9), "{fetched:?}");
    }
    assert_eq!(ratio(Caching::Buffered, 1900, Some(1000)), None);
}
