//! The table that adds up: classes with their events, served time, idle time, interval.

use std::collections::HashMap;

use measure::Run;
use measure::schema::FindingSpec;
use measure::schema::profile::findings::{NEGATIVE_BETWEEN, NEGATIVE_WITHIN, WAITS_NOT_TRACED};
use measure::sorting;
use measure::wait_class::Class;

use super::amount::{Scale, count, exact_time, of_micros, percent, scale, share};
use super::class_order::is_served;
use super::row::{Row, rows};
use super::sampled::sampling;
use crate::body::source::{is_log, source_words};
use crate::page::wording::joined;
use crate::page::{Align, Cell, Table};

/// A class as the page names it; a class that this version does not know by its key.
fn title(class: &str) -> String {
    Class::with_key(class).map_or_else(|| class.replace('-', " "), |class| class.row().title.into())
}

/// The same, where waits were not traced: then what is unaccounted for holds them.
pub(super) fn title_in(run: &Run, class: &str) -> String {
    if class == Class::UnaccountedBetween.key() && sampling(run).is_some() {
        return "unaccounted for".into();
    }
    if let Some(title) = source_words(run).unrecorded.filter(|_| class == Class::Unrecorded.key()) {
        return title.into();
    }
    let is_untraced = run.findings.iter().any(|finding| WAITS_NOT_TRACED.made(finding));
    Class::with_key(class).map_or_else(|| title(class), |known| known.title(!is_untraced).into())
}

/// The interval without think time and idle time, in microseconds: of what shares are.
pub(super) fn served(run: &Run, summary: &Row) -> f64 {
    let idle: f64 = rows(run, "class").filter(|row| !is_served(row)).map(|row| row.total()).sum();
    summary.value("interval").unwrap_or(0.0) - idle
}

/// What the plain page calls the sum of all rows.
pub(super) fn name_of_whole(run: &Run) -> &'static str {
    if rows(run, "class").all(|row| is_served(&row)) { "response time" } else { "interval" }
}

/// A class or an event.
struct Entry<'a> {
    row: Row<'a>,
    spread: Option<Row<'a>>,
}

/// One line of the table.
struct Line<'a> {
    name: String,
    total: f64,
    /// Of what its share is; nothing for idle time.
    whole: f64,
    is_served: bool,
    /// None for a sum.
    entry: Option<Entry<'a>>,
}

/// Classes by time, each with its events, with the sums under rules.
pub(super) fn table(run: &Run, summary: &Row) -> Table {
    let interval = summary.value("interval").unwrap_or(0.0);
    let served = served(run, summary);
    let sum = |name: &str, total, whole| Line { name: name.into(), total, whole, is_served: false, entry: None };
    let (mut lines, idle): (Vec<Line>, Vec<Line>) = entries(run, served).into_iter().partition(|line| line.is_served);
    lines.push(sum("response time", served, served));
    if !idle.is_empty() {
        lines.extend(idle);
        lines.push(sum("interval", interval, 0.0));
    }
    // What was served is to be read; idle time may be longer by far.
    let scale = scale(served);
    Table::over(&lines)
        .column("where the time went", Align::Left, |line| line.name.clone())
        .column(scale.heading, Align::Right, |line| match line.is_served || line.whole > 0.0 {
            true => scale.cell(line.total),
            false => idle_time(line.total, scale),
        })
        .column("%", Align::Right, |line| share(line.total, line.whole))
        .optional("±", Align::Right, |line| line.entry.as_ref()?.row.value("share_error").map(percent))
        .optional("samples", Align::Right, |line| line.entry.as_ref()?.row.value("samples").map(count))
        .optional("calls", Align::Right, |line| calls(line).map(count))
        .optional_times("mean", mean)
        .blank(|line| mean(line).is_none())
        .optional("max", Align::Decimal, |line| edge(line, "max"))
        .optional("min", Align::Decimal, |line| edge(line, "min"))
        .rules(|line| line.entry.is_none())
        .noted(notes(run, &lines))
        .done()
}

