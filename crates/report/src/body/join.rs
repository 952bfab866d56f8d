//! Nested loops: what was waited for by method, in how many requests, and the published figures.

pub(super) mod chart;

use measure::schema::join::{self, blocks_read, has_few_blocks, parameters};
use measure::schema::{Published, Spec};
use measure::sorting;
use measure::{Case, Metric, Run, Unit};

use super::subjects::{self, SUBJECT, subject, subjects};
use crate::page::number::{range as range_of, time};
use crate::page::parameters::{cell, heading, varying};
use crate::page::table::{Builder, Scale};
use crate::page::{Align, Cell, Section, Table};

/// The methods that the gains of others count from, of the engine and of other subjects.
const ALONE: [&str; 2] = ["one-at-a-time", "nested-loop"];

/// Sizes of a method from which on they are a curve.
const CURVE_MIN: usize = 3;

/// What the published figures are of: their source does not say how many rows the joins looked up.
const OTHER_ROWS: &str =
    "The published joins looked up other rows: compare how much each method gains, and not the times.";

/// Parameters that name a size, by method.
const SIZES: [&str; 2] = [parameters::BATCH_SIZE.name, parameters::LOOK_AHEAD.name];

/// Parameters with columns of their own where subjects are compared.
const SHOWN: [&str; 6] = [
    parameters::METHOD.name,
    parameters::EFFECTIVE_IO_CONCURRENCY.name,
    parameters::DIRECT.name,
    parameters::BATCH_SIZE.name,
    parameters::LOOK_AHEAD.name,
    parameters::LOOK_AHEAD_FIXED.name,
];

/// Parameters that name how far reads are sent ahead, by method.
const AHEAD: [&str; 3] =
    [parameters::EFFECTIVE_IO_CONCURRENCY.name, parameters::LOOK_AHEAD.name, parameters::BATCH_SIZE.name];

/// Parameters that two joins of the same table in the same way have in common.
const SAME: [&str; 6] = [
    SUBJECT,
    parameters::RAND.name,
    parameters::PAD.name,
    parameters::IO.name,
    parameters::IO_METHOD.name,
    parameters::DIRECT.name,
];

/// The times, the requests, the published figures, and what else a planner counts with.
pub(super) fn sections(run: &Run) -> Vec<Section> {
    let (joins, others): (Vec<&Case>, Vec<&Case>) =
        run.cases.iter().partition(|case| parameters::METHOD.in_case(case).is_some());
    let mut tables = Vec::new();
    if subjects::are_named(&joins) {
        tables.push(side_by_side(&joins));
    }
    // Requests are only known of an operator that is seen from inside.
    let detailed: Vec<&Case> = joins.iter().copied().filter(|case| join::REQUESTS.in_case(case).is_some()).collect();
    if !detailed.is_empty() {
        tables.push(times(&detailed));
        tables.extend(curve(&detailed));
        tables.extend(published(&detailed));
        tables.extend([requests(&detailed), planner(&detailed, &others)]);
    }
    tables.extend(costs(&others));
    tables.into_iter().map(Section::Table).collect()
}

/// The joins of all subjects: how long they took, what gathering gained, and what was read.
fn side_by_side(joins: &[&Case]) -> Table {
    let of_subject = |subject: String| {
        let own: Vec<&Case> = joins.iter().copied().filter(|case| self::subject(case) == subject).collect();
        varying(&own)
    };
    let names = subjects(joins).into_iter().flat_map(of_subject).filter(|name| !SHOWN.contains(name));
    let names = sorting::set(names);
    let has_direct = varying(joins).contains(&parameters::DIRECT.name);
    let cache = |case: &Case| if cell(case, parameters::DIRECT.name) == "true" { "by-passed" } else { "used" };
    let ahead = |case: &Case| AHEAD.map(|name| cell(case, name));
    // Earlier versions kept a gain of few blocks all the same.
    let gain = |case: &Case| {
        let gain = join::GAIN.median(case).or_else(|| gain(case, joins, &join::ELAPSED));
        gain.filter(|_| !has_few_blocks(case)).map(Cell::times)
    };
    Table::over(joins)
        .each(&names, |table, name| table.column(heading(name), Align::Left, |case| cell(case, name)))
        .optional("cache", Align::Left, |case| if has_direct { cache(case) } else { "" })
        .column("method", Align::Left, |case| method(case))
        .column("ahead", Align::Right, |case| {
            Cell::or_absent(ahead(case).into_iter().find(|ahead| !ahead.is_empty()).map(Cell::from))
        })
        .column("elapsed", Align::Decimal, |case| Cell::or_absent(Cell::of(case, &join::ELAPSED)))
        .optional("range", Align::Word, |case| join::ELAPSED.in_case(case).and_then(Cell::range))
        .column("gain", Align::Decimal, |case| Cell::or_absent(gain(case)))
        .column("read", Align::Right, |case| whole(blocks_read(case)))
        .optional("hit", Align::Right, |case| whole(join::BLOCKS_HIT.median(case)))
        .times("a block", |case| block_nanos(case))
        .optional_times("waiting", |case| join::RANDOM_BLOCK.nanos(case))
        .groups(|case| subject(case))
        .titled(
            "The same rows on each subject: milliseconds of a join (medians, with their range), how many times less \
             than one block at a time, blocks of table and index that were read, and the join's time for a block:",
        )
        .noted(few_blocks(joins))
        .done()
}

