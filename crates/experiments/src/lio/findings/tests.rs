//! The findings of the experiment, read on both sides of their conditions.

use measure::quantity::{format_size, size_in_words};
use measure::run::CacheLevel;
use measure::{Size, schema::lio};
use sides::proptest::array::uniform3;
use sides::proptest::collection::vec;
use sides::proptest::option;
use sides::proptest::prelude::{Strategy, any};
use sides::proptest::sample::select;
use sides::{Reading, both_sides, reading, says};
use subjects::logical_reads::Touch;

use super::*;
use crate::journal::{Kept, Stop};
use crate::lio::{Found, LioParameters, against, report_small_tables, tests};
use crate::machine::Machine;

const LENGTHS: [u32; 3] = [25, 250, 2500];
const COLUMNS: [u32; 3] = [1, 5, 25];

/// Three tables, of which the second is the preferred one.
const TABLES: [(u32, u32); 3] = [(25, 1), (250, 5), (2500, 25)];

fn table((row_length, columns): (u32, u32)) -> Table {
    Table::Made(Cell { row_length, columns, payload: 1 << 20 })
}

/// A case whose costs are all of this many nanoseconds.
fn one(table: Table, plan: Plan, lio: f64) -> Measured {
    Measured {
        table,
        plan,
        changed_rows: 0,
        is_first: false,
        lio,
        spread: 0.0,
        get: None,
        elapsed: lio,
        by_cycles: None,
        block: lio,
        rows_per_get: 12.0,
        rebuilt: 0.25,
    }
}

fn plan(access: Access, threads: usize) -> Plan {
    Plan { access, threads, ..Plan::SCAN }
}

fn of_cases(cases: impl IntoIterator<Item = Measured>) -> Vec<Finding> {
    let cases: Vec<Measured> = cases.into_iter().collect();
    Kept::found(|journal| report(&cases, None, journal))
}

/// The geometric mean of the ratios of those pairs that are whole.
fn mean_of(pairs: impl Iterator<Item = (Option<f64>, Option<f64>)>) -> Option<f64> {
    let ratios: Vec<f64> = pairs.filter_map(|(one, other)| Some(one? / other?)).collect();
    (!ratios.is_empty()).then(|| ratios.iter().product::<f64>().powf(1.0 / ratios.len() as f64))
}

/// What lengths and columns do to the cost of a block, in any part of the table of nine.
fn shape() -> Reading {
    let costs = || uniform3(uniform3(option::weighted(0.7, 100.0..1e4)));
    let of = |costs: &[[Option<f64>; 3]; 3]| {
        let lengths = LENGTHS.into_iter().zip(*costs);
        let cells = lengths.flat_map(|(length, costs)| COLUMNS.map(|columns| (length, columns)).into_iter().zip(costs));
        of_cases(cells.filter_map(|(cell, cost)| Some(one(table(cell), Plan::SCAN, cost?))))
    };
    reading(row::ANSWER_SHAPE, costs(), of, |costs| {
        let has_length = |length: &usize| costs[*length].iter().any(Option::is_some);
        let has_columns = |columns: &usize| costs.iter().any(|of_length| of_length[*columns].is_some());
        let [shortest, longest] = [(0..3).find(has_length)?, (0..3).rfind(has_length)?];
        let [fewest, most] = [(0..3).find(has_columns)?, (0..3).rfind(has_columns)?];
        if shortest == longest || fewest == most {
            return None;
        }
        let by_length = mean_of((0..3).map(|columns| (costs[shortest][columns], costs[longest][columns])))?;
        let by_columns = mean_of((0..3).map(|length| (costs[length][most], costs[length][fewest])))?;
        let published =
            |is_there: bool, figure: &str| if is_there { format!(" (published: {figure})") } else { "".into() };
        Some(says![format!(
            "A block of rows of {} bytes costs {} times one of {}{}, {} columns {} times {}{}.",
            LENGTHS[shortest],
            three_digits(by_length),
            grouped(LENGTHS[longest].into()),
            published((shortest, longest) == (0, 2), "4.18"),
            COLUMNS[most],
            three_digits(by_columns),
            COLUMNS[fewest],
            published((fewest, most) == (0, 2), "1.16")
        )])
    })
}

