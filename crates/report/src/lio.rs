//! The cost of a logical I/O: one grid of tables a way of reading, beside the published one, and the evidence.

use measure::{Case, Metric, Run};

use crate::number::{ABSENT, grouped, nanos_of, three_digits, time_column, unit_for};
use crate::parameters::{CHECK, cell, heading, varying};
use crate::style::Style;
use crate::table::{Align, Table};
use crate::text::wrap;

/// Source 000, a PC: bytes of a row, columns, µs of CPU a logical I/O of a full scan that counts rows.
const PUBLISHED: [(&str, &str, &str); 9] = [
    ("2500", "1", "1.44"),
    ("2500", "5", "1.34"),
    ("2500", "25", "1.43"),
    ("250", "1", "2.06"),
    ("250", "5", "4.41"),
    ("250", "25", "2.50"),
    ("25", "1", "5.32"),
    ("25", "5", "5.52"),
    ("25", "25", "6.85"),
];

/// The parameters that a grid has in common.
const AXES: [&str; 5] = ["access", "touch", "threads", "changed_rows", "visibility"];

/// The parameter that tells the engine from a server beside it; cases of the engine alone do not have it.
const SUBJECT: &str = "subject";

/// The subject that stands first.
const ENGINE: &str = "engine";

/// Where every row is known to be visible to all, as it is in the engine.
const ALL_VISIBLE: &str = "all-visible";

/// The grids, the evidence of all cases, and the cross-checks.
pub(crate) fn body(run: &Run, style: &Style) -> String {
    let (checks, cases): (Vec<&Case>, Vec<&Case>) =
        run.cases.iter().partition(|case| case.parameters.contains_key(CHECK));
    let mut sections: Vec<String> = ways(&cases).iter().filter_map(|way| grid(way, &cases, style)).collect();
    sections.push(if cases.is_empty() { String::new() } else { evidence(&cases, style) });
    sections.push(if checks.is_empty() { String::new() } else { cross_checks(&checks, style) });
    crate::join_sections(&sections)
}

