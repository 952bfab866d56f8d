//! Access paths as charts: what a row costs, and what the processor did for it.

use measure::schema::scan;
use measure::{Case, Run, Unit};

use super::label::{label, path};
use crate::body::drawing::{Beside, Drawing, RANGE, figure, published};
use crate::body::subjects::{subject, subjects};
use crate::page::{Axis, Chart, Datum};

/// What is charted of the processor: file, metric, title, axis.
const COUNTED: [(&str, &str, &str, &str); 3] = [
    ("scan-instructions", "instructions_per_row", "Instructions per row, by access path", "instructions per row"),
    ("scan-cycles", "cycles_per_row", "Cycles per row, by access path", "cycles per row"),
    ("scan-ipc", "ipc", "Instructions per cycle, by access path", "instructions per cycle"),
];

/// Paths whose cost of a row stands in front, as far as they are there.
const PATHS: [&str; 5] = ["index-bad-clustering", "full-scan", "column-scan", "bitmap-scan", "index-only-scan"];

/// What is drawn of access paths.
pub(in crate::body) fn drawing(run: &Run) -> Drawing {
    let cases: Vec<&Case> = run.cases.iter().collect();
    let value = Axis::logarithmic("CPU time per row", Unit::Nanoseconds);
    let time = chart(&cases, "scan", "row_time", "What a row costs, by access path", value.clone());
    let time = time.map(|chart| {
        chart.concerning(&[
            "answer-*",
            "core-*",
            "stolen-*",
            "cpu-*",
            "machine-busy",
            "memory-needed",
            "zone-maps-answered",
            "nothing-read",
        ])
    });
    let counted = COUNTED.iter().filter_map(|(file, metric, title, axis)| {
        let scale =
            if *metric == "ipc" { Axis::linear(*axis, Unit::Count) } else { Axis::logarithmic(*axis, Unit::Count) };
        Some(chart(&cases, file, metric, title, scale)?.concerning(&["valgrind*", "absent-*"]))
    });
    // The subject that was asked about stands behind the engine.
    let asked = subjects(&cases).into_iter().next_back().unwrap_or_default();
    let figures = PATHS.iter().map(|path| {
        let case = cases.iter().find(|case| subject(case) == asked && self::path(case) == *path)?;
        let metric = scan::ROW_TIME.in_case(case).filter(|metric| metric.median() > 0.0)?;
        Some(figure(format!("a row by {} {asked}", label(case)).trim_end(), &value, &Datum::median(metric)))
    });
    let figures: Vec<_> = figures.collect();
    Drawing::new(figures, time.into_iter().chain(counted).collect())
}

fn chart(cases: &[&Case], file: &'static str, metric: &str, title: &str, value: Axis) -> Option<Chart> {
    let beside = |case: &Case| -> Vec<(&'static str, Datum)> {
        scan::EXPERIMENT.published(metric, case).map(|figure| ("published", published(figure))).collect()
    };
    // What reads no row has no cost of one.
    let (unread, cases): (Vec<&Case>, Vec<&Case>) =
        cases.iter().partition(|case| scan::UNITS_READ.median(case) == Some(0.0));
    let rows = Beside {
        cases: &cases,
        group: &|_| String::new(),
        label: &label,
        subject: &subject,
        value: &|case| case.metric(metric).map(Datum::median),
        published: &beside,
    };
    let chart = rows.chart(file, title, value)?;
    let names: Vec<String> = unread.iter().map(|case| label(case)).collect();
    let left_out = match names.is_empty() {
        true => String::new(),
        false => format!("Left out, because no row was read for the answer: {}.", names.join("; ")),
    };
    let remark = "Outlined marks are published figures of a database on another machine.";
    chart.of_medians().about_published(remark).noted(left_out).thin_line(RANGE).with_at_least(2)
}
