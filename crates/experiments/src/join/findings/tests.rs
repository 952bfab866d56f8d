//! The findings of the experiment, read on both sides of their conditions.

use measure::quantity::{counted, format_nanos};
use measure::schema::Spec;
use measure::{Case, Parameters};
use sides::proptest::array::{uniform2, uniform3};
use sides::proptest::option;
use sides::proptest::prelude::{Just, Strategy, any, prop_oneof};
use sides::{Reading, both_sides, reading, says};
use subjects::NestedLoops;
use subjects::nested_loops::{Asked, Group, JoinVariant};

use super::*;
use crate::join::bench::{Bench, Gain};
use crate::join::parameters::JoinParameters;
use crate::join::planner::Costs;
use crate::join::tests::{Fake, Log};
use crate::join::{apart, measuring, planner};
use crate::journal::{Kept, Stop};
use crate::machine::Machine;

fn group(name: &str, is_direct: bool) -> Group {
    let parameters = Parameters::from_iter([("name".to_string(), name.into()), ("direct".into(), is_direct.into())]);
    Group { name: name.into(), is_direct, parameters, variants: Vec::new(), gathers_nothing: None }
}

/// A case of a method, gathered unless it is one at a time, with these metrics.
fn one(method: &'static str, size: Option<u64>, metrics: &[(&Spec, f64)]) -> Measured {
    let metrics = metrics.iter().map(|(spec, value)| spec.single("made up", *value)).collect();
    let is_gathered = !["one-at-a-time", "nested-loop"].contains(&method);
    let variant = JoinVariant { method, parameters: Parameters::new(), size, is_gathered };
    Measured { rand: 100, group: group("", false), variant, case: Case { metrics, ..Case::default() } }
}

/// A case that waits for this many milliseconds and takes half of that besides.
fn waiting(method: &'static str, size: Option<u64>, millis: f64) -> Measured {
    one(method, size, &[(&join::IO_TIME, millis), (&join::ELAPSED, millis * 1.5), (&join::BLOCKS_PER_REQUEST, 7.0)])
}

fn device(depth: usize, not_from_storage: Option<&str>) -> DeviceReads {
    DeviceReads { alone: 400.0, together: 50.0, depth, not_from_storage: not_from_storage.map(String::from) }
}

fn reported(cases: impl IntoIterator<Item = Measured>, device: &DeviceReads) -> Vec<Finding> {
    let cases: Vec<Measured> = cases.into_iter().collect();
    Kept::found(|journal| report((100, None), &cases, device, journal))
}

/// Milliseconds of waiting one at a time and by two methods, each where it was measured, and the reads in flight.
type Waits = ([Option<f64>; 3], usize, bool);

const METHODS: [&str; 2] = ["batch", "batched-rowid"];

fn waits() -> impl Strategy<Value = Waits> {
    let near = || prop_oneof![1 => Just(0.0), 9 => 85.0..115.0, 3 => 10.0..50.0];
    (uniform3(option::weighted(0.85, near())), prop_oneof![Just(1_usize), Just(64)], any::<bool>())
}

fn of_waits(([alone, one, other], depth, is_known): &Waits) -> Vec<Finding> {
    let gathered =
        METHODS.into_iter().zip([one, other]).filter_map(|(method, time)| Some(waiting(method, None, (*time)?)));
    let alone = alone.map(|time| waiting("one-at-a-time", None, time));
    reported(alone.into_iter().chain(gathered), &device(*depth, (!is_known).then_some("96 % stayed")))
}

