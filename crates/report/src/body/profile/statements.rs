//! The statements that matter most: their time with the sum so far, and the work behind it.

use std::collections::HashMap;

use measure::Run;
use measure::sorting;
use serde_json::Value;

use super::amount::{count, per, scale, share};
use super::row::{Row, rows};
use super::sampled::sampling;
use super::time;
use crate::page::wording::{joined, one_line};
use crate::page::{Align, Section, Table};

/// Statements that are shown where the run does not say how many.
const TOP: usize = 10;

/// The id of the row of all statements that have no row of their own.
pub(super) const OTHERS: &str = "(others)";

/// By what the run ranks its statements.
#[derive(Clone, Copy)]
struct Ranking {
    title: &'static str,
    metric: &'static str,
    is_time: bool,
    is_response_time: bool,
}

impl Ranking {
    fn value(self, row: &Row) -> f64 {
        if self.is_response_time { response_time(row) } else { row.value(self.metric).unwrap_or(0.0) }
    }
}

/// A statement with what it is ranked by, which is looked up once: there can be thousands.
struct Ranked<'a> {
    row: Row<'a>,
    value: f64,
    /// The same with that of all statements above it.
    sum: f64,
    is_others: bool,
}

fn ranking(run: &Run) -> Ranking {
    let (title, metric, is_time) = match run.subject.get("sort").and_then(Value::as_str) {
        Some("physical-reads") => ("physical reads", "physical_reads", false),
        Some("logical-reads") => ("logical reads", "logical_reads", false),
        Some("cpu") => ("CPU", "cpu", true),
        _ => (RESPONSE_TIME, "response_time", true),
    };
    Ranking { title, metric, is_time, is_response_time: title == RESPONSE_TIME }
}

/// What statements are ranked by where the run does not say otherwise.
const RESPONSE_TIME: &str = "response time";

/// Response time without think time and idle waits: they are no work of the statement. The metric has both in it.
pub(super) fn response_time(row: &Row) -> f64 {
    let value = |name: &str| row.value(name).unwrap_or(0.0);
    value("response_time") - value("think_time") - value("idle")
}

/// Why there is no table of statements where they are ranked by something of which none has any, or of which it is not
/// known how much each has.
pub(super) fn unranked(run: &Run) -> Option<Section> {
    let ranking = ranking(run);
    let statements: Vec<Row> = rows(run, "statement").collect();
    let is_empty = !statements.is_empty() && !statements.iter().any(|row| ranking.value(row) > 0.0);
    let is_known = statements.iter().any(|row| row.value(ranking.metric).is_some());
    (is_empty && !ranking.is_response_time).then(|| {
        let (what, how, it) = match (ranking.is_time, ranking.title) {
            (true, title) => (format!("{title} time"), "much", "it"),
            (false, title) => (title.to_string(), "many", "them"),
        };
        let why = match is_known {
            true => format!("No statement has any {what} here"),
            false => format!("It is not known how {how} {what} each statement has here"),
        };
        Section::Text(format!("{why}, so none can be ranked by {it}. --sort response-time ranks them."))
    })
}

/// Both tables; none where there is no statement. Shares of time are those of the response time, as everywhere on the
/// page.
pub(super) fn tables(run: &Run, summary: &Row) -> Vec<Table> {
    let ranking = ranking(run);
    let is_others = |row: &Row| row.text("id") == OTHERS;
    let mut statements: Vec<Ranked> = rows(run, "statement")
        .map(|row| Ranked { row, value: ranking.value(&row), sum: 0.0, is_others: is_others(&row) })
        .collect();
    // All others together are no statement that could be first.
    sorting::by(&mut statements, |a, b| a.is_others.cmp(&b.is_others).then(b.value.total_cmp(&a.value)));
    let top = run.subject.get("top").and_then(Value::as_u64).map_or(TOP, |top| top as usize);
    let sum: f64 = statements.iter().map(|one| one.value.max(0.0)).sum();
    let total = if ranking.is_response_time { time::served(run, summary) } else { sum };
    statements.truncate(top);
    statements.retain(|one| one.value > 0.0);
    let mut sum = 0.0;
    for one in &mut statements {
        sum += one.value;
        one.sum = sum;
    }
    let rows: Vec<Row> = statements.iter().map(|one| one.row).collect();
    times(run, &statements, total, ranking).into_iter().chain(work(&rows)).collect()
}

/// What each takes, and how much that is with those above it.
fn times(run: &Run, shown: &[Ranked], total: f64, ranking: Ranking) -> Option<Table> {
    let scale = scale(total);
    let texts: HashMap<&str, Row> = rows(run, "statement_text").map(|row| (row.text("id"), row)).collect();
    let text = |one: &Ranked| {
        let found = texts.get(one.row.text("id"));
        one_line(found.map_or("", |row| row.text("text")))
    };
    let value = |one: &Ranked| if ranking.is_time { scale.cell(one.value) } else { count(one.value) };
    Table::over(shown)
        .column("statement", Align::Left, |one| one.row.text("id"))
        .column(if ranking.is_time { scale.heading } else { "blocks" }, Align::Right, value)
        .column("%", Align::Right, |one| share(one.value, total))
        .column("sum %", Align::Right, |one| share(one.sum, total))
        .column("text", Align::Left, text)
        .titled(title(run, ranking))
        .unless_empty()
}

/// By what they are ranked, and what is not in it.
fn title(run: &Run, ranking: Ranking) -> String {
    let think_time = if ranking.is_response_time { "think time" } else { "" };
    let children = if sampling(run).is_none() { "their recursive children" } else { "" };
    let without = joined([think_time, children], " and ");
    let left_out = if without.is_empty() { without } else { format!(", without {without}") };
    format!("statements by {}{left_out}", ranking.title)
}

/// Their time with recursive children, their rows, and what a row costs; none where nothing of it is known.
fn work(shown: &[Row]) -> Option<Table> {
    let is_known = |row: &Row| row.value("executions").is_some();
    let shown = if shown.iter().any(is_known) { shown } else { &[] };
    let inclusive = |row: &Row| row.value("inclusive_elapsed");
    let scale = scale(shown.iter().filter_map(inclusive).fold(0.0, f64::max));
    Table::over(shown)
        .column("statement", Align::Left, |row| row.text("id"))
        .optional("exec", Align::Right, |row| row.value("executions").map(count))
        .optional("rows", Align::Right, |row| row.value("rows").map(count))
        .optional("gets", Align::Right, |row| row.value("logical_reads").map(count))
        .optional("reads", Align::Right, |row| row.value("physical_reads").map(count))
        .optional("gets/row", Align::Decimal, |row| per(row.value("logical_reads"), row.value("rows")))
        .optional("rows/fetch", Align::Decimal, |row| per(row.value("fetched_rows"), row.value("fetches")))
        .optional("parses/exec", Align::Decimal, |row| per(row.value("parses"), row.value("executions")))
        .optional(format!("with children, {}", scale.heading), Align::Right, |row| {
            inclusive(row).map(|time| scale.cell(time))
        })
        .unless_empty()
}
