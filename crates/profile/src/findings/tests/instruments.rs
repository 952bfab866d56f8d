//! What the further observers say: the miss curve, the tiers of reads, the cost of a get and of a row, a breakdown.

use measure::Finding;
use measure::quantity::{format_nanos, size_in_words, three_digits};
use measure::schema::profile::findings as row;
use sides::proptest::option;
use sides::proptest::prelude::any;
use sides::proptest::sample::select;
use sides::{Reading, reading, says};

use super::made::{add, calls, micros, profile, query};
use crate::document::timeline::finding;
use crate::event::{Accounted, Call, CallKind, Context, Cost, Observer, Ticks, Wait};
use crate::observe::collector::{Collector, THINK_TIME};
use crate::observe::instruments::Instruments;
use crate::observe::miss_curve::MissCurve;
use crate::observe::skew::{Dimension, Filter, Skew};
use crate::observe::tests::{context, fetch, hear, wait};
use crate::tables::Profile;

pub(super) fn readings() -> Vec<Reading> {
    let [gains, gains_little] = larger_cache();
    let [tiers, memory] = tiers();
    let [merged, without_cpu, without_value, empty] = breakdown();
    vec![gains, gains_little, sampled(), leaves_out(), of_several_files(), tiers, memory, below_zero(), by_rows()]
        .into_iter()
        .chain([by_neither(), merged, without_cpu, without_value, empty, no_timeline()])
        .collect()
}

const FILE_NAME: &str = "a.trc";

const FILE: &[&str] = &["file#", "block#", "blocks"];

/// Single-block reads, multi-block reads, reads past the cache, reads without an address.
fn events() -> Context {
    context(&[
        ("db file sequential read", FILE),
        ("db file scattered read", FILE),
        ("direct path read", &["file number", "first dba", "block cnt"]),
        ("db file parallel read", &["files", "blocks", "requests"]),
    ])
}

/// What instruments say that heard these waits.
fn heard(waits: impl IntoIterator<Item = Wait>) -> Vec<Finding> {
    let (context, mut instruments) = (events(), Instruments::default());
    waits.into_iter().for_each(|wait| instruments.wait(&context, &wait));
    instruments.findings(&Profile { context, ..Profile::default() })
}

/// A curve of reads of 100 µs each.
fn curve(blocks: impl Iterator<Item = i64>, blocks_exact: usize) -> MissCurve {
    let (context, mut curve) = (events(), MissCurve::new(blocks_exact));
    blocks.for_each(|block| hear(&context, &wait(0, 100, [4, block, 1]), |wait, time| curve.add(wait, time)));
    curve
}

/// Different blocks, further reads of them in the same order, and the size of a block where a line has it.
type Reads = (i64, i64, Option<u64>);

fn larger_cache() -> [Reading; 2] {
    let values = (select(vec![0_i64, 1, 40, 100]), 0..12_i64, select(vec![None, Some(4096), Some(16_384)]));
    let of = |(different, again, bytes): &Reads| {
        let blocks = (0..different + again).map(|read| read % different.max(&1));
        let blocks = blocks.take(if *different == 0 { 0 } else { usize::MAX });
        curve(blocks, 1 << 10).findings(*bytes)
    };
    let share = |(different, again, _): &Reads| *again as f64 / (different + again) as f64;
    let gains = reading(row::LARGER_CACHE_GAINS, values.clone(), of, move |reads| {
        let (different, again, bytes) = *reads;
        // As many blocks lie between two reads of one as there are others.
        let more = match different {
            ..=1 => 1,
            2..=64 => 64,
            _ => 128,
        };
        let assumed = if bytes.is_none() { ", in blocks of 8 KiB: assumed" } else { "" };
        let blocks = if more == 1 { "1 more block".into() } else { format!("{more} more blocks") };
        let size = size_in_words(more * bytes.unwrap_or(8192));
        let percent = format!("{:.0} % of the block reads", 100.0 * share(reads));
        let time = format_nanos(1e5 * again as f64);
        let said = format!(
            "{percent} read a block again. {blocks} of buffer cache ({size}{assumed}) would have avoided {percent} and \
             {time} of waiting"
        );
        (different > 0 && again * 20 >= different + again).then(|| says![said])
    });
    let gains_little = reading(row::LARGER_CACHE_GAINS_LITTLE, values, of, move |reads| {
        let (different, again, _) = *reads;
        let said = match again {
            0 => "No block was read a second time".into(),
            _ => format!("{} % of the block reads read a block again:", three_digits(100.0 * share(reads))),
        };
        (different > 0 && again * 20 < different + again).then(|| says![said])
    });
    [gains, gains_little]
}

