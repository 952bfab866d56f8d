//! Its findings, read on both sides of their conditions.

use std::path::Path;

use device::pattern::Span;
use measure::Metric;
use sides::proptest::option;
use sides::proptest::prelude::{Just, Strategy, any, prop_oneof};
use sides::proptest::sample::select;
use sides::{Reading, both_sides, reading, says};
use subjects::round_trip::{PassOffer, SingleReads};

use super::*;
use crate::roundtrip::RoundtripParameters;
use crate::roundtrip::layout::Layout;
use crate::roundtrip::on_subjects::{bound, finding, nothing_read};

/// Median and mean in microseconds.
type Times = (f64, f64);

fn measured(reads: u64, (median, mean): Times, p99: Option<f64>, tier: Option<Tier>) -> Measured {
    let statistics = Statistics { n: reads, median, mean, p99, ..Statistics::single(median) };
    let metric: Metric = reads::READ_LATENCY.of_statistics("clock", statistics);
    Measured::of(vec![metric], tier)
}

fn tiers() -> impl Strategy<Value = Option<Tier>> {
    let tiers =
        vec![Tier::PageCache, Tier::Storage, Tier::Mixed { from_storage: 0.5 }, Tier::NeverWritten, Tier::Unknown];
    prop_oneof![1 => Just(None), 5 => select(tiers).prop_map(Some)]
}

/// Microseconds of a block that was read again and of one in the page-cached pass, and the level that served each: the
/// page cache may not have held the other, or not all of it.
type Again = (Option<f64>, Option<f64>, Option<Tier>, Tier);

/// What is said of a block that was read again, of one in the page cache, and of the published ones.
fn again() -> Vec<Reading> {
    let by = || select(vec![Tier::PageCache, Tier::Storage, Tier::Mixed { from_storage: 0.5 }, Tier::Unknown]);
    let values = move || (option::weighted(0.7, 10.0..1e4), option::of(1.0..50.0), tiers(), by());
    let of = |(again, cached, tier, by): &Again| {
        let of = |pass, blocks: u64, time: &Option<f64>, tier| {
            let time = (*time)? * if blocks == 1 { 1.0 } else { 2.0 };
            Some((pass, blocks, measured(1, (time, time), None, tier)))
        };
        let passes = [1, 8].map(|blocks| {
            [of(Pass::StorageCached, blocks, again, *tier), of(Pass::PageCached, blocks, cached, Some(*by))]
        });
        report(("a.dat", 8192), false, &passes.into_iter().flatten().flatten().collect::<Vec<_>>())
    };
    let answer = reading(row::ANSWER_ROUNDTRIP, values(), of, |(again, cached, tier, by)| {
        let Some(again) = again else {
            let takes = micros((*cached)?);
            return match by {
                Tier::Storage => None,
                Tier::PageCache => Some(says![format!("One block of a.dat from the page cache takes {takes}: memory")]),
                Tier::Unknown => Some(says![format!(
                    "One block of a.dat in the page-cached pass takes {takes}, and which level served the reads is not \
                     clear."
                )]),
                _ => Some(says![format!(
                    "One block of a.dat in the page-cached pass takes {takes}, mixed: storage served only some of the \
                     reads."
                )]),
            };
        };
        let meaning = match (*tier)? {
            Tier::Storage => ": to the storage and back. No cache of this host served it: they counted 7 MiB.",
            Tier::PageCache => ", but this host's memory served it: they counted 7 MiB. The round trip",
            Tier::NeverWritten => ", but the blocks were never written: no storage serves them.",
            Tier::Mixed { .. } | Tier::Unknown => "; which level served it is not clear: they counted 7 MiB.",
        };
        Some(says![format!("A block of a.dat read again takes {}{meaning}", micros(*again))])
    });
    let published = reading(row::ANSWER_PUBLISHED, values(), of, |(again, cached, tier, by)| {
        // Those of 8 blocks take twice as long as those of one here.
        let times = |published: f64, again: f64| three_digits(published / (2.0 * again));
        let cached = cached.map(|cached| 2.0 * cached);
        let beside = cached.filter(|_| *by != Tier::Storage).map_or(" times.".into(), |cached| match by {
            Tier::PageCache => format!(" times; the published page cache took 40 µs, this one {}.", micros(cached)),
            Tier::Unknown => format!(" times; 8 blocks in the page-cached pass took {}, and which", micros(cached)),
            _ => format!(" times; 8 blocks in the page-cached pass took {}, mixed: storage", micros(cached)),
        });
        let said = |again| {
            says![
                format!("8 blocks read again take {}. For several", micros(2.0 * again)),
                format!("the published SAN took {} times that", times(478.0, again)),
                format!("the published NFS {}{beside}", times(1410.0, again))
            ]
        };
        again.filter(|_| *tier == Some(Tier::Storage)).map(said)
    });
    vec![answer, published]
}