/// Idle time, in a longer unit where it is that much longer than what was served; a shorter one adds up in its column.
fn idle_time(micros: f64, of: Scale) -> Cell {
    match scale(micros).is_longer_than(of) {
        false => of.cell(micros),
        true => Cell { text: exact_time(micros), ..of.cell(micros) },
    }
}

fn notes(run: &Run, lines: &[Line]) -> String {
    let has_edges = |line: &&Line| line.entry.as_ref().is_some_and(|entry| entry.spread.is_some());
    let is_split = |line: &&Line| line.name.starts_with(' ') && !has_edges(line);
    let without = lines.iter().filter(|line| !line.name.starts_with("  (")).any(|line| is_split(&line));
    let split = if without { "An event that is in two classes has no max and min of either." } else { "" };
    joined([below_zero(run, lines), split], " ")
}

/// Why a row is below zero, where no finding says it.
fn below_zero(run: &Run, lines: &[Line]) -> &'static str {
    let is_below = |class: &str| {
        lines
            .iter()
            .any(|line| line.total < 0.0 && line.entry.as_ref().is_some_and(|entry| entry.row.text("class") == class))
    };
    let is_told = |row: &FindingSpec| run.findings.iter().any(|finding| row.has(&finding.id));
    if is_below("unaccounted-within") && !is_told(&NEGATIVE_WITHIN) {
        if is_log(run) {
            return "Below zero: the times of I/O in some plans are longer than their executions.";
        }
        return "Below zero: CPU that was burned inside timed waits is in both rows.";
    }
    if is_below("unaccounted-between") && sampling(run).is_some() {
        return "Below zero: the samples found more than the server's own account has.";
    }
    if is_below("unaccounted-between") && !is_told(&NEGATIVE_BETWEEN) {
        return "Below zero: the times of some calls and waits overlap.";
    }
    ""
}

fn calls(line: &Line) -> Option<f64> {
    line.entry.as_ref()?.row.value("calls").filter(|calls| *calls > 0.0)
}

/// Nanoseconds of a wait; the calls of CPU time are no waits.
fn mean(line: &Line) -> Option<f64> {
    let is_wait = !line.entry.as_ref()?.row.text("class").starts_with("cpu");
    Some(line.total * 1e3 / calls(line)?).filter(|_| is_wait)
}

fn edge(line: &Line, name: &str) -> Option<Cell> {
    line.entry.as_ref()?.spread?.value(name).map(of_micros)
}

/// Served classes by time, idle ones behind them; each class before its events.
fn entries<'a>(run: &'a Run, served: f64) -> Vec<Line<'a>> {
    let mut classes: Vec<Row> = rows(run, "class").collect();
    let rank = |row: &Row| (!is_served(row), row.text("class").starts_with("unaccounted"));
    sorting::by(&mut classes, |a, b| rank(a).cmp(&rank(b)).then(b.total().total_cmp(&a.total())));
    let of_classes: Vec<Row> = rows(run, "class_event").collect();
    let named: HashMap<&str, Row> = rows(run, "event").map(|row| (row.text("event"), row)).collect();
    let mut lines = Vec::new();
    for class in classes {
        let is_served = is_served(&class);
        let whole = if is_served { served } else { 0.0 };
        let name = class.text("class");
        let mut add = |name: String, row: Row<'a>, spread| {
            lines.push(Line { name, total: row.total(), whole, is_served, entry: Some(Entry { row, spread }) });
        };
        add(title_in(run, name), class, None);
        let mut events: Vec<Row> = of_classes.iter().copied().filter(|row| row.text("class") == name).collect();
        sorting::by(&mut events, |a, b| b.total().total_cmp(&a.total()));
        for event in events {
            // An event that is split between two classes has its extremes in neither alone.
            let spread = named.get(event.text("event")).filter(|row| row.value("calls") == event.value("calls"));
            add(format!("  {}", event.text("event")), event, spread.copied());
        }
    }
    lines
}