/// A case that is a plain scan, or differs from one in one respect.
fn differing(case: Measured, respect: usize) -> Measured {
    match respect {
        1 => Measured { changed_rows: 10, ..case },
        2 => Measured { plan: Plan { touch: Touch::Directory, ..case.plan }, ..case },
        3 => Measured { is_first: true, ..case },
        _ => case,
    }
}

fn split() -> Reading {
    let values = uniform3((0..5_usize, 100.0..200.0, option::of(50.0..250.0)));
    let of = |cases: &[(usize, f64, Option<f64>); 3]| {
        let case =
            |((respect, lio, get), cell)| differing(Measured { get, ..one(table(cell), Plan::SCAN, lio) }, respect);
        of_cases(cases.iter().copied().zip(TABLES).map(case))
    };
    reading(row::ANSWER_SPLIT, values, of, |cases| {
        let get = |at: usize| cases[at].2.filter(|_| [0, 4].contains(&cases[at].0));
        let (at, get) = [1, 0, 2].into_iter().find_map(|at| Some((at, get(at)?)))?;
        let lio = cases[at].1;
        let (part, rest) =
            if get < lio { ("of the", "takes the rest") } else { ("beside the", "cannot be told from noise") };
        Some(says![format!(
            "The get takes {} {part} {} of a logical I/O ({}); walking 12.0 rows {rest}.",
            format_nanos(get),
            format_nanos(lio),
            table(TABLES[at])
        )])
    })
}

/// Of two tables a block without changes, one with 10 % and one with 50 % of the rows changed.
fn changed() -> Reading {
    let values = [uniform3(option::of(100.0..1000.0)), uniform3(option::of(100.0..1000.0))];
    let of = |blocks: &[[Option<f64>; 3]; 2]| {
        let cases = TABLES.into_iter().zip(*blocks).flat_map(|(cell, blocks)| {
            let with = |(changed_rows, block): (u32, Option<f64>)| {
                Some(Measured { changed_rows, ..one(table(cell), Plan::SCAN, block?) })
            };
            // A first scan is no scan without changes.
            let first = Measured { is_first: true, ..one(table(cell), Plan::SCAN, 1.0) };
            [first].into_iter().chain([0, 10, 50].into_iter().zip(blocks).filter_map(with)).collect::<Vec<_>>()
        });
        of_cases(cases)
    };
    reading(row::ANSWER_CHANGED_ROWS, values, of, |blocks| {
        let of_table = |(cell, [unchanged, ten, fifty]): ((u32, u32), [Option<f64>; 3])| {
            [(10, ten), (50, fifty)].map(|(percent, block)| Some((cell, percent, block?, unchanged?)))
        };
        let pairs = TABLES.into_iter().zip(*blocks).flat_map(of_table).flatten();
        let (cell, percent, block, unchanged) =
            pairs.max_by(|one, other| (one.2 / one.3).total_cmp(&(other.2 / other.3)))?;
        Some(says![
            format!("With {percent} % of the rows changed since the reader's snapshot (25.0 % of the blocks rebuilt)"),
            format!("a block of {} costs {} instead of {}", table(cell), format_nanos(block), format_nanos(unchanged)),
            format!(": {} times.", three_digits(block / unchanged))
        ])
    })
}

/// Threads and their access, how busy they were, and how busy one alone was, where there is one.
type Team = (usize, Access, f64, Option<f64>);

/// A get of many costs 120 ns and one of one thread 100 ns.
fn team((threads, access, busy, alone): Team) -> Vec<Finding> {
    let of = |threads: usize, lio: f64, busy: f64| {
        let elapsed = lio / busy / threads as f64;
        Measured { elapsed, get: Some(lio), ..one(table(TABLES[0]), plan(access, threads), lio) }
    };
    of_cases(alone.map(|busy| of(1, 100.0, busy)).into_iter().chain([of(threads, 120.0, busy)]))
}

