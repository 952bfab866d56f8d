//! Sessions side by side, and modules, actions and services.

use measure::Run;
use measure::quantity::counted;
use measure::schema::profile::{self, parameters};
use measure::schema::{Parameter, Spec};
use measure::sorting;

use super::amount::{count, scale, share, with_left_out};
use super::row::{Row, rows, session_rows};
use crate::page::{Align, Table};

/// Most lines of either table. Further sessions are added up in the last line, and further scopes are counted under it.
const LINES_MAX: usize = 10;

/// The columns of sessions: metric and heading. Calls and waits between them are all that was traced.
static COLUMNS: [(Spec, &str); 6] = [
    (profile::INTERVAL, "interval"),
    (profile::IN_CALLS, "in calls"),
    (profile::CPU, "CPU"),
    (profile::WAITS, "waits"),
    (profile::UNACCOUNTED_WITHIN, "within"),
    (profile::UNACCOUNTED_BETWEEN, "between"),
];

/// What divides the work of sessions into scopes.
const SCOPES: [Parameter; 5] =
    [parameters::MODULE, parameters::ACTION, parameters::CLIENT, parameters::CONTAINER, parameters::SERVICE];

/// Sessions by interval; none where there is one only.
pub(super) fn table(run: &Run) -> Option<Table> {
    let mut sessions: Vec<Row> = session_rows(run, "summary").collect();
    sort(&mut sessions, "interval");
    let scale = scale(sessions.iter().filter_map(|row| row.value("interval")).sum());
    let (shown, others) = sessions.split_at(sessions.len().min(LINES_MAX));
    let mut lines: Vec<(String, &[Row])> =
        shown.iter().map(|row| (row.text("session").to_string(), std::slice::from_ref(row))).collect();
    let name = || counted(others.len() as u64, "other", "others");
    lines.extend((!others.is_empty()).then(|| (name(), others)));
    let sum = |rows: &[Row], metric: &Spec| {
        let values: Vec<f64> = rows.iter().filter_map(|row| row.value(&metric.name)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>())
    };
    let table = Table::over(&lines)
        .column(format!("sessions, {}", scale.heading), Align::Left, |(name, _)| name.clone())
        .each(COLUMNS.iter().enumerate(), |table, (index, (metric, heading))| {
            let table = table.column(*heading, Align::Right, |(_, rows)| sum(rows, metric).map(|us| scale.cell(us)));
            if index == 0 { table } else { table.optional() }
        });
    (sessions.len() > 1).then(|| table.done())
}

/// Modules, actions and services by response time; none where all calls share one. Shares are those of the response
/// time, as everywhere on the page.
pub(super) fn scopes(run: &Run, summary: &Row) -> Option<Table> {
    let mut scopes: Vec<Row> = rows(run, "scope").collect();
    let value = |row: &Row, name: &str| row.value(name).unwrap_or(0.0);
    let time = |row: &Row| value(row, "response_time") - value(row, "think_time") - value(row, "idle");
    sorting::by(&mut scopes, |a, b| time(b).total_cmp(&time(a)));
    let total = super::time::served(run, summary);
    let scale = scale(scopes.iter().map(time).fold(0.0, f64::max));
    // What all have in common distinguishes none of them.
    let varies = |name: &&str| scopes.iter().any(|row| row.text(name) != scopes[0].text(name));
    let names: Vec<&str> = SCOPES.iter().map(|parameter| parameter.name).filter(varies).collect();
    let remark = "Without think time and idle waits; % is of the response time.";
    let table = Table::over(&scopes[..scopes.len().min(LINES_MAX)])
        .each(names.iter().enumerate(), |table, (index, name)| {
            let table = table.column(*name, Align::Left, |scope| scope.text(name));
            if index < 2 { table } else { table.optional() }
        })
        .column(scale.heading, Align::Right, |scope| scale.cell(time(scope)))
        .column("%", Align::Right, |scope| share(time(scope), total))
        .column("CPU", Align::Right, |scope| scope.value("cpu").map(|us| scale.cell(us)))
        .optional()
        .column("reads", Align::Right, |scope| scope.value("physical_reads").map(count))
        .optional()
        .noted(with_left_out(remark, scopes.len().saturating_sub(LINES_MAX)));
    (scopes.len() > 1).then(|| table.done())
}

fn sort(rows: &mut [Row], by: &str) {
    sorting::by(rows, |a, b| b.value(by).unwrap_or(0.0).total_cmp(&a.value(by).unwrap_or(0.0)));
}
