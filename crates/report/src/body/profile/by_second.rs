//! How much time ended in each second, as a chart, where a breakdown was asked for by second.

use measure::quantity::grouped;
use measure::{Run, Unit};

use super::row::{Row, rows};
use crate::page::course::second_of;
use crate::page::{Axis, Chart, Datum, Line, Plot, Shape};

/// Steps that are drawn: of a longer time a step is several seconds wide.
const STEPS_MAX: i64 = 240;

/// What is added up: think time is among it, so that it is no number of active sessions.
const NOTE: &str = "Own CPU time of calls and elapsed time of waits, think time among them.";

/// What a breakdown does not divide by second.
const REST: &str = "What has no row of its own in the table is not drawn.";

/// Most of the drawn time that may have no second of its own.
const REST_MAX: f64 = 0.05;

/// What ended in a step.
#[derive(Clone, Default)]
struct Step {
    micros: f64,
    /// Absent of samples, which do not count calls and waits.
    calls: Option<f64>,
}

/// The chart.
pub(super) fn chart(run: &Run) -> Option<Chart> {
    let all = || rows(run, "skew");
    // Seconds of the source's own clock, ahead of the first time of day, are on no axis with times of day.
    let is_of_day = |row: &Row| row.text("second").contains(' ');
    let has_day = all().any(|row| is_of_day(&row));
    let ended = all().filter(|row| is_of_day(row) == has_day).filter_map(|row| Some((second(&row)?, row)));
    let ended: Vec<(i64, Row)> = ended.collect();
    let rest: f64 = all().filter(|row| row.truth("rest") == Some(true)).map(|row| row.total()).sum();
    // Seconds that are in the rest would be drawn as if little had ended in them.
    if rest > ended.iter().map(|(_, row)| row.total()).sum::<f64>() * REST_MAX {
        return None;
    }
    let first = ended.iter().map(|(second, _)| *second).min()?;
    let seconds = ended.iter().map(|(second, _)| *second).max()?.checked_sub(first)?.checked_add(1)?;
    let width = (seconds - 1) / STEPS_MAX + 1;
    let mut steps = vec![Step::default(); ((seconds - 1) / width + 1) as usize];
    for (second, row) in &ended {
        let step = &mut steps[((second - first) / width) as usize];
        step.micros += row.total();
        let calls = row.value("calls").map(|calls| calls + step.calls.unwrap_or(0.0));
        step.calls = calls.or(step.calls);
    }
    let is_counted = steps.iter().any(|step| step.calls.is_some());
    let point = |(number, step): (usize, &Step)| {
        let begin = number as i64 * width;
        // The last step is cut where the last second ends.
        let nanos = step.micros * 1e3 / width.min(seconds - begin) as f64;
        let n = is_counted.then(|| step.calls.unwrap_or(0.0) as u64);
        (begin as f64 * 1e9, Datum { n, ..Datum::made(nanos, "what ended in the step, over its seconds") })
    };
    let end = (seconds as f64 * 1e9, Datum::made(0.0, "end of the last second"));
    let points = steps.iter().enumerate().map(point).chain([end]).collect();
    let across = Axis::linear("time since the first second", Unit::Nanoseconds);
    let value = Axis::linear("time in calls and waits", Unit::Nanoseconds);
    let plot = Plot::lines(across, vec![Line { key: 0, shape: Shape::Steps, points }]);
    let wide =
        if width > 1 { format!("A step is the mean of {} seconds.", grouped(width as u64)) } else { String::new() };
    let has_rest = rest > 0.0 || ended.len() < all().count();
    let chart = Chart::new("by-second", "How much time ended in each second", value, plot).noted(NOTE).noted(wide);
    // Three seconds and their end.
    chart.noted(if has_rest { REST } else { "" }).with_at_least(4)
}

/// In which second the calls and waits of a row ended.
fn second(row: &Row) -> Option<i64> {
    second_of(row.text("second"))
}