/// What threads bring on blocks of their own and cost on one block, with the word about a machine that is not quiet.
fn threads() -> Vec<Reading> {
    let values = || {
        let access = select(vec![Access::FullScan, Access::Rowid, Access::OnePage]);
        (1..4_usize, access, 0.8..1.0, option::weighted(0.8, 0.8..1.0))
    };
    let distinct = |(threads, access, busy, alone): &Team| {
        (*threads > 1 && *access != Access::OnePage).then_some((*threads, *access, *busy, (*alone)?))
    };
    let brought = reading(
        row::ANSWER_THREADS,
        values(),
        |of| team(*of),
        move |team| {
            let (threads, access, busy, alone) = distinct(team)?;
            let times = (100.0 / alone) / (120.0 / busy / threads as f64);
            let with = format!("{threads} threads on distinct blocks ({access}, 25 bytes in 1 column, touching rows)");
            Some(says![format!(
                "{with} get {} times as many a second as one; a get costs 120 ns of CPU instead of 100 ns.",
                three_digits(times)
            )])
        },
    );
    let unreliable = |of: &Team| team(*of).into_iter().filter(|found| found.message.contains("is unreliable"));
    let waited = reading(row::ANSWER_THREADS, values(), unreliable, move |team| {
        let (threads, _, busy, alone) = distinct(team)?;
        let shares = [alone, busy].map(|busy| three_digits(busy * 100.0));
        let said = format!("a processor for {} % of its time, {threads} for {} % of theirs", shares[0], shares[1]);
        (alone.min(busy) < 0.9).then(|| says![said])
    });
    let one_page = reading(
        row::ANSWER_CONTENTION,
        values(),
        |of| team(*of),
        |(threads, access, _, alone)| {
            let said =
                format!("{threads} threads on one and the same block: the bare get costs 120 ns of CPU instead of");
            (*threads > 1 && *access == Access::OnePage && alone.is_some()).then(|| says![said, "100 ns, 1.20 times."])
        },
    );
    vec![brought, waited, one_page]
}

/// The costs in the order of the table, interleaved and by rowid; cases of one thread with their cost, their elapsed
/// time over it and their cycles over it; and whether the processor counts cycles at all.
type Sources = ([Option<f64>; 3], Vec<Alone>, bool);

/// The cost of a case of one thread, its elapsed time over it, and its cycles over it where they were counted.
type Alone = (f64, f64, Option<f64>);

fn sources() -> impl Strategy<Value = Sources> {
    let alone = vec((90.0..110.0, 0.95..1.2, option::weighted(0.4, 0.85..1.15)), 0..3);
    (uniform3(option::weighted(0.8, 90.0..110.0)), alone, any::<bool>())
}

fn checks((checked, alone, counts): &Sources) -> Vec<Finding> {
    let checked = checked.map(|lio| Some(one(table(TABLES[1]), Plan::SCAN, lio?)));
    let case = |((lio, elapsed, cycles), cell): (&Alone, (u32, u32))| Measured {
        elapsed: lio * elapsed,
        by_cycles: cycles.map(|cycles| lio * cycles),
        ..one(table(cell), Plan::SCAN, *lio)
    };
    let alone: Vec<Measured> = alone.iter().zip(TABLES).map(case).collect();
    let uncounted = (!counts).then_some("it hides them");
    Kept::found(|journal| cross_checks(&alone, checked.each_ref().map(Option::as_ref), uncounted, journal))
}

