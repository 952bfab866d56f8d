//! Reads by place: zones at either edge, a sweep from the first byte to the last, and growing distances.

use std::time::Duration;

use device::pattern::{Pattern, Span};
use device::plan::{ReadPlan, StopAfter};
use serde_json::json;

use super::setting::Setting;
use super::{Ask, DiskParameters, Zone, answers, case, measure};
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::reading::{Answer, RateChanges};

/// Bytes of a sequential read in a sweep: what a database's multi-block read asks for.
const SEQUENTIAL_BLOCK: usize = 1 << 20;

/// Bytes that a place of a sweep covers at most.
const PLACE: u64 = 256 << 20;

/// The shortest distance of consecutive reads, and the factor from one distance to the next.
const DISTANCE_MIN: u64 = 64 << 10;
const DISTANCE_FACTOR: u64 = 4;

/// One case a zone: the first span, the last span, and half the workers in each.
pub(super) fn zones(
    zones: &[Zone],
    parameters: &DiskParameters,
    setting: &Setting<'_>,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let outer = setting.span(parameters)?;
    let block = parameters.block_size as u64;
    let inner = Span { offset: (setting.size() - outer.length) / block * block, length: outer.length };
    let mut answered = Vec::new();
    for (index, zone) in zones.iter().enumerate() {
        let span_of = |index: usize| match zone {
            Zone::Outer => outer,
            Zone::Inner => inner,
            Zone::Both if index < parameters.workers / 2 => outer,
            Zone::Both => inner,
        };
        let plans = (0..parameters.workers).map(|index| parameters.plan(span_of(index), index, 1)).collect();
        let mut case = case(parameters, setting, span_of(0));
        case.insert("zone".into(), json!(zone.name()));
        let what = format!("the reads of {} in zone {}", setting.name(), zone.name());
        let left = (zones.len() - index) as u32;
        let answer = measure(parameters, setting, machine, journal, Ask { case, what, plans, cases_left: left })?;
        if answer.interrupted {
            return Ok(());
        }
        answered.push((*zone, answer));
    }
    answers::zones(&answered, journal);
    if let Some(disk) = setting.hard_disk() {
        answers::model_against_published(&answered, journal);
        answers::outer_half(disk, journal);
    }
    Ok(())
}

/// `count` places from the first byte to the last: random latency and sequential bandwidth at each.
pub(super) fn sweep(
    count: u32,
    parameters: &DiskParameters,
    setting: &Setting<'_>,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let block = parameters.block_size as u64;
    let whole = setting.span(parameters)?;
    let length = (whole.length / u64::from(count)).min(PLACE).max(block) / block * block;
    let mut answered = Vec::new();
    for index in 0..count {
        let position = f64::from(index) / f64::from(count - 1);
        let travel = (whole.length - length) / u64::from(count - 1) * u64::from(index) / block * block;
        let span = Span { offset: whole.offset + travel, length };
        let what = format!("place {} of {count} of {}", index + 1, setting.name());
        let random = DiskParameters { pattern: Pattern::Random, ..parameters.clone() };
        journal.step(&what, expected(parameters) * 2 * (count - index));
        let mut answer = place(&random, span, position, setting, machine, journal, what)?;
        if answer.interrupted {
            return Ok(());
        }
        add_bandwidth(&mut answer, parameters, span, setting, machine, journal)?;
        answer.keep(journal)?;
        answered.push(answer);
    }
    answers::spread("place", "position", &answered, journal);
    Ok(())
}

fn place(
    parameters: &DiskParameters,
    span: Span,
    position: f64,
    setting: &Setting<'_>,
    machine: &Machine,
    journal: &mut dyn Journal,
    what: String,
) -> Result<Answer, ExperimentError> {
    let mut case = case(parameters, setting, span);
    case.insert("position".into(), json!(position));
    let job = crate::reading::Job {
        place: setting.place(parameters.depth),
        plans: parameters.plans(span),
        parameters: case,
        what,
        rate_changes: RateChanges::Keep,
    };
    crate::reading::run(machine, job, journal)
}

/// Reads the place once more in sequence and puts that bandwidth in the place of the random reads' own.
fn add_bandwidth(
    answer: &mut Answer,
    parameters: &DiskParameters,
    span: Span,
    setting: &Setting<'_>,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let block_size = SEQUENTIAL_BLOCK.min(span.length as usize);
    let blocks = span.blocks(block_size);
    let stop_after = match parameters.stop_after {
        StopAfter::Reads(count) => StopAfter::Reads(count.min(blocks)),
        time => time,
    };
    let sequential = DiskParameters {
        pattern: Pattern::Sequential,
        block_size,
        stop_after,
        workers: 1,
        rate: None,
        ..parameters.clone()
    };
    let what = format!("the sequential reads at the same place of {}", setting.name());
    let job = crate::reading::Job {
        place: setting.place(sequential.depth),
        plans: sequential.plans(span),
        parameters: case(&sequential, setting, span),
        what,
        rate_changes: RateChanges::Keep,
    };
    let in_sequence = crate::reading::run(machine, job, journal)?;
    answer.interrupted |= in_sequence.interrupted;
    if let (Some(case), Some(bandwidth)) = (answer.cases.last_mut(), in_sequence.metric("bandwidth")) {
        case.metrics.retain(|metric| metric.name != "bandwidth");
        case.metrics.push(bandwidth.clone());
    }
    Ok(())
}

/// One case a distance between consecutive reads, each four times the one before.
pub(super) fn seek_distances(
    parameters: &DiskParameters,
    setting: &Setting<'_>,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let span = setting.span(parameters)?;
    let mut answered = Vec::new();
    let longest = span.length / 2;
    let distances = std::iter::successors(Some(DISTANCE_MIN), |distance| Some(distance * DISTANCE_FACTOR));
    let distances: Vec<u64> = distances.take_while(|distance| *distance < longest).chain([longest]).collect();
    for (index, distance) in distances.iter().copied().enumerate() {
        let apart = DiskParameters { pattern: Pattern::Apart(distance), ..parameters.clone() };
        let mut case = case(&apart, setting, span);
        case.insert("distance".into(), json!(distance));
        let what =
            format!("the reads of {} that lie {} apart", setting.name(), measure::quantity::size_in_words(distance));
        let plans: Vec<ReadPlan> = apart.plans(span);
        let left = (distances.len() - index) as u32;
        let answer = measure(&apart, setting, machine, journal, Ask { case, what, plans, cases_left: left })?;
        if answer.interrupted {
            return Ok(());
        }
        answered.push(answer);
    }
    answers::spread("distance", "distance", &answered, journal);
    Ok(())
}

/// About how long a case takes; a count of reads is taken at 100 us each.
pub(super) fn expected(parameters: &DiskParameters) -> Duration {
    let of = |limit: StopAfter| match limit {
        StopAfter::Time(time) => Duration::from(time),
        StopAfter::Reads(count) => Duration::from_micros(100) * u32::try_from(count).unwrap_or(u32::MAX),
    };
    of(parameters.warm_up) + of(parameters.stop_after)
}
