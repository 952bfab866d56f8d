//! The rungs of the storage: its cache, the device one read at a time and at its best depth, and in sequence.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use device::pattern::{Pattern, Span};
use device::plan::{ReadPlan, StopAfter, reap_batch_for};
use device::workers::Team;
use measure::quantity::size_in_words;
use measure::{Case, Finding, Metric, Nanos, Parameters, Statistics, Unit};
use serde_json::json;
use sys::block_device::BlockDevice;
use sys::read::{self, MethodRow};
use sys::target::{Caching, Target, TargetError};
use sys::test_file::TestFile;

use super::{BLOCK, LadderParameters, Steps, answers, rung};
use crate::disk::describe_device;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::reading::{self, Answer, Job, Place, RateChanges};
use crate::region;

/// Size of the test file when the device rungs are measured on something else: enough for the page-cache rung.
const SMALL_FILE: u64 = 128 << 20;

/// The smallest test file from which anything can be told.
const FILE_MIN: u64 = 16 << 20;

/// Blocks of the storage-round-trip rung: 2 MiB, small for any storage's cache.
const HOT_BLOCKS: u64 = 256;

/// Time for the rungs of one read at a time, and for each depth that is tried.
const SINGLE_TIME: Nanos = Nanos::from_millis(3000);
const DEPTH_TIME: Nanos = Nanos::from_millis(700);
const SEQUENTIAL_TIME: Nanos = Nanos::from_millis(2000);

/// Unmeasured reads before a depth: a burst of new reads is slower than a steady stream.
const DEPTH_WARM_UP: Nanos = Nanos::from_millis(100);

/// Depths that are tried.
const DEPTHS: [usize; 8] = [2, 4, 8, 16, 32, 64, 128, 256];

/// Share of the best rate from which the smaller depth is preferred: waiting longer for one per cent is no gain.
const GOOD_ENOUGH: f64 = 0.98;

/// Blocks of a sequential read.
pub(super) const SEQUENTIAL_BLOCKS: u64 = 128;

/// What the storage rungs are measured on.
pub(super) struct Storage {
    pub(super) own_file: TestFile,
    path: PathBuf,
    target: Target,
    block_device: Option<BlockDevice>,
    foreign: bool,
    never_written: Cell<f64>,
}

impl Storage {
    /// Makes the test file, and opens what the device rungs are measured on.
    pub(super) fn open(
        parameters: &LadderParameters,
        machine: &Machine,
        journal: &mut dyn Journal,
    ) -> Result<Storage, ExperimentError> {
        if parameters.size < FILE_MIN {
            let sentence = format!("--size is the test file's: give {} or more", size_in_words(FILE_MIN));
            return Err(ExperimentError::Parameters(sentence));
        }
        // What the user named is checked first: nobody should wait for a test file to learn of a wrong path.
        let named = parameters.on.as_ref().map(|path| open_target(path)).transpose()?;
        let size = if named.is_some() { parameters.size.min(SMALL_FILE) } else { parameters.size };
        let own_file = make_file(parameters, size, machine, journal)?;
        let foreign = named.is_some();
        let target = match named {
            Some(target) => target,
            None => open_target(&own_file.path())?,
        };
        let path = parameters.on.clone().unwrap_or_else(|| own_file.path());
        let block_device = BlockDevice::under(&target).ok();
        Ok(Storage { own_file, path, target, block_device, foreign, never_written: Cell::new(0.0) })
    }

    /// Tells the run what the storage rungs are measured on.
    pub(super) fn describe(&self, journal: &mut dyn Journal) {
        describe_device(&self.target, self.block_device.as_ref(), journal);
        if !self.foreign {
            journal.describe_subject("path", json!("test file made by this run"));
        }
    }

    /// Reads without keeping a case.
    pub(super) fn read_unmeasured(
        &self,
        steps: &Steps<'_>,
        path: &Path,
        caching: Caching,
        plan: ReadPlan,
    ) -> Result<(), ExperimentError> {
        let team = Team {
            path,
            caching,
            method: method(plan.depth),
            clock: steps.machine.clock,
            stop: steps.machine.stop.flag(),
        };
        match team.read(&[plan])?.outcome.failure.take() {
            Some(failure) => Err(ExperimentError::ReadFailed { path: path.into(), failure }),
            None => Ok(()),
        }
    }

    /// Measures one plan; the page-cache warning of a reading that is meant to be cached is left to the caller.
    pub(super) fn measure(
        &self,
        steps: &Steps<'_>,
        path: &Path,
        caching: Caching,
        plan: ReadPlan,
        name: &str,
        journal: &mut dyn Journal,
    ) -> Result<Answer, ExperimentError> {
        let what = format!("rung {name}");
        let expected = match plan.stop_after {
            StopAfter::Time(time) => time.into(),
            StopAfter::Reads(reads) => Duration::from_micros(100 * reads),
        };
        steps.say(&what, expected, journal);
        let place = Place::Device {
            path,
            block_device: self.block_device.as_ref(),
            caching,
            method: method(plan.depth),
            never_written: self.never_written.get(),
        };
        let job =
            Job { place, plans: vec![plan], parameters: Parameters::new(), what, rate_changes: RateChanges::Keep };
        let mut sieve = crate::reading::WithoutPageCacheWarning::when(caching == Caching::Buffered, journal);
        reading::run(steps.machine, job, &mut sieve)
    }

