//! Counters as numbers that matter: a count has no chart.

use measure::schema::counters;
use measure::{Case, Run, Unit};

use crate::body::drawing::{Drawing, figure, median};
use crate::page::Axis;

/// What stands out of a process's counts.
pub(in crate::body) fn drawing(run: &Run) -> Drawing {
    let case = run.cases.first();
    let shown = |what: &str, unit: Unit, spec: &measure::schema::Spec| {
        median(case?, spec).map(|datum| figure(what, &Axis::linear("", unit), &datum))
    };
    let ipc = case.and_then(|case: &Case| case.metric("ipc")).map(|metric| {
        figure("instructions a cycle", &Axis::linear("", Unit::Count), &crate::page::Datum::median(metric))
    });
    let cpu = shown("CPU time", Unit::Nanoseconds, &counters::TASK_CLOCK);
    let used = shown("processors used", Unit::Count, &counters::CPUS_USED);
    Drawing::new([cpu, shown("elapsed", Unit::Nanoseconds, &counters::ELAPSED), ipc, used], Vec::new())
}
