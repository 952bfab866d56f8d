//! How many reads a larger buffer cache would have avoided: a table with a curve of bars.

use measure::Run;

use super::amount::{of_micros, percent};
use super::row::{Row, rows};
use crate::page::number::bytes;
use crate::page::{Align, Cell, Table};

/// Most lines: every second size is left out until there are no more.
const LINES_MAX: usize = 14;

/// Least time that is shown, in µs: less is no gain.
const MICROS_MIN: f64 = 1.0;

/// The curve; none where no block was read twice.
pub(super) fn table(run: &Run) -> Option<Table> {
    let all: Vec<Row> = rows(run, "miss_curve").collect();
    let is_sampled = all.iter().any(|row| row.value("share_error").unwrap_or(0.0) > 0.0);
    let note = "For this trace alone, as a further cache that keeps the blocks read last; other sessions share it.";
    let shown = thinned(&all);
    // Of all reads: the largest gain may be a small one.
    let share = |row: &Row| row.value("share_avoided").filter(|percent| *percent > 0.0);
    let bars = shown.iter().map(|row| Cell::bar(share(row).map(|percent| (percent / 100.0).min(1.0)))).collect();
    Table::over(&shown)
        .column("more cache", Align::Decimal, |row| row.number("extra_bytes").map(Cell::bytes))
        .column("block reads avoided", Align::Right, |row| Cell::count(row.value("reads_avoided").unwrap_or(0.0)))
        .column("%", Align::Right, |row| row.value("share_avoided").map(percent))
        .column("± %", Align::Right, |row| row.value("share_error").map(percent))
        .only_where(is_sampled)
        .cells("", Align::Bar, bars)
        .optional("time avoided", Align::Decimal, |row| {
            row.value("time_avoided").filter(|micros| *micros >= MICROS_MIN).map(of_micros)
        })
        .noted(format!("{note}{}", block_size(run).unwrap_or_default()))
        .unless_empty()
}

/// How large a block is, and how that is known: sizes in bytes rest on it.
fn block_size(run: &Run) -> Option<String> {
    let reread = rows(run, "reading").find(|row| row.text("reading") == "re-read-blocks")?;
    let size = reread.metric("block_size")?;
    let how = if size.source.starts_with("assumed") { ", which is assumed: no line of the trace gives it" } else { "" };
    Some(format!(" A block has {}{how}.", bytes(size.median())))
}

/// The largest size, and the others at equal steps down from it.
fn thinned<'a>(all: &[Row<'a>]) -> Vec<Row<'a>> {
    let step = all.len().div_ceil(LINES_MAX).max(1);
    let mut shown: Vec<Row> = all.iter().rev().step_by(step).copied().collect();
    shown.reverse();
    shown
}