    fn plan(&self, steps: &Steps<'_>, depth: usize, stop_after: StopAfter) -> ReadPlan {
        ReadPlan {
            pattern: Pattern::Random,
            block_size: BLOCK,
            span: Span { offset: 0, length: self.target.size() },
            seed: steps.parameters.seed,
            working_set: None,
            depth,
            reap_batch: reap_batch_for(depth),
            warm_up: StopAfter::Reads(0),
            stop_after,
            rate: None,
        }
    }
}

fn open_target(path: &Path) -> Result<Target, ExperimentError> {
    let target = match Target::open(path, Caching::Direct) {
        Err(TargetError::DirectRefused { .. }) => Target::open(path, Caching::Buffered)?,
        opened => opened?,
    };
    target.check_block_size(BLOCK as u64)?;
    if target.size() < SEQUENTIAL_BLOCKS * BLOCK as u64 {
        let sentence = format!("{} is too small for a ladder: name a file or device of 1 GiB or more", path.display());
        return Err(ExperimentError::Parameters(sentence));
    }
    Ok(target)
}

fn make_file(
    parameters: &LadderParameters,
    size: u64,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<TestFile, ExperimentError> {
    let what = format!("writing a test file of {} in {}", size_in_words(size), parameters.dir.display());
    journal.step(&what, Duration::from_millis(size >> 20));
    Ok(TestFile::create(&parameters.dir, size, parameters.seed, &mut |_| {}, machine.stop.flag())?)
}

fn method(depth: usize) -> &'static MethodRow {
    read::method(read::best_method(depth)).expect("the best method is in the table")
}

/// Measures storage-round-trip, device-random-depth-1, device-random-best-depth and device-sequential.
pub(super) fn rungs(steps: &Steps<'_>, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let storage = steps.storage;
    if storage.target.caching() == Caching::Buffered {
        report_no_direct_io(storage, journal);
        return Ok(());
    }
    check_region(steps, journal)?;
    let mut found = answers::Found { logical: steps.logical.get(), ..answers::Found::default() };
    round_trip(steps, journal)?;
    let single = storage.plan(steps, 1, StopAfter::Time(SINGLE_TIME));
    found.single = touches(steps, single, "device-random-depth-1", 1, journal)?;
    if let Some(depth) = best_depth(steps, journal)? {
        let mut plan = storage.plan(steps, depth, StopAfter::Time(SINGLE_TIME));
        plan.seed = plan.seed.wrapping_add(depth as u64);
        plan.warm_up = if storage.foreign { StopAfter::Reads(0) } else { StopAfter::Time(DEPTH_WARM_UP) };
        found.best = touches(steps, plan, "device-random-best-depth", 1, journal)?;
        found.depth = depth;
    }
    let mut sequential = storage.plan(steps, 1, StopAfter::Time(SEQUENTIAL_TIME));
    sequential.pattern = Pattern::Sequential;
    sequential.block_size = BLOCK * SEQUENTIAL_BLOCKS as usize;
    found.sequential = touches(steps, sequential, "device-sequential", SEQUENTIAL_BLOCKS, journal)?;
    if !steps.machine.stop.requested() {
        answers::report(&found, storage.foreign, journal);
    }
    Ok(())
}

/// A file of one's own has data; one that was named is looked at before it is believed.
fn check_region(steps: &Steps<'_>, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let whole = Span { offset: 0, length: steps.storage.target.size() };
    let never_written = region::check(&steps.storage.target, whole, BLOCK, steps.parameters.seed, journal)?;
    steps.storage.never_written.set(never_written);
    Ok(())
}

fn report_no_direct_io(storage: &Storage, journal: &mut dyn Journal) {
    let filesystem = storage.target.filesystem().unwrap_or_else(|| "this file system".into());
    let reason = format!(
        "{filesystem} refuses direct I/O, so the page cache would answer. Name a directory on another file system with \
         --dir, or a file or block device with --on."
    );
    let rungs = ["storage-round-trip", "device-random-depth-1", "device-random-best-depth", "device-sequential"];
    for rung in rungs {
        journal.find(Finding::warning(&format!("absent-{rung}"), reason.clone()));
    }
}

/// A small set of blocks, read until it is hot in the storage, then measured.
fn round_trip(steps: &Steps<'_>, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    if steps.machine.stop.requested() {
        return Ok(());
    }
    let mut plan = steps.storage.plan(steps, 1, StopAfter::Reads(HOT_BLOCKS * 12));
    plan.seed = !plan.seed;
    plan.working_set = Some(HOT_BLOCKS.min(plan.span.blocks(BLOCK)));
    plan.warm_up = StopAfter::Reads(HOT_BLOCKS * 3);
    let answer =
        steps.storage.measure(steps, &steps.storage.path, Caching::Direct, plan, "storage-round-trip", journal)?;
    rung_of_reading(&answer, read_rung("storage-round-trip", 1, 1), 1, journal)
}

