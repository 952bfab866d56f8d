//! How many reads a larger buffer cache would have avoided: a table with a curve of bars.

use measure::Run;

use super::row::{Row, rows};
use crate::bar;
use crate::number::{bytes, grouped, time};
use crate::style::Style;
use crate::table::{Align, Table};
use crate::text::wrap;

/// Cells of the longest bar.
const BAR_CELLS: usize = 16;

/// Most lines: every second size is left out until there are no more.
const LINES_MAX: usize = 14;

/// Least time that is shown, in µs: less is no gain.
const MICROS_MIN: f64 = 1.0;

/// The curve; empty where no block was read twice.
pub(super) fn table(run: &Run, style: &Style) -> String {
    let all: Vec<Row> = rows(run, "miss_curve").collect();
    if all.is_empty() {
        return String::new();
    }
    let shown = thinned(&all);
    let is_sampled = all.iter().any(|row| row.value("share_error").unwrap_or(0.0) > 0.0);
    let mut table = Table::new()
        .column("more cache", Align::Decimal)
        .column("block reads avoided", Align::Right)
        .column("%", Align::Right);
    if is_sampled {
        table = table.column("± %", Align::Right);
    }
    table = table.optional_column("", Align::Left).optional_column("time avoided", Align::Decimal);
    let largest = all.iter().filter_map(|row| row.value("share_avoided")).fold(0.0, f64::max);
    for row in shown {
        let percent = |name: &str| row.value(name).map_or(String::new(), |share| format!("{share:.1}"));
        let reads = grouped(row.value("reads_avoided").unwrap_or(0.0).round() as u64);
        let avoided = row.value("time_avoided").filter(|micros| *micros >= MICROS_MIN);
        let mut cells = vec![row.number("extra_bytes").map_or(String::new(), bytes), reads, percent("share_avoided")];
        cells.extend(is_sampled.then(|| percent("share_error")));
        cells.push(bar::linear(row.value("share_avoided").unwrap_or(0.0), largest, BAR_CELLS, style));
        cells.push(avoided.map_or(String::new(), |micros| time(micros * 1e3)));
        table.row(cells);
    }
    let mut note = "For this trace alone, as a further cache that keeps the blocks read last; other sessions share it."
        .to_string();
    note.extend(block_size(run));
    format!("{}\n{}", table.render(style), style.dim(&wrap(&note, style.width, 0)))
}

/// How large a block is, and how that is known: sizes in bytes rest on it.
fn block_size(run: &Run) -> Option<String> {
    let reread = rows(run, "reading").find(|row| row.text("reading") == "re-read-blocks")?;
    let size = reread.metric("block_size")?;
    let how = if size.source.starts_with("assumed") { ", which is assumed: no line tells it" } else { "" };
    Some(format!(" A block has {}{how}.", bytes(size.median())))
}

/// The largest size, and the others at equal steps down from it.
fn thinned<'a>(all: &[Row<'a>]) -> Vec<Row<'a>> {
    let step = all.len().div_ceil(LINES_MAX).max(1);
    let mut shown: Vec<Row> = all.iter().rev().step_by(step).copied().collect();
    shown.reverse();
    shown
}
