//! One reading: run the workers under watch, turn what they measured into cases, say what spoils it.

use std::path::Path;
use std::time::Duration;

use device::audit::{Audit, AuditCounts};
use device::meter::Meter;
use device::model::Model;
use device::plan::ReadPlan;
use device::read_loop::LoopOutcome;
use device::tier::{Evidence, Tier, Verdict};
use device::windows::Windows;
use device::workers::{self, Reading, Team};
use measure::change_point::{self, Stretch};
use measure::quantity::three_digits;
use measure::{Case, Finding, Metric, Nanos, Parameters, Unit};
use serde_json::json;
use sys::block_device::BlockDevice;
use sys::read::MethodRow;
use sys::target::Caching;

use crate::error::ExperimentError;
use crate::journal::{Journal, KeepError};
use crate::machine::{Change, Conditions, Machine, Sensitivity};

/// Fewest windows from which the rate's spread is told.
const WINDOWS_FOR_SPREAD: usize = 5;

/// Share of the rate asked for that counts as reached.
const RATE_REACHED: f64 = 0.95;

/// Where a reading is done.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// A file or block device.
    Device {
        /// Its path.
        path: &'a Path,
        /// The block device under it, where one was found.
        block_device: Option<&'a BlockDevice>,
        /// Through the page cache or past it.
        caching: Caching,
        /// The I/O method.
        method: &'static MethodRow,
        /// Share of the region that was never written.
        never_written: f64,
    },
    /// A model in virtual time.
    Model(&'a Model),
}

/// One reading to be done.
#[derive(Debug)]
pub struct Job<'a> {
    /// Where.
    pub place: Place<'a>,
    /// One plan a worker.
    pub plans: Vec<ReadPlan>,
    /// What the cases are called.
    pub parameters: Parameters,
    /// The reading in words, for findings: "random reads of the outer zone".
    pub what: String,
    /// What becomes of a lasting change of the rate.
    pub rate_changes: RateChanges,
}

/// What becomes of a lasting change of the rate during a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateChanges {
    /// The rate is the result: each stretch is a case of its own.
    Split,
    /// The latencies of a given set of blocks are the result: they stay together.
    Keep,
}

/// A reading that was done.
#[derive(Debug)]
pub struct Answer {
    /// One case, or one for each stretch between lasting changes of the rate. Not yet kept.
    pub cases: Vec<Case>,
    /// Who answered. `None` for a model.
    pub verdict: Option<Verdict>,
    /// Whether ^C cut the reading short: its cases are not to be kept then.
    pub interrupted: bool,
}

impl Answer {
    /// A metric of the last case: what held at the end.
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.cases.last().and_then(|case| case.metric(name))
    }

    /// Keeps the cases, unless the reading was cut short.
    pub fn keep(&self, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
        if !self.interrupted {
            for case in &self.cases {
                journal.keep(case.clone())?;
            }
        }
        Ok(())
    }
}

/// Does the reading and adds findings about what spoils it.
pub fn run(machine: &Machine, job: Job<'_>, journal: &mut dyn Journal) -> Result<Answer, ExperimentError> {
    match job.place {
        Place::Model(model) => Ok(read_model(machine, model, job)),
        Place::Device { path, block_device, caching, method, never_written } => {
            let team = Team { path, caching, method, clock: machine.clock, stop: machine.stop.flag() };
            read_device(machine, &Watched { team, block_device, never_written }, job, journal)
        }
    }
}

/// A team of workers and the witnesses of what it reads.
struct Watched<'a> {
    team: Team<'a>,
    block_device: Option<&'a BlockDevice>,
    never_written: f64,
}

