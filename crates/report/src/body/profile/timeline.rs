//! The sessions at work over time, by class; and in the place of the chart, why there is none.

use measure::schema::profile::findings::NO_TIMELINE;
use measure::schema::profile::{self as schema, parameters as named};
use measure::schema::sampled::ACTIVE_SESSIONS;
use measure::sorting;
use measure::{Case, Metric, Run, Unit};
use serde_json::Value;

use super::class_order::{CLASSES_MAX, by_time, place_in};
use super::row::is_of;
use super::time::title_in;
use crate::page::{Axis, Chart, Course, Key, Layers, Plot};

/// The title, also where nothing is drawn.
pub(super) const TITLE: &str = "How many sessions were at work";

/// How to read it.
const OF_SAMPLES: &str = "The mean of each step. The class with most time lies at the bottom. Where nothing was \
                          sampled, nothing is drawn.";
const OF_LINES: &str = "The mean over the recorded part of each step. The class with most time lies at the bottom. A \
                        wait stands where it passed. CPU time and unaccounted-for time are spread evenly over their \
                        call; what is below zero is not drawn.";

/// Why there is no chart, where the run says so.
pub(super) fn undrawn(run: &Run) -> Option<String> {
    run.findings.iter().find(|finding| NO_TIMELINE.made(finding)).map(|finding| finding.message.clone())
}

/// The chart.
pub(super) fn chart(run: &Run) -> Option<Chart> {
    let cases: Vec<&Case> = run.cases.iter().filter(|case| is_of(case, "timeline")).collect();
    let class = |case: &'_ Case| case.parameters.get(named::CLASS.name).and_then(Value::as_str).map(String::from);
    let whole = cases.iter().find(|case| class(case).is_none())?;
    let covered = schema::COVERED.in_case(whole)?;
    let steps = covered.samples.len();
    let number = |name: &str| whole.parameters.get(name).and_then(Value::as_i64);
    let course = Course {
        first_second: number(named::FIRST_SECOND.name),
        step_seconds: number(named::STEP_SECONDS.name).filter(|seconds| *seconds > 0)?,
        steps,
    };
    let mut known: Vec<(String, &Metric)> = cases
        .iter()
        .filter_map(|case| Some((class(case)?, ACTIVE_SESSIONS.in_case(case)?)))
        .filter(|(_, metric)| metric.samples.len() == steps)
        .collect();
    let order = by_time(run);
    sorting::by_key(&mut known, |(class, _)| place_in(&order, class));
    let source = known.first()?.1.source.clone();
    let mut layers: Vec<(usize, Vec<f64>)> = Vec::new();
    let mut keys: Vec<Key> = Vec::new();
    for (place, (class, metric)) in known.into_iter().enumerate() {
        let values = metric.samples.iter().map(|value| if value.is_finite() { value.max(0.0) } else { 0.0 });
        if place < CLASSES_MAX {
            keys.push(Key::measured(title_in(run, &class)));
            layers.push((place, values.collect()));
            continue;
        }
        if place == CLASSES_MAX {
            keys.push(Key::measured("other classes"));
            layers.push((CLASSES_MAX, vec![0.0; steps]));
        }
        layers[CLASSES_MAX].1.iter_mut().zip(values).for_each(|(sum, more)| *sum += more);
    }
    let is_covered = covered.samples.iter().map(|covered| *covered > 0.0).collect();
    let note = if run.cases.iter().any(|case| is_of(case, "sampling")) { OF_SAMPLES } else { OF_LINES };
    let layers = Layers { course, is_covered, layers, source };
    let value = Axis::linear("active sessions", Unit::Count);
    let chart = Chart::new("active-sessions", TITLE, value, Plot::Layers(layers)).keyed(keys);
    chart.noted(note).concerning(&["answer-blockers", "server-went-away", "several-sessions"]).with_at_least(3)
}