/// The join's time for a block, in nanoseconds.
fn block_nanos(case: &Case) -> Option<f64> {
    let of_join = || Some(join::ELAPSED.nanos(case)? / blocks_read(case).filter(|blocks| *blocks > 0.0)?);
    join::ELAPSED_PER_BLOCK.nanos(case).or_else(of_join)
}

/// Columns for what varies besides method and size, and for these. Where one of several subjects has all the rows, its
/// name stands over them.
fn axes<'a>(cases: &'a [&'a Case]) -> Builder<'a, &'a Case> {
    let of_method = [parameters::METHOD.name, parameters::LOOK_AHEAD_FIXED.name];
    let is_axis = |name: &&str| !of_method.contains(name) && !SIZES.contains(name);
    let names: Vec<&str> = varying(cases).into_iter().filter(is_axis).collect();
    let is_column = names.contains(&SUBJECT);
    let size = |case: &Case| SIZES.iter().map(|name| cell(case, name)).find(|size| !size.is_empty());
    Table::over(cases)
        .groups(|case| if is_column { String::new() } else { subject(case) })
        .each(names, |table, name| {
            let align = if name == SUBJECT { Align::Left } else { Align::Right };
            table.column(heading(name), align, |case| cell(case, name))
        })
        .column("method", Align::Left, |case| method(case))
        .optional("at once", Align::Right, |case| size(case).unwrap_or_default())
}

fn times(cases: &[&Case]) -> Table {
    let of = |case: &Case, value: fn(&Metric) -> f64| {
        join::IO_TIME.in_case(case).map(|metric| Cell::digits(value(metric), metric.unit))
    };
    axes(cases)
        .column("mean ± sd", Align::Right, |case| join::IO_TIME.in_case(case).map(Cell::mean))
        .column("gain", Align::Decimal, |case| Cell::or_absent(gain(case, cases, &join::IO_TIME).map(Cell::times)))
        .optional("min", Align::Decimal, |case| of(case, |metric| metric.statistics.min))
        .optional("median", Align::Decimal, |case| of(case, Metric::median))
        .optional("max", Align::Decimal, |case| of(case, |metric| metric.statistics.max))
        .optional("elapsed", Align::Decimal, |case| Cell::or_absent(Cell::of(case, &join::ELAPSED)))
        .titled(
            "Milliseconds of waiting for reads of table and index, and how many times less than one at a time \
             (medians):",
        )
        .noted(few_blocks(cases))
        .done()
}

/// Why a gain is absent, where one is.
fn few_blocks(cases: &[&Case]) -> String {
    let is_any = cases.iter().any(|case| has_few_blocks(case));
    let reason = || format!("Joins that read fewer than {} blocks have no gain.", join::BLOCKS_MIN);
    if is_any { reason() } else { String::new() }
}