fn read_device(
    machine: &Machine,
    watched: &Watched<'_>,
    job: Job<'_>,
    journal: &mut dyn Journal,
) -> Result<Answer, ExperimentError> {
    let team = &watched.team;
    let conditions = Conditions::now(machine);
    let audit = Audit::begin(watched.block_device);
    let mut reading = team.read(&job.plans)?;
    let counts = audit.end();
    let change = conditions.changed(machine);
    if let Some(failure) = reading.outcome.failure.take() {
        return Err(ExperimentError::ReadFailed { path: team.path.into(), failure });
    }
    let interrupted = machine.stop.requested();
    if reading.outcome.latency.reads() == 0 && !interrupted {
        return Err(ExperimentError::NothingRead { what: job.what });
    }
    let issued = reading.outcome.issued * job.plans[0].block_size as u64;
    let never_written = watched.never_written;
    let evidence = Evidence { caching: team.caching, issued, counts, cached_before: None, never_written };
    let verdict = evidence.verdict();
    let source = Source { clock: machine.clock.name(), method: team.method.name };
    let mut cases = cases_of(&reading.outcome, &job, &source);
    if let Some(case) = cases.last_mut() {
        case.metrics.extend(whole_run_metrics(&reading, &job, counts, &change));
    }
    if !interrupted {
        machine.note(&job.what, &change, Sensitivity::Storage);
        report_fallbacks(&reading, journal);
        report_tier(machine, &evidence, &verdict, &job.what, journal);
        report_rate(&reading.outcome, &job, journal);
        if job.rate_changes == RateChanges::Split {
            report_stretches(&reading.outcome.latency, &job.what, journal);
        }
    }
    Ok(Answer { cases, verdict: Some(verdict), interrupted })
}

fn read_model(machine: &Machine, model: &Model, job: Job<'_>) -> Answer {
    let reading = workers::read_model(model, &job.plans, machine.stop.flag());
    let source = Source { clock: "virtual clock of the model".into(), method: &model.name };
    let mut cases = cases_of(&reading.outcome, &job, &source);
    if let Some(case) = cases.last_mut() {
        case.metrics.push(reads_metric("reads", reading.outcome.latency.reads()));
        case.metrics.extend(worker_elapsed(&reading));
    }
    Answer { cases, verdict: None, interrupted: machine.stop.requested() }
}

/// How latencies were obtained.
struct Source<'a> {
    clock: String,
    method: &'a str,
}

impl Source<'_> {
    fn says(&self, from: &str) -> String {
        format!("{}, {} to completion, {}", self.clock, from, self.method)
    }
}

fn cases_of(outcome: &LoopOutcome, job: &Job<'_>, source: &Source<'_>) -> Vec<Case> {
    let windows = outcome.latency.windows();
    let stretches = change_point::stretches(&windows.rates());
    if stretches.len() > 1 && job.rate_changes == RateChanges::Split {
        return stretches
            .iter()
            .enumerate()
            .map(|(index, stretch)| stretch_case(windows, stretch, index, stretches.len(), job, source))
            .collect();
    }
    let mut case = Case::new(job.parameters.clone());
    let from = if outcome.service.is_some() { "intended start" } else { "submission" };
    case.metrics.extend(outcome.latency.metric("read_latency", &source.says(from)));
    let service = outcome.service.as_ref().and_then(|meter| meter.metric("service_time", &source.says("submission")));
    let lateness = outcome.lateness.as_ref().and_then(|meter| meter.metric("submission_lateness", &source.clock));
    case.metrics.extend(service.into_iter().chain(lateness));
    case.metrics.extend(rate_metrics(&windows.rates(), outcome.latency.reads(), outcome.elapsed, job));
    case.metrics.push(Metric::single("elapsed", Unit::Seconds, &source.clock, outcome.elapsed.as_seconds()));
    case.timeline = windows.timeline();
    vec![case]
}

/// The case of one stretch between lasting changes: no average is drawn across a change.
fn stretch_case(
    windows: &Windows,
    stretch: &Stretch,
    index: usize,
    of: usize,
    job: &Job<'_>,
    source: &Source<'_>,
) -> Case {
    let mut parameters = job.parameters.clone();
    let name = match (index, of) {
        (0, 2) => "before-change".to_string(),
        (1, 2) => "after-change".to_string(),
        _ => format!("{} of {of}", index + 1),
    };
    parameters.insert("segment".into(), json!(name));
    let mut case = Case::new(parameters);
    let part = &windows.closed()[stretch.windows.clone()];
    case.metrics.extend(Meter::metric_of_windows(part, "read_latency", &source.says("submission")));
    let elapsed = Nanos(windows.width().0 * part.len() as u64);
    let reads = part.iter().map(device::windows::Window::reads).sum();
    case.metrics.extend(rate_metrics(&windows.rates()[stretch.windows.clone()], reads, elapsed, job));
    case.metrics.push(Metric::single("elapsed", Unit::Seconds, &source.clock, elapsed.as_seconds()));
    if index == 0 {
        case.timeline = windows.timeline();
    }
    case
}

