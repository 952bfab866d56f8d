//! Calls by kind, those of the client and the recursive ones apart; each with its own work, without children.

use measure::Run;

use super::amount::scale;
use super::row::{Row, rows};
use crate::number::grouped;
use crate::style::Style;
use crate::table::{Align, Table};

/// The calls of the whole.
pub(super) fn table(run: &Run, summary: &Row, style: &Style) -> String {
    let calls: Vec<Row> = rows(run, "call").collect();
    render(&calls, summary.value("interval").unwrap_or(0.0), style)
}

/// Any rows of calls, in their order; empty when there are none.
pub(super) fn render(calls: &[Row], total: f64, style: &Style) -> String {
    if calls.is_empty() {
        return String::new();
    }
    let scale = scale(total);
    let mut table = Table::new()
        .column(&format!("calls, {}", scale.heading), Align::Left)
        .column("count", Align::Right)
        .column("CPU", Align::Right)
        .column("elapsed", Align::Right)
        .optional_column("reads", Align::Right)
        .optional_column("gets", Align::Right)
        .optional_column("rows", Align::Right)
        .optional_column("misses", Align::Right);
    for call in calls {
        let recursive = if call.truth("recursive") == Some(true) { ", recursive" } else { "" };
        let gets = call.value("consistent_gets").zip(call.value("current_gets")).map(|(one, other)| one + other);
        table.row([
            format!("{}{recursive}", call.text("call")),
            count(call.value("calls")),
            call.value("cpu").map_or(String::new(), |us| scale.show(us)),
            call.value("elapsed").map_or(String::new(), |us| scale.show(us)),
            count(call.value("physical_reads")),
            count(gets),
            count(call.value("rows")),
            count(call.value("misses")),
        ]);
    }
    table.render(style)
}

/// A count that may have come out below zero in a damaged trace.
pub(super) fn count(value: Option<f64>) -> String {
    match value {
        None => String::new(),
        Some(value) if value < 0.0 => format!("-{}", grouped(-value as u64)),
        Some(value) => grouped(value as u64),
    }
}
