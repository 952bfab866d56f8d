//! The metrics that the tables of a profile share.

use std::collections::BTreeMap;

use measure::{Case, Metric, Parameters, Unit};
use serde_json::Value;

use crate::event::{Cost, EventIndex, Ticks};
use crate::tables::{CallSums, EventSums, Profile};

/// How the metrics of a trace were obtained.
pub(crate) const FROM_CALLS: &str = "trace: call lines";
pub(crate) const FROM_WAITS: &str = "trace: wait lines";
pub(crate) const FROM_CLOCK: &str = "trace: first to last time";
pub(crate) const FROM_DIFFERENCE: &str = "difference of the others";
pub(crate) const FROM_PLANS: &str = "trace: plan lines";

/// The name of an event.
pub(crate) fn event_name(profile: &Profile, index: EventIndex) -> &str {
    profile.context.events.get(index.0 as usize).map_or("", |event| event.name.as_str())
}

/// The sums of events by name.
pub(crate) fn events_by_name<'a, 'b>(
    profile: &'a Profile,
    events: impl IntoIterator<Item = (&'b EventIndex, &'b EventSums)>,
) -> BTreeMap<&'a str, EventSums> {
    let mut named: BTreeMap<&str, EventSums> = BTreeMap::new();
    for (index, sums) in events {
        named.entry(event_name(profile, *index)).or_default().merge(sums);
    }
    named
}

/// The filled buckets of an event: lower edge in microseconds, and what is in them.
pub(crate) fn histogram(sums: &EventSums) -> impl Iterator<Item = (u64, Vec<Metric>)> {
    sums.histogram.iter().map(|(bucket, filled)| {
        let metrics = vec![
            count("calls", FROM_WAITS, filled.count),
            time("total", FROM_WAITS, filled.time),
            count("blocks", FROM_WAITS, filled.blocks),
        ];
        (bucket_edge(bucket), metrics)
    })
}

pub(crate) fn reads(work: &Cost) -> [Metric; 2] {
    let logical = work.consistent_gets.saturating_add(work.current_gets);
    [signed("physical_reads", FROM_CALLS, work.physical_reads), signed("logical_reads", FROM_CALLS, logical)]
}

pub(crate) fn event_metrics(sums: &EventSums) -> Vec<Metric> {
    let mean = sums.total.micros() / sums.count.max(1) as f64;
    vec![
        count("calls", FROM_WAITS, sums.count),
        time("total", FROM_WAITS, sums.total),
        time("min", FROM_WAITS, sums.min),
        time("max", FROM_WAITS, sums.max),
        Metric::single("mean", Unit::Microseconds, FROM_WAITS, mean),
        time("inside", FROM_WAITS, sums.inside),
        time("outside", FROM_WAITS, sums.between),
        count("inside_calls", FROM_WAITS, sums.inside_count),
        count("outside_calls", FROM_WAITS, sums.between_count),
        count("blocks", FROM_WAITS, sums.blocks),
    ]
}

pub(crate) fn call_metrics(sums: &CallSums) -> Vec<Metric> {
    let mut metrics = vec![
        count("calls", FROM_CALLS, sums.calls),
        count("rows", FROM_CALLS, sums.rows),
        count("misses", FROM_CALLS, sums.misses),
    ];
    metrics.extend(cost_metrics("", &sums.own));
    metrics.extend(cost_metrics("inclusive_", &sums.inclusive));
    metrics
}

/// Work and time, with a word before each name; CPU only where the source knows it.
pub(crate) fn cost_metrics(prefix: &str, cost: &Cost) -> Vec<Metric> {
    let name = |name: &str| format!("{prefix}{name}");
    let cpu = cost.cpu.map(|cpu| time(&name("cpu"), FROM_CALLS, cpu));
    let rest = [
        time(&name("elapsed"), FROM_CALLS, cost.elapsed),
        signed(&name("physical_reads"), FROM_CALLS, cost.physical_reads),
        signed(&name("consistent_gets"), FROM_CALLS, cost.consistent_gets),
        signed(&name("current_gets"), FROM_CALLS, cost.current_gets),
    ];
    cpu.into_iter().chain(rest).collect()
}

/// The lower edge of a bucket in microseconds.
fn bucket_edge(bucket: usize) -> u64 {
    match bucket {
        0 => 0,
        _ => 1_u64.checked_shl(u32::try_from(bucket - 1).unwrap_or(u32::MAX)).unwrap_or(u64::MAX),
    }
}

pub(crate) fn call_name(profile: &Profile, name: u16) -> Value {
    profile.context.call_names.get(usize::from(name)).map_or("", String::as_str).into()
}

/// A case, which takes no more room than it needs: there are thousands.
pub(crate) fn case<'a>(parameters: impl IntoIterator<Item = (&'a str, Value)>, mut metrics: Vec<Metric>) -> Case {
    metrics.shrink_to_fit();
    let parameters: Parameters = parameters.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
    Case { parameters, metrics, timeline: None }
}

pub(crate) fn time(name: &str, source: &str, value: Ticks) -> Metric {
    Metric::single(name, Unit::Microseconds, source, value.micros())
}

pub(crate) fn count(name: &str, source: &str, value: u64) -> Metric {
    Metric::single(name, Unit::Count, source, value as f64)
}

pub(crate) fn signed(name: &str, source: &str, value: i64) -> Metric {
    Metric::single(name, Unit::Count, source, value as f64)
}
