//! Its findings, read on both sides of their conditions.

use std::path::PathBuf;

use sides::proptest::collection::vec;
use sides::proptest::option;
use sides::proptest::prelude::{Just, Strategy, any, prop_oneof};
use sides::proptest::sample::select;
use sides::{Reading, both_sides, reading, says};
use sys::memory::Pages;

use super::*;
use crate::disk::paths::each_once;

const WORKLOAD: Workload = Workload {
    pattern: Pattern::Random,
    block_size: 8192,
    pages: Pages::Small,
    stop_after: StopAfter::Reads(1),
    warm_up: StopAfter::Reads(0),
    seed: 1,
    workers: 2,
    depth: 16,
    reap_batch: 1,
    method: None,
    rate: None,
};

/// A reading with this latency in microseconds, and this rate; without one where there is none.
fn measured(latency: f64, rate: Option<f64>, tier: Option<Tier>) -> Measured {
    let latency = reads::READ_LATENCY.single("clock", latency);
    let iops = rate.map(|rate| reads::IOPS.single("clock", rate));
    Measured::of(iops.into_iter().chain([latency]).collect(), tier)
}

/// Mean time of a read in a zone, in ms, and its median; none of a zone that was not read.
type Time = Option<(f64, f64)>;

fn zone() -> impl Strategy<Value = Time> {
    prop_oneof![3 => (4.0..9.0, 4.0..9.0).prop_map(Some), 1 => Just(None)]
}

fn in_zones(times: [Time; 3]) -> Vec<(Zone, Measured)> {
    let zones = [Zone::Outer, Zone::Inner, Zone::Both].into_iter().zip(times);
    let read = |(zone, time): (Zone, Time)| {
        let (mean, median) = time?;
        Some((zone, measured(median * 1e3, Some(1e3 / mean), None)))
    };
    zones.filter_map(read).collect()
}

/// What the sentence about zones must begin with, by the limit of 1.15.
fn place(outer: (f64, f64), inner: Time, both: Time) -> &'static str {
    let is_slower = |other: (f64, f64)| other.0 / outer.0 >= 1.15 && other.1 / outer.1 >= 1.15;
    let is_even = |other: (f64, f64)| (1.0 / 1.15..1.15).contains(&(other.0 / outer.0));
    match (inner, both) {
        (Some(inner), _) if is_slower(inner) => {
            "Place matters on this device, so keep what is read most in the outer zone:"
        }
        (Some(inner), Some(both)) if is_even(inner) && is_slower(both) => {
            "Where a zone lies makes no difference on this device, but the way from one to the other does, so keep \
             what is read together in one place:"
        }
        (None, Some(both)) if is_slower(both) => "Reads in both zones at the same time take longer on this device",
        _ if inner.into_iter().chain(both).all(is_even) => "Where a zone lies makes no difference on this device:",
        _ => "The zones differ, but not as place alone makes them:",
    }
}

#[test]
fn a_sentence_about_one_of_several_paths_names_it() {
    let of = |path| on(path, row::ANSWER_ZONES.of("Place matters on this device.")).message;
    assert_eq!(of(None), "Place matters on this device.");
    assert_eq!(of(Some("/dev/vdb")), "On /dev/vdb, place matters on this device.");
}

#[test]
fn no_more_reads_are_said_to_be_in_flight_than_there_are() {
    let few = WORKLOAD;
    let enough = Workload { stop_after: StopAfter::Reads(16), ..WORKLOAD };
    let open = Workload { rate: Some(100.0), ..enough };
    assert_eq!([few, enough, open].map(|workload| in_flight(&workload)), ["at most 32", "32", "at most 32"]);
}

#[test]
fn blocks_of_a_small_file_that_were_read_many_times_are_not_passed_over_in_silence() {
    let said = |blocks: u64, tier: Tier| {
        let mut one = measured(40.0, Some(250.0), Some(tier));
        one.cases[0].parameters.extend([disk::parameters::SPAN.of(blocks * 8192)]);
        one.cases[0].metrics.push(reads::READS.count("loop", 14_500));
        whole(&WORKLOAD, &[("a".into(), one)])[0].message.clone()
    };
    let few = said(145, Tier::Storage);
    assert!(few.contains(" Each block was read 100 times on average, and a cache of the storage"), "{few}");
    for (blocks, tier) in [(14_500, Tier::Storage), (8000, Tier::Storage), (145, Tier::PageCache)] {
        assert!(!said(blocks, tier).contains("on average"), "{blocks}");
    }
}

