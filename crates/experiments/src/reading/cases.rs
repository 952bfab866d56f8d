//! The cases of a reading: one, or one for each segment between lasting changes of the rate.

use device::audit::AuditCounts;
use device::meter::Meter;
use device::read_loop::LoopOutcome;
use device::windows::{Window, Windows};
use device::workers::{Reading, Team};
use measure::change_point::{self, Segment};
use measure::schema::disk::parameters;
use measure::schema::{Spec, reads};
use measure::{Case, Metric, Nanos};

use super::job::{Job, RateChanges};
use crate::machine::{Change, Machine};

/// Fewest windows from which the rate's spread is given.
const WINDOWS_FOR_SPREAD: usize = 5;

/// How latencies were obtained.
pub(super) struct Source {
    clock: String,
    method: String,
}

impl Source {
    pub(super) fn of(machine: &Machine, team: &Team<'_>, is_virtual: bool) -> Source {
        let clock = if is_virtual { "virtual clock of the model".into() } else { machine.clock.name() };
        Source { clock, method: team.method().into() }
    }

    fn from(&self, start: &str) -> String {
        format!("{}, {} to completion, {}", self.clock, start, self.method)
    }
}

/// The cases, without what is known of the run as a whole.
pub(super) fn of(outcome: &LoopOutcome, job: &Job<'_>, source: &Source) -> Vec<Case> {
    let windows = outcome.latency.windows();
    let segments = change_point::segments(&windows.rates());
    if segments.len() > 1 && job.rate_changes == RateChanges::Split {
        let of = segments.len();
        let case = |(index, segment)| of_segment(windows, segment, (index, of), job, source);
        return segments.iter().enumerate().map(case).collect();
    }
    let mut case = Case::new(job.parameters.clone());
    let start = if outcome.service.is_some() { "intended start" } else { "submission" };
    case.metrics.extend(outcome.latency.metric(&reads::READ_LATENCY, &source.from(start)));
    let service = |meter: &Meter| meter.metric(&reads::SERVICE_TIME, &source.from("submission"));
    let lateness = |meter: &Meter| meter.metric(&reads::SUBMISSION_LATENESS, &source.clock);
    case.metrics.extend(outcome.service.as_ref().and_then(service));
    case.metrics.extend(outcome.lateness.as_ref().and_then(lateness));
    case.metrics.extend(rates(&windows.rates(), outcome.latency.reads(), outcome.elapsed, job));
    case.metrics.push(reads::ELAPSED.single(&source.clock, outcome.elapsed.as_seconds()));
    case.timeline = windows.timeline();
    vec![case]
}

/// The case of one segment between lasting changes: no average is drawn across a change.
fn of_segment(
    windows: &Windows,
    segment: &Segment,
    (index, of): (usize, usize),
    job: &Job<'_>,
    source: &Source,
) -> Case {
    let name = match (index, of) {
        (0, 2) => "before-change".to_string(),
        (1, 2) => "after-change".to_string(),
        _ => format!("{} of {of}", index + 1),
    };
    let mut case = Case::new(job.parameters.clone());
    case.parameters.extend([parameters::SEGMENT.of(name)]);
    let part = &windows.closed()[segment.windows.clone()];
    case.metrics.extend(Meter::metric_of_windows(part, &reads::READ_LATENCY, &source.from("submission")));
    let elapsed = Nanos(windows.width().0 * part.len() as u64);
    let count = part.iter().map(Window::reads).sum();
    case.metrics.extend(rates(&windows.rates()[segment.windows.clone()], count, elapsed, job));
    case.metrics.push(reads::ELAPSED.single(&source.clock, elapsed.as_seconds()));
    if index == 0 {
        case.timeline = windows.timeline();
    }
    case
}

fn rates(rates: &[f64], reads: u64, elapsed: Nanos, job: &Job<'_>) -> Vec<Metric> {
    if reads == 0 || elapsed == Nanos::ZERO {
        return Vec::new();
    }
    let block_mib = job.plans[0].block_size as f64 / f64::from(1 << 20);
    let whole = reads as f64 / elapsed.as_seconds();
    let of = |spec: &Spec, scale: f64| {
        let samples: Vec<f64> = rates.iter().map(|rate| rate * scale).collect();
        let windows = (rates.len() >= WINDOWS_FOR_SPREAD)
            .then(|| spec.of_samples("reads completed in windows of 100 ms or more", &samples))
            .flatten();
        windows.unwrap_or_else(|| spec.single("reads completed over elapsed time", whole * scale))
    };
    vec![of(&reads::IOPS, 1.0), of(&reads::BANDWIDTH, block_mib)]
}

/// What is known of the run as a whole. Without counts of this machine (in virtual time) there is little.
pub(super) fn of_whole_run(reading: &Reading, job: &Job<'_>, counted: Option<(AuditCounts, &Change)>) -> Vec<Metric> {
    const BY_LOOP: &str = "counted by the read loop";
    const BY_DEVICE: &str = "the block device's stat, all processes";
    let outcome = &reading.outcome;
    let mut metrics = vec![reads::READS.count(BY_LOOP, outcome.latency.reads())];
    let Some((counts, change)) = counted else {
        metrics.extend(worker_elapsed(reading));
        return metrics;
    };
    let per_read = |cpu: Nanos| {
        let source = "process CPU clock, user and system, over all reads issued";
        reads::CPU_PER_READ.single(source, cpu.as_micros() / outcome.issued.max(1) as f64)
    };
    metrics.splice(0..0, reading.cpu.map(per_read));
    metrics.push(reads::WARM_UP_READS.count(BY_LOOP, outcome.warm_up.reads()));
    let before = "as read_latency, before the measurement";
    metrics.extend(outcome.warm_up.metric(&reads::WARM_UP_LATENCY, before));
    metrics.extend(worker_elapsed(reading));
    let issued = outcome.issued * job.plans[0].block_size as u64;
    metrics.push(reads::BYTES_ISSUED.count(BY_LOOP, issued));
    let fetched = |bytes| reads::BYTES_FETCHED.count("read_bytes of /proc/self/io", bytes);
    metrics.extend(counts.fetched_by_process.map(fetched));
    metrics.extend(counts.delivered_by_device.map(|bytes| reads::BYTES_DELIVERED.count(BY_DEVICE, bytes)));
    metrics.extend(counts.device_reads.map(|reads| reads::DEVICE_READS.count(BY_DEVICE, reads)));
    metrics.extend(change.metrics());
    metrics
}

/// How long each worker took, where there are several.
fn worker_elapsed(reading: &Reading) -> Option<Metric> {
    let elapsed: Vec<f64> = reading.worker_elapsed.iter().map(|elapsed| elapsed.as_seconds()).collect();
    let several = || reads::WORKER_ELAPSED.of_samples("one value a worker", &elapsed);
    (elapsed.len() > 1).then(several).flatten()
}