/// The pairs that are checked, each with the words behind its two costs.
fn pairs(([in_order, interleaved, by_rowid], alone, _): &Sources) -> Vec<(&'static str, f64, f64, String)> {
    let [apart, rowid] = [interleaved, by_rowid].map(|other| in_order.zip(*other));
    let apart = apart.map(|(one, other)| ("population", one, other, "in random order between blocks".into()));
    let rowid = rowid.map(|(one, other)| ("read-path", one, other, "by rowid in the same order".into()));
    let worst = |what, ratio: &dyn Fn(&Alone) -> Option<(f64, f64)>, by: &str| {
        let all = alone.iter().zip(TABLES).filter_map(|(case, cell)| Some((case.0, ratio(case)?, cell)));
        let (lio, (_, ratio), cell) = all.max_by(|one, other| one.1.0.total_cmp(&other.1.0))?;
        Some((what, lio, lio * ratio, format!("{by} in the worst case ({}, full-scan, touching rows)", table(cell))))
    };
    let clocks = worst("clocks", &|(_, elapsed, _)| Some((*elapsed, *elapsed)), "by the wall clock");
    let cycles = worst("cycles", &|(_, _, cycles)| Some((((*cycles)? - 1.0).abs(), (*cycles)?)), "by core cycles");
    [apart, rowid, clocks, cycles].into_iter().flatten().collect()
}

/// What is said of those pairs that differ; `None` where none does.
fn differ(of: &Sources, is_meant: fn(&str) -> bool) -> Option<Vec<String>> {
    let differs = |(what, one, other, _): &(&str, f64, f64, String)| is_meant(what) && (other / one - 1.0).abs() > 0.1;
    let say = |(what, one, other, words): (&str, f64, f64, String)| {
        let (sign, percent) = (if other > one { "+" } else { "" }, (other / one - 1.0) * 100.0);
        let meaning = match what {
            "population" if other > one => "where the blocks lie in memory matters",
            "population" => "blocks that lie apart should not cost less",
            "clocks" => "the thread waited for a processor",
            "cycles" => "the core's frequency moved",
            _ => "a scan walks eight rows of a block side by side",
        };
        [
            format!("A logical I/O costs {} ", format_nanos(one)),
            format!(", but {} {words}", format_nanos(other)),
            format!(", {sign}{} %: {meaning}", three_digits(percent)),
        ]
    };
    let said: Vec<String> = pairs(of).into_iter().filter(differs).flat_map(say).collect();
    (!said.is_empty()).then_some(said)
}

/// Two ways to one number.
fn two_ways() -> Vec<Reading> {
    let differing = reading(row::SOURCES_DIFFER, sources(), checks, |of| differ(of, |what| what != "read-path"));
    let by_rowid = reading(row::READ_PATH_DIFFERS, sources(), checks, |of| differ(of, |what| what == "read-path"));
    let agree = reading(row::SOURCES_AGREE, sources(), checks, |of| {
        let agree = |(_, one, other, _): &(&str, f64, f64, String)| (other / one - 1.0).abs() <= 0.1;
        let clause = |(_, _, other, words): (&str, f64, f64, String)| format!(", {} {words}", format_nanos(other));
        let said: Vec<String> = pairs(of).into_iter().filter(agree).map(clause).collect();
        (!said.is_empty()).then_some(said)
    });
    let absent = reading(row::ABSENT_CYCLES, sources(), checks, |(_, alone, counts)| {
        let lacking = alone.iter().filter(|(_, _, cycles)| cycles.is_none()).count();
        let part = match lacking == alone.len() {
            true => String::new(),
            false => format!(" in {lacking} of {} cases of one thread", alone.len()),
        };
        let reason = if *counts { "the counter saw a part of the time, because" } else { "it hides them." };
        let is_absent = lacking > 0 || alone.is_empty() && !counts;
        is_absent.then(|| says![format!("Core cycles were not counted{part}: {reason}")])
    });
    vec![differing, by_rowid, agree, absent]
}

