//! Counters as numbers that matter, and as charts: how often each event happened in a second of CPU time, and which
//! part of what was tried failed.

use measure::schema::{Spec, counters, events};
use measure::{Case, Metric, Run, Unit};

use super::{RELATIONS, Relation, is_row, part, rate};
use crate::body::drawing::{Drawing, figure, median};
use crate::page::number::grouped;
use crate::page::{Axis, Cell, Chart, Datum, Plot, Row};

/// Counts below this stand beside their rate.
const FEW: f64 = 100.0;

/// What stands out of a process's counts.
pub(in crate::body) fn drawing(run: &Run) -> Drawing {
    let case = run.cases.first();
    let shown = |what: &str, unit: Unit, spec: &Spec| median(case?, spec).map(|datum| figure(what, unit, &datum));
    let ipc = shown("instructions per cycle", Unit::Count, &counters::IPC);
    let cpu = shown("CPU time", Unit::Nanoseconds, &counters::TASK_CLOCK);
    let used = shown("processors used", Unit::Count, &counters::CPUS_USED);
    let charts = case.into_iter().flat_map(|case| [rates(case), shares(case)]).flatten().collect();
    Drawing::new([cpu, shown("elapsed", Unit::Nanoseconds, &counters::ELAPSED), ipc, used], charts)
}

/// How often each event happened, by its source.
fn rates(case: &Case) -> Option<Chart> {
    let row = |metric: &Metric| {
        let rate = rate(case, metric).filter(|rate| *rate > 0.0)?;
        let how = format!("{}, over the CPU time", metric.source);
        let name = metric.name.replace('_', " ");
        // A rate of what happened once says little.
        let few = Some(metric.median()).filter(|count| *count < FEW);
        let name = few.map_or(name.clone(), |count| format!("{name}, {} counted", grouped(count as u64)));
        Some(Row { group: metric.source.clone(), ..Row::of(name, Datum::made(rate, how)) })
    };
    // Cycles that were computed are the core's frequency, in other words.
    let is_counted = |metric: &&Metric| is_row(metric) && !metric.source.ends_with("measured core frequency");
    let rows: Vec<Row> = case.metrics.iter().filter(is_counted).filter_map(row).collect();
    let value = Axis::logarithmic("events in a second of CPU time", Unit::PerSecond);
    let title = "How often each event happened in a second of CPU time";
    let chart = Chart::new("counters", title, value, Plot::Rows(rows));
    let time =
        counters::TASK_CLOCK.nanos(case).map(|nanos| format!("Counted in {} of CPU time.", Cell::time(nanos).text));
    let note = format!("{} Equal distances are equal ratios.", time.unwrap_or_default());
    chart.noted(note.trim_start()).concerning(&["absent-counters", "valgrind"]).with_at_least(2)
}

/// What was missed, as a part of what was tried.
fn shares(case: &Case) -> Option<Chart> {
    let row = |relation: &Relation| {
        let metric = events::EVENT.of(relation.of).in_case(case)?;
        let share = part(case, relation, metric)? * 100.0;
        let how = format!("{} over {}", relation.of, relation.by);
        Some(Row::of(format!("{} {}", relation.of.replace('_', " "), relation.words), Datum::made(share, how)))
    };
    let rows: Vec<Row> = RELATIONS.iter().filter(|relation| relation.is_percent).filter_map(row).collect();
    let value = Axis::linear("part of what is named", Unit::Percent);
    let chart = Chart::new("counters-shares", "Which part missed or stalled", value, Plot::Rows(rows));
    chart.concerning(&["answer-ipc"]).with_at_least(2)
}
