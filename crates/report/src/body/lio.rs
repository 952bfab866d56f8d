//! The cost of a logical I/O: a grid of tables for each access, next to the published one, and the evidence.

pub(super) mod chart;

use measure::schema::lio::{self, parameters};
use measure::sorting;
use measure::{Case, Metric, Run, Unit};

use super::subjects::{self, SUBJECT, subject, subjects, values};
use crate::page::number::{ABSENT, column_unit, range as range_of, three_digits, unit_for};
use crate::page::parameters::{CHECK, cell, heading, varying};
use crate::page::{Align, Cell, Section, Table};

/// The parameters that a grid has in common.
const AXES: [&str; 5] = [
    parameters::ACCESS.name,
    parameters::TOUCH.name,
    parameters::THREADS.name,
    parameters::CHANGED_ROWS.name,
    parameters::VISIBILITY.name,
];

/// The parameters of a table, which the rows of the evidence tell apart.
const OF_TABLE: [&str; 3] = [parameters::TABLE.name, parameters::ROW_LENGTH.name, parameters::COLUMNS.name];

/// Parameters whose values are words.
const WORDS: [&str; 4] = [SUBJECT, parameters::ACCESS.name, parameters::TOUCH.name, parameters::TABLE.name];

/// Where every row is known to be visible to all, as it is in the engine.
const ALL_VISIBLE: &str = "all-visible";

/// The grids, the evidence of all cases, and the cross-checks.
pub(super) fn sections(run: &Run) -> Vec<Section> {
    let (checks, cases): (Vec<&Case>, Vec<&Case>) =
        run.cases.iter().partition(|case| case.parameters.contains_key(CHECK));
    let mut tables: Vec<Table> = accesses(&cases).iter().filter_map(|access| grid(access, &cases)).collect();
    tables.extend((!cases.is_empty()).then(|| evidence(&cases)));
    tables.extend(cross_checks(&checks));
    tables.into_iter().map(Section::Table).collect()
}

/// How cases access blocks, each way once: the values of [`AXES`].
fn accesses(cases: &[&Case]) -> Vec<[String; 5]> {
    sorting::each_once(cases.iter().map(|case| access(case)))
}

/// The last column is the same access in all tables, whatever its number.
fn access(case: &Case) -> [String; 5] {
    let last = format!("column-{}", cell(case, parameters::COLUMNS.name));
    AXES.map(|axis| match cell(case, axis) {
        touch if axis == parameters::TOUCH.name && touch == last => "column-last".into(),
        visibility if axis == parameters::VISIBILITY.name && visibility == ALL_VISIBLE => String::new(),
        value => value,
    })
}

/// One grid of row lengths by columns, the subjects side by side; none where there is one table only.
fn grid(access: &[String; 5], cases: &[&Case]) -> Option<Table> {
    let has_shape = |case: &Case| case.parameters.contains_key(parameters::ROW_LENGTH.name);
    let is_here = |case: &Case| self::access(case) == *access && has_shape(case);
    let here: Vec<&Case> = cases.iter().copied().filter(|case| is_here(case)).collect();
    let of = |name: &'static str| values(&here, |case| cell(case, name));
    let (lengths, columns) = (of(parameters::ROW_LENGTH.name), of(parameters::COLUMNS.name));
    let subjects = subjects(&here);
    let is_named = subjects::are_named(&here);
    if here.len() < 2 || (lengths.len() * columns.len() < 2 && !is_named) {
        return None;
    }
    // A server's blocks of which each row is visible to all are read as the published ones were.
    let is_published = access[4].is_empty();
    let published = |case: &Case| -> Vec<f64> {
        let metric = lio::LIO;
        let published = lio::EXPERIMENT.published(&metric.name, case).filter(|_| is_published);
        published.map(|published| published.value).collect()
    };
    let has_published = here.iter().any(|case| !published(case).is_empty());
    let cost = |length: &String, count: &String| {
        let is_of_shape = |case: &&Case| {
            cell(case, parameters::ROW_LENGTH.name) == *length && cell(case, parameters::COLUMNS.name) == *count
        };
        let shape: Vec<&Case> = here.iter().copied().filter(is_of_shape).collect();
        let own = |subject: &String| {
            let found = shape.iter().find(|case| self::subject(case) == *subject).and_then(|case| lio::LIO.nanos(case));
            found.map_or(ABSENT.into(), |nanos| three_digits(nanos / 1e3))
        };
        let published = shape.first().map_or(Vec::new(), |case| published(case));
        let published = published.into_iter().map(|value| format!("{value:.2}"));
        subjects.iter().map(own).chain(published).collect::<Vec<_>>().join(" | ")
    };
    let published = has_published.then_some(["published, PC".to_string(), "M-8000".to_string()]);
    let beside: Vec<String> =
        subjects.iter().map(|subject| subjects::name(subject)).chain(published.into_iter().flatten()).collect();
    let beside = if beside.len() > 1 || is_named { format!(" ({})", beside.join(" | ")) } else { String::new() };
    let noun = |count: &str| if count == "1" { "column" } else { "columns" };
    let table = Table::over(&lengths)
        .column("row bytes", Align::Right, |length| length.clone())
        .each(&columns, |table, count| {
            table.column(format!("{count} {}", noun(count)), Align::Decimal, |length| cost(length, count))
        })
        .titled(format!("µs of CPU per logical I/O: {}{beside}", phrase(access)));
    Some(table.done())
}