/// How cases read, each way once: the values of [`AXES`].
fn ways(cases: &[&Case]) -> Vec<[String; 5]> {
    let mut ways = Vec::new();
    for case in cases {
        let way = way(case);
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    ways
}

/// The last column is one and the same way in all tables, whatever its number.
fn way(case: &Case) -> [String; 5] {
    let last = format!("column-{}", cell(case, "columns"));
    AXES.map(|axis| match (axis, cell(case, axis)) {
        ("touch", touch) if touch == last => "column-last".into(),
        ("visibility", visibility) if visibility == ALL_VISIBLE => String::new(),
        (_, value) => value,
    })
}

/// The values of a parameter in the order of their first appearance.
fn values(cases: &[&Case], name: &str) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for value in cases.iter().map(|case| cell(case, name)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// On what the cases were run, the engine first; one without a name where the engine is alone.
fn subjects(cases: &[&Case]) -> Vec<String> {
    let mut subjects = values(cases, SUBJECT);
    subjects.sort_by_key(|subject| subject != ENGINE);
    subjects
}

/// One grid of row lengths by columns, the subjects side by side; none where there is one table only.
fn grid(way: &[String; 5], cases: &[&Case], style: &Style) -> Option<String> {
    let has_shape = |case: &Case| case.parameters.contains_key("row_length");
    let here: Vec<&Case> = cases.iter().copied().filter(|case| self::way(case) == *way && has_shape(case)).collect();
    let (lengths, columns) = (values(&here, "row_length"), values(&here, "columns"));
    let subjects = subjects(&here);
    let is_beside = subjects.iter().any(|subject| !subject.is_empty());
    if here.len() < 2 || (lengths.len() * columns.len() < 2 && !is_beside) {
        return None;
    }
    let is_published = way[..4] == ["full-scan", "rows", "1", "0"] && way[4].is_empty();
    let mut table = Table::new().column("row bytes", Align::Right);
    for count in &columns {
        let noun = if count == "1" { "column" } else { "columns" };
        table = table.column(&format!("{count} {noun}"), Align::Decimal);
    }
    for length in &lengths {
        let cost = |count: &String| {
            let own = |subject: &String| {
                let is_it = |case: &&&Case| {
                    cell(case, "row_length") == *length
                        && cell(case, "columns") == *count
                        && cell(case, SUBJECT) == *subject
                };
                let found = here.iter().find(is_it).and_then(|case| nanos(case, "lio"));
                found.map_or(ABSENT.into(), |nanos| three_digits(nanos / 1e3))
            };
            let published = PUBLISHED.iter().find(|(of, by, _)| of == length && by == count).filter(|_| is_published);
            let published = published.map(|(_, _, published)| (*published).to_string());
            subjects.iter().map(own).chain(published).collect::<Vec<_>>().join(" | ")
        };
        table.row(std::iter::once(length.clone()).chain(columns.iter().map(cost)));
    }
    let named = |subject: &String| if subject.is_empty() { ENGINE.into() } else { subject.clone() };
    let published = is_published.then(|| "published, PC".to_string());
    let beside: Vec<String> = subjects.iter().map(named).chain(published).collect();
    let beside = if beside.len() > 1 || is_beside { format!(" ({})", beside.join(" | ")) } else { String::new() };
    let title = format!("µs of CPU per logical I/O: {}{beside}", phrase(way));
    Some(wrap(&title, style.width, 2) + "\n" + &table.render(style))
}

fn phrase(way: &[String; 5]) -> String {
    let [access, touch, threads, changed, visibility] = way;
    let threads = if threads == "1" { String::new() } else { format!(", {threads} threads") };
    let changed = if changed == "0" { String::new() } else { format!(", {changed} % of the rows changed") };
    let visibility = if visibility.is_empty() {
        String::new()
    } else {
        format!(", {} after the load", visibility.replace('-', " "))
    };
    format!("{}, touching {}{threads}{changed}{visibility}", access.replace('-', " "), touch.replace('-', " "))
}

/// One line a case: the parts of its cost, and how sure. With several subjects the ways stand over the lines, one
/// behind the other, so that there is room for the subjects.
fn evidence(cases: &[&Case], style: &Style) -> String {
    let is_beside = cases.iter().any(|case| case.parameters.contains_key(SUBJECT));
    let mut cases = cases.to_vec();
    let ways = ways(&cases);
    if is_beside {
        cases.sort_by_key(|case| ways.iter().position(|way| *way == self::way(case)));
    }
    let shown = |name: &&str| ["table", "row_length", "columns"].contains(name) || (!is_beside && AXES.contains(name));
    let names: Vec<&str> = varying(&cases).into_iter().filter(|name| *name == SUBJECT || shown(name)).collect();
    let mut table = Table::new();
    for name in &names {
        let align = if [SUBJECT, "access", "touch", "table"].contains(name) { Align::Left } else { Align::Right };
        table = table.column(&axis(name), align);
    }
    table = table.column("LIO", Align::Decimal);
    // A cost without its spread says too much: this column does not go where the width is small.
    let has_range = cases.iter().any(|case| !range(case).is_empty());
    if has_range {
        table = table.column("range of LIO", Align::Word);
    }
    table = table
        .optional_column("a block", Align::Decimal)
        .column("get", Align::Decimal)
        .optional_column("a row", Align::Decimal)
        .optional_column("rebuilt", Align::Right)
        .optional_column("rows/block", Align::Right);
    let column = |name: &str| time_column(&cases.iter().map(|case| nanos(case, name)).collect::<Vec<_>>());
    let [cost, block, get, row] = [column("lio"), blank(column("block")), column("get"), blank(column("row_walk"))];
    for (index, case) in cases.iter().enumerate() {
        if is_beside && (index == 0 || way(case) != way(cases[index - 1])) {
            table.title(&phrase(&way(case)));
        }
        let parameters = names.iter().map(|name| cell(case, name));
        let rebuilt = case.metric("rebuilt_blocks").map(Metric::median).filter(|count| *count > 0.0);
        let costs = [cost[index].clone()].into_iter().chain(has_range.then(|| range(case)));
        let parts = [
            block[index].clone(),
            get[index].clone(),
            row[index].clone(),
            rebuilt.map_or(String::new(), |count| grouped(count as u64)),
            case.metric("rows_per_block").map_or(String::new(), |rows| three_digits(rows.median())),
        ];
        table.row(parameters.chain(costs).chain(parts));
    }
    table.render(style)
}

/// A column of which nothing is known is left out rather than filled with dashes.
fn blank(column: Vec<String>) -> Vec<String> {
    if column.iter().all(|value| value == ABSENT) { vec![String::new(); column.len()] } else { column }
}

fn axis(name: &str) -> String {
    match name {
        "changed_rows" => "changed %".into(),
        "row_length" => "row bytes".into(),
        _ => heading(name),
    }
}

/// From the smallest sample to the 90th percentile or the largest, in the unit that suits the latter.
fn range(case: &Case) -> String {
    let Some(metric) = case.metric("lio").filter(|metric| metric.statistics.n > 1) else { return String::new() };
    let Some(scale) = nanos_of(metric.unit) else { return String::new() };
    let high = metric.statistics.p90.unwrap_or(metric.statistics.max);
    let (symbol, length) = unit_for(high * scale);
    let shown = |value: f64| three_digits(value * scale / length);
    format!("{}–{} {symbol}", shown(metric.statistics.min), shown(high))
}

fn cross_checks(checks: &[&Case], style: &Style) -> String {
    let mut table = Table::new()
        .column("cross-check", Align::Left)
        .column("row bytes", Align::Right)
        .column("columns", Align::Right)
        .column("a block", Align::Decimal)
        .optional_column("range", Align::Word);
    let cost = |case: &&Case| nanos(case, "lio").or(nanos(case, "physical_block"));
    let costs: Vec<String> = checks.iter().map(|case| cost(case).map_or(ABSENT.into(), crate::number::time)).collect();
    for (case, cost) in checks.iter().zip(costs) {
        table.row([what(case), cell(case, "row_length"), cell(case, "columns"), cost, range(case)]);
    }
    table.render(style)
}

/// What a check is about, in words.
fn what(case: &Case) -> String {
    match cell(case, CHECK).as_str() {
        "physical" => format!("physical, {}, {} a read", cell(case, "access"), cell(case, "blocks_per_read")),
        check => format!("{}: {}", heading(check), cell(case, check).replace('-', " ")),
    }
}

fn nanos(case: &Case, name: &str) -> Option<f64> {
    let metric = case.metric(name)?;
    Some(metric.median() * nanos_of(metric.unit)?)
}
