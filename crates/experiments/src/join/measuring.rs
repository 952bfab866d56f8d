//! The joins of the cases, in turn, and what the device gains by itself.

use std::time::Duration;

use device::pattern::{Pattern, Span};
use device::plan::{ReadPlan, StopAfter};
use device::workers::Team;
use measure::quantity::three_digits;
use measure::{Case, Finding, Metric, Nanos, Unit};
use serde_json::json;
use storage::exec::nested_loop::{Distance, Method};
use storage::page_id::PAGE_SIZE;
use subjects::NestedLoops;
use subjects::join_engine::Io;
use subjects::nested_loops::{JoinCost, JoinPass};
use sys::file::Target;

use super::planner::Costs;
use super::{Bench, Plan};
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::{Conditions, Sensitivity};

/// Reads of the device by itself.
const DEVICE_READS: u64 = 2000;

/// A case that was measured, as far as the answers need it. Medians.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) plan: Plan,
    /// Milliseconds of waiting for reads, of table and index.
    pub(super) io_time: f64,
    /// Milliseconds of the whole join.
    pub(super) elapsed: f64,
    /// Microseconds of waiting a block of the table; `None` without blocks.
    pub(super) random_block: Option<Spread>,
    /// Blocks of the table a request.
    pub(super) blocks_per_request: Option<f64>,
    /// Per cent of the rows that a join may look up before a full scan is faster.
    pub(super) break_even: Option<Spread>,
}

/// A figure with its least and its greatest sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    pub(super) median: f64,
    min: f64,
    max: f64,
}

impl Spread {
    fn of(metric: &Metric) -> Spread {
        Spread { median: metric.median(), min: metric.statistics.min, max: metric.statistics.max }
    }

    /// The figure with its range, as a sentence writes it.
    pub(super) fn in_words(&self) -> String {
        let Spread { median, min, max } = self;
        format!("{} ({} to {})", three_digits(*median), three_digits(*min), three_digits(*max))
    }
}

/// What random reads of the table's file take by themselves, in microseconds each.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceReads {
    /// One after the other.
    pub(super) alone: f64,
    /// With as many in flight as the joins may have.
    pub(super) together: f64,
}

/// Measures all plans in turn, and keeps them.
pub(super) fn cases(
    bench: &mut Bench<'_>,
    rand: u8,
    plans: &[Plan],
    costs: Costs,
    journal: &mut dyn Journal,
) -> Result<Vec<Measured>, ExperimentError> {
    let what = format!("joins with {rand} % of the rows out of order");
    let conditions = Conditions::now(bench.machine);
    let mut samples: Vec<Vec<JoinCost>> = plans.iter().map(|_| Vec::new()).collect();
    for round in 0..bench.parameters.repeat {
        let left = (bench.parameters.repeat - round) as u64 * plans.len() as u64;
        journal.step(&what, Duration::from_millis(100 * left));
        for turn in 0..plans.len() {
            bench.check_stop()?;
            // Nobody is always the first, or always behind the same other.
            let index = (turn + round) % plans.len();
            samples[index].push(join(bench, plans, round, index)?);
        }
    }
    let change = conditions.changed(bench.machine);
    bench.machine.note(&what, &change, Sensitivity::Storage);
    check_agreement(plans, &samples)?;
    report_page_cache(samples.iter().flatten(), journal);
    let (mut measured, mut scattered) = (Vec::new(), Vec::new());
    for (plan, samples) in plans.iter().zip(&samples) {
        let mut case = Case::new(bench.case_parameters(rand));
        case.parameters.insert("method".into(), json!(plan.name.name()));
        if let Some(size) = plan.size() {
            let name = if matches!(plan.method, Method::Prefetch(_)) { "look_ahead" } else { "batch_size" };
            case.parameters.insert(name.into(), json!(size));
        }
        if let Method::Prefetch(Distance::Fixed(_)) = plan.method {
            case.parameters.insert("look_ahead_fixed".into(), json!(true));
        }
        case.metrics = metrics(bench, samples, costs);
        measured.push(of_case(*plan, &case));
        let scatters =
            |metric: &Metric| metric.statistics.stddev.is_some_and(|stddev| stddev > SCATTER_MAX * metric.median());
        if case.metric("elapsed").is_some_and(scatters) {
            scattered.push(plan.name.name());
        }
        journal.keep(case)?;
    }
    report_scatter(rand, &scattered, journal);
    Ok(measured)
}

