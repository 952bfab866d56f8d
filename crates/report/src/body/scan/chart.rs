//! Access paths as charts: what a row costs, and what the processor did for it.

use measure::schema::{Spec, scan};
use measure::{Case, Run, Unit};

use super::label::{label, path};
use crate::body::drawing::{Beside, Drawing, RANGE, figure, median, published};
use crate::body::subjects::{subject, subjects};
use crate::page::{Axis, Chart, Datum};

/// Paths whose cost of a row stands in front, as far as they are there.
const PATHS: [&str; 5] = ["index-bad-clustering", "full-scan", "column-scan", "bitmap-scan", "index-only-scan"];

/// What is drawn of access paths.
pub(in crate::body) fn drawing(run: &Run) -> Drawing {
    let cases: Vec<&Case> = run.cases.iter().collect();
    let value = Axis::logarithmic("CPU time per row", Unit::Nanoseconds);
    let time = chart(&cases, "scan", &scan::ROW_TIME, "What a row costs, by access path", value);
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
    let [instructions, cycles] = ["instructions", "cycles"].map(|event| scan::PER_ROW.of(event));
    let axis = |what: &str| Axis::logarithmic(what, Unit::Count);
    let counted = [
        ("scan-instructions", instructions, "Instructions per row", axis("instructions per row")),
        ("scan-cycles", cycles, "Cycles per row", axis("cycles per row")),
        ("scan-ipc", scan::IPC, "Instructions per cycle", Axis::linear("instructions per cycle", Unit::Count)),
    ];
    let counted = counted.into_iter().filter_map(|(file, spec, title, axis)| {
        let chart = chart(&cases, file, &spec, &format!("{title}, by access path"), axis)?;
        Some(chart.concerning(&["valgrind*", "absent-*"]))
    });
    // The subject that was asked about stands behind the engine.
    let asked = subjects(&cases).into_iter().next_back().unwrap_or_default();
    let figures = PATHS.iter().map(|path| {
        let case = cases.iter().find(|case| subject(case) == asked && self::path(case) == *path)?;
        let metric = scan::ROW_TIME.in_case(case).filter(|metric| metric.median() > 0.0)?;
        Some(figure(format!("a row by {} {asked}", label(case)).trim_end(), Unit::Nanoseconds, &Datum::median(metric)))
    });
    let figures: Vec<_> = figures.collect();
    Drawing::new(figures, time.into_iter().chain(counted).collect())
}

fn chart(cases: &[&Case], file: &'static str, spec: &Spec, title: &str, value: Axis) -> Option<Chart> {
    let beside = |case: &Case| -> Vec<(&'static str, Datum)> {
        scan::EXPERIMENT.published(&spec.name, case).map(|figure| ("published", published(figure))).collect()
    };
    // What reads no row has no cost of one.
    let (unread, cases): (Vec<&Case>, Vec<&Case>) =
        cases.iter().partition(|case| scan::UNITS_READ.median(case) == Some(0.0));
    let rows = Beside {
        cases: &cases,
        group: &|_| String::new(),
        label: &label,
        subject: &subject,
        value: &|case| median(case, spec),
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
