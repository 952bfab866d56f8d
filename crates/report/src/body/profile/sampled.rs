//! What a profile of samples has besides: how it was sampled, who waits for whom, background processes.

use measure::wait_class::Class;
use measure::{Run, Unit};

use super::amount::{count, counted, exact_time, scale, share, with_left_out};
use super::row::{Row, rows};
use crate::page::number::three_digits;
use crate::page::wording::joined;
use crate::page::{Align, Cell, Section, Table};

/// Most lines of the tables.
const LINES_MAX: usize = 12;

/// What stands before a line of the tree, for each level below the first.
const INDENT: &str = "  ";

/// The deepest level of the tree: a document from elsewhere may hold any number.
const LEVEL_MAX: f64 = 20.0;

/// The row about the sampling; none of a trace or a log.
pub(super) fn sampling(run: &Run) -> Option<Row<'_>> {
    rows(run, "sampling").next()
}

/// Part of the sessions at work from which on those in idle waits are said apart.
const IDLE_PART_MIN: f64 = 0.05;

/// What was sampled, in one line.
pub(super) fn overview(run: &Run, sampling: &Row, sessions: f64) -> String {
    let value = |name: &str| sampling.value(name);
    let of_time = |name: &str| value(name).filter(|_| has_time(sampling));
    let active = |name: &str, title: &str| value(name).map(|active| format!("{title} {}", three_digits(active)));
    let is_exact = value("changes").is_some();
    // Without it, a mean that a short burst lifts above the 99th percentile looks like an error.
    let is_burst = value("active_sessions").zip(value("active_sessions_p99")).is_some_and(|(mean, p99)| mean > p99);
    let quantiles = [
        active("active_sessions_p95", "p95"),
        active("active_sessions_p99", "p99"),
        active("active_sessions_max", "busiest second").filter(|_| is_burst),
    ];
    let quantiles = joined(quantiles.into_iter().flatten(), ", ");
    let quantiles = if quantiles.is_empty() { quantiles } else { format!(" ({quantiles})") };
    let parts = [
        Some(counted(sessions, "session", "sessions")),
        of_time("sampled").map(|time| format!("{} {}", exact_time(time), if is_exact { "watched" } else { "sampled" })),
        match value("changes") {
            Some(changes) => Some(counted(changes, "change of a wait", "changes of waits")),
            None => value("looks").map(|looks| counted(looks, "poll", "polls")),
        },
        of_time("active_sessions").map(|active| format!("{} at work on average{quantiles}", three_digits(active))),
        in_idle_waits(run, sampling).map(|idle| format!("{} of them in idle waits", three_digits(idle))),
    ];
    joined(parts.into_iter().flatten(), ", ")
}

/// Whether the polls stand for any time: the first one stands for none.
fn has_time(sampling: &Row) -> bool {
    sampling.value("sampled").is_none_or(|time| time > 0.0)
}

/// How many of the sessions at work were on average in waits that are no response time, such as `pg_sleep`: the server
/// calls them active. None where they are few.
fn in_idle_waits(run: &Run, sampling: &Row) -> Option<f64> {
    let idle = rows(run, "class").find(|row| row.text("class") == Class::Idle.key())?.value("total")?;
    let idle = idle / sampling.value("sampled").filter(|time| *time > 0.0)?;
    (idle >= IDLE_PART_MIN * sampling.value("active_sessions")?).then_some(idle)
}

/// What the sampling took.
pub(super) fn own_cost(sampling: &Row) -> Option<Section> {
    let percent = |name: &str, what: &str| sampling.value(name).map(|part| format!("{} % {what}", three_digits(part)));
    let parts = [
        percent("own_cpu", "of a processor for readpath"),
        percent("own_session", "of one for its session on the server, which is not in the profile"),
        sampling
            .value("change_time")
            .map(|time| format!("{} from its session per change", Cell::time(time * 1e3).text)),
        sampling
            .value("sample_time")
            .filter(|_| has_time(sampling))
            .map(|time| format!("{} per poll", Cell::time(time * 1e3).text)),
    ];
    let parts = joined(parts.into_iter().flatten(), ", ");
    (!parts.is_empty()).then(|| Section::Text(format!("Own cost: {parts}.")))
}

/// Who waits for whom: each session that blocks others, with those that wait for it below.
pub(super) fn blockers(run: &Run) -> Option<Table> {
    let all: Vec<Row> = rows(run, "blocker").collect();
    let total: f64 = all.iter().filter(|row| level(row) == 0).filter_map(|row| row.value("total")).sum();
    let scale = scale(total);
    Table::over(&all[..all.len().min(LINES_MAX)])
        .column("who waits for whom", Align::Left, |row| {
            format!("{}{}", INDENT.repeat(level(row)), row.text("process"))
        })
        .column(scale.heading, Align::Right, |row| row.value("total").map(|time| scale.cell(time)))
        .column("%", Align::Right, |row| share(row.total(), total))
        .column("samples", Align::Right, |row| row.value("samples").map(count))
        .optional("waits for", Align::Left, |row| row.text("event"))
        .optional("last seen", Align::Left, |row| row.text("state"))
        .optional("statement", Align::Left, |row| row.text("id"))
        .noted(with_left_out("", all.len().saturating_sub(LINES_MAX)))
        .unless_empty()
}

fn level(row: &Row) -> usize {
    row.number("level").unwrap_or(0.0).clamp(0.0, LEVEL_MAX) as usize
}

/// What background processes did: it is no response time.
pub(super) fn background(run: &Run, sampling: &Row) -> Option<Table> {
    let all: Vec<Row> = rows(run, "background").collect();
    let sampled = sampling.value("sampled").unwrap_or(0.0);
    let scale = scale(all.iter().filter_map(|row| row.value("total")).sum());
    let remark = "No part of the response time. Parallel workers are among them; waits for them are part of it.";
    Table::over(&all[..all.len().min(LINES_MAX)])
        .column("background processes", Align::Left, |row| row.text("process"))
        .column("doing", Align::Left, |row| row.text("event"))
        .column(scale.heading, Align::Right, |row| row.value("total").map(|time| scale.cell(time)))
        .column("at once", Align::Decimal, |row| {
            let at_once = row.total() / sampled;
            (sampled > 0.0).then(|| Cell::digits(at_once, Unit::Ratio))
        })
        .column("samples", Align::Right, |row| row.value("samples").map(count))
        .noted(with_left_out(remark, all.len().saturating_sub(LINES_MAX)))
        .unless_empty()
}
