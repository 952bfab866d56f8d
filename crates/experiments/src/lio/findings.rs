//! What the numbers of one subject say, in sentences, against what was published and what its readers believed.

use measure::quantity::{counted, format_nanos, grouped, three_digits};
use measure::schema::lio as schema;
use measure::schema::lio::findings as row;
use measure::sorting;
use measure::{Finding, Unit};
use subjects::logical_reads::{Access, Cell, RANGE_BLOCKS, Table};

use super::measuring::{Measured, Plan, touched};
use crate::journal::Journal;
use crate::sampling::{BUSY, turns};

/// Two sources that agree differ by no more.
const AGREE: f64 = 0.1;

/// Median physical cost of a block in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Physical {
    pub(super) single: f64,
    pub(super) ranged: Option<f64>,
}

/// The question that was published.
pub(super) fn physical_against_logical(lio: &Measured, physical: Physical, journal: &mut dyn Journal) {
    let ranged = physical.ranged.map_or(String::new(), |ranged| {
        let (times, block, published) = (three_digits(ranged / lio.lio), format_nanos(ranged), schema::RANGED.value);
        format!("; in reads of {RANGE_BLOCKS} blocks {times} ({block} a block; published: about {published})")
    });
    let ratio = physical.single / lio.lio;
    let [block, get] = [physical.single, lio.lio].map(format_nanos);
    let message = format!(
        "A physical I/O of one block costs {} logical I/Os of {} ({block} against {get}; Millsap: {}, the folklore: \
         {}){ranged}. The logical I/O is one of a full scan in the order of the table; `readpath ladder` divides by a \
         get of a random block, which costs more.",
        three_digits(ratio),
        lio.table,
        schema::MILLSAP.value,
        three_digits(schema::FOLKLORE.value)
    );
    journal.find(row::ANSWER_RATIO.of(message).with("ratio", ratio, Unit::Ratio));
}

/// Whether a table is the one that stands for all: it has some rows a block and some columns a row.
pub(super) fn is_preferred(table: &Table) -> bool {
    matches!(table, Table::Made(cell) if (cell.row_length, cell.columns) == (250, 5))
}

/// What the cases say about the parts of a logical I/O, changed rows and threads; `cores` are the processors that
/// threads could use.
pub(super) fn report(found: &[Measured], cores: Option<u64>, journal: &mut dyn Journal) {
    shapes(found, journal);
    split(found, journal);
    changed(found, journal);
    threads(found, cores, journal);
    one_page(found, journal);
}

/// The cases that were published: full scans by one thread that touch the rows, none of them changed.
fn plain(found: &[Measured]) -> impl Iterator<Item = (&Cell, &Measured)> {
    let plain = found.iter().filter(|one| !one.is_first && one.plan == Plan::SCAN && one.changed_rows == 0);
    plain.filter_map(|one| match &one.table {
        Table::Made(cell) => Some((cell, one)),
        Table::Found(_) => None,
    })
}

/// What the length of the rows does to the cost of a block, and what their columns do: the first three published
/// observations.
fn shapes(found: &[Measured], journal: &mut dyn Journal) {
    let extremes = |of: fn(&Cell) -> u32| {
        let values = || plain(found).map(move |(cell, _)| of(cell));
        values().min().zip(values().max()).filter(|(least, most)| least < most)
    };
    let lengths = extremes(|cell| cell.row_length);
    let columns = extremes(|cell| cell.columns);
    let (Some((shortest, longest)), Some((fewest, most))) = (lengths, columns) else { return };
    let cost = |row_length: u32, columns: u32| {
        let is_it = |(cell, _): &(&Cell, &Measured)| (cell.row_length, cell.columns) == (row_length, columns);
        plain(found).find(is_it).map(|(_, one)| one.lio)
    };
    let by_length = mean_ratio(plain(found).map(|(cell, _)| cell.columns), |columns| {
        Some(cost(shortest, columns)? / cost(longest, columns)?)
    });
    let by_columns = mean_ratio(plain(found).map(|(cell, _)| cell.row_length), |row_length| {
        Some(cost(row_length, most)? / cost(row_length, fewest)?)
    });
    let (Some(by_length), Some(by_columns)) = (by_length, by_columns) else { return };
    let published = |ratio: f64, is_there: bool| {
        if is_there { format!(" (published: {})", three_digits(ratio)) } else { String::new() }
    };
    let message = format!(
        "A block of rows of {} costs {} times one of {}{}, {} {} times {fewest}{}.",
        counted(shortest.into(), "byte", "bytes"),
        three_digits(by_length),
        grouped(longest.into()),
        published(schema::BY_LENGTH.value, (shortest, longest) == (25, 2500)),
        counted(most.into(), "column", "columns"),
        three_digits(by_columns),
        published(schema::BY_COLUMNS.value, (fewest, most) == (1, 25))
    );
    let finding = row::ANSWER_SHAPE.of(message).with("ratio_by_length", by_length, Unit::Ratio);
    journal.find(finding.with("ratio_by_columns", by_columns, Unit::Ratio));
}

