//! The statements that matter most: their time with the sum so far, and the work behind it.

use measure::Run;
use serde_json::Value;

use super::amount::{per, scale, share};
use super::calls::count;
use super::row::{Row, rows};
use super::short_id;
use crate::style::Style;
use crate::table::{Align, Table};
use crate::text::wrap;

/// Statements that are shown where the run does not say how many.
const TOP: usize = 10;

/// By what the run ranks its statements.
#[derive(Clone, Copy)]
struct Ranking {
    title: &'static str,
    value: fn(&Row) -> f64,
    is_time: bool,
}

fn ranking(run: &Run) -> Ranking {
    let (title, value, is_time): (_, fn(&Row) -> f64, _) = match run.subject.get("sort").and_then(Value::as_str) {
        Some("physical-reads") => ("physical reads", |row| row.value("physical_reads").unwrap_or(0.0), false),
        Some("logical-reads") => ("logical reads", |row| row.value("logical_reads").unwrap_or(0.0), false),
        Some("cpu") => ("CPU", |row| row.value("cpu").unwrap_or(0.0), true),
        _ => ("time, idle waits in it included", response_time, true),
    };
    Ranking { title, value, is_time }
}

/// Response time without think time, which is the client's and not the statement's.
fn response_time(row: &Row) -> f64 {
    row.value("response_time").unwrap_or(0.0) - row.value("think_time").unwrap_or(0.0)
}

/// Both tables; empty where there is no statement.
pub(super) fn tables(run: &Run, style: &Style) -> String {
    let ranking = ranking(run);
    let mut statements: Vec<Row> = rows(run, "statement").collect();
    statements.sort_by(|a, b| (ranking.value)(b).total_cmp(&(ranking.value)(a)));
    let top = run.subject.get("top").and_then(Value::as_u64).map_or(TOP, |top| top as usize);
    let total: f64 = statements.iter().map(ranking.value).map(|value| value.max(0.0)).sum();
    let shown: Vec<Row> = statements.iter().take(top).copied().filter(|row| (ranking.value)(row) > 0.0).collect();
    if shown.is_empty() {
        return String::new();
    }
    crate::join_sections(&[times(run, &shown, total, ranking, style), work(&shown, style)])
}

/// What each takes, and how much that is with those above it.
fn times(run: &Run, shown: &[Row], total: f64, ranking: Ranking, style: &Style) -> String {
    let scale = scale(total);
    let mut table = Table::new()
        .column("statement", Align::Left)
        .column(if ranking.is_time { scale.heading } else { "blocks" }, Align::Right)
        .column("%", Align::Right)
        .column("sum %", Align::Right)
        .column("text", Align::Left);
    let mut sum = 0.0;
    for row in shown {
        let value = (ranking.value)(row);
        sum += value;
        let id = row.text("id");
        let text = rows(run, "statement_text").find(|text| text.text("id") == id).map_or("", |row| row.text("text"));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        table.row([
            short_id(id),
            if ranking.is_time { scale.show(value) } else { count(Some(value)) },
            share(value, total),
            share(sum, total),
            crate::text::shorten(&text, style.width),
        ]);
    }
    let title = wrap(&format!("statements by {}, without their recursive children", ranking.title), style.width, 2);
    format!("{}\n{}", style.bold(&title), table.render(style))
}

/// Their time with recursive children, their rows, and what a row costs.
fn work(shown: &[Row], style: &Style) -> String {
    let inclusive = |row: &Row| row.value("inclusive_elapsed").unwrap_or(0.0);
    let scale = scale(shown.iter().map(inclusive).fold(0.0, f64::max));
    let mut table = Table::new()
        .column("statement", Align::Left)
        .column("exec", Align::Right)
        .column("rows", Align::Right)
        .optional_column("gets", Align::Right)
        .optional_column("reads", Align::Right)
        .optional_column("gets/row", Align::Decimal)
        .optional_column("rows/fetch", Align::Decimal)
        .optional_column("parses/exec", Align::Decimal)
        .optional_column(&format!("with children, {}", scale.heading), Align::Right);
    for row in shown {
        table.row([
            short_id(row.text("id")),
            count(row.value("executions")),
            count(row.value("rows")),
            count(row.value("logical_reads")),
            count(row.value("physical_reads")),
            per(row.value("logical_reads"), row.value("rows")),
            per(row.value("fetched_rows"), row.value("fetches")),
            per(row.value("parses"), row.value("executions")),
            scale.show(inclusive(row)),
        ]);
    }
    table.render(style)
}