#[test]
fn cycles_of_a_counter_that_took_turns_with_others_are_not_absent_in_silence() {
    let said = |cycles: [Option<f64>; 2]| {
        let found = checks(&([None; 3], cycles.map(|cycles| (100.0, 1.0, cycles)).to_vec(), true));
        found.into_iter().find(|finding| row::ABSENT_CYCLES.made(finding)).map(|finding| finding.message)
    };
    let of = |part: &str| {
        let reason = "the counter saw a part of the time, because other programs' counters took turns with it";
        Some(format!("Core cycles were not counted{part}: {reason}."))
    };
    assert_eq!(said([None; 2]), of(""));
    assert_eq!(said([None, Some(1.0)]), of(" in 1 of 2 cases of one thread"));
    assert_eq!(said([Some(1.0); 2]), None);
}

fn of_subjects(found: &[Found]) -> Vec<Finding> {
    Kept::found(|journal| against::report(found, None, journal))
}

fn subject(name: &str, is_difference: bool, cases: Vec<Measured>) -> Found {
    Found { name: name.into(), is_difference, cases }
}

/// What is said of the scans and the samples of a server.
fn of_server() -> Vec<Reading> {
    let pairs = (uniform3(option::of(100.0..200.0)), uniform3(option::of(100.0..200.0)));
    let first_scans = |(first, settled): &([Option<f64>; 3], [Option<f64>; 3])| {
        let case = |is_first: bool, costs: &[Option<f64>; 3]| {
            let of = |(cell, lio)| Some(Measured { is_first, ..one(table(cell), Plan::SCAN, lio?) });
            TABLES.into_iter().zip(*costs).filter_map(of).collect::<Vec<_>>()
        };
        of_subjects(&[subject("postgres 18.6", true, [case(true, first), case(false, settled)].concat())])
    };
    let first_scan = reading(row::ANSWER_FIRST_SCAN, pairs, first_scans, |(first, settled)| {
        let pairs = (0..3).filter_map(|at| Some((at, first[at]?, settled[at]?)));
        let (at, first, settled) = pairs.max_by(|one, other| (one.1 / one.2).total_cmp(&(other.1 / other.2)))?;
        let costs = format!("on postgres 18.6 costs up to {} times the later ones", three_digits(first / settled));
        let block =
            format!("{} a block against {} ({})", format_nanos(first), format_nanos(settled), table(TABLES[at]));
        Some(says![
            costs,
            block,
            if first > settled { "VACUUM after a load" } else { "costs nothing that can be seen" }
        ])
    });
    let found = |costs: &Vec<f64>| {
        let case = |(name, lio): (&str, &f64)| one(Table::Found(name.into()), Plan::SCAN, *lio);
        let cases = ["pg_proc", "pg_depend", "pg_class"].into_iter().zip(costs).map(case);
        let made = one(table(TABLES[0]), Plan::SCAN, 1.0);
        of_subjects(&[subject("postgres 18.6", true, cases.chain([made]).collect())])
    };
    let standby = reading(row::ANSWER_STANDBY, vec(100.0..200.0, 0..4), found, |costs| {
        let named = || costs.iter().copied().zip(["pg_proc", "pg_depend", "pg_class"]);
        let (least, least_name) = named().min_by(|one, other| one.0.total_cmp(&other.0))?;
        let (most, most_name) = named().max_by(|one, other| one.0.total_cmp(&other.0))?;
        let least = format!("{} ({least_name})", format_nanos(least));
        Some(match costs.len() {
            // A range from a cost to itself is none.
            1 => says![format!("of the table that postgres 18.6 has costs {least}: this is a cost of this processor")],
            _ => says![
                format!("of the tables that postgres 18.6 has costs {least} to {} ({most_name})", format_nanos(most)),
                "these are costs of this processor"
            ],
        })
    });
    let spread = |(is_difference, spreads): &(bool, Vec<(f64, bool)>)| {
        let case = |((spread, is_first), cell): (&(f64, bool), (u32, u32))| Measured {
            spread: *spread,
            is_first: *is_first,
            ..one(table(cell), Plan::SCAN, 1.0)
        };
        let cases = spreads.iter().zip(TABLES).map(case).collect();
        of_subjects(&[subject("postgres 18.6", *is_difference, cases)])
    };
    let values = (any::<bool>(), vec((0.0..0.2, any::<bool>()), 0..4));
    let spread = reading(row::SAMPLES_APART, values, spread, |(is_difference, spreads)| {
        let settled = spreads.iter().zip(TABLES).filter(|((_, is_first), _)| !is_first);
        let wide = settled.clone().filter(|((spread, _), _)| *spread > 0.1);
        let ((widest, _), cell) = wide.clone().max_by(|one, other| one.0.0.total_cmp(&other.0.0))?;
        let of = counted(settled.count() as u64, "case", "cases");
        let at = format!("±{} % in full-scan of {}", three_digits(widest * 100.0), table(cell));
        is_difference.then(|| says!["more than ±10.0 % apart", format!("in {} of {of} of postgres", wide.count()), at])
    });
    vec![first_scan, standby, spread]
}