#[test]
fn places_of_a_small_file_are_not_drawn_from_one_block_or_one_request_without_a_word() {
    let place = |blocks: u64| {
        let mut one = measured(40.0, Some(250.0), Some(Tier::Storage));
        one.cases[0].parameters.extend([disk::parameters::SPAN.of(blocks * 8192)]);
        one.cases[0].metrics.push(reads::READS.count("loop", 14_500));
        one
    };
    let several = Workload { stop_after: StopAfter::Reads(2), ..WORKLOAD };
    let one_block = small_places([&several, &WORKLOAD], &[place(1), place(14_500)]);
    assert!(one_block.starts_with(" Each block of a place was read up to 14"), "{one_block}");
    assert!(one_block.ends_with("The bandwidth of each place is that of one request."), "{one_block}");
    assert_eq!(small_places([&several, &several], &[place(14_500), place(8000)]), "");
}

#[test]
fn a_mean_above_the_99th_percentile_is_not_left_without_its_reason() {
    let said = |mean: f64| {
        let mut one = measured(1.2, Some(250.0), Some(Tier::PageCache));
        let statistics = &mut one.cases[0].metrics[1].statistics;
        *statistics = Statistics { mean, p99: Some(2.0), max: 40_000.0, ..*statistics };
        whole(&WORKLOAD, &[("a".into(), one)])[0].message.clone()
    };
    let few = said(4.5);
    assert!(few.contains(" The mean of 4.50 µs is more than 99 of 100 reads take, because a few took far"), "{few}");
    assert!(few.contains("longer, up to 40.0 ms.") && !said(1.9).contains("The mean"), "{few}");
    let mut of_zones = in_zones([5.0, 5.0, 15.0].map(|time| Some((time, time))));
    let statistics = &mut of_zones[1].1.cases[0].metrics[1].statistics;
    *statistics = Statistics { p99: Some(4e3), ..*statistics };
    let few = zones(&published_with(2), Extent::Device, &of_zones).unwrap().message;
    assert!(few.contains(". In zone inner, the mean of 5.00 ms is more") && !few.contains("zone outer, the"), "{few}");
}

#[test]
fn a_rate_that_is_not_reads_over_the_elapsed_time_says_over_which_time_it_is() {
    let said = |source: &str| {
        let mut one = measured(40.0, Some(10.0), Some(Tier::Storage));
        one.cases[0].metrics[0].source = source.into();
        whole(&WORKLOAD, &[("a".into(), one)])[0].message.clone()
    };
    let few = said(BY_SCHEDULE);
    assert!(few.contains(": 10.0 reads a second over the time of their schedule. Storage served"), "{few}");
    assert!(said("clock").contains(": 10.0 reads a second. Storage served"));
}

#[test]
fn zones_that_a_lasting_change_cuts_are_not_compared_by_parts_of_other_turns() {
    let windows = reads::IOPS.of_samples("windows", &[199.0, 200.0, 201.0, 199.0, 200.0, 201.0]).unwrap();
    let zone = |tier: Option<Tier>, parts: usize| {
        let mut one = Measured::of(vec![windows.clone(), reads::READ_LATENCY.single("clock", 5e3)], tier);
        one.cases = vec![one.cases[0].clone(); parts];
        one
    };
    let said = |tier: Option<Tier>, parts: [usize; 2]| {
        let all = [(Zone::Outer, parts[0]), (Zone::Inner, parts[1])].map(|(name, parts)| (name, zone(tier, parts)));
        zones(&published_with(2), Extent::Device, &all).unwrap().message
    };
    for parts in [[2, 1], [1, 2], [2, 2]] {
        let cut = said(Some(Tier::Storage), parts);
        assert!(cut.starts_with("The zones are not compared, because") && !cut.contains("times as much"), "{cut}");
    }
    for (tier, parts) in [(Some(Tier::Storage), [1, 1]), (None, [1, 2])] {
        assert!(said(tier, parts).contains("1.00 times as much in the inner zone"), "{tier:?}");
    }
}

#[test]
fn zones_of_a_file_are_not_said_to_be_those_of_its_device_or_of_the_published_disk() {
    let times = in_zones([5.0, 5.0, 15.0].map(|time| Some((time, time))));
    let said = zones(&published_with(2), Extent::File, &times).unwrap().message;
    assert!(said.starts_with("Where a zone lies makes no difference within this file, but the way"), "{said}");
    assert!(!said.contains("this device") && !said.contains("2005"), "{said}");
    assert_eq!(model_against_published(&published_with(2), Extent::File, &times), None);
}

