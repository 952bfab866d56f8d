//! The cases of a reading: one, or one for each segment between lasting changes of the rate.

use std::ops::Range;

use device::audit::AuditCounts;
use device::meter::Meter;
use device::read_loop::LoopOutcome;
use device::windows::{WINDOW, Window};
use device::workers::{Reading, Team};
use measure::change_point::Segment;
use measure::schema::reads::parameters;
use measure::schema::{Spec, reads};
use measure::{Case, Metric, Nanos};

use super::job::Job;
use crate::machine::{Change, Machine};

/// Fewest windows from which the rate's spread is given.
const WINDOWS_FOR_SPREAD: usize = 5;

/// Part by which a rate may be above the one that was asked for: more shows in three digits.
const EXCESS_MAX: f64 = 0.005;

const BY_LOOP: &str = "counted by the read loop";

/// The source of a rate that is not that of the elapsed time.
pub(crate) const BY_SCHEDULE: &str = "reads completed over the time of their schedule";

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

/// The cases of a reading that was cut into `segments`; of one segment the case has what is known of the whole.
pub(super) fn of(
    reading: &Reading,
    segments: &[Segment],
    (job, source): (&Job<'_>, &Source),
    counted: Option<(AuditCounts, &Change)>,
) -> Vec<Case> {
    let mut cases: Vec<Case> = match segments {
        [] | [_] => vec![whole(reading, (job, source), counted)],
        several => {
            let of_segment = |(index, segment): (usize, &Segment)| {
                let name = match (index, several.len()) {
                    (0, 2) => "before-change".to_string(),
                    (1, 2) => "after-change".to_string(),
                    (_, of) => format!("{} of {of}", index + 1),
                };
                let mut case = of_segment(&reading.outcome, segment.windows.clone(), (job, source));
                case.parameters.extend([parameters::SEGMENT.of(name)]);
                case
            };
            several.iter().enumerate().map(of_segment).collect()
        }
    };
    if let Some(first) = cases.first_mut() {
        let warm_up = &reading.outcome.warm_up;
        first.metrics.push(reads::WARM_UP_READS.count(BY_LOOP, warm_up.reads()));
        first.metrics.extend(warm_up.metric(&reads::WARM_UP_LATENCY, "as read_latency, before the measurement"));
    }
    cases
}

/// The case of a reading at one rate.
fn whole(reading: &Reading, (job, source): (&Job<'_>, &Source), counted: Option<(AuditCounts, &Change)>) -> Case {
    let outcome = &reading.outcome;
    let windows = outcome.latency.windows();
    let latencies = latencies(outcome, source, |meter, spec, source| meter.metric(spec, source));
    let (count, elapsed) = (outcome.latency.reads(), outcome.elapsed);
    let of_turns_or_windows = || match &reading.turns[..] {
        [] | [_] => rates(&windows.rates(), count, elapsed, block_mib(job)),
        several => of_turns(several, count, elapsed, block_mib(job)),
    };
    let rates = of_schedule(count, elapsed, job).unwrap_or_else(of_turns_or_windows);
    let mut case = case((job, source), latencies, rates, (count, elapsed));
    case.timeline = windows.timeline(0..windows.closed().len());
    let per_read = |cpu: Nanos| {
        let source = "process CPU clock, user and system, over all reads issued";
        reads::CPU_PER_READ.single(source, cpu.as_micros() / outcome.issued.max(1) as f64)
    };
    case.metrics.extend(reading.cpu.map(per_read));
    let elapsed: Vec<f64> = reading.worker_elapsed.iter().map(|elapsed| elapsed.as_seconds()).collect();
    let several = || reads::WORKER_ELAPSED.of_samples("one value a worker", &elapsed);
    case.metrics.extend((elapsed.len() > 1).then(several).flatten());
    if let Some((counts, change)) = counted {
        let issued = outcome.issued * job.plans[0].block_size as u64;
        case.metrics.push(reads::BYTES_ISSUED.count(BY_LOOP, issued));
        case.metrics.extend(audited(counts));
        case.metrics.extend(change.metrics());
    }
    case
}

/// The case of one segment between lasting changes, from its own windows: no average is drawn across a change. What
/// the kernel counted spans the changes and is left out.
fn of_segment(outcome: &LoopOutcome, part: Range<usize>, (job, source): (&Job<'_>, &Source)) -> Case {
    let windows = outcome.latency.windows();
    let own = &windows.closed()[part.clone()];
    let latencies = latencies(outcome, source, |meter, spec, source| {
        Meter::metric_of_windows(meter.windows().closed().get(part.clone())?, spec, source)
    });
    let count: u64 = own.iter().map(Window::reads).sum();
    let elapsed = windows.elapsed(part.clone());
    let rates = rates(&windows.rates()[part.clone()], count, elapsed, block_mib(job));
    let mut case = case((job, source), latencies, rates, (count, elapsed));
    case.timeline = windows.timeline(part);
    if let Some(cpu) = own.iter().filter_map(|window| window.cpu).reduce(|one, other| one + other) {
        let source = "process CPU clock, user and system, over the reads of the segment";
        case.metrics.push(reads::CPU_PER_READ.single(source, cpu.as_micros() / count.max(1) as f64));
        case.metrics.push(reads::BYTES_ISSUED.count(BY_LOOP, count * job.plans[0].block_size as u64));
    }
    case
}

/// The latencies as metrics: from the intended start and apart from submission in an open loop.
fn latencies(
    outcome: &LoopOutcome,
    source: &Source,
    metric: impl Fn(&Meter, &Spec, &str) -> Option<Metric>,
) -> Vec<Metric> {
    let start = if outcome.service.is_some() { "intended start" } else { "submission" };
    let of = |meter: Option<&Meter>, spec, source: &str| meter.and_then(|meter| metric(meter, spec, source));
    let all = [
        of(Some(&outcome.latency), &reads::READ_LATENCY, &source.from(start)),
        of(outcome.service.as_ref(), &reads::SERVICE_TIME, &source.from("submission")),
        of(outcome.lateness.as_ref(), &reads::SUBMISSION_LATENESS, &source.clock),
    ];
    all.into_iter().flatten().collect()
}

/// What the whole and a segment have in common.
fn case(
    (job, source): (&Job<'_>, &Source),
    latencies: Vec<Metric>,
    rates: Vec<Metric>,
    (count, elapsed): (u64, Nanos),
) -> Case {
    let mut case = Case::new(job.parameters.clone());
    case.metrics = latencies;
    case.metrics.extend(rates);
    case.metrics.push(reads::ELAPSED.single(&source.clock, elapsed.as_seconds()));
    case.metrics.push(reads::READS.count(BY_LOOP, count));
    case
}

fn rates(rates: &[f64], reads: u64, elapsed: Nanos, block_mib: f64) -> Vec<Metric> {
    if reads == 0 || elapsed == Nanos::ZERO {
        return Vec::new();
    }
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

/// The rate of a case that was read in turns, with one sample a turn: windows of one turn are more alike than turns
/// are. Turns of as many reads each may differ in time, so that the mean of their rates is not that of all reads.
fn of_turns(turns: &[(u64, Nanos)], count: u64, elapsed: Nanos, block_mib: f64) -> Vec<Metric> {
    let mut metrics = rates(&[], count, elapsed, block_mib);
    if elapsed.0 < WINDOW.0 * WINDOWS_FOR_SPREAD as u64 {
        return metrics;
    }
    for (metric, (spec, scale)) in metrics.iter_mut().zip([(&reads::IOPS, 1.0), (&reads::BANDWIDTH, block_mib)]) {
        let rate = |(reads, elapsed): &(u64, Nanos)| *reads as f64 / elapsed.as_seconds() * scale;
        let samples: Vec<f64> = turns.iter().map(rate).collect();
        let mean = metric.statistics.mean;
        if let Some(of_turns) = spec.of_samples("reads completed over elapsed time, by turn", &samples) {
            *metric = of_turns;
            metric.statistics.mean = mean;
        }
    }
    metrics
}

/// The rate of an open loop with few reads. Its first read begins at once, so that more reads than it was asked for end
/// in the time that they take: each stands for the time until the next one is meant to start.
fn of_schedule(count: u64, elapsed: Nanos, job: &Job<'_>) -> Option<Vec<Metric>> {
    let asked: f64 = job.plans.iter().filter_map(|plan| plan.rate).sum();
    let is_above = asked > 0.0 && count as f64 > asked * elapsed.as_seconds() * (1.0 + EXCESS_MAX);
    let of = |spec: &Spec, scale: f64| spec.single(BY_SCHEDULE, asked * scale);
    is_above.then(|| vec![of(&reads::IOPS, 1.0), of(&reads::BANDWIDTH, block_mib(job))])
}

fn block_mib(job: &Job<'_>) -> f64 {
    job.plans[0].block_size as f64 / f64::from(1 << 20)
}

/// What the kernel counted.
fn audited(counts: AuditCounts) -> impl Iterator<Item = Metric> {
    const BY_DEVICE: &str = "the block device's stat, all processes";
    let fetched = |bytes| reads::BYTES_FETCHED.count("read_bytes of /proc/self/io", bytes);
    let all = [
        counts.fetched_by_process.map(fetched),
        counts.delivered_by_device.map(|bytes| reads::BYTES_DELIVERED.count(BY_DEVICE, bytes)),
        counts.device_reads.map(|reads| reads::DEVICE_READS.count(BY_DEVICE, reads)),
    ];
    all.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_turns_is_that_of_all_reads_and_each_turn_is_a_sample() {
        let of = |millis: [u64; 5]| {
            let turns = millis.map(|millis| (100, Nanos::from_millis(millis)));
            of_turns(&turns, 500, Nanos::from_millis(millis.iter().sum()), 0.5)
        };
        let [iops, bandwidth]: [Metric; 2] = of([100, 300, 100, 300, 200]).try_into().unwrap();
        assert_eq!((iops.statistics.mean, iops.samples.len(), iops.samples[0]), (500.0, 5, 1000.0));
        assert_eq!((bandwidth.statistics.mean, bandwidth.samples[0]), (250.0, 500.0));
        let short = of([10, 30, 10, 30, 20]);
        assert!(short.len() == 2 && short.iter().all(|metric| metric.samples.is_empty()));
    }
}
