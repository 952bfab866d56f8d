//! A time in total, and divided by executions and rows.

use measure::compare::Amount;

use crate::event::Ticks;

/// A time with what it is for one of the executions and one of the rows; `count` is `None` where it was not counted.
pub(super) fn amount(time: Ticks, count: Option<u64>, (executions, rows): (u64, u64)) -> Amount {
    let total_us = time.micros();
    let per = |count: u64| (count > 0).then(|| total_us / count as f64);
    Amount { total_us, second_us: None, count, execution_us: per(executions), row_us: per(rows) }
}
