//! Calls by kind, those of the client and the recursive ones apart; each with its own work, without children.

use super::amount::{count, scale};
use super::row::Row;
use crate::page::{Align, Table};

/// Rows of calls, in their order; the longest gives the unit.
pub(super) fn table(calls: &[Row]) -> Option<Table> {
    let times = calls.iter().flat_map(|call| [call.value("elapsed"), call.value("cpu")]);
    let scale = scale(times.flatten().map(f64::abs).fold(0.0, f64::max));
    let recursive = |call: &Row| if call.truth("recursive") == Some(true) { ", recursive" } else { "" };
    let gets = |call: &Row| Some(call.value("consistent_gets")? + call.value("current_gets")?);
    Table::over(calls)
        .column(format!("calls, {}", scale.heading), Align::Left, |call| {
            format!("{}{}", call.text("call"), recursive(call))
        })
        .column("count", Align::Right, |call| call.value("calls").map(count))
        .column("CPU", Align::Right, |call| call.value("cpu").map(|us| scale.cell(us)))
        .column("elapsed", Align::Right, |call| call.value("elapsed").map(|us| scale.cell(us)))
        .optional("reads", Align::Right, |call| call.value("physical_reads").map(count))
        .optional("gets", Align::Right, |call| gets(call).map(count))
        .optional("rows", Align::Right, |call| call.value("rows").map(count))
        .optional("misses", Align::Right, |call| call.value("misses").map(count))
        .unless_empty()
}
