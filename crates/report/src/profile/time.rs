//! The table that adds up: classes with their events, served time, idle time, interval.

use measure::Run;
use measure::wait_class::Class;

use super::amount::{Scale, scale, share};
use super::row::{Row, rows};
use crate::number::{grouped, time, time_column};
use crate::style::Style;
use crate::table::{Align, Table};

/// A class as the page names it; a class that this version does not know by its key.
pub(super) fn title(class: &str) -> String {
    Class::with_key(class).map_or_else(|| class.replace('-', " "), |class| class.row().title.into())
}

/// The same, where waits were not traced: then what is unaccounted for holds them.
fn title_in(run: &Run, class: &str) -> String {
    let is_untraced = run.findings.iter().any(|finding| finding.id == "waits-not-traced");
    match class {
        "unaccounted-within" if is_untraced => "not traced, within calls".into(),
        "unaccounted-between" if is_untraced => "not traced, between calls".into(),
        _ => title(class),
    }
}

/// The interval without think time and idle time, in microseconds: of what shares are.
pub(super) fn served(run: &Run, summary: &Row) -> f64 {
    let idle: f64 = rows(run, "class").filter(is_idle).filter_map(|row| row.value("total")).sum();
    summary.value("interval").unwrap_or(0.0) - idle
}

fn is_idle(row: &Row) -> bool {
    Class::with_key(row.text("class")).is_some_and(Class::is_idle)
}

/// One line of the table before its times have their common unit.
struct Line<'a> {
    name: String,
    total: f64,
    is_served: bool,
    row: Row<'a>,
    spread: Option<Row<'a>>,
}

/// Classes by time, each with its events, with the sums under lines.
pub(super) fn table(run: &Run, summary: &Row, style: &Style) -> String {
    let interval = summary.value("interval").unwrap_or(0.0);
    let served = served(run, summary);
    let scale = scale(interval);
    let mut table = Table::new()
        .column("where the time went", Align::Left)
        .column(scale.heading, Align::Right)
        .column("%", Align::Right)
        .optional_column("calls", Align::Right)
        .optional_column("mean", Align::Decimal)
        .optional_column("max", Align::Decimal)
        .optional_column("min", Align::Decimal);
    let lines = lines(run);
    let (working, idle): (Vec<&Line>, Vec<&Line>) = lines.iter().partition(|line| line.is_served);
    add(&mut table, &working, scale, served);
    rule(&mut table, scale.show(interval).len());
    sum(&mut table, "response time", scale.show(served), if served > 0.0 { "100.0" } else { "" });
    if !idle.is_empty() {
        add(&mut table, &idle, scale, 0.0);
        rule(&mut table, scale.show(interval).len());
        sum(&mut table, "interval", scale.show(interval), "");
    }
    table.render(style)
}

/// Served classes by time, idle ones behind them; each class before its events.
fn lines(run: &Run) -> Vec<Line<'_>> {
    let mut classes: Vec<Row> = rows(run, "class").collect();
    let rank = |row: &Row| (is_idle(row), row.text("class").starts_with("unaccounted"));
    let total = |row: &Row| row.value("total").unwrap_or(0.0);
    classes.sort_by(|a, b| rank(a).cmp(&rank(b)).then(total(b).total_cmp(&total(a))));
    let mut lines = Vec::new();
    for class in classes {
        let is_served = !is_idle(&class);
        let name = class.text("class");
        lines.push(Line { name: title_in(run, name), total: total(&class), is_served, row: class, spread: None });
        let mut events: Vec<Row> = rows(run, "class_event").filter(|row| row.text("class") == name).collect();
        events.sort_by(|a, b| total(b).total_cmp(&total(a)));
        for event in events {
            let named = rows(run, "event").find(|row| row.text("event") == event.text("event"));
            // An event that is split between two classes has its extremes in neither alone.
            let spread = named.filter(|row| row.value("calls") == event.value("calls"));
            let name = format!("  {}", event.text("event"));
            lines.push(Line { name, total: total(&event), is_served, row: event, spread });
        }
    }
    lines
}

fn add(table: &mut Table, lines: &[&Line], scale: Scale, whole: f64) {
    let mean = |line: &&Line| {
        let calls = line.row.value("calls").filter(|calls| *calls > 0.0)?;
        let is_wait = !line.row.text("class").starts_with("cpu");
        is_wait.then(|| line.total * 1e3 / calls)
    };
    let means: Vec<String> = time_column(&lines.iter().map(mean).collect::<Vec<_>>()).into_iter().map(blank).collect();
    for (line, mean) in lines.iter().zip(means) {
        let calls = line.row.value("calls").filter(|calls| *calls > 0.0);
        let edge = |name: &str| line.spread.and_then(|row| row.value(name)).map_or(String::new(), |us| time(us * 1e3));
        table.row([
            line.name.clone(),
            scale.show(line.total),
            share(line.total, whole),
            calls.map_or(String::new(), |calls| grouped(calls as u64)),
            mean,
            edge("max"),
            edge("min"),
        ]);
    }
}

fn blank(cell: String) -> String {
    if cell == crate::number::ABSENT { String::new() } else { cell }
}

/// The line over a sum, as wide as the widest number of the column.
fn rule(table: &mut Table, columns: usize) {
    table.row([String::new(), "-".repeat(columns)]);
}

fn sum(table: &mut Table, name: &str, amount: String, share: &str) {
    table.row([name.to_string(), amount, share.to_string()]);
}
