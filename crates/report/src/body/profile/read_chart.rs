//! The reads of a server as charts: by statement and tier, and how long those of each tier took.

use measure::{Run, Unit};

use super::read_tiers::TIERS;
use super::row::{Row as Fact, rows};
use crate::page::{Axis, Chart, Datum, Key, Line, Plot, Row, Shape};

/// Statements that are drawn.
const STATEMENTS_MAX: usize = 12;

/// Buckets of a histogram that make one.
const BUCKETS_MIN: usize = 3;

/// What is drawn of them.
pub(super) fn charts(run: &Run) -> Vec<Chart> {
    [statements(run), latencies(run)].into_iter().flatten().collect()
}

fn keys() -> Vec<Key> {
    TIERS.iter().map(|(_, name, _)| Key::measured(*name)).collect()
}

/// The time of reads by statement, divided by tier.
fn statements(run: &Run) -> Option<Chart> {
    let name = |row: &Fact| match row.text("reader") {
        "statement" => row.text("id").to_string(),
        "process" => row.text("process").to_string(),
        "unmet" => "no sample met it".into(),
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
    chart.keyed(keys()).concerning(&["answer-read-tiers", "answer-without-page-cache"]).with_at_least(1)
}

/// How long reads of each tier took.
fn latencies(run: &Run) -> Option<Chart> {
    let all: Vec<Fact> = rows(run, "read_latency").collect();
    let calls: f64 = all.iter().filter_map(|row| row.value("calls")).sum();
    if all.len() < BUCKETS_MIN || calls <= 0.0 {
        return None;
    }
    let line = |(key, (tier, ..)): (usize, &(&str, &str, &str))| {
        let mut points: Vec<(f64, Datum)> = Vec::new();
        for row in all.iter().filter(|row| row.text("tier") == *tier) {
            let from = row.number("from_us").unwrap_or(0.0).max(0.5) * 1e3;
            let value = row.value("calls").unwrap_or(0.0);
            // The end of a bucket gives way to the beginning of the next one.
            points.pop_if(|(at, _)| (*at - from).abs() < 0.01 * from);
            let share = Datum::made(100.0 * value / calls, "buckets of a factor of two");
            points.push((from, Datum { n: Some(value as u64), ..share }));
            points.push((from * 2.0, Datum::made(0.0, "end of a bucket")));
        }
        Line { key, shape: Shape::Steps, points }
    };
    let lines = TIERS.iter().enumerate().map(line).filter(|line| !line.points.is_empty()).collect();
    let across = Axis::logarithmic("latency", Unit::Nanoseconds);
    let value = Axis::linear("share of the reads", Unit::Percent);
    let plot = Plot::Lines(across, lines, Vec::new());
    let chart = Chart::new("read-latency", "How long reads take, by the tier that answers", value, plot);
    chart.keyed(keys()).concerning(&["device-hills", "lost-records"]).with_at_least(2)
}