#[test]
fn blocks_of_a_size_that_oracle_lacks_are_not_held_against_its_published_times() {
    let again =
        [1, 8].map(|blocks| (Pass::StorageCached, blocks, measured(16, (100.0, 100.0), None, Some(Tier::Storage))));
    let is_beside = |block_size: u64| {
        let found = report(("a.dat", block_size), false, &again);
        found.iter().any(|finding| row::ANSWER_PUBLISHED.made(finding))
    };
    assert_eq!([1 << 10, 4 << 10, 16 << 10, 1 << 20].map(is_beside), [false, true, true, false]);
}

/// Whether first reads are slower than later ones, from 16 on: median and mean, and 1 in 100.
fn first() -> Vec<Reading> {
    let values = || (10..22_u64, 1.0..5.0, 1.0..5.0, option::of(5.0..20.0), tiers());
    let of = |(reads, median, mean, tail, tier): &(u64, f64, f64, Option<f64>, Option<Tier>)| {
        let p99 = |scale: f64| tail.map(|tail| 100.0 * (tail * scale - scale + 1.0));
        let first = measured(*reads, (100.0 * median, 100.0 * mean), p99(1.0), *tier);
        let again = measured(*reads, (100.0, 100.0), p99(0.0), *tier);
        report(("a.dat", 8192), false, &[(Pass::FirstTouch, 1, first), (Pass::StorageCached, 1, again)])
    };
    let is_judged = |reads: u64, tier: Option<Tier>| reads >= 16 && matches!(tier, None | Some(Tier::Storage));
    // However slow the slowest of them are.
    let is_lazy = |median: f64, mean: f64| median.max(mean) >= 3.0;
    let times = |median: f64, mean: f64, tail: Option<f64>| {
        let [median, mean] = [median, mean].map(three_digits);
        let tail = tail.map(|tail| format!(", {} times at the 99th percentile", three_digits(tail)));
        let tail = tail.unwrap_or_default();
        format!(": {median} times at the median, {mean} times on average{tail}. The slowest first read")
    };
    let lazy = reading(row::LAZILY_LOADED, values(), of, move |(reads, median, mean, tail, tier)| {
        (is_judged(*reads, *tier) && is_lazy(*median, *mean))
            .then(|| says![times(*median, *mean, *tail), "Either the storage fetches"])
    });
    let even = reading(row::ANSWER_FIRST_TOUCH, values(), of, move |(reads, median, mean, tail, tier)| {
        (is_judged(*reads, *tier) && !is_lazy(*median, *mean))
            .then(|| says![times(*median, *mean, *tail), "called lazily loaded from 3 times on"])
    });
    vec![lazy, even]
}

