//! A profile as charts: where the time went, which statements took it, how latencies are distributed, what a larger
//! cache would avoid, and sessions side by side.

use measure::quantity::counted;
use measure::sorting;
use measure::{Run, Unit};

use super::class_order::{CLASSES_MAX, by_time, is_served, place_in};
use super::readings::{ACCESSES, TIERS};
use super::row::{Row as Fact, rows, session_rows, summary};
use super::sampled::sampling;
use super::statements::{OTHERS, response_time};
use super::time::{served, title_in};
use crate::body::drawing::{Drawing, figure};
use crate::body::source::is_log;
use crate::page::{Axis, Chart, Datum, Key, Line, Place, Plot, Row, Shape};

/// Statements of the Pareto curve.
const STATEMENTS_MAX: usize = 50;

/// Sessions that are drawn; further ones are added up.
const SESSIONS_MAX: usize = 12;

/// Charts of latencies, one for each event that took most time.
const EVENTS: [&str; 3] = ["latency", "latency-second", "latency-third"];

/// Buckets of a histogram that make one.
const BUCKETS_MIN: usize = 3;

/// What is drawn of a profile.
pub(in crate::body) fn drawing(run: &Run) -> Drawing {
    let Some(summary) = summary(run) else { return Drawing::default() };
    if run.subject.contains_key("statement") {
        return Drawing::default();
    }
    let served = served(run, &summary);
    let mut charts: Vec<Chart> = Vec::new();
    charts.extend(super::by_second::chart(run));
    charts.extend(classes(run));
    charts.extend(super::timeline::chart(run));
    charts.extend(pareto(run));
    charts.extend(super::read_chart::charts(run));
    charts.extend(latencies(run));
    charts.extend(miss_curve(run));
    charts.extend(sessions(run));
    let largest = rows(run, "class").filter(is_served).max_by(|one, other| one.total().total_cmp(&other.total()));
    let largest = largest.filter(|_| served > 0.0).map(|row| {
        let share = Datum::made(100.0 * row.total() / served, "time of the class over the response time");
        figure(format!("of it: {}", title_in(run, row.text("class"))), Unit::Percent, &share)
    });
    let whole = of_all(run);
    let first = statements(run).into_iter().next().filter(|_| whole > 0.0).map(|(id, micros)| {
        let share = Datum::made(100.0 * micros / whole, "own time of the statement over that of all");
        figure(format!("of the statements' time: {id}"), Unit::Percent, &share)
    });
    let response = figure("response time", Unit::Nanoseconds, &Datum::made(served * 1e3, "interval without idle time"));
    let undrawn = super::timeline::undrawn(run).map(|why| (super::timeline::TITLE, why));
    Drawing { undrawn: undrawn.into_iter().collect(), ..Drawing::new([Some(response), largest, first], charts) }
}

/// A time of the profile as a datum, in nanoseconds.
fn timed(row: &Fact, name: &str) -> Option<Datum> {
    let metric = row.metric(name)?;
    let calls = row.value("calls").filter(|calls| *calls > 0.0).map(|calls| calls as u64);
    Some(Datum { n: calls, ..Datum::made(metric.median() * 1e3, metric.source.clone()) })
}

/// Where the time went.
fn classes(run: &Run) -> Option<Chart> {
    let mut all: Vec<Fact> = rows(run, "class").filter(|row| is_served(row) && row.total() != 0.0).collect();
    sorting::by(&mut all, |one, other| other.total().total_cmp(&one.total()));
    let row = |row: &Fact| Some(Row::of(title_in(run, row.text("class")), timed(row, "total")?));
    let rows = all.iter().filter_map(row).collect();
    let value = Axis::linear("time", Unit::Nanoseconds);
    let chart = Chart::new("response-time", "Where the response time went", value, Plot::Rows(rows));
    let note = match all.iter().any(|row| row.total() < 0.0) {
        true if sampling(run).is_some() => "Idle time is left out. Below zero: the samples have more than the server.",
        true if is_log(run) => "Idle time is left out. Below zero: executions that overlap, or I/O in plans.",
        true => "Idle time is left out. Below zero: CPU time that was spent inside timed waits.",
        false => "Idle time is left out.",
    };
    chart
        .noted(note)
        .concerning(&["answer-class", "practice-*", "negative-*", "waits-not-traced", "time-unit"])
        .with_at_least(1)
}

/// The time of all statements.
fn of_all(run: &Run) -> f64 {
    rows(run, "statement").map(|row| response_time(&row).max(0.0)).sum()
}

/// The statements with their time, largest first. All others together are none of them.
fn statements(run: &Run) -> Vec<(String, f64)> {
    let mut all: Vec<(String, f64)> = rows(run, "statement")
        .filter(|row| row.text("id") != OTHERS)
        .map(|row| (row.text("id").to_string(), response_time(&row)))
        .filter(|(_, time)| *time > 0.0)
        .collect();
    sorting::by(&mut all, |one, other| other.1.total_cmp(&one.1));
    all
}

