//! A contest as charts: what each contender needed, question by question, and how far each bar was reached.

use measure::schema::Spec;
use measure::schema::contest::parameters::{BAR, CONTENDER, QUESTION, WANTED};
use measure::schema::contest::{self as of, BAR_RATIO};
use measure::{Case, Run, Unit};

use crate::body::drawing::{Drawing, RANGE, median};
use crate::page::{Axis, Chart, Datum, Key, Plot, Row};

/// Metrics of contenders that are drawn: each with the name and the title of its chart.
const DRAWN: [(Spec, &str, &str); 16] = [
    (of::IOPS, "contest-iops", "How many reads a second"),
    (of::CPU_PER_READ, "contest-cpu-per-read", "CPU time of a read"),
    (of::READ_LATENCY, "contest-latency", "How long a read takes"),
    (of::LIO, "contest-lio", "CPU time of a logical I/O"),
    (of::GET_TIME, "contest-get", "How long a get of the buffer pool takes"),
    (of::STREAM_BLOCK, "contest-stream", "How long a block of memory in sequence takes"),
    (of::ROW_TIME, "contest-row", "How long a row takes"),
    (of::BUILT, "contest-built", "How fast rows become columns"),
    (of::LOADED, "contest-loaded", "How fast a table is loaded"),
    (of::SCANNED, "contest-scanned", "How fast columns are scanned"),
    (of::BLOCKS_PER_SECOND, "contest-blocks", "How many blocks a second"),
    (of::JOIN_TIME, "contest-join", "How long a join takes"),
    (of::CPU_PER_ROW, "contest-cpu-per-row", "CPU time of an outer row"),
    (of::ELAPSED, "contest-elapsed", "How long a program runs"),
    (of::TOTAL_TIME, "contest-total", "How long all queries take"),
    (of::PEAK_MEMORY, "contest-memory", "How much memory a program needs"),
];

/// Values further apart than this do not stand on one linear axis.
const APART: f64 = 20.0;

/// What is drawn of a contest.
pub(in crate::body) fn drawing(run: &Run) -> Drawing {
    let (bars, contenders): (Vec<&Case>, Vec<&Case>) = run.cases.iter().partition(|case| BAR.in_case(case).is_some());
    let needed = DRAWN.into_iter().filter_map(|(spec, name, title)| needed(&contenders, &spec, name, title));
    let charts = [reached(&bars)].into_iter().flatten().chain(needed).collect();
    Drawing::new([], charts)
}

/// A metric of all contenders that have it, question by question.
fn needed(cases: &[&Case], spec: &Spec, name: &'static str, title: &str) -> Option<Chart> {
    let row = |case: &&Case| {
        let metric = spec.in_case(case).filter(|metric| metric.unit == spec.unit)?;
        let group = QUESTION.in_case(case).unwrap_or_default();
        let label = CONTENDER.in_case(case).unwrap_or_default();
        Some(Row { group, ..Row::of(label, Datum::median(metric)) })
    };
    let rows: Vec<Row> = cases.iter().filter_map(row).collect();
    let unit = if spec.unit.nanoseconds().is_some() { Unit::Nanoseconds } else { spec.unit };
    let values = || rows.iter().flat_map(|row| &row.marks).map(|(_, datum)| datum.value);
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let is_wide = least > 0.0 && most > least * APART;
    let value = if is_wide { Axis::logarithmic(spec.meaning, unit) } else { Axis::linear(spec.meaning, unit) };
    let chart = Chart::new(name, title, value, Plot::Rows(rows));
    chart.noted("Medians.").thin_line(RANGE).with_at_least(2)
}

/// The bars that are ratios, each with what was wanted of it.
fn reached(bars: &[&Case]) -> Option<Chart> {
    let row = |case: &&Case| {
        let reached =
            median(case, &BAR_RATIO).filter(|_| BAR_RATIO.in_case(case).is_some_and(|one| one.unit == Unit::Ratio));
        let marks = [(0, reached?)].into_iter().chain(wanted(&WANTED.in_case(case)?)).collect();
        Some(Row { group: String::new(), label: BAR.in_case(case)?, marks })
    };
    let rows = bars.iter().filter_map(row).collect();
    let value = Axis::linear("readpath's value over the peer's, or as the bar says", Unit::Ratio);
    let chart = Chart::new("contest-bars", "What readpath reached, and what it had to reach", value, Plot::Rows(rows));
    let ends = ["wanted at least", "wanted at most"].map(Key::published);
    let chart = chart.keyed([Key::measured("reached")].into_iter().chain(ends).collect());
    chart.thin_line("range of the pairs").concerning(&["bar-missed"]).with_at_least(2)
}

/// The ends of what was wanted, by their keys: `at least 0.970`, `at most 0.800`, `0.850 to 1.15`.
fn wanted(words: &str) -> Vec<(usize, Datum)> {
    let numbers = words.split(' ').filter_map(|word| word.parse::<f64>().ok());
    let first = if words.starts_with("at most") { 2 } else { 1 };
    numbers.enumerate().map(|(at, value)| (first + at, Datum::made(value, format!("wanted: {words}")))).collect()
}