/// The geometric mean of a ratio over all values of the other dimension, each once; `None` where there is none.
fn mean_ratio(values: impl Iterator<Item = u32>, ratio: impl Fn(u32) -> Option<f64>) -> Option<f64> {
    let values = sorting::set(values);
    let logarithms: Vec<f64> = values.into_iter().filter_map(ratio).map(f64::ln).collect();
    (!logarithms.is_empty()).then(|| (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
}

/// How much of it is the get.
fn split(found: &[Measured], journal: &mut dyn Journal) {
    let plain = || plain(found).filter_map(|(_, one)| Some((one, one.get?)));
    let Some((one, get)) = plain().find(|(one, _)| is_preferred(&one.table)).or(plain().next()) else { return };
    let (part, rest) = match get < one.lio {
        true => ("of the", "takes the rest"),
        false => ("beside the", "cannot be told from noise"),
    };
    let (table, [of_get, lio]) = (&one.table, [get, one.lio].map(format_nanos));
    let rows = three_digits(one.rows_per_get);
    let message =
        format!("The get takes {of_get} {part} {lio} of a logical I/O ({table}); walking {rows} rows {rest}.");
    let finding = row::ANSWER_SPLIT.of(message).with("get", get, Unit::Nanoseconds);
    journal.find(finding.with("lio", one.lio, Unit::Nanoseconds));
}

/// What rebuilding costs: the dearest case against the same without changes.
fn changed(found: &[Measured], journal: &mut dyn Journal) {
    // By rowid in order a get is one of a block only while nothing has changed: a rebuilt block is not held, and each
    // of its rows takes a get of its own.
    let gets_are_alike = |one: &&Measured| one.plan.access != Access::RowidInOrder;
    let changed = found.iter().filter(|one| one.changed_rows > 0).filter(gets_are_alike);
    let pairs = changed.filter_map(|one| {
        let is_unchanged = |other: &&Measured| {
            !other.is_first && other.changed_rows == 0 && other.plan == one.plan && other.table == one.table
        };
        let unchanged = found.iter().find(is_unchanged)?;
        Some((one, unchanged, one.block / unchanged.block))
    });
    let Some((one, unchanged, ratio)) = pairs.max_by(|one, other| one.2.total_cmp(&other.2)) else { return };
    let [cost, before] = [one.block, unchanged.block].map(format_nanos);
    let [rebuilt, times] = [one.rebuilt * 100.0, ratio].map(three_digits);
    let message = format!(
        "With {} % of the rows changed since the reader's snapshot ({rebuilt} % of the blocks rebuilt) a block of {} \
         costs {cost} instead of {before}: {times} times.",
        one.changed_rows, one.table
    );
    journal.find(row::ANSWER_CHANGED_ROWS.of(message).with("ratio", ratio, Unit::Ratio));
}

/// What more threads bring on distinct blocks.
fn threads(found: &[Measured], cores: Option<u64>, journal: &mut dyn Journal) {
    for many in found.iter().filter(|one| one.plan.threads > 1 && one.plan.access != Access::OnePage) {
        let is_alone = |one: &&Measured| one.is_alone_of(many) && one.changed_rows == many.changed_rows;
        let Some(alone) = found.iter().find(is_alone) else { continue };
        let (ratio, [get, by_one]) = (alone.elapsed / many.elapsed, [many.lio, alone.lio].map(format_nanos));
        let message = format!(
            "{} threads on distinct blocks ({}, {}, touching {}) get {} times as many a second as one; a get costs \
             {get} of CPU instead of {by_one}.{}",
            many.plan.threads,
            many.plan.access.name(),
            many.table,
            touched(many.plan.touch, &many.table),
            three_digits(ratio),
            waits(alone, many, cores)
        );
        journal.find(row::ANSWER_THREADS.of(message).with("ratio", ratio, Unit::Ratio));
    }
}

/// A word about threads that waited for a processor: then their rate is the machine's and not the engine's.
fn waits(alone: &Measured, many: &Measured, cores: Option<u64>) -> String {
    let busy = |one: &Measured| one.lio / (one.elapsed * one.plan.threads as f64);
    if busy(alone).min(busy(many)) >= BUSY {
        return String::new();
    }
    if let Some(turns) = turns(many.plan.threads, cores) {
        return turns;
    }
    let (threads, [one, all]) = (many.plan.threads, [alone, many].map(|of| three_digits(busy(of) * 100.0)));
    format!(
        " The rate is unreliable: one thread had a processor for {one} % of its time, {threads} for {all} % of theirs. \
         Repeat the run on a quiet machine."
    )
}

/// What contention costs.
fn one_page(found: &[Measured], journal: &mut dyn Journal) {
    let contended = || found.iter().filter(|one| one.plan.threads > 1 && one.plan.access == Access::OnePage);
    for (index, many) in contended().enumerate() {
        // What is touched and what changed is no part of a bare get: one sentence is enough.
        if contended().take(index).any(|other| (other.plan.threads, &other.table) == (many.plan.threads, &many.table)) {
            continue;
        }
        let alone = found.iter().find(|one| one.is_alone_of(many)).and_then(|alone| alone.get);
        let Some((get, alone)) = many.get.zip(alone) else { continue };
        let (threads, ratio, [cost, by_one]) = (many.plan.threads, get / alone, [get, alone].map(format_nanos));
        let message = format!(
            "{threads} threads on one and the same block: the bare get costs {cost} of CPU instead of {by_one}, {} \
             times.",
            three_digits(ratio)
        );
        journal.find(row::ANSWER_CONTENTION.of(message).with("ratio", ratio, Unit::Ratio));
    }
}

/// Two ways to one number.
struct Check {
    /// What is checked, where a difference puts a measurement in doubt; `None` where it is a property of the engine.
    suspect: Option<&'static str>,
    one: (&'static str, f64),
    other: (String, f64),
    means: &'static str,
}

impl Check {
    fn difference(&self) -> f64 {
        self.other.1 / self.one.1 - 1.0
    }
}

/// The sources against each other: a finding for each pair that differs, one sentence for all that agree. `checked`
/// are the cases in the order of the table, interleaved, and by rowid; `uncounted` says why no cycles can be counted,
/// where they cannot.
pub(super) fn cross_checks(
    found: &[Measured],
    checked: [Option<&Measured>; 3],
    uncounted: Option<&str>,
    journal: &mut dyn Journal,
) {
    let [in_order, interleaved, by_rowid] = checked;
    let mut checks = Vec::new();
    if let (Some(one), Some(other)) = (in_order, interleaved) {
        checks.push(Check {
            suspect: Some("population"),
            one: ("populated by a full scan", one.lio),
            other: ("in random order between blocks of another table".into(), other.lio),
            means: if other.lio > one.lio {
                "where the blocks lie in memory matters: the processor fetches neighbouring ones ahead"
            } else {
                "blocks that lie apart should not cost less, so the machine was not quiet; repeat the run"
            },
        });
    }
    if let (Some(one), Some(other)) = (in_order, by_rowid) {
        checks.push(Check {
            suspect: None,
            one: ("read by a full scan", one.lio),
            other: ("by rowid in the same order, one get a block".into(), other.lio),
            means: "a scan walks eight rows of a block side by side and fetches the next block meanwhile; a fetch by \
                    rowid goes row by row",
        });
    }
    let alone: Vec<&Measured> = found.iter().filter(|one| one.plan.threads == 1).collect();
    let worst = alone.iter().max_by(|one, other| (one.elapsed / one.lio).total_cmp(&(other.elapsed / other.lio)));
    if let Some(one) = worst {
        checks.push(Check {
            suspect: Some("clocks"),
            one: ("by the CPU clock", one.lio),
            other: (format!("by the wall clock in the worst case ({})", what(one)), one.elapsed),
            means: "the thread waited for a processor. The figures use the CPU clock; on a quiet machine the two agree",
        });
    }
    let by_cycles = alone.iter().filter_map(|one| Some((one, one.by_cycles?)));
    let off = |(one, cycles): &(&&Measured, f64)| (cycles / one.lio - 1.0).abs();
    if let Some((one, cycles)) = by_cycles.max_by(|one, other| off(one).total_cmp(&off(other))) {
        checks.push(Check {
            suspect: Some("cycles"),
            one: ("by the CPU clock", one.lio),
            other: (format!("by core cycles in the worst case ({})", what(one)), cycles),
            means: "the core's frequency moved, or the kernel's share of the time is not counted in cycles",
        });
    }
    journal.find_all(absent_cycles(found, uncounted));
    say(&checks, journal);
}

/// A case in words.
fn what(one: &Measured) -> String {
    format!("{}, {}, touching {}", one.table, one.plan.access.name(), touched(one.plan.touch, &one.table))
}

/// Why cases of one thread have no cycles. A counter that can be opened gives none where it saw a part of the time.
pub(super) fn absent_cycles(found: &[Measured], uncounted: Option<&str>) -> Option<Finding> {
    let alone = || found.iter().filter(|one| one.plan.threads == 1);
    let (lacking, all) = (alone().filter(|one| one.by_cycles.is_none()).count(), alone().count());
    let cases = counted(all as u64, "case", "cases");
    let part = match lacking < all {
        true => format!(" in {} of {cases} of one thread", grouped(lacking as u64)),
        false => String::new(),
    };
    let in_turns = "the counter saw a part of the time, because other programs' counters took turns with it";
    let reason = uncounted.unwrap_or(in_turns);
    let message = format!("Core cycles were not counted{part}: {reason}.");
    (lacking > 0 || all == 0 && uncounted.is_some()).then(|| row::ABSENT_CYCLES.of(message))
}

fn say(checks: &[Check], journal: &mut dyn Journal) {
    let (differing, agreeing): (Vec<&Check>, Vec<&Check>) =
        checks.iter().partition(|check| check.difference().abs() > AGREE);
    for check in differing {
        let message = format!(
            "A logical I/O costs {} {}, but {} {}, {}{} %: {}.",
            format_nanos(check.one.1),
            check.one.0,
            format_nanos(check.other.1),
            check.other.0,
            if check.difference() > 0.0 { "+" } else { "" },
            three_digits(check.difference() * 100.0),
            check.means
        );
        journal.find(match check.suspect {
            Some(what) => row::SOURCES_DIFFER.named(what, message),
            None => row::READ_PATH_DIFFERS.of(message),
        });
    }
    if !agreeing.is_empty() {
        let clause = |check: &&Check| {
            format!("{} {}, {} {}", format_nanos(check.one.1), check.one.0, format_nanos(check.other.1), check.other.0)
        };
        let clauses: Vec<String> = agreeing.iter().map(clause).collect();
        journal.find(row::SOURCES_AGREE.of(format!("Sources that agree within 10 %: {}.", clauses.join("; "))));
    }
}

#[cfg(test)]
mod tests;
