//! Sessions side by side, and modules, actions and services.

use measure::Run;

use super::amount::{scale, share};
use super::calls::count;
use super::row::{Row, rows, session_rows};
use crate::style::Style;
use crate::table::{Align, Table};
use crate::text::shorten;

/// Most lines of either table; the others are added up in the last line.
const LINES_MAX: usize = 10;

/// Sessions by interval; empty where there is one only.
pub(super) fn table(run: &Run, style: &Style) -> String {
    let mut sessions: Vec<Row> = session_rows(run, "summary").collect();
    if sessions.len() < 2 {
        return String::new();
    }
    sort(&mut sessions, "interval");
    let scale = scale(sessions.iter().filter_map(|row| row.value("interval")).sum());
    let mut table = Table::new().column(&format!("sessions, {}", scale.heading), Align::Left);
    let columns = ["interval", "response_time", "cpu", "waits", "unaccounted_within", "unaccounted_between"];
    let headings = ["interval", "in calls", "CPU", "waits", "within", "between"];
    for (index, heading) in headings.iter().enumerate() {
        table =
            if index < 2 { table.column(heading, Align::Right) } else { table.optional_column(heading, Align::Right) };
    }
    let (shown, others) = sessions.split_at(sessions.len().min(LINES_MAX));
    for session in shown {
        let cells = columns.map(|name| session.value(name).map_or(String::new(), |us| scale.show(us)));
        table.row(std::iter::once(shorten(session.text("session"), 24)).chain(cells));
    }
    if !others.is_empty() {
        let sum = |name: &str| others.iter().filter_map(|row| row.value(name)).sum::<f64>();
        let name = format!("{} others", others.len());
        table.row(std::iter::once(name).chain(columns.map(|name| scale.show(sum(name)))));
    }
    table.render(style)
}

/// Modules, actions and services by response time; empty where all calls share one.
pub(super) fn scopes(run: &Run, style: &Style) -> String {
    let mut scopes: Vec<Row> = rows(run, "scope").collect();
    if scopes.len() < 2 {
        return String::new();
    }
    sort(&mut scopes, "response_time");
    let total: f64 = scopes.iter().filter_map(|row| row.value("response_time")).sum();
    let scale = scale(total);
    // What all have in common tells none from another.
    let varies = |name: &&str| scopes.iter().any(|row| row.text(name) != scopes[0].text(name));
    let names: Vec<&str> = ["module", "action", "client", "container", "service"].into_iter().filter(varies).collect();
    let mut table = Table::new();
    for (index, name) in names.iter().enumerate() {
        table = if index < 2 { table.column(name, Align::Left) } else { table.optional_column(name, Align::Left) };
    }
    table = table
        .column(scale.heading, Align::Right)
        .column("%", Align::Right)
        .optional_column("CPU", Align::Right)
        .optional_column("reads", Align::Right);
    for scope in scopes.iter().take(LINES_MAX) {
        let time = scope.value("response_time").unwrap_or(0.0);
        let cells = [
            scale.show(time),
            share(time, total),
            scope.value("cpu").map_or(String::new(), |us| scale.show(us)),
            count(scope.value("physical_reads")),
        ];
        table.row(names.iter().map(|name| shorten(scope.text(name), 20)).chain(cells));
    }
    table.render(style)
}

fn sort(rows: &mut [Row], by: &str) {
    rows.sort_by(|a, b| b.value(by).unwrap_or(0.0).total_cmp(&a.value(by).unwrap_or(0.0)));
}