fn rate_metrics(rates: &[f64], reads: u64, elapsed: Nanos, job: &Job<'_>) -> Vec<Metric> {
    if reads == 0 || elapsed == Nanos::ZERO {
        return Vec::new();
    }
    let block_mib = job.plans[0].block_size as f64 / f64::from(1 << 20);
    let whole = reads as f64 / elapsed.as_seconds();
    let of = |name: &str, unit: Unit, scale: f64| {
        let samples: Vec<f64> = rates.iter().map(|rate| rate * scale).collect();
        let windows = (rates.len() >= WINDOWS_FOR_SPREAD)
            .then(|| Metric::of_samples(name, unit, "reads completed in windows of 100 ms or more", &samples))
            .flatten();
        windows.unwrap_or_else(|| Metric::single(name, unit, "reads completed over elapsed time", whole * scale))
    };
    vec![of("iops", Unit::PerSecond, 1.0), of("bandwidth", Unit::MebibytesPerSecond, block_mib)]
}

fn whole_run_metrics(reading: &Reading, job: &Job<'_>, counts: AuditCounts, change: &Change) -> Vec<Metric> {
    let outcome = &reading.outcome;
    let issued = outcome.issued.max(1);
    let mut metrics = vec![
        Metric::single(
            "cpu_per_read",
            Unit::Microseconds,
            "process CPU clock, user and system, over all reads issued",
            reading.cpu.as_micros() / issued as f64,
        ),
        reads_metric("reads", outcome.latency.reads()),
        reads_metric("warm_up_reads", outcome.warm_up.reads()),
    ];
    metrics.extend(outcome.warm_up.metric("warm_up_latency", "as read_latency, before the measurement"));
    metrics.extend(worker_elapsed(reading));
    let count = |name: &str, unit: Unit, source: &str, value: Option<u64>| {
        value.map(|value| Metric::single(name, unit, source, value as f64))
    };
    metrics.extend(count(
        "bytes_issued",
        Unit::Bytes,
        "counted by the read loop",
        Some(outcome.issued * job.plans[0].block_size as u64),
    ));
    metrics.extend(count("bytes_fetched", Unit::Bytes, "read_bytes of /proc/self/io", counts.fetched_by_process));
    metrics.extend(count(
        "bytes_delivered",
        Unit::Bytes,
        "the block device's stat, all processes",
        counts.delivered_by_device,
    ));
    metrics.extend(count("device_reads", Unit::Count, "the block device's stat, all processes", counts.device_reads));
    metrics.extend(change.metrics());
    metrics
}

/// How long each worker took, where there are several.
fn worker_elapsed(reading: &Reading) -> Option<Metric> {
    let elapsed: Vec<f64> = reading.worker_elapsed.iter().map(|elapsed| elapsed.as_seconds()).collect();
    let several = || Metric::of_samples("worker_elapsed", Unit::Seconds, "one value a worker", &elapsed);
    (elapsed.len() > 1).then(several).flatten()
}

fn reads_metric(name: &str, reads: u64) -> Metric {
    Metric::single(name, Unit::Count, "counted by the read loop", reads as f64)
}

/// Says when an open loop could not be held at its rate: its latencies are a queue that grows with the run then.
fn report_rate(outcome: &LoopOutcome, job: &Job<'_>, journal: &mut dyn Journal) {
    let asked: f64 = job.plans.iter().filter_map(|plan| plan.rate).sum();
    let reached = outcome.latency.reads() as f64 / outcome.elapsed.as_seconds().max(1e-9);
    if asked > 0.0 && reached < asked * RATE_REACHED && outcome.latency.reads() > 1 {
        journal.find(Finding::warning(
            "rate-not-reached",
            format!(
                "{} reads a second were asked for and {} were reached: the latency counts from the intended start and \
                 is the wait in a queue that grows as long as the run lasts. Look at service_time, or give a lower \
                 --rate or a higher --depth.",
                three_digits(asked),
                three_digits(reached)
            ),
        ));
    }
}

fn report_fallbacks(reading: &Reading, journal: &mut dyn Journal) {
    for fallback in &reading.fallbacks {
        journal.find(Finding::info("method-fallback", format!("{fallback}.")));
    }
}

