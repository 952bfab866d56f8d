//! The joins of a server's cases, in turn.

use std::time::Duration;

use measure::{Case, Metric, Unit};
use serde_json::json;
use subjects::postgres::cold::Startup;
use subjects::postgres::nested_loops::{ServerJoin, ServerJoinCost, ServerJoinPlan};

use super::ServerBench;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::{Conditions, Sensitivity};

/// Joins of a case that EXPLAIN tells of, apart from those that are timed.
const EXPLAINED_MAX: usize = 5;

/// About what a join takes with the emptying before it.
const JOIN_TIME: Duration = Duration::from_millis(600);

/// A case that was measured, as far as the answers need it. Medians.
#[derive(Clone, Debug)]
pub(super) struct MeasuredOnServer {
    pub(super) rand: u8,
    pub(super) startup: Startup,
    pub(super) join: ServerJoin,
    /// Milliseconds.
    pub(super) elapsed: f64,
    /// Microseconds of waiting a block that was read; `None` where the server timed nothing.
    pub(super) block: Option<f64>,
    /// Blocks of the table that were read.
    pub(super) reads: f64,
    /// Blocks of the table that were in shared buffers.
    pub(super) hits: f64,
    /// How many times less time than the nested loop.
    pub(super) gain: f64,
}

/// What was measured of one way to join.
#[derive(Default)]
struct Samples {
    timed: Vec<ServerJoinCost>,
    explained: Vec<ServerJoinPlan>,
}

/// Measures all ways to join in turn, and keeps them.
pub(super) fn cases(
    bench: &mut ServerBench<'_>,
    rand: u8,
    startup: &Startup,
    joins: &[ServerJoin],
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let what = described(bench, rand, startup);
    let repeat = bench.parameters.repeat;
    let conditions = Conditions::now(bench.machine);
    let mut samples: Vec<Samples> = joins.iter().map(|_| Samples::default()).collect();
    for round in 0..repeat {
        let left = u32::try_from((repeat - round) * joins.len()).unwrap_or(u32::MAX);
        journal.step(&what, JOIN_TIME.saturating_mul(left));
        for turn in 0..joins.len() {
            // Nobody is always the first, or always behind the same other.
            let index = (turn + round) % joins.len();
            sample(bench, rand, joins[index], &mut samples[index])?;
        }
    }
    let change = conditions.changed(bench.machine);
    bench.machine.note(&what, &change, Sensitivity::Storage);
    let alone = median_elapsed(&samples[0]);
    for (join, samples) in joins.iter().zip(&samples) {
        let mut case = Case::new(bench.case_parameters(rand, startup));
        case.parameters.insert("method".into(), json!(join.name()));
        if let Some(concurrency) = join.concurrency() {
            case.parameters.insert("effective_io_concurrency".into(), json!(concurrency));
        }
        case.metrics = metrics(samples, alone);
        bench.found.push(of_case(rand, startup, *join, &case));
        journal.keep(case)?;
    }
    Ok(())
}

fn described(bench: &ServerBench<'_>, rand: u8, startup: &Startup) -> String {
    let method = startup.io_method.as_ref().map_or(String::new(), |method| format!(", io_method {method}"));
    let direct = if startup.direct { ", direct" } else { "" };
    format!("joins on {} with {rand} % of the rows out of order{method}{direct}", bench.name)
}

/// One join, and the same once more under EXPLAIN.
fn sample(
    bench: &mut ServerBench<'_>,
    rand: u8,
    join: ServerJoin,
    samples: &mut Samples,
) -> Result<(), ExperimentError> {
    let keys = bench.next_keys();
    let cost = bench.loops.join(join, keys)?;
    let expected = bench.engine_sum(rand, keys)?;
    let is_rehearsal = bench.loops.schema().session().is_rehearsal();
    if cost.sum != expected && !is_rehearsal {
        return Err(ExperimentError::SumsDisagree { subject: bench.name.clone(), sums: [expected, cost.sum] });
    }
    samples.timed.push(cost);
    if samples.explained.len() < EXPLAINED_MAX {
        let keys = bench.next_keys();
        samples.explained.push(bench.loops.explain(join, keys)?);
    }
    Ok(bench.machine.stop.check()?)
}

fn median_elapsed(samples: &Samples) -> f64 {
    let elapsed: Vec<f64> = samples.timed.iter().map(|cost| cost.elapsed.as_millis()).collect();
    measure::Statistics::of_samples(&elapsed).map_or(0.0, |statistics| statistics.median)
}

/// What a case says.
fn metrics(samples: &Samples, alone: f64) -> Vec<Metric> {
    let of = |name, unit, source, value: &dyn Fn(&ServerJoinCost) -> Option<f64>| {
        let values: Option<Vec<f64>> = samples.timed.iter().map(value).collect();
        Metric::of_samples(name, unit, source, &values?)
    };
    let told = |name, unit, source, value: &dyn Fn(&ServerJoinPlan) -> Option<f64>| {
        let values: Option<Vec<f64>> = samples.explained.iter().map(value).collect();
        Metric::of_samples(name, unit, source, &values?)
    };
    let counted = "the session's own counts (pg_stat_get_xact_blocks_fetched, _hit), in the join that is timed";
    let apart = "EXPLAIN (ANALYZE, BUFFERS), in joins apart";
    let waiting = "EXPLAIN's I/O Read Time (track_io_timing), in joins apart";
    let count = |blocks: u64| Some(blocks as f64);
    let elapsed = samples.timed.iter().map(|cost| cost.elapsed.as_millis());
    let gains: Vec<f64> = elapsed.filter(|own| *own > 0.0).map(|own| alone / own).collect();
    let all = [
        of("elapsed", Unit::Milliseconds, "clock, from sending the statement to its answer", &|cost| {
            Some(cost.elapsed.as_millis())
        }),
        of("table_blocks", Unit::Count, counted, &|cost| count(cost.table.reads)),
        of("table_hits", Unit::Count, counted, &|cost| count(cost.table.hits)),
        of("index_blocks", Unit::Count, counted, &|cost| count(cost.index.reads)),
        of("elapsed_per_block", Unit::Microseconds, "elapsed over blocks of the table that were read", &|cost| {
            (cost.table.reads > 0).then(|| cost.elapsed.as_micros() / cost.table.reads as f64)
        }),
        Metric::of_samples("gain", Unit::Ratio, "the nested loop's median elapsed over elapsed", &gains),
        told("blocks_read", Unit::Count, apart, &|plan| count(plan.buffers.reads)),
        told("blocks_hit", Unit::Count, apart, &|plan| count(plan.buffers.hits)),
        told("io_time", Unit::Milliseconds, waiting, &|plan| plan.wait_ms),
        told("random_block", Unit::Microseconds, waiting, &|plan| {
            let reads = plan.buffers.reads;
            plan.wait_ms.filter(|_| reads > 0).map(|wait| wait * 1e3 / reads as f64)
        }),
    ];
    all.into_iter().flatten().collect()
}

fn of_case(rand: u8, startup: &Startup, join: ServerJoin, case: &Case) -> MeasuredOnServer {
    let median = |name: &str| case.metric(name).map(Metric::median);
    MeasuredOnServer {
        rand,
        startup: startup.clone(),
        join,
        elapsed: median("elapsed").unwrap_or(0.0),
        block: median("random_block"),
        reads: median("table_blocks").unwrap_or(0.0),
        hits: median("table_hits").unwrap_or(0.0),
        gain: median("gain").unwrap_or(0.0),
    }
}