/// The ratios of those methods that waited.
fn ratios(([alone, one, other], ..): &Waits) -> Option<Vec<(&'static str, f64)>> {
    let alone = alone.filter(|alone| *alone > 0.0)?;
    let ratio = |(method, time): (&'static str, &Option<f64>)| Some((method, alone / time.filter(|time| *time > 0.0)?));
    let ratios: Vec<_> = METHODS.into_iter().zip([one, other]).filter_map(ratio).collect();
    (!ratios.is_empty()).then_some(ratios)
}

/// What gathering gains of the wait, and that it gains nothing where reads go one by one.
fn gains() -> [Reading; 2] {
    let gain = reading(row::ANSWER_GAIN, waits(), of_waits, |waits| {
        let clause = |(method, ratio): &(&str, f64)| format!("{method} {}", three_digits(*ratio));
        let clauses = ratios(waits)?.iter().map(clause).collect::<Vec<_>>().join(", ");
        let reads = match (waits.1, waits.2) {
            (1, _) => "; one read at a time is all that this way of reading has. The whole join",
            (_, true) => {
                "; random reads of the same file without a join gain a factor of 8.00 with 64 in flight. The whole join"
            }
            (_, false) => {
                "is not known, because it is not proved that the storage served all of them: 96 % stayed. The whole"
            }
        };
        // The processor's part makes all joins longer alike.
        let waits = format!("as with batching or prefetching: {clauses}; ");
        Some(says![waits, reads, format!("the processor's work: {clauses}.")])
    });
    let serialized = reading(row::ANSWER_SERIALIZED, waits(), of_waits, |waits| {
        let is_same = |(_, ratio): &(&str, f64)| (1.0 / 1.1..1.1).contains(ratio);
        (waits.1 == 1 && ratios(waits)?.iter().all(is_same))
            .then(|| says!["With 100 % of the rows out of order all", "asynchronous reads: leave out --io sync"])
    });
    [gain, serialized]
}

/// Milliseconds by the size of a batch, where each was measured.
fn saturation() -> Reading {
    let sizes = [16, 64, 1024, 4096];
    let values = (any::<bool>(), [0, 1, 2, 3].map(|at| option::weighted(0.9, (100.0 - 3.0 * f64::from(at))..104.0)));
    let cases = move |(is_awaited, times): &(bool, [Option<f64>; 4])| {
        let method = if *is_awaited { "awaited-batch" } else { "batch" };
        let of_sizes =
            sizes.into_iter().zip(*times).filter_map(|(size, time)| Some(waiting(method, Some(size), time?)));
        reported([waiting("one-at-a-time", None, 200.0)].into_iter().chain(of_sizes), &device(64, None))
    };
    reading(row::ANSWER_SATURATION, values, cases, move |(is_awaited, times)| {
        let times: Vec<(u64, f64)> =
            sizes.into_iter().zip(*times).filter_map(|(size, time)| Some((size, time?))).collect();
        let gains_no_more = |at: &usize| times[at + 1..].iter().all(|(_, larger)| times[*at].1 < larger * 1.05);
        let at = (0..times.len().checked_sub(1)?).find(gains_no_more).filter(|_| times.len() >= 3)?;
        let method = if *is_awaited { "awaited-batch" } else { "batch" };
        let size = grouped(times[at].0);
        let are_alike = times[at + 1..].iter().all(|(_, larger)| *larger < times[at].1 * 1.05);
        Some(match (at, are_alike, is_awaited) {
            (0, true, true) => says![format!("to {method}: {size} at a time is within 5 % of every larger size.")],
            (0, true, false) => {
                says![format!("to {method}: {size} at a time is within 5 % of every larger size. Its batches overlap")]
            }
            _ => says![format!(
                "{method} gains less than 5 % by batches of more than {size} rows, which are 7.00 blocks a request."
            )],
        })
    })
}

#[test]
fn batches_that_take_longer_the_larger_they_are_are_not_said_to_be_alike() {
    let said = |times: [f64; 3]| {
        let batches = [16, 64, 256].into_iter().zip(times);
        let batches = batches.map(|(size, millis)| waiting("awaited-batch", Some(size), millis));
        let found = reported([waiting("one-at-a-time", None, 200.0)].into_iter().chain(batches), &device(64, None));
        found.into_iter().find(|finding| finding.id == row::ANSWER_SATURATION.id).unwrap().message
    };
    let (alike, longer) = (said([20.0, 20.5, 20.1]), said([20.0, 30.0, 40.0]));
    assert!(alike.contains("makes no difference"), "{alike}");
    assert!(longer.contains("gains less than 5 % by batches of more than 16 rows"), "{longer}");
}

fn of_server(cases: &[Measured], before: &[Gain]) -> Vec<Finding> {
    Kept::found(|journal| apart::report("postgres 18.6", cases, before, journal))
}

/// Milliseconds one at a time and by both sizes of a bitmap, the part of its blocks that was in memory, the group's
/// name, whether it reads directly, and whether it can gather at all.
type Server = ([f64; 3], f64, bool, bool, bool);

fn server() -> impl Strategy<Value = Server> {
    let times = [90.0..115.0, 80.0..120.0, 80.0..120.0];
    (times, 0.0..0.2, any::<bool>(), any::<bool>(), prop_oneof![3 => Just(true), 1 => Just(false)])
}

fn gathering(([alone, small, large], cached, is_named, is_direct, gathers): &Server) -> Vec<Finding> {
    let absence = (!gathers).then(|| measure::schema::subjects::findings::SERVER_ADVICE.of("It gathers nothing."));
    let name = if *is_named { "io_method worker" } else { "" };
    let group = Group { gathers_nothing: absence, ..group(name, *is_direct) };
    let of = |method, size, millis: f64| {
        let blocks = [(&join::TABLE_BLOCKS, (1.0 - cached) * 1e4), (&join::TABLE_HITS, cached * 1e4)];
        Measured {
            group: group.clone(),
            ..one(method, size, &[[(&join::ELAPSED, millis)].as_slice(), &blocks].concat())
        }
    };
    let cases =
        [of("nested-loop", None, *alone), of("bitmap-scan", Some(1), *small), of("bitmap-scan", Some(64), *large)];
    let gain = |rand, elapsed| Gain { subject: "engine".into(), rand, method: "batch", elapsed };
    of_server(&cases, &[gain(0, 9.0), gain(100, 4.0)])
}

/// What gathering is worth on a server, and where its joins were not cold.
fn gathered() -> [Reading; 3] {
    let gain =
        reading(row::ANSWER_SERVER_GAIN, server(), gathering, |(times, cached, is_named, is_direct, gathers)| {
            let [alone, small, large] = *times;
            let (best, size) = if small < large { (small, "1 read") } else { (large, "64 reads") };
            let through = if *is_direct { "past" } else { "through" };
            let with = if *is_named { "with io_method worker and" } else { "with" };
            let [alone_said, best_said] = [alone, best].map(|millis| format_nanos(millis * 1e6));
            let worth = format!(
                "{through} the page cache and 100 % of the rows out of order, batching or prefetching gains a factor \
                 of {}:",
                three_digits(alone / best)
            );
            let one_by_one = format!(": {alone_said} by nested-loop, which reads one block at a time");
            let times = format!("{one_by_one}, {best_said} by bitmap-scan {with} {size} ahead.");
            let beside = " On the same rows, engine gains a factor of 4.00 by batch.";
            (*gathers && *cached <= 0.1).then(|| says![worth, format!("{times}{beside}")])
        });
    let serialized = reading(
        row::ANSWER_SERVER_SERIALIZED,
        server(),
        gathering,
        |([alone, small, large], _, is_named, is_direct, _)| {
            let best = alone / small.min(*large);
            let group = if *is_named { ", io_method worker" } else { "" };
            let with =
                format!("On postgres 18.6, with direct reads{group} and 100 % of the rows out of order, batching");
            let said = format!("gains nothing ({} times at best)", three_digits(best));
            (*is_direct && best < 1.1).then(|| says![with, said])
        },
    );
    let not_cold = reading(row::NOT_ALL_COLD, server(), gathering, |(_, cached, ..)| {
        let said = format!("On postgres 18.6, up to {} % of the blocks of a join", three_digits(cached * 100.0));
        (*cached > 0.1).then(|| says![said])
    });
    [gain, serialized, not_cold]
}

/// Which level served blocks that come one at a time, of the first case that says.
fn answered_by() -> [Reading; 2] {
    let values = || (option::weighted(0.8, 10.0..30.0), any::<bool>(), any::<bool>());
    let of = |(micros, is_direct, is_gathered): &(Option<f64>, bool, bool)| {
        let method = if *is_gathered { "bitmap-scan" } else { "nested-loop" };
        let spec = join::RANDOM_BLOCK;
        let block = micros.map(|micros| (&spec, micros));
        let case = one(method, None, &block.into_iter().collect::<Vec<_>>());
        of_server(&[Measured { group: group("io_method sync", *is_direct), ..case }], &[])
    };
    let takes = |(micros, is_direct, is_gathered): &(Option<f64>, bool, bool)| {
        let micros = micros.filter(|_| !is_direct && !is_gathered)?;
        let takes = format!(
            "On postgres 18.6, a block that the nested-loop with io_method sync reads through the page cache takes {}",
            format_nanos(micros * 1e3)
        );
        Some((micros, takes))
    };
    let memory = reading(row::ANSWERED_BY_PAGE_CACHE, values(), of, move |value| {
        let (micros, takes) = takes(value)?;
        (micros < 20.0).then(|| says![format!("{takes}: the page cache answered")])
    });
    let storage = reading(row::ANSWERED_BY_STORAGE, values(), of, move |value| {
        let (micros, takes) = takes(value)?;
        (micros >= 20.0).then(|| says![format!("{takes}: the storage answered.")])
    });
    [memory, storage]
}

#[test]
fn blocks_in_order_that_the_kernel_reads_ahead_are_not_said_to_come_from_the_page_cache() {
    let said = |cases: &[(u8, f64)]| {
        let case = |(rand, micros): &(u8, f64)| Measured {
            rand: *rand,
            ..one("nested-loop", None, &[(&join::RANDOM_BLOCK, *micros)])
        };
        let found = of_server(&cases.iter().map(case).collect::<Vec<_>>(), &[]);
        found.into_iter().map(|finding| finding.id).collect::<Vec<_>>()
    };
    let (memory, storage) = (row::ANSWERED_BY_PAGE_CACHE.id, row::ANSWERED_BY_STORAGE.id);
    assert_eq!(said(&[(0, 5.0), (100, 90.0), (50, 60.0)]), [storage]);
    assert_eq!(said(&[(0, 5.0), (100, 6.0)]), [memory]);
    assert_eq!(said(&[(0, 90.0)]), [storage]);
    assert!(said(&[(0, 5.0)]).is_empty());
}

/// Joins of two methods, a quarter to three quarters apart, whose waits are timed or not.
fn scatter() -> Reading {
    let machine = Machine::observe(Stop::default()).rehearsal();
    let of = move |(spreads, is_apart): &([f64; 2], bool)| {
        let asked = Asked { rows: 1000, ..Asked::default() };
        let parameters = JoinParameters { outer_rows: 300, repeat: Some(3), asked, ..JoinParameters::default() };
        let mut fake = Fake::new("here", &Log::default());
        (fake.spreads, fake.is_apart) = (*spreads, *is_apart);
        let table = parameters.asked.table(100);
        let facts = fake.prepare(table, &mut |_, _| {}).unwrap();
        let mut bench = Bench::new((&parameters, &machine), &mut fake, false);
        Kept::found(|journal| {
            measuring::cases(&mut bench, (table, &facts), &facts.groups[0], None, journal).map(drop).unwrap();
        })
    };
    let spreads = uniform2(0.25..0.75);
    reading(
        row::JOINS_SCATTER,
        (spreads, prop_oneof![3 => Just(false), 1 => Just(true)]),
        of,
        |([one, other], is_apart)| {
            let methods = match (*one > 0.5, *other > 0.5) {
                (false, false) => return None,
                (true, true) => "one-at-a-time, batch",
                (true, false) => "one-at-a-time",
                (false, true) => "batch",
            };
            (!is_apart).then(|| says![format!("the joins by {methods} differ among themselves")])
        },
    )
}

/// Milliseconds, microseconds of a random block and the break-even of joins one at a time and gathered, blocks of the
/// table, and microseconds of a block in sequence.
type View = ([(f64, f64, f64); 2], u64, f64);

fn view() -> impl Strategy<Value = View> {
    let even = || prop_oneof![1 => Just(100.0), 3 => 1.0..99.0];
    let gathered = prop_oneof![1 => 95.0..105.0, 1 => 10.0..90.0];
    let blocks = prop_oneof![1 => Just(1_u64), 1 => 250..262_u64, 2 => 500..900_u64];
    let sequential = prop_oneof![1 => Just(0.0), 4 => 1.0..20.0];
    (
        [(Just(100.0).boxed(), 80.0..200.0, even().boxed()), (gathered.boxed(), 20.0..100.0, even().boxed())],
        blocks,
        sequential,
    )
}

fn viewed((cases, blocks, block): &View, has_costs: bool) -> Vec<Finding> {
    let case = |(method, (millis, random, even)): (&'static str, &(f64, f64, f64))| {
        one(method, None, &[(&join::ELAPSED, *millis), (&join::RANDOM_BLOCK, *random), (&join::BREAK_EVEN, *even)])
    };
    let cases: Vec<Measured> = ["one-at-a-time", "batch"].into_iter().zip(cases).map(case).collect();
    let costs = Costs { rows: 2000, blocks: *blocks, scan: 50.0, block: *block };
    Kept::found(|journal| planner::report((100, false), None, &cases, has_costs.then_some(costs), journal))
}

#[test]
fn a_planner_is_told_no_factor_of_joins_that_are_too_short_for_a_gain() {
    let found = |blocks: f64| {
        let case = |method: &'static str, millis: f64| {
            let figures = [(&join::ELAPSED, millis), (&join::RANDOM_BLOCK, millis), (&join::BREAK_EVEN, 50.0)];
            one(method, None, &[figures.as_slice(), &[(&join::BLOCKS_READ, blocks)]].concat())
        };
        let cases = [case("one-at-a-time", 100.0), case("batch", 30.0)];
        let costs = Costs { rows: 2000, blocks: 500, scan: 50.0, block: 5.0 };
        Kept::found(|journal| planner::report((100, false), None, &cases, Some(costs), journal)).len()
    };
    assert_eq!([found(255.0), found(256.0)], [0, 1]);
}