fn report_tier(machine: &Machine, evidence: &Evidence, verdict: &Verdict, what: &str, journal: &mut dyn Journal) {
    match (evidence.caching, verdict.tier) {
        (Caching::Direct, Tier::PageCache) => journal.find(Finding::warning(
            "direct-io-ignored",
            format!(
                "Direct I/O was accepted and not done for {what}: {}. These are reads of memory. Use a file system \
                 that does direct I/O, or a block device.",
                verdict.proof
            ),
        )),
        (Caching::Direct, Tier::Mixed { .. }) => journal.find(Finding::warning(
            "reads-not-all-from-storage",
            format!("Only part of {what} reached storage: {}. The latencies mix memory and storage.", verdict.proof),
        )),
        (Caching::Buffered, Tier::PageCache) => journal.find(Finding::warning(
            "served-from-page-cache",
            format!(
                "{} answered from the page cache: {}. This is memory, not the device. Use --direct, or --evict on a \
                 file of your own.",
                capitalised(&format!("{what} were")),
                verdict.proof
            ),
        )),
        (Caching::Buffered, Tier::Mixed { from_storage }) => journal.find(Finding::warning(
            "partly-page-cache",
            format!(
                "About {} % of the bytes of {what} came from the page cache: {}. The latencies mix memory and \
                 storage; use --direct.",
                three_digits((1.0 - from_storage) * 100.0),
                verdict.proof
            ),
        )),
        // The region's own check has said so already.
        (_, Tier::NeverWritten) => {}
        (_, Tier::Unknown) => journal.find(Finding::warning(
            "tier-unknown",
            format!("Who answered {what} could not be proved: {}.", verdict.proof),
        )),
        (_, Tier::Storage) => report_device_counts(machine, evidence, what, journal),
    }
}

/// The block device's own count against the process's: a layer in between, or other readers.
fn report_device_counts(machine: &Machine, evidence: &Evidence, what: &str, journal: &mut dyn Journal) {
    let Some(delivered) = evidence.counts.delivered_by_device else {
        journal.find(Finding::info(
            "no-device-counters",
            "No block device with counters was found under the file: that the reads reached a device rests on the \
             process's own count alone.",
        ));
        return;
    };
    let ratio = delivered as f64 / evidence.issued.max(1) as f64;
    if evidence.caching == Caching::Direct && ratio < 0.98 {
        journal.find(Finding::warning(
            "device-saw-fewer-reads",
            format!(
                "The device delivered {} % of the bytes of {what}: a layer between the file system and the device \
                 answered the rest. The latencies are that layer's.",
                three_digits(ratio * 100.0)
            ),
        ));
    }
    if evidence.caching == Caching::Direct && ratio > 1.1 {
        machine.note_shared_device(what, ratio);
    }
}

fn report_stretches(latency: &Meter, what: &str, journal: &mut dyn Journal) {
    let windows = latency.windows();
    let stretches = change_point::stretches(&windows.rates());
    for pair in stretches.windows(2) {
        let at = Nanos(windows.width().0 * pair[1].windows.start as u64);
        journal.find(Finding::warning(
            "rate-changed",
            format!(
                "{} s into {what} the rate went from {} to {} reads a second and stayed there: {}. The \
                 stretches are separate cases; no average is drawn across the change. Run longer to see the lasting \
                 rate.",
                three_digits(at.as_seconds()),
                three_digits(pair[0].rate),
                three_digits(pair[1].rate),
                if pair[1].rate < pair[0].rate {
                    "a burst credit spent, a throttle, or a cache left"
                } else {
                    "a cache filled, blocks that were loaded meanwhile, or somebody else who stopped"
                }
            ),
        ));
    }
}

/// The sentence with its first letter as a capital.
pub(crate) fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Passes everything on, except the warning that the page cache answered where that is what was asked for.
pub struct WithoutPageCacheWarning<'a> {
    journal: &'a mut dyn Journal,
    wanted: bool,
}

impl<'a> WithoutPageCacheWarning<'a> {
    /// A journal without that warning when `wanted`.
    pub fn when(wanted: bool, journal: &'a mut dyn Journal) -> WithoutPageCacheWarning<'a> {
        WithoutPageCacheWarning { journal, wanted }
    }
}

impl Journal for WithoutPageCacheWarning<'_> {
    fn step(&mut self, what: &str, expected: Duration) {
        self.journal.step(what, expected);
    }

    fn keep(&mut self, case: Case) -> Result<(), KeepError> {
        self.journal.keep(case)
    }

    fn find(&mut self, finding: Finding) {
        if !(self.wanted && finding.id == "served-from-page-cache") {
            self.journal.find(finding);
        }
    }

    fn own_cost(&mut self, metric: Metric) {
        self.journal.own_cost(metric);
    }

    fn describe_subject(&mut self, key: &str, value: serde_json::Value) {
        self.journal.describe_subject(key, value);
    }
}
