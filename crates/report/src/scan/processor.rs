//! What the processor did for a row and for a get, the published figures beside, and a chart of it.

use measure::Case;

use super::{Published, bar_cells, label, log_bar, median, number, published_of};
use crate::number::three_digits;
use crate::parameters::cell;
use crate::style::Style;
use crate::table::{Align, Table};

/// Heading of the table with the published figures.
const BESIDE: &str = "here | published";

/// What is charted: metric and name.
const CHARTED: [(&str, &str); 2] = [("instructions_per_row", "instructions"), ("cycles_per_row", "cycles")];

/// Further counts: heading and metric, without the end of its name that says for what.
const COUNTS: [(&str, &str); 4] = [
    ("branches", "branches"),
    ("mispred.", "branch_misses"),
    ("L1 misses", "l1_dcache_load_misses"),
    ("memory", "cache_misses"),
];

/// The tables, and the chart where there is room for bars.
pub(super) fn sections(cases: &[&Case], style: &Style) -> Vec<String> {
    // Several threads do the same work as one, and each path is told of once.
    let mut counted: Vec<&Case> = Vec::new();
    for case in cases.iter().filter(|case| case.metric("instructions_per_row").is_some()) {
        if !counted.iter().any(|known| cell(known, "path") == cell(case, "path")) {
            counted.push(case);
        }
    }
    if counted.is_empty() {
        return Vec::new();
    }
    vec![
        beside(&counted, style),
        chart(&counted, style),
        a_row(&counted, style),
        a_get(&counted, style),
        stalls(&counted, style),
    ]
}

/// Instructions, cycles and instructions a cycle, and the document's.
fn beside(cases: &[&Case], style: &Style) -> String {
    let mut table = Table::new()
        .column(BESIDE, Align::Left)
        .column("instr/row", Align::Decimal)
        .column("cycles/row", Align::Decimal)
        .column("IPC", Align::Decimal);
    for case in cases {
        let published = published_of(case);
        let pair = |name: &str, published: Option<&str>| {
            let here = number(median(case, name));
            match published.filter(|text| !text.is_empty()) {
                Some(published) => format!("{here} | {published}"),
                None => here,
            }
        };
        let of = |field: fn(&Published) -> &'static str| published.map(field);
        table.row([
            label(case),
            pair("instructions_per_row", of(|row| row.instructions)),
            pair("cycles_per_row", of(|row| row.cycles)),
            pair("ipc", of(|row| row.ipc)),
        ]);
    }
    headed(BESIDE, table.render(style))
}

/// Instructions and cycles of each path, one over the other.
fn chart(cases: &[&Case], style: &Style) -> String {
    let cells = bar_cells(&charted(cases, 0, style), style);
    if cells == 0 {
        return String::new();
    }
    charted(cases, cells, style).render(style)
}

fn charted(cases: &[&Case], cells: usize, style: &Style) -> Table {
    let mut table = Table::new().column("a row", Align::Left).column("", Align::Left).column("", Align::Decimal);
    if cells > 0 {
        table = table.column(super::SCALE, Align::Left);
    }
    let values = cases.iter().flat_map(|case| CHARTED.iter().filter_map(|(name, _)| median(case, name)));
    let values: Vec<f64> = values.collect();
    for case in cases {
        let shown = CHARTED.iter().filter_map(|(name, what)| Some((*what, median(case, name)?)));
        for (index, (what, value)) in shown.enumerate() {
            let path = if index == 0 { label(case) } else { String::new() };
            let bar = (cells > 0).then(|| log_bar(value, &values, cells, style));
            table.row([path, what.into(), three_digits(value)].into_iter().chain(bar));
        }
    }
    table
}

fn a_row(cases: &[&Case], style: &Style) -> String {
    counts(cases, "for a row", "_per_row", &COUNTS, style)
}

fn a_get(cases: &[&Case], style: &Style) -> String {
    let with_gets: Vec<&Case> =
        cases.iter().copied().filter(|case| case.metric("instructions_per_get").is_some()).collect();
    let all: Vec<_> = [("instr", "instructions"), ("cycles", "cycles")].into_iter().chain(COUNTS).collect();
    if with_gets.is_empty() { String::new() } else { counts(&with_gets, "for a get", "_per_get", &all, style) }
}

fn counts(cases: &[&Case], title: &str, of: &str, shown: &[(&str, &str)], style: &Style) -> String {
    let metric = |name: &str| format!("{name}{of}");
    let is_counted = |name: &str| cases.iter().any(|case| case.metric(&metric(name)).is_some());
    let shown: Vec<_> = shown.iter().filter(|(_, name)| is_counted(name)).collect();
    let mut table = Table::new().column(title, Align::Left);
    for (heading, _) in &shown {
        table = table.column(heading, Align::Decimal);
    }
    for case in cases {
        let cells = shown.iter().map(|(_, name)| number(median(case, &metric(name))));
        table.row([label(case)].into_iter().chain(cells));
    }
    headed(title, table.render(style))
}

/// Where a page is too narrow for a table, its headings stand at every number, and the first one nowhere.
fn headed(title: &str, rendered: String) -> String {
    let has_title = rendered.lines().next().is_some_and(|line| line.contains(title));
    if has_title { rendered } else { format!("{title}:\n{rendered}") }
}

/// In which share of the cycles the processor stood still, where it tells, and how much of the time was counted.
fn stalls(cases: &[&Case], style: &Style) -> String {
    let mut table = Table::new()
        .column("% of cycles", Align::Left)
        .optional_column("stalled, front end", Align::Decimal)
        .optional_column("stalled, back end", Align::Decimal)
        .optional_column("least counted", Align::Right);
    let mut is_empty = true;
    for case in cases {
        let share = |name: &str| {
            let (stalled, cycles) =
                (median(case, name)?, median(case, "cycles_per_row").filter(|cycles| *cycles > 0.0)?);
            Some(stalled / cycles * 100.0)
        };
        let [front, back] = ["stalled_cycles_frontend_per_row", "stalled_cycles_backend_per_row"].map(share);
        let counted = least_counted(case);
        is_empty &= front.is_none() && back.is_none() && counted.is_empty();
        table.row([label(case), number(front), number(back), counted]);
    }
    if is_empty { String::new() } else { table.render(style) }
}

/// The least share of the time in which one of the counts was counted, where they took turns.
fn least_counted(case: &Case) -> String {
    let shares = case.metrics.iter().filter(|metric| metric.name.ends_with("_counted")).map(|metric| metric.median());
    shares.min_by(f64::total_cmp).map_or(String::new(), |share| format!("{} %", three_digits(share)))
}