/// What a read takes, and which level served it.
fn read() -> Reading {
    let tiers = [Tier::PageCache, Tier::Storage, Tier::Mixed { from_storage: 0.5 }, Tier::NeverWritten, Tier::Unknown];
    let tier = prop_oneof![4 => select(tiers.to_vec()).prop_map(Some), 1 => Just(None)];
    let rate = any::<bool>().prop_map(|is_known| is_known.then_some(250.0));
    let answer = |(latency, rate, tail, tier): &(f64, Option<f64>, Option<f64>, Option<Tier>)| {
        let mut one = measured(*latency, *rate, *tier);
        one.cases[0].metrics.iter_mut().for_each(|metric: &mut Metric| {
            metric.statistics = Statistics { p99: *tail, ..metric.statistics };
        });
        whole(&WORKLOAD, &[("a".into(), one)])
    };
    reading(row::ANSWER_READ, (1.0..1e5, rate, option::of(1e2..1e6), tier), answer, |(latency, rate, tail, tier)| {
        let by = match tier {
            Some(Tier::PageCache) => "The page cache served the reads",
            Some(Tier::Storage) => "Storage served",
            Some(Tier::Mixed { .. }) => "Memory and storage together served",
            Some(Tier::NeverWritten) => "The file system itself (the blocks were never written) served",
            Some(Tier::Unknown) => "An unknown level served",
            None => "The model served the reads.",
        };
        let takes = format!("A random read of 8 KiB takes {} with at most 32 in flight", micros(*latency));
        let tail = tail.map_or(": 250 reads a second.".into(), |tail| {
            format!(", one in a hundred {} or more: 250 reads a second.", micros(tail))
        });
        rate.map(|_| says![by, takes, tail])
    })
}

/// Paths against the first, and places or distances against each other.
fn against() -> Vec<Reading> {
    let paths = |figures: &Vec<(f64, f64)>| {
        let one = |(latency, rate): &(f64, f64)| measured(*latency, Some(*rate), None);
        let names = ["first", "second", "third"].map(String::from).into_iter();
        whole(&WORKLOAD, &names.zip(figures.iter().map(one)).collect::<Vec<_>>())
    };
    let paths = reading(row::ANSWER_PATHS, vec((1.0..1e4, 1.0..1e4), 1..4), paths, |figures| {
        let (first, others) = figures.split_first()?;
        let times = |(other, name): (&(f64, f64), &str)| {
            let (latency, rate) = (three_digits(other.0 / first.0), three_digits(other.1 / first.1));
            format!("{name} takes {latency} times as long as one of first, and {name} gives {rate} times")
        };
        (!others.is_empty()).then(|| others.iter().zip(["second", "third"]).map(times).collect())
    });
    let spread_of = |(what, arm, medians): &(&'static str, Arm, Vec<f64>)| {
        let measured: Vec<Measured> = medians.iter().map(|median| measured(*median, None, None)).collect();
        spread(what, *arm, Extent::Device, &measured)
    };
    let arms = select(vec![Arm::Modelled, Arm::NotModelled, Arm::Unknown]);
    let values = (select(&["place", "distance"][..]), arms, vec(10.0..13.0, 0..4));
    let spread = reading(row::ANSWER_SPREAD, values, spread_of, |(what, arm, medians)| {
        medians.get(1)?;
        let least = medians.iter().copied().min_by(f64::total_cmp)?;
        let most = medians.iter().copied().max_by(f64::total_cmp)?;
        let means = match (most / least < 1.15, *arm, *what) {
            (true, Arm::NotModelled, _) => "the model has no arm that moves",
            (true, Arm::Modelled, "place") => "move the arm little (--seek-distances shows its seeks).",
            (true, Arm::Unknown, "place") => "move an arm little (--seek-distances shows seeks).",
            (true, Arm::Modelled, _) => "the arm takes about as long",
            (true, Arm::Unknown, _) => "there is no arm to move",
            (false, Arm::Unknown, _) => "repeat the run",
            (false, Arm::Modelled | Arm::NotModelled, _) => "a model has no noise",
        };
        let range = match (micros(least), micros(most)) {
            (least, most) if least == most => format!("latency is {least} at every {what}"),
            (least, most) => format!("from {least} to {most} over all {what}s"),
        };
        Some(says![range, means])
    });
    vec![paths, spread]
}

/// The reads of the published disk by this many workers, who were two.
fn published_with(workers: usize) -> Workload {
    Workload { workers, depth: 1, ..WORKLOAD }
}