/// What a planner gets wrong, of a table that is large enough.
fn planner() -> [Reading; 2] {
    let values = || (view(), prop_oneof![4 => Just(true), 1 => Just(false)]);
    let of = |(view, has_costs): &(View, bool)| viewed(view, *has_costs);
    let seen = reading(row::PLANNER_VIEW, values(), of, |((cases, blocks, block), has_costs)| {
        let [(alone, random, even), (gathered, random_gathered, even_gathered)] = *cases;
        // One sample has no range.
        let range = |value: f64, unit| format!("{} {unit}", three_digits(value));
        let from = |even: f64| match even < 100.0 {
            true => format!("from {} of the rows on", range(even, "%")),
            false => "for no part of the rows".into(),
        };
        let takes =
            format!("takes {} one at a time and {} by batch", range(random, "µs"), range(random_gathered, "µs"));
        let evens =
            format!("faster {} when look-ups come one at a time, and {} by batch.", from(even), from(even_gathered));
        let factor = alone / gathered;
        let factor = match factor < 1.1 {
            true => format!("By batch a join is {} times as fast, which is no real gain", three_digits(factor)),
            false => format!("overestimates a nested loop by batch {} times, and", three_digits(factor)),
        };
        let pages = random_gathered / block;
        let error = match 4.0 / pages {
            high if high >= 1.1 => format!("{} times too high.", three_digits(high)),
            low if low <= 1.0 / 1.1 => format!("{} times too low.", three_digits(1.0 / low)),
            _ => "right.".into(),
        };
        let constant = format!(
            "{} measured one at a time and {} by batch, where it is {error}",
            three_digits(random / block),
            three_digits(pages)
        );
        let constant = (*block > 0.0).then_some(constant);
        (*has_costs && *blocks >= 256).then(|| [takes, evens, factor].into_iter().chain(constant).collect())
    });
    let absent = reading(row::ABSENT_PLANNER_VIEW, values(), of, |((_, blocks, _), has_costs)| {
        let table = counted(*blocks, "block", "blocks");
        (*has_costs && *blocks < 256).then(|| says![format!("The table has {table}; fewer than 256 are too few")])
    });
    [seen, absent]
}