/// What a batch is worth by its size: the gain of each method that was measured with some.
fn curve(cases: &[&Case]) -> Option<Table> {
    let size = |case: &Case| SIZES.iter().find_map(|name| case.parameters.get(*name)?.as_u64());
    let line = |case: &Case| [subject(case), rand(case), method(case)];
    let is_of_curve = |case: &&Case| cases.iter().filter(|other| line(other) == line(case)).count() >= CURVE_MIN;
    let mut sized: Vec<(&Case, u64)> =
        cases.iter().filter(|case| is_of_curve(case)).filter_map(|case| Some((*case, size(case)?))).collect();
    sorting::by_key(&mut sized, |(case, size)| (line(case), *size));
    let gain = |case: &Case| gain(case, cases, &join::IO_TIME);
    Table::over(&sized)
        .column("rows at once", Align::Right, |(_, size)| Cell::count(*size as f64))
        .column("blocks/request", Align::Decimal, |(case, _)| {
            Cell::or_absent(Cell::of(case, &join::BLOCKS_PER_REQUEST))
        })
        .column("gain", Align::Decimal, |(case, _)| Cell::or_absent(gain(case).map(Cell::times)))
        .bars("", Scale::Linear, |(case, _)| gain(case))
        .groups(|(case, _)| {
            let line = format!("{} {}, rand {}", subject(case), method(case), rand(case));
            line.trim_start().to_string()
        })
        .titled("What more rows at once gain:")
        .unless_empty()
}

fn requests(cases: &[&Case]) -> Table {
    axes(cases)
        .column("blocks", Align::Right, |case| whole(join::TABLE_BLOCKS.median(case)))
        .column("requests", Align::Right, |case| whole(join::REQUESTS.median(case)))
        .column("blocks/request", Align::Decimal, |case| Cell::or_absent(Cell::of(case, &join::BLOCKS_PER_REQUEST)))
        .optional("in flight", Align::Decimal, |case| Cell::or_absent(Cell::of(case, &join::IN_FLIGHT)))
        .optional("index reads", Align::Right, |case| whole(join::INDEX_BLOCKS.median(case)))
        .titled("Blocks of the table, and the requests that were waited for:")
        .done()
}

/// What a block costs a planner, next to one of a full scan, and up to where the join is worth it.
fn planner(joins: &[&Case], others: &[&Case]) -> Table {
    let sequential = |case: &Case| {
        let own = others.iter().filter(|other| subject(other) == subject(case));
        own.filter_map(|other| join::SEQUENTIAL_BLOCK.nanos(other)).find(|nanos| *nanos > 0.0)
    };
    // Without a break-even the table is too small for its scan to be held against anything.
    let ratio = |case: &Case| {
        join::BREAK_EVEN.in_case(case)?;
        Some(join::RANDOM_BLOCK.nanos(case)? / sequential(case)?)
    };
    axes(joins)
        .times("a block", |case| join::RANDOM_BLOCK.nanos(case))
        .column("sequential ones", Align::Decimal, |case| {
            Cell::or_absent(ratio(case).map(|ratio| Cell::digits(ratio, Unit::Ratio)))
        })
        .column("pays up to", Align::Decimal, |case| Cell::or_absent(join::BREAK_EVEN.median(case).map(Cell::percent)))
        .optional_times("CPU/look-up", |case| join::CPU_PER_LOOKUP.nanos(case))
        .titled(
            "What a planner would have to know: the wait for a random block, how many blocks of a full scan take as \
             long, and up to which part of the rows the join is faster than that scan:",
        )
        .done()
}

/// Gains and times next to the published ones; none for another setting.
fn published(cases: &[&Case]) -> Vec<Table> {
    let find =
        |case: &Case, what: &str| figures(&join::IO_TIME, case).into_iter().find(|published| published.what == what);
    let of = |case: &Case, what: &str| find(case, what).map(|found| found.value);
    let here: Vec<&Case> = cases.iter().copied().filter(|case| !figures(&join::IO_TIME, case).is_empty()).collect();
    let gain_of = |case: &Case, what: &str| {
        let alone = here.iter().copied().find(|case| is_alone(case))?;
        Some(of(alone, what)? / of(case, what)?)
    };
    let waited = |case: &Case| join::IO_TIME.median(case).unwrap_or(f64::INFINITY);
    let best = |name: &String| {
        let of_method = here.iter().copied().filter(|case| method(case) == *name);
        let best = of_method.max_by(|one, other| waited(other).total_cmp(&waited(one)))?;
        Some((gain(best, &here, &join::IO_TIME), best))
    };
    let rows: Vec<(Option<f64>, &Case)> = subjects::values(&here, method).iter().filter_map(best).collect();
    let published = |case: &Case, what| Cell::or_absent(gain_of(case, what).map(Cell::times));
    let gains = Table::over(&rows)
        .column("method", Align::Left, |(_, case)| method(case))
        .column("gain here", Align::Decimal, |(gain, _)| Cell::or_absent(gain.map(Cell::times)))
        .column("solid-state disk", Align::Decimal, |(_, case)| published(case, join::SOLID_STATE))
        .column("hard disk", Align::Decimal, |(_, case)| published(case, join::HARD_DISK))
        .column("blocks/request", Align::Decimal, |(_, case)| {
            Cell::or_absent(Cell::of(case, &join::BLOCKS_PER_REQUEST))
        })
        .column("published", Align::Right, |(_, case)| {
            figures(&join::BLOCKS_PER_REQUEST, case).into_iter().next().map(Cell::published)
        })
        .groups(|(_, case)| subject(case))
        .titled("The published gains are of a laptop's solid-state disk and of one hard disk:");
    let millis = |case: &Case, what| Cell::or_absent(find(case, what).map(Cell::published));
    let times = Table::over(&rows)
        .column("method", Align::Left, |(_, case)| method(case))
        .column("here", Align::Decimal, |(_, case)| Cell::or_absent(Cell::of(case, &join::IO_TIME)))
        .column("solid-state disk", Align::Right, |(_, case)| millis(case, join::SOLID_STATE))
        .column("hard disk", Align::Right, |(_, case)| millis(case, join::HARD_DISK))
        .groups(|(_, case)| subject(case))
        .titled("The milliseconds of waiting that those gains are of:")
        .noted(OTHER_ROWS);
    if rows.len() > 1 { vec![gains.done(), times.done()] } else { Vec::new() }
}