/// Gets by address and by key beside a scan, and a subject beside the engine.
fn beside() -> Vec<Reading> {
    let accesses = || uniform3(option::weighted(0.8, 100.0..200.0));
    let of = |costs: &[[Option<f64>; 3]; 3]| {
        let accesses = [Access::FullScan, Access::Rowid, Access::Index];
        let cases = TABLES.into_iter().zip(*costs).flat_map(|(cell, costs)| {
            let case = move |(access, lio)| Some(one(table(cell), plan(access, 1), lio?));
            accesses.into_iter().zip(costs).filter_map(case)
        });
        of_subjects(&[subject("sqlite 3.50", false, cases.collect())])
    };
    let random = reading(row::ANSWER_RANDOM_ACCESS, uniform3(accesses()), of, |costs| {
        let whole = |at: usize| Some((at, costs[at][0]?, costs[at][1]?, costs[at][2]?));
        // The preferred table, or the last.
        let (at, scan, by_rowid, by_index) = whole(1).or(whole(2)).or(whole(0))?;
        let [scan, by_rowid, by_index] = [scan, by_rowid, by_index].map(format_nanos);
        Some(says![
            format!("A get on sqlite 3.50 costs {by_rowid} by row address in random order, {by_index} through"),
            format!("and {scan} in a full scan, which walks all rows of the block ({}).", table(TABLES[at]))
        ])
    });
    let against = |costs: &[[Option<f64>; 3]; 2]| {
        let cases = |of: [Option<f64>; 3]| {
            let case = |(cell, lio)| Some(one(table(cell), Plan::SCAN, lio?));
            TABLES.into_iter().zip(of).filter_map(case).collect::<Vec<_>>()
        };
        let changed = Measured { changed_rows: 10, ..one(table(TABLES[0]), Plan::SCAN, 1e6) };
        let first = Measured { is_first: true, ..changed.clone() };
        let other = cases(costs[0]).into_iter().chain([changed, first]).collect();
        of_subjects(&[subject("sqlite 3.50", false, other), subject("engine", false, cases(costs[1]))])
    };
    let values = [uniform3(option::of(80.0..200.0)), uniform3(option::of(50.0..100.0))];
    let against = reading(row::ANSWER_AGAINST_ENGINE, values, against, |[other, engine]| {
        let ratios: Vec<f64> =
            other.iter().zip(engine).filter_map(|(other, engine)| Some((*other)? / (*engine)?)).collect();
        let mean = mean_of(other.iter().copied().zip(*engine))?;
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let most = ratios.iter().copied().fold(0.0, f64::max);
        let ends = match (three_digits(least), three_digits(most)) {
            (least, most) if least == most => String::new(),
            (least, most) => {
                let tables = counted(ratios.len() as u64, "table", "tables");
                format!(" (geometric mean over {tables}, which range from {least} to {most})")
            }
        };
        let meaning = if least > 1.0 { ", which does nothing but" } else { "." };
        let range = format!("{} times the engine's{ends}{meaning}", three_digits(mean));
        Some(says!["full scan on sqlite 3.50 costs", range])
    });
    vec![random, against]
}

