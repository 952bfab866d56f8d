//! A time of one profile against the same of the other one, each in total, and divided by executions and rows.

use measure::compare::{Amount, Spread, StatementAlone, TimeChange};

use super::sample::{Sample, margin};
use crate::event::Ticks;

/// A time with what it is for one of the executions and one of the rows; `count` is `None` where it was not counted.
pub(super) fn amount(time: Ticks, count: Option<u64>, (executions, rows): (u64, u64)) -> Amount {
    let total_us = time.micros();
    let per = |count: u64| (count > 0).then(|| total_us / count as f64);
    Amount { total_us, second_us: None, count, execution_us: per(executions), row_us: per(rows) }
}

/// Those that differ most first.
pub(super) fn by_difference(one: &TimeChange, other: &TimeChange) -> std::cmp::Ordering {
    other.difference_us.abs().total_cmp(&one.difference_us.abs())
}

/// Those with most time first.
pub(super) fn by_total(one: &StatementAlone, other: &StatementAlone) -> std::cmp::Ordering {
    other.amount.total_us.total_cmp(&one.amount.total_us).then(one.id.cmp(&other.id))
}

/// One time against the other, with what the executions' own spread says of it.
pub(super) fn change(name: &str, before: (Amount, Sample), after: (Amount, Sample)) -> TimeChange {
    let difference = before.0.execution_us.zip(after.0.execution_us).map(|(before, after)| after - before);
    let margin = difference.and_then(|_| margin(&before.1, &after.1));
    let interval = difference.zip(margin).map(|(difference, margin)| (difference - margin, difference + margin));
    let spread = match interval {
        _ if before.0.total_us == after.0.total_us && before.0.execution_us == after.0.execution_us => Spread::None,
        Some((low, high)) if low <= 0.0 && 0.0 <= high => Spread::Within,
        Some(_) => Spread::Beyond,
        None => Spread::Unknown,
    };
    TimeChange {
        name: name.into(),
        class: None,
        text: None,
        before: before.0,
        after: after.0,
        difference_us: after.0.total_us - before.0.total_us,
        execution_difference_us: difference,
        execution_interval_us: interval,
        spread,
    }
}
