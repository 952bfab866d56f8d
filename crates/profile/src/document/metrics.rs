//! The metrics that the tables of a profile share.

use std::collections::BTreeMap;

use measure::schema::profile as schema;
use measure::schema::{Family, Spec};
use measure::{Case, Metric};
use serde_json::Value;

use crate::event::{Cost, EventIndex, Merge, Ticks};
use crate::tables::histogram::Histogram;
use crate::tables::{BlockSums, CallSums, EventSums, Profile};

/// How the metrics of a trace were obtained.
pub(crate) const FROM_CALLS: &str = "trace: call lines";
pub(crate) const FROM_WAITS: &str = "trace: wait lines";
pub(crate) const FROM_CLOCK: &str = "trace: first to last time";
pub(crate) const FROM_DIFFERENCE: &str = "difference of the others";
pub(crate) const FROM_PLANS: &str = "trace: plan lines";

/// How response times were obtained. A page shows them without what [`IDLE_INCLUDED`] names.
pub(crate) const FROM_OWN_AND_WAITS: &str =
    "trace: own time of calls, and waits after them, think time and idle waits included";

/// How the sources of these metrics end.
pub(crate) const IDLE_INCLUDED: &str = ", think time and idle waits included";

/// The sums of events by name.
pub(crate) fn events_by_name<'a, 'b>(
    profile: &'a Profile,
    events: impl IntoIterator<Item = (&'b EventIndex, &'b EventSums)>,
) -> BTreeMap<&'a str, EventSums> {
    let mut named: BTreeMap<&str, EventSums> = BTreeMap::new();
    for (index, sums) in events {
        named.entry(profile.context.event_name(*index)).or_default().merge(sums);
    }
    named
}

/// The filled buckets of an event: lower edge in microseconds, and what is in them.
pub(crate) fn histogram(source: &str, histogram: &Histogram) -> impl Iterator<Item = (u64, Vec<Metric>)> {
    histogram.iter().map(move |(bucket, filled)| (bucket_edge(bucket), block_metrics(source, filled)))
}

pub(crate) fn block_metrics(source: &str, sums: &BlockSums) -> Vec<Metric> {
    vec![
        schema::CALLS.count(source, sums.count),
        time(&schema::TOTAL, source, sums.total),
        schema::BLOCKS.count(source, sums.blocks),
    ]
}

pub(crate) fn reads(work: &Cost) -> [Metric; 2] {
    let logical = work.consistent_gets.saturating_add(work.current_gets);
    [
        signed(&schema::PHYSICAL_READS, FROM_CALLS, work.physical_reads),
        signed(&schema::LOGICAL_READS, FROM_CALLS, logical),
    ]
}

pub(crate) fn event_metrics(sums: &EventSums) -> Vec<Metric> {
    let mean = sums.total.micros() / sums.count.max(1) as f64;
    let mut metrics = vec![schema::CALLS.count(FROM_WAITS, sums.count), time(&schema::TOTAL, FROM_WAITS, sums.total)];
    if sums.histogram.iter().next().is_some() {
        metrics.push(time(&schema::MIN, FROM_WAITS, sums.min));
        metrics.push(time(&schema::MAX, FROM_WAITS, sums.max));
    }
    metrics.extend([
        schema::MEAN.single(FROM_WAITS, mean),
        time(&schema::INSIDE, FROM_WAITS, sums.inside),
        time(&schema::OUTSIDE, FROM_WAITS, sums.between),
        schema::INSIDE_CALLS.count(FROM_WAITS, sums.inside_count),
        schema::OUTSIDE_CALLS.count(FROM_WAITS, sums.between_count),
        schema::BLOCKS.count(FROM_WAITS, sums.blocks),
    ]);
    metrics
}

pub(crate) fn call_metrics(sums: &CallSums) -> Vec<Metric> {
    let mut metrics = vec![
        schema::CALLS.count(FROM_CALLS, sums.calls),
        schema::ROWS.count(FROM_CALLS, sums.rows),
        schema::MISSES.count(FROM_CALLS, sums.misses),
    ];
    metrics.extend(cost_metrics(schema::PLAIN, &sums.own));
    metrics.extend(cost_metrics(schema::INCLUSIVE, &sums.inclusive()));
    metrics
}

/// Time and work by these families; CPU only where the source knows it.
pub(crate) fn cost_metrics([times, work]: [Family; 2], cost: &Cost) -> Vec<Metric> {
    let cpu = cost.cpu.map(|cpu| time(&times.of("cpu"), FROM_CALLS, cpu));
    let rest = [
        time(&times.of("elapsed"), FROM_CALLS, cost.elapsed),
        signed(&work.of("physical_reads"), FROM_CALLS, cost.physical_reads),
        signed(&work.of("consistent_gets"), FROM_CALLS, cost.consistent_gets),
        signed(&work.of("current_gets"), FROM_CALLS, cost.current_gets),
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

/// A case, which takes no more room than it needs: there are thousands.
pub(crate) fn case(parameters: impl IntoIterator<Item = (String, Value)>, mut metrics: Vec<Metric>) -> Case {
    metrics.shrink_to_fit();
    Case { parameters: parameters.into_iter().collect(), metrics, timeline: None }
}

pub(crate) fn time(spec: &Spec, source: &str, value: Ticks) -> Metric {
    spec.single(source, value.micros())
}

pub(crate) fn signed(spec: &Spec, source: &str, value: i64) -> Metric {
    spec.single(source, value as f64)
}