/// Tables beside the last cache of the processor, of which a part can be counted on.
fn small_tables() -> Reading {
    let machine = Machine::observe(Stop::default());
    let of = move |(payload, caches, part): &(u64, Vec<u64>, u64)| {
        let mut machine = machine.clone();
        let level = |(at, bytes): (usize, &u64)| CacheLevel { level: at as u8 + 1, bytes: bytes << 20 };
        machine.host.caches = caches.iter().enumerate().map(level).collect();
        let machine = machine.with_last_cache((caches.last().copied().unwrap_or(1) << 20) / part);
        let parameters = LioParameters { payload: Some(Size(payload << 20)), ..LioParameters::default() };
        Kept::found(|journal| report_small_tables(&parameters, &machine, None, journal))
    };
    let values = (1..9_u64, vec(1..9_u64, 0..3), select(vec![1_u64, 4]));
    reading(row::TABLES_FIT_CACHE, values, of, |(payload, caches, part)| {
        let claimed = caches.last()? << 20;
        let (payload, usable) = (payload << 20, claimed / part);
        let [table, cache, counted_on] = [payload, claimed, usable].map(size_in_words);
        let of_it = if *part > 1 { format!(", of which {counted_on} can be counted on") } else { String::new() };
        let level = caches.len();
        let fit = format!(
            "have a payload of {table} each, which fits into the processor's level-{level} cache ({cache}{of_it})"
        );
        let enough = format_size((usable * 8).next_power_of_two().max(256 << 20));
        (payload <= usable).then(|| says![fit, format!("Give --payload {enough} or more.")])
    })
}

#[test]
fn what_logical_reads_say_follows_from_their_costs() {
    let all = [vec![shape(), split(), changed(), small_tables()], threads(), two_ways(), of_server(), beside()];
    both_sides(&lio::findings::ALL, all.into_iter().flatten().chain(tests::readings()));
}

#[test]
fn one_table_that_was_found_is_not_said_to_be_several_however_many_cases_it_has() {
    let said = |tables: [&str; 2]| {
        let cases = tables.into_iter().zip([100.0, 150.0]);
        let cases = cases.map(|(name, lio)| one(Table::Found(name.into()), Plan::SCAN, lio)).collect();
        let found = of_subjects(&[subject("sqlite 3.50", true, cases)]);
        found.into_iter().find(|finding| row::ANSWER_STANDBY.made(finding)).unwrap().message
    };
    let alone = said(["stars"; 2]);
    assert!(alone.contains("of the table that sqlite 3.50 has costs") && alone.contains("these are costs"), "{alone}");
    let several = said(["stars", "galaxies"]);
    assert!(several.contains("of the tables that sqlite 3.50 has costs"), "{several}");
}

#[test]
fn rows_of_one_byte_and_of_thousands_are_written_as_english_has_them() {
    let shapes = [(1, 1), (1, 5), (2500, 1), (2500, 5)];
    let found = of_cases(shapes.map(|shape| one(table(shape), Plan::SCAN, 100.0)));
    let said: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
    let beginning = "A block of rows of 1 byte costs 1.00 times one of 2\u{202f}500, 5 columns 1.00 times 1.";
    assert_eq!(said.first(), Some(&beginning));
    assert_eq!(table((1, 1)).to_string(), "1 byte in 1 column");
    assert_eq!(table((2500, 25)).to_string(), "2\u{202f}500 bytes in 25 columns");
}