/// Blocks that joins one at a time and gathered read, and whether they are those of a server.
fn few_blocks() -> Reading {
    let near = || prop_oneof![1 => Just(0.0), 3 => 250.0..262.0, 2 => 1e3..1e4].prop_map(f64::floor);
    let of = |(blocks, is_server): &([f64; 2], bool)| {
        let [alone, gathered] = *blocks;
        let case = |method, blocks| {
            let read = [(&join::BLOCKS_READ, blocks), (&join::INDEX_BLOCKS, 0.0), (&join::TABLE_HITS, 0.0)];
            let times = [(&join::IO_TIME, 10.0), (&join::ELAPSED, 10.0)];
            one(method, None, &[times.as_slice(), &read].concat())
        };
        let found = match is_server {
            false => reported([case("one-at-a-time", alone), case("batch", gathered)], &device(64, None)),
            true => of_server(&[case("nested-loop", alone), case("bitmap-scan", gathered)], &[]),
        };
        let says_gain =
            found.iter().any(|finding| row::ANSWER_GAIN.made(finding) || row::ANSWER_SERVER_GAIN.made(finding));
        assert_eq!(says_gain, alone.min(gathered) >= 256.0, "{found:?}");
        found
    };
    let values = (uniform2(near()), any::<bool>());
    reading(row::ABSENT_GAIN, values, of, |(blocks, _)| {
        let fewest = blocks[0].min(blocks[1]);
        let read = format!("a join read {}", counted(fewest as u64, "block", "blocks"));
        (fewest < 256.0).then(|| says![read, "fewer than 256 are too few to show a gain from batching"])
    })
}

#[test]
fn what_joins_say_follows_from_their_times() {
    let all = gains().into_iter().chain([saturation(), scatter(), few_blocks()]).chain(gathered()).chain(answered_by());
    both_sides(&join::findings::ALL, all.chain(planner()));
}