/// How much of the time the first statements take together.
fn pareto(run: &Run) -> Option<Chart> {
    let (all, whole) = (statements(run), of_all(run));
    let mut sum = 0.0;
    let mut points = vec![(0.0, Datum::made(0.0, "no statement"))];
    for (index, (id, time)) in all.iter().take(STATEMENTS_MAX).enumerate() {
        sum += time;
        let share = Datum::made(100.0 * sum / whole, format!("statement {id} and those before it"));
        points.push((index as f64 + 1.0, share));
    }
    let across = Axis::linear("statements, the one with most time first", Unit::Count);
    let value = Axis::linear("share of the statements' time", Unit::Percent);
    let lines = vec![Line { key: 0, shape: Shape::Marked, points }];
    let chart = Chart::new("pareto", "How few statements take most of the time", value, Plot::lines(across, lines));
    chart
        .concerning(&["answer-statements", "row-by-row", "parsed-at-every-execution", "executed-once"])
        .with_at_least(4)
}

/// Latencies of the events that took most time, by calls and by time, with the tiers that served them.
fn latencies(run: &Run) -> Vec<Chart> {
    let mut events: Vec<(&str, f64)> = Vec::new();
    for row in rows(run, "histogram") {
        match events.iter_mut().find(|(name, _)| *name == row.text("event")) {
            Some((_, sum)) => *sum += row.total(),
            None => events.push((row.text("event"), row.total())),
        }
    }
    let is_idle = |event: &str| {
        let of = rows(run, "class_event").find(|row| row.text("event") == event);
        of.is_some_and(|row| !is_served(&row))
    };
    events.retain(|(event, _)| !is_idle(event));
    sorting::by(&mut events, |one, other| other.1.total_cmp(&one.1));
    let charts = events.iter().filter_map(|(event, _)| latency(run, event));
    EVENTS.iter().zip(charts).map(|(name, chart)| Chart { name, ..chart }).collect()
}

fn latency(run: &Run, event: &str) -> Option<Chart> {
    let mut buckets: Vec<Fact> = rows(run, "histogram").filter(|row| row.text("event") == event).collect();
    sorting::by(&mut buckets, |one, other| {
        one.number("from_us").unwrap_or(0.0).total_cmp(&other.number("from_us").unwrap_or(0.0))
    });
    if buckets.len() < BUCKETS_MIN {
        return None;
    }
    let (calls, time): (f64, f64) =
        (buckets.iter().filter_map(|row| row.value("calls")).sum(), buckets.iter().map(Fact::total).sum());
    let line = |key: usize, name: &str, whole: f64| {
        let mut points: Vec<(f64, Datum)> = Vec::new();
        for row in &buckets {
            let (from, value) = (row.number("from_us").unwrap_or(0.0).max(0.5) * 1e3, row.value(name).unwrap_or(0.0));
            let n = row.value("calls").map(|calls| calls as u64);
            let here = Datum { n, ..Datum::made(100.0 * value / whole.max(1e-9), "buckets of a factor of two") };
            // Between two buckets that are apart lie empty ones.
            if let Some((end, _)) = points.last().filter(|(end, _)| *end < from * 0.99) {
                points.push((*end, Datum::made(0.0, "no call took that long")));
            }
            points.retain(|(at, datum)| *at != from || datum.value != 0.0 || datum.n.is_some());
            points.push((from, here));
            points.push((from * 2.0, Datum::made(0.0, "end of a bucket")));
        }
        Line { key, shape: Shape::Steps, points: joined(points) }
    };
    let lines = vec![line(0, "calls", calls), line(1, "total", time)];
    let across = Axis::logarithmic("latency", Unit::Nanoseconds);
    let value = Axis::linear("share of the waits, and of their time", Unit::Percent);
    let title = format!("How long waits take: {event}");
    let chart = Chart::new("latency", title, value, Plot::Lines(across, lines, tiers(run, event)));
    let chart = chart.keyed(vec![Key::measured("of the waits"), Key::measured("of their time")]);
    let note =
        "Each step is a bucket, twice as wide as the one before. Rare long waits show in the time, not in the count.";
    let tiers = "Dashed: where a tier answers, inferred from the peaks of the latencies.";
    chart.noted(note).about_places(tiers).concerning(concerns(event)).with_at_least(2)
}

/// The findings on the reads that wait for an event.
fn concerns(event: &str) -> &'static [&'static str] {
    match event {
        "db file sequential read" => &["tiers-single-block-read", "file-system-cache-answers-single-block-read"],
        "db file scattered read" => {
            &["tiers-multi-block-read", "file-system-cache-answers-multi-block-read", "time-per-block"]
        }
        _ => &[],
    }
}