/// One cold join. On a real device each takes keys of its own: what another has read before may still be in a cache of
/// the storage. A model is at rest each time, so there all take the same.
fn join(bench: &mut Bench<'_>, plans: &[Plan], round: usize, index: usize) -> Result<JoinCost, ExperimentError> {
    let number = if bench.is_virtual() { round } else { round * plans.len() + index } as u64;
    let outer_rows = bench.parameters.outer_rows;
    let first_key = 1 + number.wrapping_mul(outer_rows) % bench.parameters.rows;
    Ok(bench.engine.join(&JoinPass { method: plans[index].method, first_key, outer_rows })?)
}

/// Keys are unique and all are there: each join has as many rows as there are outer ones.
fn check_agreement(plans: &[Plan], samples: &[Vec<JoinCost>]) -> Result<(), ExperimentError> {
    let rows = |index: usize| samples[index].iter().map(|cost| cost.found.rows).max().unwrap_or(0);
    for index in 1..plans.len() {
        let counts = [rows(0), rows(index)];
        if counts[0] != counts[1] {
            return Err(ExperimentError::PathsDisagree {
                paths: [plans[0].name.name().into(), plans[index].name.name().into()],
                counts,
            });
        }
    }
    Ok(())
}

/// A standard deviation in medians from which on a median says little.
const SCATTER_MAX: f64 = 0.5;

/// Names the methods whose joins differ so much that their gains say little.
fn report_scatter(rand: u8, methods: &[&str], journal: &mut dyn Journal) {
    if methods.is_empty() {
        return;
    }
    journal.find(Finding::warning(
        "joins-scatter",
        format!(
            "With {rand} % of the rows out of order, the joins by {} differ among themselves by more than half of \
             their median: gains between them say little. Something else uses this storage, or it serves what it has \
             not served for long more slowly: run again, with a larger --repeat.",
            methods.join(", ")
        ),
    ));
}

/// The share of a file that may stay in the page cache without making reads from the device fewer in earnest.
const LEFT_MAX: f64 = 0.01;

/// Says when reads through the page cache may have come from it after all.
fn report_page_cache<'c>(costs: impl Iterator<Item = &'c JoinCost>, journal: &mut dyn Journal) {
    let most = costs.filter_map(|cost| cost.left_in_page_cache).fold(0.0, f64::max);
    if most > LEFT_MAX {
        journal.find(Finding::warning(
            "page-cache-not-emptied",
            format!(
                "Up to {} % of the table and its index stayed in the page cache when it was to be emptied of them: \
                 some reads came from memory. Leave out --buffered, or ask who else reads these files.",
                three_digits(most * 100.0)
            ),
        ));
    }
}

