//! Rungs that are measured by the read loop: a plan, its reading, and the cost of one block of it.

use std::time::Duration;

use device::pattern::{Pattern, Span};
use device::plan::{ReadPlan, StopAfter, reap_batch_for};
use device::tier::Stored;
use device::{Device, Slots};
use measure::schema::{ladder, reads};
use measure::{Case, Metric, Parameters, Statistics};
use sys::memory::Pages;

use super::steps::Steps;
use super::storage::BLOCK;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::reading::{self, Job, Measured, PageCache};

/// Longest time that is expected of a count of reads: no rung reads for longer, and a second touch reads what the first
/// one has read.
const COUNTED_MAX: Duration = Duration::from_secs(3);

/// What a rung reads.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) device: &'a dyn Device,
    /// What the file system stores of it.
    pub(super) stored: Stored,
}

/// Random blocks of all of a device, `depth` at a time.
pub(super) fn plan(steps: &Steps<'_>, depth: usize, stop_after: StopAfter) -> ReadPlan {
    ReadPlan {
        pattern: Pattern::Random,
        block_size: BLOCK,
        pages: steps.parameters.pages(),
        span: Span { offset: 0, length: steps.storage.device.size() },
        seed: steps.parameters.seed(),
        working_set: None,
        depth,
        reap_batch: reap_batch_for(depth),
        warm_up: StopAfter::Reads(0),
        stop_after,
        rate: None,
    }
}

/// Measures one plan. Where the page cache can serve it, because its device was opened through it, that is the rung.
pub(super) fn measure(
    steps: &Steps<'_>,
    source: Source<'_>,
    plan: ReadPlan,
    name: &str,
    journal: &mut dyn Journal,
) -> Result<Measured, ExperimentError> {
    let what = ladder::in_words(name);
    let expected = match plan.stop_after {
        StopAfter::Time(time) => time.into(),
        StopAfter::Reads(reads) => Duration::from_micros(reads.saturating_mul(100)).min(COUNTED_MAX),
    };
    steps.say(&what, expected, journal);
    let job = Job {
        device: source.device,
        method: None,
        stored: source.stored,
        plans: &[plan],
        parameters: Parameters::new(),
        what,
        page_cache: PageCache::Meant,
    };
    reading::run(steps.machine, job, journal)
}

/// The parameters of a rung that reads this many blocks at a time.
pub(super) fn read_rung(
    steps: &Steps<'_>,
    (name, blocks_per_read): (&str, u64),
    device: &dyn Device,
    plan: &ReadPlan,
) -> Parameters {
    use ladder::parameters::{BLOCKS_PER_READ, DEPTH, IO_METHOD};
    let ReadPlan { depth, block_size: bytes, pages, .. } = *plan;
    let witnesses = device.witnesses();
    let method = witnesses.method_name(Slots { method: None, depth, bytes, pages });
    let mut parameters = steps.rung(name);
    parameters.extend([DEPTH.of(depth), BLOCKS_PER_READ.of(blocks_per_read), IO_METHOD.of(method)]);
    // Only where they differ from what earlier versions measured: runs are compared by their parameters.
    let are_small = pages == Pages::Small && witnesses.target().is_some();
    parameters.extend(are_small.then(|| reads::parameters::HUGE_PAGES.of(false)));
    parameters
}

/// Turns a reading into a rung, or into one for each segment: its own metrics, and the cost of one block in nanoseconds
/// as `latency`.
pub(super) fn keep(
    measured: &Measured,
    parameters: Parameters,
    blocks_per_read: u64,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let depth = parameters.get("depth").and_then(serde_json::Value::as_u64).unwrap_or(1);
    let case = |read: &Case| {
        let mut case = Case::new(parameters.clone());
        case.parameters.extend(read.parameters.clone());
        case.metrics.extend(block_cost(read, blocks_per_read, depth as usize));
        case.metrics.extend(read.metrics.iter().cloned());
        case.timeline = read.timeline.clone();
        case
    };
    let kept = measured.cases.iter().filter(|_| !measured.interrupted);
    Ok(journal.keep_all(kept.map(case).collect())?)
}

/// What a block of a reading costs in nanoseconds, by the median of what held at its end; `None` where storage did not
/// serve it: a ratio to memory would pass for one to the device.
pub(super) fn cost_from_storage(measured: &Measured, blocks_per_read: u64, depth: usize) -> Option<f64> {
    let last = measured.cases.last().filter(|_| measured.is_of_device())?;
    block_cost(last, blocks_per_read, depth).map(|metric| metric.median())
}

/// The cost of one block in nanoseconds: the latency of a read over its blocks at depth 1, and the time between two
/// completions where many are in flight.
fn block_cost(case: &Case, blocks_per_read: u64, depth: usize) -> Option<Metric> {
    if depth > 1 {
        let iops = reads::IOPS.in_case(case)?;
        let samples: Vec<f64> = iops.samples.iter().filter(|rate| **rate > 0.0).map(|rate| 1e9 / rate).collect();
        let source = "time between two completions, in windows of 100 ms or more";
        // Reads that were over in a few windows have one rate.
        let one =
            (samples.is_empty() && iops.median() > 0.0).then(|| ladder::LATENCY.single(source, 1e9 / iops.median()));
        return ladder::LATENCY.of_samples(source, &samples).or(one);
    }
    let latency = reads::READ_LATENCY.in_case(case)?;
    let statistics = scaled(latency.statistics, 1e3 / blocks_per_read as f64);
    Some(ladder::LATENCY.of_statistics(&latency.source, statistics))
}

fn scaled(statistics: Statistics, factor: f64) -> Statistics {
    let times = |value: Option<f64>| value.map(|value| value * factor);
    Statistics {
        n: statistics.n,
        min: statistics.min * factor,
        median: statistics.median * factor,
        mean: statistics.mean * factor,
        stddev: times(statistics.stddev),
        p90: times(statistics.p90),
        p99: times(statistics.p99),
        p999: times(statistics.p999),
        max: statistics.max * factor,
    }
}
