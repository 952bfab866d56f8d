//! disk: random and sequential reads by place on the device (source: the reader of "How does one show the impact of
//! long seek times", 2005, which measured two zones of a hard disk from two processes).

mod answers;
mod places;
pub(crate) mod setting;

use std::path::PathBuf;

use device::pattern::{Pattern, Span};
use device::plan::{ReadPlan, StopAfter, reap_batch_for};
use measure::quantity::size_in_words;
use measure::{Metric, Parameters, Unit};
use serde_json::json;
use sys::read::MethodRow;
use sys::target::Caching;

use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::own_cost;
use crate::reading::{self, Answer, Job, RateChanges};
use setting::Setting;
pub(crate) use setting::{describe_device, describe_model};

/// Most workers: each holds histograms of about a mebibyte.
const WORKERS_MAX: usize = 256;

/// Share of the free memory that the read buffers of all workers may take.
const BUFFERS_SHARE: u64 = 4;

/// Where on the device the reads of a case go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// The first span: the outer tracks of a disk.
    Outer,
    /// The last span: the inner tracks.
    Inner,
    /// Half the workers in each at the same time.
    Both,
}

impl Zone {
    /// The name on the command line and in run documents.
    pub fn name(self) -> &'static str {
        match self {
            Zone::Outer => "outer",
            Zone::Inner => "inner",
            Zone::Both => "both",
        }
    }
}

/// What is varied over the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    /// One case.
    Whole,
    /// One case a zone.
    Zones(Vec<Zone>),
    /// So many places from the first byte to the last.
    Sweep(u32),
    /// Growing distances between consecutive reads.
    SeekDistances,
}

/// Parameters of the experiment.
#[derive(Clone, Debug)]
pub struct DiskParameters {
    /// Files, block devices or models (`model:NAME`).
    pub paths: Vec<PathBuf>,
    /// Order of the reads.
    pub pattern: Pattern,
    /// Bytes a read.
    pub block_size: usize,
    /// First byte of the region.
    pub offset: u64,
    /// Bytes of the region, or of a zone; `None` for all there is (zones: 2 GiB or a third).
    pub span: Option<u64>,
    /// Length of a case, a worker.
    pub stop_after: StopAfter,
    /// Reads before it, kept apart.
    pub warm_up: StopAfter,
    /// Picks the order of random reads.
    pub seed: u64,
    /// Threads, each with its own descriptor and its own seed.
    pub workers: usize,
    /// Reads in flight, a worker.
    pub depth: usize,
    /// Completions to wait for at once; `None` for what suits the depth.
    pub reap_batch: Option<usize>,
    /// The I/O method; `None` for the cheapest at this depth.
    pub method: Option<&'static MethodRow>,
    /// Past the page cache or through it.
    pub caching: Caching,
    /// What is varied.
    pub view: View,
    /// Reads a second in an open loop, over all workers.
    pub rate: Option<f64>,
    /// Drop the region from the page cache first.
    pub evict: bool,
}

impl DiskParameters {
    /// Refuses what cannot be, with a sentence that says what to give instead. [`run`] checks as well.
    pub fn check(&self) -> Result<(), ExperimentError> {
        let refuse = |sentence: String| Err(ExperimentError::Parameters(sentence));
        match self {
            _ if self.depth == 0 => refuse("a depth of 0 reads nothing: the smallest --depth is 1".into()),
            _ if self.reap_batch.is_some_and(|batch| batch == 0 || batch > self.depth) => {
                refuse("--reap-batch lies between 1 and the depth".into())
            }
            _ if self.workers > WORKERS_MAX => refuse(format!(
                "{} workers are more than a run can hold apart: the largest --workers is {WORKERS_MAX}",
                self.workers
            )),
            _ if self.workers == 0 => refuse("0 workers read nothing: the smallest --workers is 1".into()),
            _ if self.block_size == 0 => {
                refuse("a block of 0 bytes reads nothing: give --block-size 8KiB or so".into())
            }
            _ if self.stop_after.is_nothing() => {
                refuse("nothing is to be read: give --count or --duration above 0".into())
            }
            _ if self.rate.is_some_and(|rate| !(rate > 0.0 && rate.is_finite())) => {
                refuse("--rate is in reads a second and must be above 0".into())
            }
            DiskParameters { method: Some(row), depth, .. } if row.depth_max.is_some_and(|most| *depth > most) => {
                let most = row.depth_max.unwrap_or(1);
                refuse(format!(
                    "{} holds at most {most} read in flight: give --depth {most}, or another --io-method",
                    row.name
                ))
            }
            DiskParameters { view: View::Zones(zones), workers: 1, .. } if zones.contains(&Zone::Both) => {
                refuse("the zone 'both' needs a worker in each: give --workers 2".into())
            }
            DiskParameters { view: View::Sweep(0 | 1), .. } => {
                refuse("a sweep needs at least 2 places: the first and the last".into())
            }
            _ => Ok(()),
        }
    }

    /// Refuses buffers that would drive the machine out of memory.
    fn check_memory(&self) -> Result<(), ExperimentError> {
        let slot = self.block_size.max(4096) as u64;
        let wanted = slot.saturating_mul(self.depth as u64).saturating_mul(self.workers as u64);
        match sys::host::available_memory() {
            Some(free) if wanted > free / BUFFERS_SHARE => Err(ExperimentError::Parameters(format!(
                "{} workers with {} reads of {} in flight each need {} MiB of buffers, more than a quarter of the free \
                 memory: give smaller --workers, --depth or --block-size",
                self.workers,
                self.depth,
                size_in_words(self.block_size as u64),
                wanted >> 20
            ))),
            _ => Ok(()),
        }
    }