#[test]
fn runs_that_find_more_or_less_of_one_cache_advise_one_payload() {
    let advice = |on: &str, claimed: u64, usable: u64| {
        let mut machine = Machine::observe(Stop::default());
        machine.host.caches = vec![CacheLevel { level: 3, bytes: claimed << 20 }];
        let machine = machine.with_last_cache(usable << 20);
        let payload = Some(Size(4 << 20));
        let parameters = LioParameters { on: on.parse().unwrap(), payload, ..LioParameters::default() };
        let message =
            Kept::found(|journal| report_small_tables(&parameters, &machine, None, journal)).remove(0).message;
        message.split_once("Give --payload ").unwrap().1.to_string()
    };
    assert_eq!([4, 16, 32].map(|usable| advice("engine", 32, usable)), ["256MiB or more."; 3]);
    assert_eq!(advice("engine", 64, 64), "512MiB or more.");
}

#[test]
fn a_larger_payload_is_no_advice_where_the_servers_buffers_cannot_hold_its_table() {
    let mut machine = Machine::observe(Stop::default());
    machine.host.caches = vec![CacheLevel { level: 3, bytes: 32 << 20 }];
    let machine = machine.with_last_cache(32 << 20);
    let on = "postgres://me@localhost/shop".parse().unwrap();
    let parameters = LioParameters { on, payload: Some(Size(32 << 20)), ..LioParameters::default() };
    let advice = |buffers: u64| {
        let found = Kept::found(|journal| report_small_tables(&parameters, &machine, Some(buffers << 20), journal));
        found[0].message.clone()
    };
    let small = advice(128);
    assert!(small.contains("This server cannot show the latter") && !small.contains("Give --payload"), "{small}");
    assert!(small.contains("tables of over 768 MiB") && small.contains("its shared buffers hold 128 MiB"), "{small}");
    let large = advice(1024);
    assert!(large.ends_with("Give --payload 256MiB or more."), "{large}");
}

#[test]
fn no_payload_is_advised_where_a_given_file_is_scanned_and_no_table_is_made() {
    let mut machine = Machine::observe(Stop::default());
    machine.host.caches = vec![CacheLevel { level: 3, bytes: 64 << 20 }];
    let machine = machine.with_last_cache(64 << 20);
    let warnings = |on: &str| {
        let parameters = LioParameters { on: on.parse().unwrap(), ..LioParameters::default() };
        Kept::found(|journal| report_small_tables(&parameters, &machine, None, journal)).len()
    };
    assert_eq!([warnings("sqlite"), warnings("sqlite:shop.db")], [1, 0]);
}

#[test]
fn more_threads_than_processors_take_turns_and_no_quiet_machine_helps() {
    let said = |threads: usize, busy: f64, cores: Option<u64>| {
        let many = Measured {
            elapsed: 100.0 / busy / threads as f64,
            ..one(table(TABLES[0]), plan(Access::FullScan, threads), 100.0)
        };
        let cases = [one(table(TABLES[0]), plan(Access::FullScan, 1), 100.0), many];
        Kept::found(|journal| report(&cases, cores, journal)).remove(0).message
    };
    let turns = "The threads take turns on the 2 processors that readpath may use: give --threads 2 at most.";
    assert!(said(8, 0.25, Some(2)).ends_with(turns), "{}", said(8, 0.25, Some(2)));
    for (threads, cores) in [(2, Some(2)), (8, Some(8)), (8, None)] {
        assert!(said(threads, 0.25, cores).ends_with("Repeat the run on a quiet machine."), "{threads} {cores:?}");
    }
    assert!(said(16, 0.95, Some(15)).ends_with("instead of 100 ns."), "none of them waits for long");
}

#[test]
fn a_get_by_rowid_in_order_is_no_block_where_blocks_are_rebuilt() {
    let of = |access: Access| {
        let unchanged = one(table(TABLES[0]), plan(access, 1), 500.0);
        let changed = Measured { changed_rows: 10, ..one(table(TABLES[0]), plan(access, 1), 900.0) };
        let found = of_cases([unchanged, changed]);
        found.iter().any(|finding| finding.id == row::ANSWER_CHANGED_ROWS.id)
    };
    assert!(of(Access::FullScan) && of(Access::Rowid) && !of(Access::RowidInOrder));
}
