//! What the processor did for a row and for a get, next to the published figures, and a chart of it.

use measure::{Case, Metric, Unit};

use super::label::{label, path, published};
use crate::body::subjects::subject;
use crate::page::table::Scale;
use crate::page::{Align, Cell, Table};

/// What is charted: metric and name.
const CHARTED: [(&str, &str); 2] = [("instructions_per_row", "instructions"), ("cycles_per_row", "cycles")];

/// Further counts: heading and metric, without the end of its name that says for what.
const COUNTS: [(&str, &str); 4] = [
    ("branches", "branches"),
    ("mispred.", "branch_misses"),
    ("L1 misses", "l1_dcache_load_misses"),
    ("memory", "cache_misses"),
];

/// Events of the kernel: heading and metric.
const KERNEL: [(&str, &str); 4] = [
    ("page faults", "page_faults"),
    ("of them read", "major_faults"),
    ("switches", "context_switches"),
    ("migrations", "cpu_migrations"),
];

/// The tables and the chart.
pub(super) fn tables(cases: &[&Case]) -> Vec<Table> {
    // Several threads do the same work as one, and each path has one row.
    let mut counted: Vec<&Case> = Vec::new();
    for case in cases.iter().filter(|case| case.metric("instructions_per_row").is_some()) {
        if !counted.iter().any(|known| (path(known), subject(known)) == (path(case), subject(case))) {
            counted.push(case);
        }
    }
    if counted.is_empty() {
        return kernel(cases).into_iter().collect();
    }
    let tables = [
        Some(beside(&counted)),
        Some(chart(&counted)),
        Some(a_row(&counted)),
        a_get(&counted),
        stalls(&counted),
        kernel(cases),
    ];
    tables.into_iter().flatten().collect()
}

/// What the kernel counted, where it counted something in each pass: that is in the cost too.
fn kernel(cases: &[&Case]) -> Option<Table> {
    let disturbed = |case: &&Case| KERNEL.iter().any(|(_, name)| median(case, name) >= Some(1.0));
    let disturbed: Vec<&Case> = cases.iter().copied().filter(disturbed).collect();
    Table::over(&disturbed)
        .column("the kernel, a pass", Align::Left, |case| label(case))
        .each(&KERNEL, |table, (heading, name)| {
            table.column(*heading, Align::Decimal, |case| number(case, name)).optional()
        })
        .groups(|case| subject(case))
        .unless_empty()
}

/// Instructions, cycles and instructions a cycle, and the published ones.
fn beside(cases: &[&Case]) -> Table {
    let pair = |case: &Case, name: &str| {
        let here = number(case, name).unwrap_or_default();
        match published(name, case) {
            Some(published) => Cell { text: format!("{} | {}", here.text, published.text), ..here },
            None => here,
        }
    };
    Table::over(cases)
        .column("here | published", Align::Left, |case| label(case))
        .column("instr/row", Align::Decimal, |case| pair(case, "instructions_per_row"))
        .column("cycles/row", Align::Decimal, |case| pair(case, "cycles_per_row"))
        .column("IPC", Align::Decimal, |case| pair(case, "ipc"))
        .groups(|case| subject(case))
        .done()
}

/// Instructions and cycles of each path, one over the other.
fn chart(cases: &[&Case]) -> Table {
    let of = |case| CHARTED.iter().filter_map(move |(name, what)| Some((case, *what, median(case, name)?)));
    let mut rows: Vec<(&Case, &str, f64, String)> = Vec::new();
    for case in cases {
        let mut name = label(case);
        rows.extend(of(*case).map(|(case, what, value)| (case, what, value, std::mem::take(&mut name))));
    }
    Table::over(&rows)
        .column("a row", Align::Left, |(.., name)| name.clone())
        .column("", Align::Left, |(_, what, ..)| *what)
        .column("", Align::Decimal, |(_, _, value, _)| Cell::digits(*value, Unit::Count))
        .bars("log scale", Scale::Logarithmic, |(_, _, value, _)| Some(*value))
        .groups(|(case, ..)| subject(case))
        .done()
}

fn a_row(cases: &[&Case]) -> Table {
    counts(cases, "for a row", "_per_row", &COUNTS)
}

fn a_get(cases: &[&Case]) -> Option<Table> {
    let with_gets: Vec<&Case> =
        cases.iter().copied().filter(|case| case.metric("instructions_per_get").is_some()).collect();
    let all: Vec<_> = [("instr", "instructions"), ("cycles", "cycles")].into_iter().chain(COUNTS).collect();
    (!with_gets.is_empty()).then(|| counts(&with_gets, "for a get", "_per_get", &all))
}

fn counts(cases: &[&Case], title: &str, of: &str, shown: &[(&str, &str)]) -> Table {
    let metric = |name: &str| format!("{name}{of}");
    let is_counted = |name: &str| cases.iter().any(|case| case.metric(&metric(name)).is_some());
    let shown = shown.iter().filter(|(_, name)| is_counted(name));
    Table::over(cases)
        .column(title, Align::Left, |case| label(case))
        .each(shown, |table, (heading, name)| {
            table.column(*heading, Align::Decimal, |case| number(case, &metric(name)))
        })
        .groups(|case| subject(case))
        .done()
}

/// In which part of the cycles the processor stood still, where it counts that, and how much of the time was counted.
fn stalls(cases: &[&Case]) -> Option<Table> {
    let share = |case: &Case, name: &str| {
        let cycles = median(case, "cycles_per_row").filter(|cycles| *cycles > 0.0)?;
        Some(Cell::digits(median(case, name)? / cycles * 100.0, Unit::Percent))
    };
    let table = Table::over(cases)
        .column("% of cycles", Align::Left, |case| label(case))
        .column("stalled, front end", Align::Decimal, |case| share(case, "stalled_cycles_frontend_per_row"))
        .optional()
        .column("stalled, back end", Align::Decimal, |case| share(case, "stalled_cycles_backend_per_row"))
        .optional()
        .column("least counted", Align::Right, |case| least_counted(case))
        .optional()
        .groups(|case| subject(case))
        .done();
    let is_empty = table.columns.iter().skip(1).flat_map(|column| &column.cells).all(Cell::is_blank);
    (!is_empty).then_some(table)
}

/// The least part of the time in which one of the counts was counted, where they took turns.
fn least_counted(case: &Case) -> Option<Cell> {
    let shares = case.metrics.iter().filter(|metric| metric.name.ends_with("_counted")).map(Metric::median);
    shares.min_by(f64::total_cmp).map(Cell::percent)
}

fn median(case: &Case, name: &str) -> Option<f64> {
    case.metric(name).map(Metric::median)
}

fn number(case: &Case, name: &str) -> Option<Cell> {
    case.metric(name).map(Cell::median)
}
