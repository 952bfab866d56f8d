//! What the processor did for a row and for a get, next to the published figures, and a chart of it.

use measure::schema::{Family, Spec, events, scan};
use measure::{Case, Metric, Unit};

use super::label::{label, path, published_beside};
use crate::body::subjects::subject;
use crate::page::table::Scale;
use crate::page::{Align, Cell, Table};

/// What is charted: events of the processor.
const CHARTED: [&str; 2] = ["instructions", "cycles"];

/// Further counts: heading and event.
const COUNTS: [(&str, &str); 4] = [
    ("branches", "branches"),
    ("mispred.", "branch_misses"),
    ("L1 misses", "l1_dcache_load_misses"),
    ("memory", "cache_misses"),
];

/// Events of the kernel: heading and metric.
const KERNEL: [(&str, Spec); 4] = [
    ("page faults", scan::PAGE_FAULTS),
    ("of them read", scan::MAJOR_FAULTS),
    ("switches", scan::CONTEXT_SWITCHES),
    ("migrations", scan::CPU_MIGRATIONS),
];

/// The tables and the chart.
pub(super) fn tables(cases: &[&Case]) -> Vec<Table> {
    // Several threads do the same work as one, and each path has one row.
    let mut counted: Vec<&Case> = Vec::new();
    let instructions = scan::PER_ROW.of("instructions");
    for case in cases.iter().filter(|case| instructions.in_case(case).is_some()) {
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
        Some(counts(&counted, "for a row", scan::PER_ROW, &COUNTS)),
        a_get(&counted),
        stalls(&counted),
        kernel(cases),
    ];
    tables.into_iter().flatten().collect()
}

/// What the kernel counted, where it counted something in each pass: that is in the cost too.
fn kernel(cases: &[&Case]) -> Option<Table> {
    let disturbed = |case: &&Case| KERNEL.iter().any(|(_, spec)| spec.median(case) >= Some(1.0));
    let disturbed: Vec<&Case> = cases.iter().copied().filter(disturbed).collect();
    Table::over(&disturbed)
        .column("the kernel, a pass", Align::Left, |case| label(case))
        .each(KERNEL, |table, (heading, spec)| table.optional(heading, Align::Decimal, |case| Cell::of(case, &spec)))
        .groups(|case| subject(case))
        .unless_empty()
}

/// Instructions, cycles and instructions a cycle, and the published ones.
fn beside(cases: &[&Case]) -> Table {
    let pair = |case: &Case, spec: &Spec| {
        let here = Cell::of(case, spec).unwrap_or_default();
        match published_beside(spec, case) {
            Some(published) => Cell { text: format!("{} | {}", here.text, published.text), ..here },
            None => here,
        }
    };
    Table::over(cases)
        .column("here | published", Align::Left, |case| label(case))
        .column("instr/row", Align::Decimal, |case| pair(case, &scan::PER_ROW.of("instructions")))
        .column("cycles/row", Align::Decimal, |case| pair(case, &scan::PER_ROW.of("cycles")))
        .column("IPC", Align::Decimal, |case| pair(case, &scan::IPC))
        .groups(|case| subject(case))
        .done()
}

/// Instructions and cycles of each path, one over the other.
fn chart(cases: &[&Case]) -> Table {
    let of =
        |case| CHARTED.into_iter().filter_map(move |event| Some((case, event, scan::PER_ROW.of(event).median(case)?)));
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

fn a_get(cases: &[&Case]) -> Option<Table> {
    let instructions = scan::PER_GET.of("instructions");
    let with_gets: Vec<&Case> = cases.iter().copied().filter(|case| instructions.in_case(case).is_some()).collect();
    let all: Vec<_> = [("instr", "instructions"), ("cycles", "cycles")].into_iter().chain(COUNTS).collect();
    (!with_gets.is_empty()).then(|| counts(&with_gets, "for a get", scan::PER_GET, &all))
}

fn counts(cases: &[&Case], title: &str, family: Family, shown: &[(&str, &str)]) -> Table {
    let shown = shown.iter().map(|(heading, event)| (*heading, family.of(event)));
    let is_counted = |spec: &Spec| cases.iter().any(|case| spec.in_case(case).is_some());
    let shown = shown.filter(|(_, spec)| is_counted(spec));
    Table::over(cases)
        .column(title, Align::Left, |case| label(case))
        .each(shown, |table, (heading, spec)| table.column(heading, Align::Decimal, |case| Cell::of(case, &spec)))
        .groups(|case| subject(case))
        .done()
}

/// In which part of the cycles the processor stood still, where it counts that, and how much of the time was counted.
fn stalls(cases: &[&Case]) -> Option<Table> {
    let share = |case: &Case, event: &str| {
        let cycles = scan::PER_ROW.of("cycles").median(case).filter(|cycles| *cycles > 0.0)?;
        Some(Cell::digits(scan::PER_ROW.of(event).median(case)? / cycles * 100.0, Unit::Percent))
    };
    let table = Table::over(cases)
        .column("% of cycles", Align::Left, |case| label(case))
        .optional("stalled, front end", Align::Decimal, |case| share(case, "stalled_cycles_frontend"))
        .optional("stalled, back end", Align::Decimal, |case| share(case, "stalled_cycles_backend"))
        .optional("least counted", Align::Right, |case| least_counted(case))
        .groups(|case| subject(case))
        .done();
    let is_empty = table.columns.iter().skip(1).flat_map(|column| &column.cells).all(Cell::is_blank);
    (!is_empty).then_some(table)
}

/// The least part of the time in which one of the counts was counted, where they took turns.
fn least_counted(case: &Case) -> Option<Cell> {
    let counted = case.metrics.iter().filter(|metric| events::COUNTED.named(&metric.name).is_some());
    counted.map(Metric::median).min_by(f64::total_cmp).map(Cell::percent)
}
