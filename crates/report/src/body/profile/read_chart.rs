//! The reads of a server as charts: by statement and tier, and how long those of each tier took.

use measure::schema::{Spec, profile};
use measure::{Run, Unit};

use super::read_tiers::TIERS;
use super::row::{Row as Fact, rows, text_of};
use crate::body::drawing::beginning;
use crate::page::wording::joined;
use crate::page::{Axis, Chart, Datum, Key, Line, Plot, Row, Shape};

/// Statements that are drawn.
const STATEMENTS_MAX: usize = 12;

/// Letters of a statement's text that name it.
const TEXT_LETTERS: usize = 40;

/// Buckets of a histogram that make one.
const BUCKETS_MIN: usize = 3;

/// What is drawn of them.
pub(super) fn charts(run: &Run) -> Vec<Chart> {
    statements(run).into_iter().chain(latencies(run)).collect()
}

fn keys() -> Vec<Key> {
    TIERS.iter().map(|(_, name, _)| Key::measured(*name)).collect()
}

/// What the tier is whose name does not say it.
const IN_FLIGHT: &str = "In flight for another: the block was already being read for another process.";

/// Whether a chart has reads of that tier.
fn in_flight(chart: &Chart) -> bool {
    let is_it = |key: usize| TIERS.get(key).is_some_and(|(tier, ..)| *tier == "in-flight");
    match &chart.plot {
        Plot::Stack(rows) => {
            rows.iter().flat_map(|row| &row.marks).any(|(key, datum)| is_it(*key) && datum.value > 0.0)
        }
        Plot::Lines(_, lines, _) => lines.iter().any(|line| is_it(line.key)),
        _ => false,
    }
}

/// The time of reads by statement, divided by tier.
fn statements(run: &Run) -> Option<Chart> {
    let name = |row: &Fact| match row.text("reader") {
        "statement" => statement(run, row.text("id")),
        "process" => row.text("process").to_string(),
        "unmet" => "statement not known".into(),
        _ => "others".into(),
    };
    let marks = |row: &Fact| {
        let mark = |(key, (_, _, tier)): (usize, &(&str, &str, &str))| {
            let metric = row.metric(&format!("{tier}_time"))?;
            let n = row.value(&format!("{tier}_reads")).map(|reads| reads as u64);
            Some((key, Datum { n, ..Datum::made(metric.median() * 1e3, metric.source.clone()) }))
        };
        TIERS.iter().enumerate().filter_map(mark).collect::<Vec<_>>()
    };
    let drawn = rows(run, "read_statement").take(STATEMENTS_MAX);
    let drawn = drawn.map(|row| Row { group: String::new(), label: name(&row), marks: marks(&row) }).collect();
    let value = Axis::linear("time of reads", Unit::Nanoseconds);
    let chart = Chart::new("read-tiers", "Which tier answered the reads of statements", value, Plot::Stack(drawn));
    let unmet = rows(run, "read_statement").any(|row| row.text("reader") == "unmet");
    let note = [
        unmet.then_some("A statement is not known where no sample found the process while it read."),
        rows(run, "statement_text").next().map(|_| "After the text stands the identifier that the tables have."),
        in_flight(&chart).then_some(IN_FLIGHT),
    ];
    let note = joined(note.into_iter().flatten(), " ");
    chart.keyed(keys()).noted(note).concerning(&["answer-read-tiers", "answer-without-page-cache"]).with_at_least(1)
}

/// A statement by the beginning of its text, where that is known, and its identifier.
fn statement(run: &Run, id: &str) -> String {
    match text_of(run, id).as_str() {
        "" => format!("statement {id}"),
        text => format!("{} · {id}", beginning(text, TEXT_LETTERS)),
    }
}

/// What the reads of a bucket are weighted by.
struct Weight {
    name: &'static str,
    metric: Spec,
    title: &'static str,
    share: &'static str,
}

static WEIGHTS: [Weight; 2] = [
    Weight {
        name: "read-latency",
        metric: profile::CALLS,
        title: "How long reads take, by the tier that answers",
        share: "share of the reads",
    },
    Weight {
        name: "read-latency-time",
        metric: profile::TOTAL,
        title: "Where the time of reads goes, by their latency and the tier that answers",
        share: "share of the time of all reads",
    },
];

/// How long reads of each tier took, and what of all time of reads that was: rare slow reads show in the time alone.
fn latencies(run: &Run) -> Vec<Chart> {
    let all: Vec<Fact> = rows(run, "read_latency").collect();
    if all.len() < BUCKETS_MIN { Vec::new() } else { WEIGHTS.iter().filter_map(|by| latency(&all, by)).collect() }
}

fn latency(all: &[Fact], by: &Weight) -> Option<Chart> {
    let whole: f64 = all.iter().filter_map(|row| row.value(&by.metric.name)).sum();
    let line = |(key, (tier, ..)): (usize, &(&str, &str, &str))| {
        let mut points: Vec<(f64, Datum)> = Vec::new();
        for row in all.iter().filter(|row| row.text("tier") == *tier) {
            let from = row.number("from_us").unwrap_or(0.0).max(0.5) * 1e3;
            // The end of a bucket gives way to the beginning of the next one.
            if points.pop_if(|(at, _)| (*at - from).abs() < 0.01 * from).is_none() {
                points.push((from, Datum::made(0.0, "beginning of a bucket")));
            }
            let share = 100.0 * row.value(&by.metric.name).unwrap_or(0.0) / whole;
            let n = row.value("calls").map(|calls| calls as u64);
            points.push((from, Datum { n, ..Datum::made(share, "buckets of a factor of two") }));
            points.push((from * 2.0, Datum::made(0.0, "end of a bucket")));
        }
        Line { key, shape: Shape::Steps, points }
    };
    let lines = TIERS.iter().enumerate().map(line).filter(|line| !line.points.is_empty()).collect();
    let across = Axis::logarithmic("latency", Unit::Nanoseconds);
    let value = Axis::linear(by.share, Unit::Percent);
    let chart = Chart::new(by.name, by.title, value, Plot::lines(across, lines));
    let note = "Each step is a bucket, twice as wide as the one before. Latency is elapsed time: a read from the page \
                cache takes long where the process loses its processor.";
    let in_flight = if in_flight(&chart) { IN_FLIGHT } else { "" };
    let chart = chart.keyed(keys()).noted(note).noted(in_flight).concerning(&["device-hills", "lost-records"]);
    chart.with_at_least(2).filter(|_| whole > 0.0)
}