/// Different blocks, of which a curve has room for 64.
fn sampled() -> Reading {
    let read = |blocks: i64| curve(0..blocks, 64);
    let of = move |blocks: &i64| read(*blocks).findings(None);
    reading(row::MISS_CURVE_SAMPLED, 50..90_i64, of, move |blocks| {
        let curve = read(*blocks);
        let share = format!("a sample of {} blocks, {:.2} % of", curve.sampled_blocks(), 100.0 * curve.sampled_share());
        (*blocks > 64).then(|| says![share])
    })
}

/// Reads into the cache, past it, and of blocks that are not named.
fn leaves_out() -> Reading {
    let of = |(cached, past, unnamed): &(i64, i64, i64)| {
        let reads = |event: u32, count: i64| (0..count).map(move |number| wait(event, 100, [4, number, 8]));
        heard(reads(0, *cached).chain(reads(2, *past)).chain(reads(3, *unnamed)))
    };
    reading(row::MISS_CURVE_LEAVES_OUT, (0..3_i64, 0..3_i64, 0..3_i64), of, |(cached, past, unnamed)| {
        let beginning =
            if *cached > 0 { "The miss curve leaves out" } else { "There is no miss curve: the trace has only" };
        let past = match past {
            0 => None,
            1 => Some("1 read past the buffer cache".into()),
            past => Some(format!("{past} reads past the buffer cache")),
        };
        let unnamed = match unnamed {
            0 => None,
            1 => Some("1 read whose line names no block".into()),
            unnamed => Some(format!("{unnamed} reads whose lines name no block")),
        };
        let parts: Vec<String> = past.into_iter().chain(unnamed).collect();
        (!parts.is_empty()).then(|| says![format!("{beginning} {}.", parts.join(" and "))])
    })
}

/// Files, and reads into the cache and past it.
fn of_several_files() -> Reading {
    let of = |(files, cached, past): &(usize, usize, usize)| {
        let (context, mut instruments) = (events(), Instruments::default());
        (0..*files).for_each(|number| instruments.begin_file(&format!("{number}.trc")));
        (0..*cached).for_each(|_| instruments.wait(&context, &wait(0, 100, [4, 7, 1])));
        (0..*past).for_each(|_| instruments.wait(&context, &wait(2, 100, [4, 7, 8])));
        instruments.findings(&Profile { context, ..Profile::default() })
    };
    reading(row::MISS_CURVE_OF_SEVERAL_FILES, (0..4_usize, 0..2_usize, 0..2_usize), of, |(files, cached, _)| {
        (*files > 1 && *cached > 0).then(|| says!["give the traces of each database separately."])
    })
}

/// What reads are called by the event that they wait for.
const NOUNS: [&str; 2] = ["single-block reads", "multi-block reads"];

/// A time in µs and what it says of the level that served the read, of one block and of eight.
const LEVELS: [(i64, &str); 3] =
    [(30, "(memory of this host: the page cache)"), (500, "(the storage's cache, or flash)"), (9000, "(a disk)")];

/// Reads of a kind, and the µs that each took.
fn reads_of(event: u32, micros: i64, count: i64) -> impl Iterator<Item = Wait> {
    (0..count).map(move |number| wait(event, micros, [4, 1000 * number, if event == 0 { 1 } else { 8 }]))
}