/// What blocks and rows cost otherwise, on each subject.
fn costs(cases: &[&Case]) -> Option<Table> {
    let known = [
        (join::SEQUENTIAL_BLOCK, "a block of a full scan, waiting"),
        (join::ROW, "a row of a full scan, CPU"),
        (join::CACHED_BLOCK, "a look-up with everything cached"),
        (join::ELAPSED, "a full scan"),
    ];
    let mut rows: Vec<(&Case, &Metric, &str)> = Vec::new();
    for subject in subjects(cases) {
        let own: Vec<&Case> = cases.iter().copied().filter(|case| self::subject(case) == subject).collect();
        for (spec, name) in &known {
            rows.extend(own.iter().find_map(|case| Some((*case, spec.in_case(case)?, *name))));
        }
    }
    let edge = |metric: &Metric, of: fn(&Metric) -> f64| metric.nanos_of(|metric| Some(of(metric))).map(time);
    let range = |metric: &Metric| {
        let low = edge(metric, |metric| metric.statistics.min)?;
        let high = edge(metric, |metric| metric.statistics.max)?;
        Some(range_of(&low, &high)).filter(|_| metric.statistics.n > 1)
    };
    Table::over(&rows)
        .column("other costs", Align::Left, |(_, _, name)| *name)
        .column("median", Align::Decimal, |(_, metric, _)| {
            metric.nanos().map(|nanos| Cell::time(nanos).with_spread(metric))
        })
        .column("range", Align::Word, |(_, metric, _)| range(metric).unwrap_or_default())
        .groups(|(case, ..)| subject(case))
        .unless_empty()
}

/// How many times less than one at a time, by medians, among the cases of the same table and subject; none where one of
/// both read few blocks.
fn gain(case: &Case, cases: &[&Case], spec: &Spec) -> Option<f64> {
    let alone = alone(case, cases)?;
    let own = spec.median(case).filter(|own| *own > 0.0 && !has_few_blocks(case) && !has_few_blocks(alone))?;
    Some(spec.median(alone)? / own)
}

/// The case of the same table and subject that reads one block at a time.
fn alone<'a>(case: &Case, cases: &[&'a Case]) -> Option<&'a Case> {
    let same = |other: &&Case| SAME.iter().all(|axis| cell(other, axis) == cell(case, axis));
    cases.iter().copied().filter(same).find(|other| is_alone(other))
}

fn is_alone(case: &Case) -> bool {
    ALONE.contains(&method(case).as_str())
}

fn method(case: &Case) -> String {
    cell(case, parameters::METHOD.name)
}

/// Per cent of the rows out of order.
fn rand(case: &Case) -> String {
    cell(case, parameters::RAND.name)
}

/// The published figures that a metric of a case is held against.
fn figures(spec: &Spec, case: &Case) -> Vec<&'static Published> {
    join::EXPERIMENT.published(&spec.name, case).collect()
}

fn whole(count: Option<f64>) -> Cell {
    Cell::or_absent(count.map(Cell::count))
}