fn phrase(of: &[String; 5]) -> String {
    let [access, touch, threads, changed, visibility] = of;
    let threads = if threads == "1" { String::new() } else { format!(", {threads} threads") };
    let changed = if changed == "0" { String::new() } else { format!(", {changed} % of the rows changed") };
    let visibility = if visibility.is_empty() {
        String::new()
    } else {
        format!(", {} after the load", visibility.replace('-', " "))
    };
    format!("{}, touching {}{threads}{changed}{visibility}", access.replace('-', " "), touch.replace('-', " "))
}

/// One line a case: the parts of its cost, and how sure. With several subjects the accesses stand over the lines, one
/// after the other, so that there is room for the subjects.
fn evidence(cases: &[&Case]) -> Table {
    let is_named = subjects::are_named(cases);
    let mut cases = cases.to_vec();
    let accesses = accesses(&cases);
    if is_named {
        sorting::by_key(&mut cases, |case| accesses.iter().position(|access| *access == self::access(case)));
    }
    let shown = |name: &&str| OF_TABLE.contains(name) || (!is_named && AXES.contains(name));
    let names: Vec<&str> = varying(&cases).into_iter().filter(|name| *name == SUBJECT || shown(name)).collect();
    let align = |name: &str| if WORDS.contains(&name) { Align::Left } else { Align::Right };
    // A cost without its spread says too much: this column does not go where the width is small.
    let has_range = cases.iter().any(|case| range(case, None).is_some());
    let shared = column_unit(&cases.iter().map(|case| lio::LIO.nanos(case)).collect::<Vec<_>>());
    let rebuilt = |case: &Case| lio::REBUILT_BLOCKS.median(case).filter(|count| *count > 0.0).map(Cell::count);
    Table::over(&cases)
        .each(&names, |table, name| table.column(axis(name), align(name), |case| cell(case, name)))
        .times("LIO", |case| lio::LIO.nanos(case))
        .column("range of LIO", Align::Word, |case| range(case, shared))
        .only_where(has_range)
        .optional_times("a block", |case| lio::BLOCK.nanos(case))
        .times("get", |case| lio::GET.nanos(case))
        .optional_times("a row", |case| lio::ROW_WALK.nanos(case))
        .optional("rebuilt", Align::Right, |case| rebuilt(case))
        .optional("rows/block", Align::Right, |case| lio::ROWS_PER_BLOCK.in_case(case).map(Cell::median))
        .groups(|case| if is_named { phrase(&access(case)) } else { String::new() })
        .done()
}

fn axis(name: &str) -> String {
    match name {
        name if name == parameters::CHANGED_ROWS.name => "changed %".into(),
        name if name == parameters::ROW_LENGTH.name => "row bytes".into(),
        _ => heading(name),
    }
}

/// From the smallest sample to the 90th percentile or the largest, in the unit of the median beside it: the one that
/// the medians of the column share, or its own.
fn range(case: &Case, shared: Option<(&str, f64)>) -> Option<Cell> {
    let metric = lio::LIO.in_case(case).filter(|metric| metric.statistics.n > 1)?;
    let high = metric.nanos_of(|metric| metric.statistics.p90.or(Some(metric.statistics.max)))?;
    let low = metric.nanos_of(|metric| Some(metric.statistics.min))?;
    let (symbol, length) = shared.unwrap_or_else(|| unit_for(metric.nanos().unwrap_or(high)));
    let text = format!("{} {symbol}", range_of(&three_digits(low / length), &three_digits(high / length)));
    Some(Cell { spread: Some((low, high)), unit: Some(Unit::Nanoseconds), ..text.into() })
}

fn cross_checks(checks: &[&Case]) -> Option<Table> {
    let cost = |case: &Case| lio::LIO.in_case(case).or(lio::PHYSICAL_BLOCK.in_case(case)).and_then(Metric::nanos);
    Table::over(checks)
        .column("cross-check", Align::Left, |case| what(case))
        .column("row bytes", Align::Right, |case| cell(case, parameters::ROW_LENGTH.name))
        .column("columns", Align::Right, |case| cell(case, parameters::COLUMNS.name))
        .column("a block", Align::Decimal, |case| Cell::or_absent(cost(case).map(Cell::time)))
        .optional("range", Align::Word, |case| range(case, None))
        .unless_empty()
}

/// What a check is about, in words.
fn what(case: &Case) -> String {
    match cell(case, CHECK).as_str() {
        "physical" => {
            let [access, blocks] = [parameters::ACCESS, parameters::BLOCKS_PER_READ].map(|one| cell(case, one.name));
            format!("physical, {access}, {blocks} a read")
        }
        check => format!("{}: {}", heading(check), cell(case, check).replace('-', " ")),
    }
}