fn tiers() -> [Reading; 2] {
    let of = |(event, (micros, _), count): &(u32, (i64, &str), i64)| heard(reads_of(*event, *micros, *count));
    let values = (0..2_u32, select(LEVELS.to_vec()), 36..44_i64);
    let tiers = reading(row::TIERS, values, of, |(event, (micros, level), count)| {
        let (noun, time) = (NOUNS[*event as usize], format_nanos(1e3 * *micros as f64));
        let said =
            format!("Where the {noun} were served, inferred from latency alone: 100 % took about {time} {level}.");
        (*count >= 40).then(|| says![said])
    });
    let of = |(event, fast): &(u32, i64)| heard(reads_of(*event, 31, *fast).chain(reads_of(*event, 9000, 400 - fast)));
    let memory = reading(row::FILE_SYSTEM_CACHE_ANSWERS, (0..2_u32, 30..50_i64), of, |(event, fast)| {
        let share = format!("{:.0} % of the {} were as fast", 100.0 * (*fast as f64 / 400.0), NOUNS[*event as usize]);
        (*fast >= 40).then(|| says![share])
    });
    [tiers, memory]
}

fn below_zero() -> Reading {
    let of = |(count, micros): &(i64, i64)| heard(reads_of(0, *micros, *count));
    reading(row::LATENCY_BELOW_ZERO, (0..3_i64, -2..2_i64), of, |(count, micros)| {
        let said = if *count == 1 {
            "1 wait for blocks has a time below zero"
        } else {
            "2 waits for blocks have a time below zero"
        };
        (*micros < 0 && *count > 0).then(|| says![said])
    })
}

/// Queries of 3 µs a get and half a µs a row, the rows of one more than those of the one before.
fn by_rows() -> Reading {
    let of = |(queries, more): &(i64, i64)| {
        let mut made = profile(10, &[]);
        for number in 0..*queries {
            let (gets, rows) = (10_000 + 1000 * number, number * more * 10_000);
            let fetched = calls(1, 3 * gets + rows / 2, gets, rows as u64);
            add(&mut made, query(&format!("s{number}")), &[(CallKind::Fetch, fetched)]);
        }
        Instruments::default().findings(&made)
    };
    reading(row::LOGICAL_IO_BY_ROWS, (5..12_i64, 0..3_i64), of, |(queries, more)| {
        let costs =
            says![format!("Over {queries} statements a get takes 3.00 ± "), " µs and a row 0.500 ± ", "R² 1.00)."];
        (*queries >= 8 && *more > 0).then_some(costs)
    })
}

/// Queries whose CPU time goes neither with their gets nor with their rows.
fn by_neither() -> Reading {
    let of = |queries: &i64| {
        let mut made = profile(10, &[]);
        for number in 1..=*queries {
            let (cpu, gets) = (20_000 + 10_000 * (number % 2), 1000 * number);
            let fetched = calls(1, cpu, gets, (number % 4 * gets) as u64);
            add(&mut made, query(&format!("s{number}")), &[(CallKind::Fetch, fetched)]);
        }
        Instruments::default().findings(&made)
    };
    reading(row::LOGICAL_IO_BY_ROWS, 5..20_i64, of, |queries| {
        let said = format!("over {queries} statements, least squares fit worse than the mean does (R² below 0)");
        (*queries >= 8).then(|| says![said])
    })
}

/// What a breakdown says that heard these calls and waits.
fn broken_down(skew: Skew, calls: &[Call], waits: &[Wait]) -> Vec<Finding> {
    let (context, mut instruments) = (events(), Instruments::new(Some(skew)));
    calls.iter().for_each(|call| instruments.call(&context, call));
    waits.iter().for_each(|wait| instruments.wait(&context, wait));
    instruments.findings(&Profile { context, ..Profile::default() })
}

/// Fetches of known and of unknown CPU time, reads, and whether the filter lets fetches pass.
type Heard = (usize, usize, usize, bool);

fn filtered((known, unknown, reads, passes): &Heard) -> Vec<Finding> {
    let filter = Filter::parse(&[if *passes { "call=FETCH" } else { "call=EXEC" }]).unwrap();
    let skew = Skew::new(Dimension::parse_list("event").unwrap(), filter, micros(1_000_000));
    let cost = Cost { cpu: None, ..Cost::default() };
    let unknown = (0..*unknown).map(|_| Call { own: cost, inclusive: cost, ..fetch(0, 0, 0, 0) });
    let calls: Vec<Call> = (0..*known).map(|_| fetch(0, 10, 1, 1)).chain(unknown).collect();
    broken_down(skew, &calls, &vec![wait(0, 100, [4, 7, 1]); *reads])
}