#[test]
fn reads_of_another_kind_are_not_held_against_the_published_disk() {
    let published = published_with(2);
    let times = in_zones([(5.0, 5.0), (8.0, 8.0), (15.0, 15.0)].map(Some));
    let is_beside_in = |workload: &Workload, extent: Extent| {
        let of_model = model_against_published(workload, extent, &times).is_some();
        let says = |finding: Finding| finding.message.contains("the disk of 2005: 1.5");
        [zones(workload, extent, &times).is_some_and(says), of_model]
    };
    assert_eq!(is_beside_in(&published, Extent::Device), [true; 2]);
    assert_eq!(is_beside_in(&published, Extent::Part), [false; 2], "the outer zone does not lie at the edge");
    let is_beside = |workload: &Workload| is_beside_in(workload, Extent::Device);
    for other in [
        Workload { pattern: Pattern::Sequential, ..published },
        Workload { block_size: 1 << 20, ..published },
        Workload { workers: 4, ..published },
        Workload { depth: 16, ..published },
        Workload { rate: Some(100.0), ..published },
    ] {
        assert_eq!(is_beside(&other), [false; 2], "{other:?}");
    }
}

#[test]
fn zones_that_both_give_the_rate_asked_for_are_not_said_to_cost_the_same() {
    // The inner zone's reads take half as long again; there is time for all of them.
    let read = |(zone, micros): (Zone, f64)| (zone, measured(micros, Some(50.0), None));
    let held = [(Zone::Outer, 8e3), (Zone::Inner, 12e3)].map(read);
    assert_eq!(zones(&Workload { rate: Some(50.0), ..published_with(2) }, Extent::Device, &held), None);
    assert!(zones(&published_with(2), Extent::Device, &held).is_some());
}

#[test]
fn place_is_not_said_to_matter_for_a_twentieth_or_for_what_the_windows_of_a_zone_vary_by() {
    let said = |measured: &[(Zone, Measured)]| zones(&published_with(2), Extent::Device, measured).unwrap().message;
    let near = said(&in_zones([(5.0, 5.0), (5.2, 5.2), (15.0, 15.0)].map(Some)));
    assert!(near.starts_with("Where a zone lies makes no difference on this device, but the way"), "{near}");
    let with_windows = |outer: [f64; 6], inner: [f64; 6]| {
        let read = |(zone, rates): (Zone, [f64; 6])| {
            let latency = reads::READ_LATENCY.single("clock", 6e6 / rates.iter().sum::<f64>());
            (zone, Measured::of(vec![reads::IOPS.of_samples("windows", &rates).unwrap(), latency], None))
        };
        said(&[(Zone::Outer, outer), (Zone::Inner, inner)].map(read))
    };
    let steady = with_windows([199.0, 200.0, 201.0, 199.0, 200.0, 201.0], [149.0, 150.0, 151.0, 149.0, 150.0, 151.0]);
    assert!(steady.starts_with("Place matters on this device, so keep"), "{steady}");
    let unsteady = with_windows([20.0, 380.0, 60.0, 340.0, 200.0, 200.0], [10.0, 290.0, 40.0, 260.0, 150.0, 150.0]);
    assert!(unsteady.starts_with("The zones differ by no more than the readings of one zone do"), "{unsteady}");
    assert!(unsteady.contains("1.33 times as much in the inner zone"), "{unsteady}");
}

#[test]
fn one_slow_turn_of_a_file_on_a_busy_machine_is_no_advice_about_its_zones() {
    let said = |outer: [f64; 10], inner: [f64; 10]| {
        let read = |(zone, turns): (Zone, [f64; 10])| {
            let rates = reads::IOPS.of_samples("turns", &turns).unwrap();
            let latency = reads::READ_LATENCY.single("clock", 1e6 / rates.statistics.mean);
            (zone, Measured::of(vec![rates, latency], Some(Tier::Storage)))
        };
        zones(&published_with(2), Extent::Device, &[(Zone::Outer, outer), (Zone::Inner, inner)].map(read))
            .map(|finding| finding.message)
            .unwrap()
    };
    let busy = [210.0, 190.0, 150.0, 260.0, 205.0, 120.0, 240.0, 180.0, 230.0, 215.0];
    let noise = "The zones differ by no more than the readings of one zone do, which is noise, so repeat";
    // By chance slower by a sixth, faster by a sixth, and as fast.
    for mut inner in [busy.map(|rate| rate * 0.86), busy.map(|rate| rate * 1.17), busy] {
        inner.rotate_left(3);
        let said = said(busy, inner);
        assert!(said.starts_with(noise), "{said}");
    }
    let quiet = [200.0, 203.0, 198.0, 201.0, 199.0, 202.0, 197.0, 200.0, 204.0, 198.0];
    let even = said(quiet, quiet.map(|rate| rate * 0.97));
    assert!(even.starts_with("Where a zone lies makes no difference on this device"), "{even}");
    let slower = said(quiet, quiet.map(|rate| rate * 0.8));
    assert!(slower.starts_with("Place matters on this device, so keep"), "{slower}");
}