/// What a case says.
fn metrics(bench: &Bench<'_>, samples: &[JoinCost], costs: Costs) -> Vec<Metric> {
    let waiting = if bench.is_virtual() { "virtual clock, around each wait" } else { "clock, around each wait" };
    let of = |name, unit, source, value: &dyn Fn(&JoinCost) -> Option<f64>| {
        let values: Option<Vec<f64>> = samples.iter().map(value).collect();
        Metric::of_samples(name, unit, source, &values?)
    };
    let millis = |time: Nanos| Some(time.as_millis());
    let count = |count: u64| Some(count as f64);
    let outer = bench.parameters.outer_rows as f64;
    let a_lookup = |value: f64| (outer > 0.0).then(|| value / outer);
    let real = !bench.is_virtual();
    let metered = "reads below the buffer pool";
    let ms = Unit::Milliseconds;
    let all = [
        of("io_time", ms, waiting, &|cost| millis(cost.table.time + cost.index.time)),
        of("table_io_time", ms, waiting, &|cost| millis(cost.table.time)),
        of("index_io_time", ms, waiting, &|cost| millis(cost.index.time)),
        of("elapsed", ms, if real { "clock" } else { "virtual clock" }, &|cost| millis(cost.elapsed)),
        of("cpu_per_lookup", Unit::Microseconds, "process cpu clock", &|cost| {
            a_lookup(cost.cpu.as_micros()).filter(|_| real)
        }),
        of("table_blocks", Unit::Count, metered, &|cost| count(cost.table.blocks)),
        of("index_blocks", Unit::Count, metered, &|cost| count(cost.index.blocks)),
        of("requests", Unit::Count, "the operator", &|cost| count(table_requests(cost))),
        of("index_requests", Unit::Count, "the operator", &|cost| count(cost.found.index_requests)),
        of("blocks_per_request", Unit::Ratio, "the operator", &|cost| {
            ratio(cost.table.blocks as f64, table_requests(cost) as f64)
        }),
        of("left_in_page_cache", Unit::Percent, "cachestat or mincore, after fadvise", &|cost| {
            cost.left_in_page_cache.map(|share| share * 100.0)
        }),
        of("in_flight", Unit::Ratio, "reads in flight while waiting, by time", &|cost| cost.table.in_flight),
        of("random_block", Unit::Microseconds, waiting, &|cost| {
            ratio(cost.table.time.as_micros(), cost.table.blocks as f64)
        }),
        of("table_gets", Unit::Count, "buffer pool", &|cost| count(cost.found.table_gets)),
        of("index_gets", Unit::Count, "buffer pool", &|cost| count(cost.found.index_gets)),
        of("break_even", Unit::Percent, "elapsed of a full scan over elapsed of a look-up", &|cost| {
            costs.break_even(a_lookup(cost.elapsed.as_millis())?)
        }),
    ];
    all.into_iter().flatten().collect()
}

/// Times that a join waited for blocks of the table.
fn table_requests(cost: &JoinCost) -> u64 {
    cost.found.requests - cost.found.index_requests
}

fn ratio(one: f64, other: f64) -> Option<f64> {
    (other > 0.0).then(|| one / other)
}

fn of_case(plan: Plan, case: &Case) -> Measured {
    let median = |name: &str| case.metric(name).map(Metric::median);
    Measured {
        plan,
        io_time: median("io_time").unwrap_or(0.0),
        elapsed: median("elapsed").unwrap_or(0.0),
        random_block: case.metric("random_block").map(Spread::of),
        blocks_per_request: median("blocks_per_request"),
        break_even: case.metric("break_even").map(Spread::of),
    }
}

/// Reads random blocks of the table's file without a buffer pool, one at a time and many.
pub(super) fn device(bench: &Bench<'_>, journal: &mut dyn Journal) -> Result<DeviceReads, ExperimentError> {
    journal.step("reading random blocks by themselves", Duration::from_secs(1));
    let depth = if bench.parameters.io == Io::Sync { 1 } else { bench.parameters.depth };
    let of = |depth: usize| {
        bench.check_stop()?;
        device_reads(bench, depth)
    };
    Ok(DeviceReads { alone: of(1)?, together: of(depth)? })
}

/// Microseconds a read with so many in flight.
fn device_reads(bench: &Bench<'_>, depth: usize) -> Result<f64, ExperimentError> {
    let [path, _] = bench.engine.paths()?;
    let length = std::fs::metadata(&path).map_or(0, |metadata| metadata.len()) / PAGE_SIZE as u64 * PAGE_SIZE as u64;
    let plan = ReadPlan {
        pattern: Pattern::Random,
        block_size: PAGE_SIZE,
        span: Span { offset: 0, length },
        // The clock of the day is nobody's here: the order differs from run to run by the number of the process.
        seed: u64::from(std::process::id()),
        working_set: None,
        depth,
        reap_batch: 1,
        warm_up: StopAfter::Reads(0),
        stop_after: StopAfter::Reads(DEVICE_READS),
        rate: None,
    };
    let device = match &bench.on {
        Some(device) => device.as_ref(),
        None => &Target::open(&path, bench.parameters.caching)?,
    };
    let plans = [plan];
    let reading = Team::open(device, None, &plans)?.read(&bench.machine.clock, bench.machine.stop.flag());
    if let Some(failure) = reading.outcome.failure {
        return Err(ExperimentError::ReadFailed { path, failure });
    }
    Ok(reading.outcome.elapsed.as_micros() / reading.outcome.latency.reads().max(1) as f64)
}