fn breakdown() -> [Reading; 4] {
    let of = |blocks: &i64| {
        let by_block = Dimension::parse_list("block").unwrap();
        let skew = Skew::with_keys_max(by_block, Filter::default(), micros(1_000_000), 100);
        let waits: Vec<Wait> = (0..*blocks).map(|block| wait(0, 10, [4, block, 1])).collect();
        broken_down(skew, &[], &waits)
    };
    // Beyond 100 the half of them goes.
    let merged = reading(row::SKEW_MERGED, 95..110_i64, of, |blocks| {
        (*blocks > 100).then(|| says!["50 of them, the smallest at the time,", "short by 10.0 µs at most"])
    });
    let values = (0..3_usize, 0..3_usize, 0..2_usize, any::<bool>());
    let without_cpu = reading(row::SKEW_WITHOUT_CPU, values.clone(), filtered, |(_, unknown, _, passes)| {
        let said = match unknown {
            1 => "1 call is not in the breakdown: the source does not know its CPU time.",
            _ => "2 calls are not in the breakdown: the source does not know their CPU time.",
        };
        (*passes && *unknown > 0).then(|| says![said])
    });
    let empty = reading(row::SKEW_EMPTY, values, filtered, |(known, unknown, reads, passes)| {
        let said = match (*passes, unknown) {
            (true, 1..) => "The breakdown is empty: no wait passes the filter, and no call of known CPU time.",
            _ => "No call and no wait passes the filter.",
        };
        (!passes || known + reads == 0).then(|| says![said])
    });
    [merged, without_cpu, without_value(), empty]
}

/// The user of a statement, where the source says it, and its reads.
fn without_value() -> Reading {
    let of = |(user, reads): &(Option<i64>, usize)| {
        let (mut context, by) = (events(), Dimension::parse_list("event,user").unwrap());
        context.statements[0].user = *user;
        let mut instruments = Instruments::new(Some(Skew::new(by, Filter::default(), micros(1_000_000))));
        (0..*reads).for_each(|_| instruments.wait(&context, &wait(0, 100, [4, 7, 1])));
        instruments.findings(&Profile { context, ..Profile::default() })
    };
    reading(row::SKEW_WITHOUT_VALUE, (option::of(0..3_i64), 0..3_usize), of, |(user, reads)| {
        let said = says!["has a value in user: the source does not say it", "PostgreSQL are in the dimension client."];
        (user.is_none() && *reads > 0).then_some(said)
    })
}

/// Files with a wait of some seconds each, whether the waits have an end, and whether a stamp says what time it was.
fn no_timeline() -> Reading {
    let of = |(files, seconds, has_end, has_stamp): &(i64, i64, bool, bool)| {
        let clock = has_stamp.then_some((0, Ticks::ZERO));
        let (context, mut collector) = (Context { clock, ..events() }, Collector::new(THINK_TIME));
        let end = has_end.then(|| micros(seconds * 1_000_000));
        for _ in 0..*files {
            collector.begin_file(FILE_NAME);
            collector.wait(&context, &Wait { end, ..wait(0, seconds * 1_000_000, [4, 1, 1]) });
        }
        let profile = collector.finish(Accounted { context, ..Accounted::default() });
        finding(&profile.active).into_iter().collect::<Vec<Finding>>()
    };
    let values = (0..4_i64, 0..6_i64, any::<bool>(), any::<bool>());
    reading(row::NO_TIMELINE, values, of, |(files, seconds, has_end, has_stamp)| {
        let all = format_nanos(1e9 * (files * seconds) as f64);
        match (files * seconds, has_end, has_stamp) {
            (0, ..) => None,
            (_, false, _) => Some(says![format!("for {all} of their {all} the source does not say")]),
            (_, true, false) if *files > 1 => Some(says!["the files have clocks of their own"]),
            _ => (*seconds < 3).then(|| says!["the profile covers less than three steps of a second"]),
        }
    })
}