#[test]
fn few_reads_of_a_machines_device_are_no_difference_between_its_zones() {
    let said = |times: [f64; 2], tier: Option<Tier>| {
        let read = |(zone, time): (Zone, f64)| (zone, measured(time * 1e3, Some(1e3 / time), tier));
        let times = [(Zone::Outer, times[0]), (Zone::Inner, times[1])].map(read);
        zones(&published_with(2), Extent::Device, &times).unwrap().message
    };
    let of_model = said([5.0, 8.0], None);
    assert!(of_model.starts_with("Place matters on this device"), "a model has no noise: {of_model}");
    for times in [[5.0, 8.0], [5.0, 5.1]] {
        let few = said(times, Some(Tier::Storage));
        assert!(few.starts_with("There are too few reads to tell whether the zones differ"), "{few}");
    }
}

#[test]
fn reads_that_memory_may_have_served_do_not_show_that_place_makes_no_difference() {
    let windows = reads::IOPS.of_samples("windows", &[199.0, 200.0, 201.0, 199.0, 200.0, 201.0]).unwrap();
    let read = |tier: Tier| Measured::of(vec![windows.clone(), reads::READ_LATENCY.single("clock", 5e3)], Some(tier));
    for (tier, is_of_device) in [
        (Tier::Storage, true),
        (Tier::Unknown, false),
        (Tier::PageCache, false),
        (Tier::Mixed { from_storage: 0.5 }, false),
        (Tier::NeverWritten, false),
    ] {
        let of_zones = [(Zone::Outer, Tier::Storage), (Zone::Inner, tier)].map(|(zone, tier)| (zone, read(tier)));
        let said = zones(&published_with(2), Extent::Device, &of_zones).unwrap().message;
        assert_eq!(said.starts_with("Where a zone lies makes no difference on this device"), is_of_device, "{said}");
        assert_eq!(said.contains("the disk of 2005"), is_of_device, "{said}");
        let of_places = [Tier::Storage, tier].map(read);
        let said = spread("distance", Arm::Unknown, Extent::Device, &of_places).unwrap().message;
        assert_eq!(said.contains("there is no arm to move"), is_of_device, "{said}");
        assert_eq!(said.contains("it is not proved that the device served all"), !is_of_device, "{said}");
    }
}

#[test]
fn what_holds_in_a_part_of_a_device_is_not_said_of_all_of_it() {
    for (inner, both) in [(5.0, 5.0), (5.0, 15.0), (8.0, 15.0)] {
        let times = in_zones([5.0, inner, both].map(|time| Some((time, time))));
        let said = |extent| zones(&published_with(3), extent, &times).unwrap().message;
        let of_part = said(Extent::Part).replace("within the part that was read", "on this device");
        assert_eq!(of_part, said(Extent::Device));
        assert!(!said(Extent::Part).contains("on this device"), "{}", said(Extent::Part));
        let beside = |extent| zones(&published_with(2), extent, &times).unwrap().message.contains("the disk of 2005");
        assert_eq!([Extent::Device, Extent::Part].map(beside), [true, false]);
    }
    let over = |last: f64, extent| {
        let measured = [10.0, last].map(|median| measured(median, None, None));
        spread("place", Arm::Unknown, extent, &measured).unwrap().message
    };
    assert!(over(10.0, Extent::Part).contains("at every place within the part that was read:"));
    assert!(over(20.0, Extent::Part).contains("over all places within the part that was read, a factor"));
    assert!(!over(20.0, Extent::Device).contains("within the part"));
}