/// Measures a rung; on a file that the run did not make, the first and the second touch of the same blocks apart.
/// Gives the median cost of a block in nanoseconds, of the second touch where there are two.
fn touches(
    steps: &Steps<'_>,
    plan: ReadPlan,
    name: &str,
    blocks_per_read: u64,
    journal: &mut dyn Journal,
) -> Result<Option<f64>, ExperimentError> {
    let storage = steps.storage;
    if steps.machine.stop.requested() {
        return Ok(None);
    }
    let mut parameters = read_rung(name, plan.depth, blocks_per_read);
    if storage.foreign {
        parameters.insert("touch".into(), json!("first"));
    }
    let first = storage.measure(steps, &storage.path, Caching::Direct, plan, name, journal)?;
    rung_of_reading(&first, parameters.clone(), blocks_per_read, journal)?;
    if !storage.foreign || first.interrupted {
        return Ok(block_cost(&first, blocks_per_read, plan.depth).map(|metric| metric.median()));
    }
    let reads: u64 =
        first.cases.iter().filter_map(|case| case.metric("read_latency")).map(|metric| metric.statistics.n).sum();
    let again = ReadPlan { working_set: Some(reads.max(1)), stop_after: StopAfter::Reads(reads), ..plan };
    let second = storage.measure(steps, &storage.path, Caching::Direct, again, name, journal)?;
    parameters.insert("touch".into(), json!("second"));
    rung_of_reading(&second, parameters, blocks_per_read, journal)?;
    answers::first_touch(name, &first, &second, journal);
    Ok(block_cost(&second, blocks_per_read, plan.depth).map(|metric| metric.median()))
}

/// The parameters of a rung that reads.
pub(super) fn read_rung(name: &str, depth: usize, blocks_per_read: u64) -> Parameters {
    let mut parameters = rung(name);
    parameters.insert("depth".into(), json!(depth));
    parameters.insert("blocks_per_read".into(), json!(blocks_per_read));
    parameters.insert("io_method".into(), json!(method(depth).name));
    parameters
}

/// The smallest depth that comes near the best rate of those tried.
fn best_depth(steps: &Steps<'_>, journal: &mut dyn Journal) -> Result<Option<usize>, ExperimentError> {
    let mut rates: Vec<(usize, f64)> = Vec::new();
    for depth in DEPTHS {
        if steps.machine.stop.requested() {
            return Ok(None);
        }
        let mut plan = steps.storage.plan(steps, depth, StopAfter::Time(DEPTH_TIME));
        plan.warm_up = StopAfter::Time(DEPTH_WARM_UP);
        plan.seed = plan.seed.wrapping_add(1000 + depth as u64);
        let answer = steps.storage.measure(
            steps,
            &steps.storage.path,
            Caching::Direct,
            plan,
            &format!("device-random at depth {depth}"),
            journal,
        )?;
        if let Some(iops) = answer.metric("iops") {
            rates.push((depth, iops.statistics.mean));
        }
    }
    let best = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    Ok(rates.iter().find(|(_, rate)| *rate >= best * GOOD_ENOUGH).map(|(depth, _)| *depth))
}

/// Turns a reading into a rung: its own metrics, and the cost of one block in nanoseconds as `latency`.
pub(super) fn rung_of_reading(
    answer: &Answer,
    parameters: Parameters,
    blocks_per_read: u64,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    if answer.interrupted {
        return Ok(());
    }
    let depth = parameters.get("depth").and_then(serde_json::Value::as_u64).unwrap_or(1);
    let Some(measured) = answer.cases.last() else { return Ok(()) };
    let mut case = Case::new(parameters);
    case.parameters.extend(measured.parameters.clone());
    case.metrics.extend(block_cost(answer, blocks_per_read, depth as usize));
    case.metrics.extend(measured.metrics.iter().cloned());
    case.timeline = measured.timeline.clone();
    Ok(journal.keep(case)?)
}

/// The cost of one block in nanoseconds: the latency of a read over its blocks at depth 1, and the time between two
/// completions where many are in flight.
fn block_cost(answer: &Answer, blocks_per_read: u64, depth: usize) -> Option<Metric> {
    if depth > 1 {
        let iops = answer.metric("iops")?;
        let samples: Vec<f64> = iops.samples.iter().filter(|rate| **rate > 0.0).map(|rate| 1e9 / rate).collect();
        let source = "time between two completions, in windows of 100 ms or more";
        return Metric::of_samples("latency", Unit::Nanoseconds, source, &samples);
    }
    let latency = answer.metric("read_latency")?;
    let statistics = scaled(latency.statistics, 1e3 / blocks_per_read as f64);
    Some(Metric::of_statistics("latency", Unit::Nanoseconds, &latency.source, statistics))
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