    /// The plan of worker `index` on `span`: each worker has its own seed, and its own part of a sequential span.
    fn plan(&self, span: Span, index: usize, of: usize) -> ReadPlan {
        let span = match self.pattern {
            Pattern::Sequential if of > 1 => span.part(index as u64, of as u64, self.block_size),
            _ => span,
        };
        ReadPlan {
            pattern: self.pattern,
            block_size: self.block_size,
            span,
            seed: self.seed.wrapping_add(index as u64),
            working_set: None,
            depth: self.depth,
            reap_batch: self.reap_batch(),
            warm_up: self.warm_up,
            stop_after: self.stop_after,
            rate: self.rate.map(|rate| rate / self.workers as f64),
        }
    }

    fn reap_batch(&self) -> usize {
        self.reap_batch.unwrap_or_else(|| reap_batch_for(self.depth))
    }

    fn plans(&self, span: Span) -> Vec<ReadPlan> {
        (0..self.workers).map(|index| self.plan(span, index, self.workers)).collect()
    }
}

/// Runs the experiment on every path.
pub fn run(parameters: &DiskParameters, machine: &Machine, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    parameters.check()?;
    parameters.check_memory()?;
    let mut settings =
        parameters.paths.iter().map(|path| Setting::open(path, parameters)).collect::<Result<Vec<_>, _>>()?;
    let several = settings.len() > 1;
    machine.report_absences(journal);
    own_cost::measure(machine, journal);
    for setting in &mut settings {
        if machine.stop.requested() {
            break;
        }
        if several {
            journal.describe_subject("kind", json!("device"));
            journal.describe_subject("path", json!(format!("{} paths", parameters.paths.len())));
        } else {
            setting.describe(journal);
        }
        setting.prepare(parameters, journal)?;
        match &parameters.view {
            View::Whole => whole(parameters, setting, machine, journal)?,
            View::Zones(zones) => places::zones(zones, parameters, setting, machine, journal)?,
            View::Sweep(count) => places::sweep(*count, parameters, setting, machine, journal)?,
            View::SeekDistances => places::seek_distances(parameters, setting, machine, journal)?,
        }
    }
    machine.report_disturbances(journal);
    Ok(())
}

fn whole(
    parameters: &DiskParameters,
    setting: &Setting<'_>,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let span = setting.span(parameters)?;
    let what = format!("the {} reads of {}", parameters.pattern.name(), setting.name());
    let ask = Ask { case: case(parameters, setting, span), what, plans: parameters.plans(span), cases_left: 1 };
    let answer = measure(parameters, setting, machine, journal, ask)?;
    answers::whole(parameters, &setting.name(), &answer, journal);
    Ok(())
}

/// One case to be measured.
struct Ask {
    /// Its parameters.
    case: Parameters,
    /// It in words.
    what: String,
    /// One plan a worker.
    plans: Vec<ReadPlan>,
    /// Cases that are still to come, this one included: for the time left.
    cases_left: u32,
}

/// Measures one case of this setting and keeps it.
fn measure(
    parameters: &DiskParameters,
    setting: &Setting<'_>,
    machine: &Machine,
    journal: &mut dyn Journal,
    ask: Ask,
) -> Result<Answer, ExperimentError> {
    journal.step(&ask.what, places::expected(parameters) * ask.cases_left);
    let place = setting.place(parameters.depth);
    let Ask { case: parameters_of_case, what, plans, .. } = ask;
    let job = Job { place, plans, parameters: parameters_of_case, what, rate_changes: RateChanges::Split };
    let mut answer = reading::run(machine, job, journal)?;
    if let (Some(share), Some(case)) = (setting.cached_before, answer.cases.last_mut()) {
        let source = "cachestat or mincore over the region, before the reads";
        case.metrics.push(Metric::single("cached_before", Unit::Percent, source, share * 100.0));
    }
    if let (Some(share), Some(case)) = (setting.answered_at_once(), answer.cases.last_mut()) {
        let source = "preadv2 with RWF_NOWAIT on a sample of blocks, after the reads";
        case.metrics.push(Metric::single("nowait_answered", Unit::Percent, source, share * 100.0));
    }
    answer.keep(journal)?;
    Ok(answer)
}

/// The parameters of a case in the order in which they are shown.
fn case(parameters: &DiskParameters, setting: &Setting<'_>, span: Span) -> Parameters {
    let mut case = Parameters::new();
    case.insert("path".into(), json!(setting.name()));
    case.insert("pattern".into(), json!(parameters.pattern.name()));
    case.insert("block_size".into(), json!(parameters.block_size));
    case.insert("span".into(), json!(span.length));
    case.insert("offset".into(), json!(span.offset));
    match parameters.stop_after {
        StopAfter::Reads(count) => case.insert("count".into(), json!(count)),
        StopAfter::Time(time) => case.insert("duration".into(), json!(time.as_seconds())),
    };
    case.insert("seed".into(), json!(parameters.seed));
    case.insert("workers".into(), json!(parameters.workers));
    case.insert("depth".into(), json!(parameters.depth));
    case.insert("reap_batch".into(), json!(parameters.reap_batch()));
    case.insert("io_method".into(), json!(setting.method_name(parameters.depth)));
    case.insert("direct".into(), json!(parameters.caching == Caching::Direct));
    if let Some(rate) = parameters.rate {
        case.insert("rate".into(), json!(rate));
    }
    case
}

/// A span that does not fit, as an error that says what would.
fn does_not_fit(name: &str, size: u64, offset: u64, span: u64) -> ExperimentError {
    ExperimentError::Parameters(format!(
        "{name} holds {}: {} from offset {} on are not in it; give a smaller --span or --offset",
        size_in_words(size),
        size_in_words(span),
        size_in_words(offset)
    ))
}