/// Zones, those of a model beside the published ones, and the outer half of the model's disk.
fn places() -> Vec<Reading> {
    let zones = reading(
        row::ANSWER_ZONES,
        (2..5_usize, [zone(), zone(), zone()]),
        |(workers, times)| zones(&published_with(*workers), Extent::Device, &in_zones(*times)),
        |(workers, times)| {
            let [outer, inner, both] = *times;
            let workers = match workers {
                2 => "with one worker in each zone".into(),
                3 => "with 3 workers, 1 of them in the outer zone".into(),
                more => format!("with {more} workers, half of them in each zone"),
            };
            let others: Vec<(f64, f64)> = [inner, both].into_iter().flatten().collect();
            let costs =
                |place: &str, time: Time| Some(format!("{} times as much {place}", three_digits(time?.0 / outer?.0)));
            let clauses = [costs("in the inner zone", inner), costs(&workers, both)];
            let place = place(outer?, inner, both);
            (!others.is_empty()).then(|| clauses.into_iter().flatten().chain([place.into()]).collect())
        },
    );
    let of_model = |(workers, times): &(usize, [Time; 3])| {
        model_against_published(&published_with(*workers), Extent::Device, &in_zones(*times))
    };
    let values = (1..5_usize, [zone(), zone(), zone()]);
    let published = reading(row::ANSWER_MODEL_PUBLISHED, values, of_model, |(workers, times)| {
        let named = ["outer", "inner", "both"].into_iter().zip(*times).zip([5.7, 8.7, 16.4]);
        let clause = |((name, time), published): ((&str, Time), f64)| {
            Some(format!("{name} {} ms (published {published})", three_digits(time?.0)))
        };
        let clauses: Vec<String> = named.filter_map(clause).collect();
        let stands = *workers == 2 && !clauses.is_empty();
        stands.then(|| clauses.into_iter().chain(["With 2 workers,".into()]).collect())
    });
    let half = |gain: &f64| {
        let (cylinders, seek_ms, whole_seek_ms) = (0.41, 5.5, 8.5);
        outer_half(OuterPart { share: 0.5, block: 65_536, cylinders, seek_ms, whole_seek_ms, rate_gain: *gain })
    };
    let half = reading(row::ANSWER_OUTER_HALF, 0.8..2.0, half, |gain| {
        let gives = format!("one read of 64 KiB at a time gives {} times", three_digits(*gain));
        (*gain > 1.0).then(|| says!["outer 41.0 % of the tracks", gives])
    });
    vec![zones, published, half]
}

/// Two names, of a file or of a model, which are the same thing or not.
fn names() -> Reading {
    let of = |(is_model, is_same): &(bool, bool)| {
        let folder = tempfile::tempdir().unwrap();
        let [first, other] = ["a", "b"].map(|name| folder.path().join(name));
        std::fs::write(&first, "").unwrap();
        let paths = match (is_model, is_same) {
            (true, true) => ["model:ssd", "model:ssd"].map(PathBuf::from),
            (true, false) => ["model:ssd", "model:hdd-7200"].map(PathBuf::from),
            (false, true) => [first.clone(), folder.path().join("./a")],
            (false, false) => {
                std::fs::write(&other, "").unwrap();
                [first, other]
            }
        };
        let (once, findings) = each_once(&paths);
        assert_eq!(once.len() + findings.len(), 2);
        findings
    };
    reading(row::NAMED_BEFORE, (any::<bool>(), any::<bool>()), of, |(is_model, is_same)| {
        let said =
            if *is_model { "model:ssd is given twice: it is read once." } else { "which was named before: it is" };
        is_same.then(|| says![said])
    })
}

#[test]
fn a_path_that_is_given_again_is_not_said_to_be_another_name_of_itself() {
    let said = |paths: &[&str]| {
        let (_, findings) = each_once(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        findings.last().unwrap().message.clone()
    };
    assert_eq!(said(&["gone", "gone"]), "gone is given twice: it is read once.");
    assert_eq!(said(&["gone", "other", "gone", "gone"]), "gone is given 3 times: it is read once.");
}

#[test]
fn a_file_is_one_by_any_of_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let [first, hard, soft] = ["first", "hard", "soft"].map(|name| folder.path().join(name));
    std::fs::write(&first, "").unwrap();
    std::fs::hard_link(&first, &hard).unwrap();
    std::os::unix::fs::symlink("first", &soft).unwrap();
    let paths = [first.clone(), hard, soft, folder.path().join("gone")];
    let (once, findings) = each_once(&paths);
    assert_eq!((once, findings.len()), (vec![first.as_path(), paths[3].as_path()], 2));
}

#[test]
fn what_reads_of_a_disk_say_follows_from_their_times() {
    both_sides(&disk::findings::ALL, [vec![read(), names()], against(), places()].into_iter().flatten());
}