/// Where a bucket begins at the end of another, the end is left out.
fn joined(points: Vec<(f64, Datum)>) -> Vec<(f64, Datum)> {
    let mut kept: Vec<(f64, Datum)> = Vec::new();
    for point in points {
        if kept.last().is_some_and(|(at, datum)| *at == point.0 && datum.n.is_none()) {
            kept.pop();
        }
        kept.push(point);
    }
    kept
}

/// Where the next tier begins, for reads whose latencies have several hills.
fn tiers(run: &Run, event: &str) -> Vec<Place> {
    let kind = match event {
        "db file sequential read" => ACCESSES[0].0,
        "db file scattered read" => ACCESSES[1].0,
        "direct path read" => ACCESSES[3].0,
        _ => return Vec::new(),
    };
    let name =
        |row: &Fact| TIERS.iter().find(|(name, _)| *name == row.text("tier")).map_or("tier", |(_, title)| *title);
    let of_kind = rows(run, "tier").filter(|row| row.text("reading") == kind);
    of_kind.filter_map(|row| Some(Place { at: row.value("mode")? * 1e3, text: name(&row).to_string() })).collect()
}

/// What a larger cache would avoid.
fn miss_curve(run: &Run) -> Option<Chart> {
    let point = |row: Fact| {
        let share = row.value("share_avoided")?;
        let error = row.value("share_error").filter(|error| *error > 0.0);
        let range = error.map(|error| (share - error, share + error));
        let made = Datum::made(share, "replay of the blocks read, least recently used out first");
        Some((row.number("extra_bytes")?, Datum { range, ..made }))
    };
    let mut points: Vec<(f64, Datum)> = rows(run, "miss_curve").filter_map(point).collect();
    sorting::by(&mut points, |one, other| one.0.total_cmp(&other.0));
    let across = Axis::logarithmic("memory added to the cache", Unit::Bytes);
    let value = Axis::linear("block reads avoided", Unit::Percent);
    let lines = vec![Line { key: 0, shape: Shape::Marked, points }];
    let title = "How many reads a larger cache would avoid";
    let chart = Chart::new("miss-curve", title, value, Plot::lines(across, lines));
    let chart = chart.noted("For this trace alone: other sessions share a cache.").thin_line("error of the sample");
    chart.concerning(&["larger-cache-*", "miss-curve-*"]).with_at_least(2)
}

/// Sessions by class.
fn sessions(run: &Run) -> Option<Chart> {
    let all: Vec<Fact> = session_rows(run, "class").filter(is_served).collect();
    let mut classes = sorting::each_once(all.iter().map(|row| row.text("class")));
    let order = by_time(run);
    sorting::by_key(&mut classes, |class| place_in(&order, class));
    let key = |class: &str| classes.iter().position(|known| *known == class).unwrap_or(0).min(CLASSES_MAX);
    let mut keys: Vec<Key> =
        classes.iter().take(CLASSES_MAX).map(|class| Key::measured(title_in(run, class))).collect();
    if classes.len() > CLASSES_MAX {
        keys.push(Key::measured("other classes"));
    }
    let mut sessions: Vec<Row> = Vec::new();
    for row in all.iter().filter(|row| row.total() > 0.0) {
        let name = row.text("session");
        let at = sessions.iter().position(|known| known.label == name).unwrap_or_else(|| {
            sessions.push(Row { group: String::new(), label: name.into(), marks: Vec::new() });
            sessions.len() - 1
        });
        let Some(datum) = timed(row, "total") else { continue };
        let (key, marks) = (key(row.text("class")), &mut sessions[at].marks);
        match marks.iter_mut().find(|(known, _)| *known == key) {
            Some((_, sum)) => *sum = Datum::made(sum.value + datum.value, sum.source.clone()),
            None => marks.push((key, datum)),
        }
    }
    let sum = |row: &Row| row.marks.iter().map(|(_, datum)| datum.value).sum::<f64>();
    sorting::by(&mut sessions, |one, other| sum(other).total_cmp(&sum(one)));
    sessions.iter_mut().for_each(|row| sorting::by_key(&mut row.marks, |(key, _)| *key));
    let is_several = sessions.len() > 1;
    let more = sessions.len().saturating_sub(SESSIONS_MAX);
    sessions.truncate(SESSIONS_MAX);
    let value = Axis::linear("response time", Unit::Nanoseconds);
    let chart = Chart::new("sessions", "Where the time of each session went", value, Plot::Stack(sessions)).keyed(keys);
    let note = match more as u64 {
        0 => String::new(),
        more => format!("{} took less.", counted(more, "further session", "further sessions")),
    };
    chart.noted(note).concerning(&["several-sessions"]).with_at_least(1).filter(|_| is_several)
}