#[test]
fn three_slow_reads_of_256_make_no_volume_a_lazily_loaded_one() {
    let of = |median: f64, mean: f64, p99: f64| measured(256, (median, mean), Some(p99), Some(Tier::Storage));
    let ids = |first: Measured| {
        let passes = [(Pass::FirstTouch, 1, first), (Pass::StorageCached, 1, of(100.0, 100.0, 110.0))];
        report(("a.dat", 8192), false, &passes).into_iter().map(|finding| finding.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(of(105.0, 120.0, 1500.0)), ["answer-roundtrip", "answer-first-touch"]);
    assert_eq!(ids(of(105.0, 299.0, 1500.0)), ["answer-roundtrip", "answer-first-touch"]);
    assert_eq!(ids(of(105.0, 300.0, 1500.0)), ["answer-roundtrip", "lazily-loaded"]);
}

#[test]
fn a_first_read_that_memory_served_is_not_held_against_a_later_one_of_the_storage() {
    let ids = |tier: Tier| {
        let [first, again] = [(1.0, tier), (100.0, Tier::Storage)]
            .map(|(micros, tier)| measured(256, (micros, micros), None, Some(tier)));
        let passes = [(Pass::FirstTouch, 1, first), (Pass::StorageCached, 1, again)];
        report(("a.dat", 8192), false, &passes).into_iter().map(|finding| finding.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(Tier::Storage), ["answer-roundtrip", "answer-first-touch"]);
    for tier in [Tier::PageCache, Tier::Mixed { from_storage: 0.5 }, Tier::Unknown] {
        assert_eq!(ids(tier), ["answer-roundtrip"], "{tier:?}");
    }
}

#[test]
fn each_sentence_about_one_of_several_paths_names_it() {
    let pass = |pass, blocks, micros| (pass, blocks, measured(16, (micros, micros), None, Some(Tier::Storage)));
    let passes = [(Pass::FirstTouch, 1, 200.0), (Pass::StorageCached, 1, 100.0), (Pass::StorageCached, 8, 200.0)];
    let passes = passes.map(|(of, blocks, micros)| pass(of, blocks, micros));
    let said = |is_one_of_several| {
        let messages = report(("a.dat", 8192), is_one_of_several, &passes).into_iter().map(|finding| finding.message);
        messages.collect::<Vec<String>>()
    };
    let several = said(true);
    assert_eq!(several.len(), 3, "{several:?}");
    assert!(several.iter().all(|message| message.contains("a.dat")), "{several:?}");
    assert!(several[1].starts_with("8 blocks of a.dat read again take 200"), "{several:?}");
    assert!(several[2].starts_with("On a.dat, the first read of a block takes 200"), "{several:?}");
    let alone = said(false);
    let published = "8 blocks read again take 200 µs. For several blocks, the published SAN took 2.39 times that";
    assert!(alone[1].starts_with(published), "{alone:?}");
    assert!(alone[2].starts_with("The first read of a block takes"), "{alone:?}");
}

/// What a path lacks.
fn lacks() -> Vec<Reading> {
    let passes = |reason: &Option<&'static str>| reason.map(absent_page_cached);
    let absent = reading(row::ABSENT_PAGE_CACHED, option::of(Just("a model has no host")), passes, |reason| {
        reason.map(|reason| says![format!("is absent: {reason}.")])
    });
    let way = select(vec![Way::PastPageCache, Way::ThroughPageCache, Way::InMemory]);
    let direct = |(way, is_evicted): &(Way, bool)| no_direct_io("a.dat", *way, *is_evicted);
    let direct = reading(row::NO_DIRECT_IO, (way, any::<bool>()), direct, |(way, is_evicted)| {
        let consequence = match (way, is_evicted) {
            (Way::PastPageCache, _) => return None,
            (Way::InMemory, _) => "no storage serves them, and nothing evicts them. The first-touch",
            (Way::ThroughPageCache, true) => "evicted before each pass instead",
            (Way::ThroughPageCache, false) => "passes are absent. With --evict",
        };
        Some(says!["a.dat cannot be read", consequence])
    });
    let fewer = |(count, blocks_per_read): &(u64, u64)| {
        let span = Span { offset: 0, length: 1 };
        fewer_blocks("a.dat", Requests { blocks_per_read: *blocks_per_read, bytes: 1, span, count: *count }, 4)
    };
    let fewer = reading(row::FEWER_BLOCKS, (0..8_u64, select(vec![1_u64, 16])), fewer, |(count, blocks)| {
        let requests = if *count == 1 { "request" } else { "requests" };
        let said =
            format!("{count} separate {requests} of {}; 4 were", if *blocks == 1 { "1 block" } else { "16 blocks" });
        (*count < 4)
            .then(|| says![said, format!("asked for. Name a larger file or device, or give --blocks {count} or less.")])
    });
    vec![absent, direct, fewer]
}

#[test]
fn as_many_blocks_as_a_file_is_said_to_have_room_for_find_room() {
    let wanted_of = |blocks: u64, blocks_per_read: u64| {
        let parameters = RoundtripParameters { blocks, ..RoundtripParameters::default() };
        Layout { path: Path::new("a.dat"), parameters: &parameters, size: 0 }.wanted(blocks_per_read)
    };
    for (count, blocks_per_read) in [(3, 128), (15, 8), (16, 8), (40, 8), (200, 1)] {
        let requests = Requests { blocks_per_read, bytes: 1, span: Span { offset: 0, length: 1 }, count };
        let finding_of =
            |blocks: u64| fewer_blocks("a.dat", requests, wanted_of(blocks, blocks_per_read)).map(|one| one.message);
        let said = finding_of(1 << 20).unwrap();
        let blocks: u64 = said.split("--blocks ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!(finding_of(blocks).is_none() && finding_of(blocks + blocks_per_read).is_some(), "{said}");
    }
}

/// What a server's reads say.
fn of_server() -> Vec<Reading> {
    let pass = || select(vec![Pass::FirstTouch, Pass::PageCached, Pass::StorageCached]);
    let tier = select(vec!["page-cache", "mixed", "unknown", "storage"]);
    let values = (pass(), any::<bool>(), option::weighted(0.8, (1.0..1e3, any::<bool>())), tier);
    let of = |(pass, is_direct, time, tier): &(Pass, bool, Option<(f64, bool)>, &'static str)| {
        let offer = PassOffer { pass: *pass, is_direct: *is_direct };
        time.map(|(micros, is_timed)| if is_timed { finding(offer, micros, tier) } else { bound(offer, micros, tier) })
    };
    let answer = reading(row::ANSWER_OF_SERVER, values, of, |(pass, is_direct, time, tier)| {
        let (takes, is_timed) = (*time)?;
        let meaning = match (is_timed, *tier) {
            (_, "page-cache") => "the operating system's page cache answered and not the storage",
            (true, "storage") => "the storage answered. For several blocks, the published SAN took",
            (true, _) => "which tier answered is not clear",
            (false, _) => "Which tier answered cannot be known from it.",
        };
        let past = if *is_direct && is_timed { ", past the page cache)" } else { ")" };
        let most = if is_timed { "" } else { "at most " };
        Some(says![format!("A block takes {most}{} ({pass}{past}", micros(takes)), meaning])
    });
    let nothing = |(pass, read, hits): &(Pass, u64, u64)| {
        nothing_read(*pass, &[SingleReads { read: *read, hits: *hits, ..SingleReads::default() }], "shared buffers")
    };
    let nothing = reading(row::NOTHING_READ, (pass(), 0..2_u64, 0..2_u64), nothing, |(pass, read, hits)| {
        (*read == 0 && *hits > 0).then(|| says![format!("found in shared buffers ({pass}): nothing was read")])
    });
    vec![answer, nothing]
}

#[test]
fn what_a_round_trip_says_follows_from_its_passes() {
    both_sides(&roundtrip::findings::ALL, [again(), first(), lacks(), of_server()].into_iter().flatten());
}
