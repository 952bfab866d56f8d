//! roundtrip: what the way to the storage costs (source: "How to figure out disk network latency using cached
//! blocks", whose own trap is the point: the tool must prove who answered).

mod answers;
mod layout;
mod model;
mod server;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use device::content;
use device::model::Model;
use device::pattern::Span;
use layout::{Layout, Requests};
use measure::Finding;
use measure::quantity::size_in_words;
use serde_json::json;
use sys::block_device::BlockDevice;
use sys::read::{self, MethodRow};
use sys::target::{Caching, Target, TargetError};
use sys::witness;

use crate::disk::describe_device;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::reading::{self, Answer, Job, Place, RateChanges, WithoutPageCacheWarning};
use crate::{own_cost, region};
pub use server::{OnServer, rehearse, run_on};

/// Blocks a request: one, and the two multi-block reads that the experiment is defined with.
const BLOCKS_PER_READ: [u64; 3] = [1, 8, 128];

/// Fewest requests of a pass: below, one slow answer is the whole result.
const READS_MIN: u64 = 16;

/// How often the blocks are read to make them hot, and how often they are read then.
const WARMING_ROUNDS: u64 = 2;
const MEASURED_ROUNDS: u64 = 4;

/// Parameters of the experiment.
#[derive(Clone, Debug)]
pub struct RoundtripParameters {
    /// Files, block devices or models (`model:NAME`).
    pub paths: Vec<PathBuf>,
    /// Blocks read singly; the multi-block passes read as many in fewer requests, but at least 16 of them.
    pub blocks: u64,
    /// Bytes a block.
    pub block_size: usize,
    /// Picks the blocks. A seed used before on the same file picks blocks that were touched before.
    pub seed: u64,
    /// Drop the blocks from the page cache first, where direct I/O cannot be had.
    pub evict: bool,
}

/// A pass over the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// The first read of each block by this run.
    FirstTouch,
    /// Blocks just read, past the host's cache: as near as the storage can hold them.
    StorageCached,
    /// Blocks in the host's page cache.
    PageCached,
}

impl Pass {
    /// The name in run documents.
    pub fn name(self) -> &'static str {
        match self {
            Pass::FirstTouch => "first-touch",
            Pass::StorageCached => "storage-cached",
            Pass::PageCached => "page-cached",
        }
    }
}

/// Runs the experiment on every path.
pub fn run(
    parameters: &RoundtripParameters,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    if parameters.blocks == 0 || parameters.block_size == 0 {
        return Err(ExperimentError::Parameters(
            "nothing is to be read: give --blocks and --block-size above 0".into(),
        ));
    }
    let ways =
        parameters.paths.iter().map(|path| Way::open(path, parameters, machine)).collect::<Result<Vec<_>, _>>()?;
    machine.report_absences(journal);
    own_cost::measure(machine, journal);
    for way in &ways {
        match way {
            Way::Device(trip) => trip.run(journal)?,
            Way::Model(model, layout) => model::run(model, *layout, machine, journal)?,
        }
    }
    machine.report_disturbances(journal);
    Ok(())
}

/// One path, opened and checked.
enum Way<'a> {
    /// A file or block device.
    Device(Trip<'a>),
    /// A model in virtual time.
    Model(Model, Layout<'a>),
}

impl<'a> Way<'a> {
    fn open(
        path: &'a Path,
        parameters: &'a RoundtripParameters,
        machine: &'a Machine,
    ) -> Result<Way<'a>, ExperimentError> {
        match device::model::named(&path.to_string_lossy()) {
            None => Trip::open(path, parameters, machine).map(Way::Device),
            Some(Err(error)) => Err(ExperimentError::Parameters(error.to_string())),
            Some(Ok(model)) => {
                let layout = Layout { path, parameters, size: model.size() };
                check_size(&layout)?;
                Ok(Way::Model(model, layout))
            }
        }
    }
}

/// Refuses blocks that cannot be read, and files that hold too few of them for passes that do not disturb each other.
fn check_block(target: &Target, layout: &Layout<'_>) -> Result<(), ExperimentError> {
    let block_size = layout.parameters.block_size;
    let multiple = u64::from(target.alignment().offset.max(1));
    let path = target.path().display();
    if !(block_size as u64).is_multiple_of(multiple) {
        let sentence =
            format!("direct reads of {path} start and end at multiples of {multiple} bytes: give such a --block-size");
        return Err(ExperimentError::Parameters(sentence));
    }
    check_size(layout)
}

/// Refuses what holds too few blocks.
fn check_size(layout: &Layout<'_>) -> Result<(), ExperimentError> {
    let (path, block_size) = (layout.path.display(), layout.parameters.block_size);
    let needed = BLOCKS_PER_READ[2] * BLOCKS_PER_READ.len() as u64 * block_size as u64;
    if layout.size < needed {
        let sentence = format!(
            "{path} is too small: a round trip reads single blocks, 8 and {} at a time from three parts of a file, and \
             needs {} for blocks of {}",
            BLOCKS_PER_READ[2],
            size_in_words(needed),
            size_in_words(block_size as u64)
        );
        return Err(ExperimentError::Parameters(sentence));
    }
    Ok(())
}

/// The experiment on one path.
struct Trip<'a> {
    layout: Layout<'a>,
    machine: &'a Machine,
    target: Target,
    block_device: Option<BlockDevice>,
    method: &'static MethodRow,
    never_written: Cell<f64>,
}

impl<'a> Trip<'a> {
    /// Opens the path past the page cache where that can be had, through it otherwise.
    fn open(
        path: &'a Path,
        parameters: &'a RoundtripParameters,
        machine: &'a Machine,
    ) -> Result<Trip<'a>, ExperimentError> {
        let target = match Target::open(path, Caching::Direct) {
            Err(TargetError::DirectRefused { .. }) => Target::open(path, Caching::Buffered)?,
            opened => opened?,
        };
        let layout = Layout { path, parameters, size: target.size() };
        check_block(&target, &layout)?;
        let block_device = BlockDevice::under(&target).ok();
        let method = read::method("sync").expect("the plainest method is always in the table");
        Ok(Trip { layout, machine, target, block_device, method, never_written: Cell::new(0.0) })
    }

    fn run(&self, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
        if self.layout.parameters.paths.len() > 1 {
            journal.describe_subject("kind", json!("device"));
            journal.describe_subject("path", json!(format!("{} paths", self.layout.parameters.paths.len())));
        } else {
            describe_device(&self.target, self.block_device.as_ref(), journal);
        }
        let whole = Span { offset: 0, length: self.target.size() };
        self.never_written.set(region::check_extents(&self.target, whole, journal));
        if self.target.caching() == Caching::Buffered {
            self.report_no_direct_io(journal);
        }
        let mut answered = Vec::new();
        for (index, blocks_per_read) in BLOCKS_PER_READ.into_iter().enumerate() {
            let requests = self.layout.requests(index, blocks_per_read);
            self.report_fewer(requests, journal);
            for (pass, answer) in self.passes(requests, journal)? {
                if answer.interrupted {
                    return Ok(());
                }
                answered.push((pass, requests.blocks_per_read, answer));
            }
        }
        self.check_content(journal)?;
        answers::report(&self.layout.path.display().to_string(), &answered, journal);
        Ok(())
    }

    fn passes(&self, requests: Requests, journal: &mut dyn Journal) -> Result<Vec<(Pass, Answer)>, ExperimentError> {
        let mut answers = Vec::new();
        let beyond_the_host = self.target.caching() == Caching::Direct || self.layout.parameters.evict;
        if beyond_the_host {
            self.evict_if_buffered(requests)?;
            answers.push((Pass::FirstTouch, self.pass(Pass::FirstTouch, requests, journal)?));
            self.warm(requests, self.target.caching())?;
            self.evict_if_buffered(requests)?;
            answers.push((Pass::StorageCached, self.pass(Pass::StorageCached, requests, journal)?));
        }
        // Right before it is measured: kernels reclaim page cache that was idle for a minute.
        self.warm(requests, Caching::Buffered)?;
        answers.push((Pass::PageCached, self.pass(Pass::PageCached, requests, journal)?));
        Ok(answers)
    }

    fn pass(&self, pass: Pass, requests: Requests, journal: &mut dyn Journal) -> Result<Answer, ExperimentError> {
        let what = self.layout.what(pass, requests);
        journal.step(&what, Duration::from_secs(1));
        let caching = if pass == Pass::PageCached { Caching::Buffered } else { self.target.caching() };
        let evicted = self.target.caching() == Caching::Buffered && pass != Pass::PageCached;
        let rounds = if pass == Pass::FirstTouch || evicted { 1 } else { MEASURED_ROUNDS };
        let plans = vec![self.layout.plan(requests, 0, requests.count * rounds)];
        let job = Job {
            place: self.place(caching),
            plans,
            parameters: self.layout.case(pass, requests),
            what,
            rate_changes: RateChanges::Keep,
        };
        // Reading through the page cache is this pass's aim: the finding that warns of it is not for this run.
        let mut sieve = WithoutPageCacheWarning::when(pass == Pass::PageCached, journal);
        let mut answer = reading::run(self.machine, job, &mut sieve)?;
        if let (Some(verdict), Some(case)) = (&answer.verdict, answer.cases.last_mut()) {
            case.parameters.insert("tier".into(), json!(verdict.tier.name()));
        }
        answer.keep(journal)?;
        Ok(answer)
    }

    /// Reads the requests a few times, unmeasured.
    fn warm(&self, requests: Requests, caching: Caching) -> Result<(), ExperimentError> {
        let team = device::workers::Team {
            path: self.layout.path,
            caching,
            method: self.method,
            clock: self.machine.clock,
            stop: self.machine.stop.flag(),
        };
        let mut reading = team.read(&[self.layout.plan(requests, 0, requests.count * WARMING_ROUNDS)])?;
        match reading.outcome.failure.take() {
            Some(failure) => Err(ExperimentError::ReadFailed { path: self.layout.path.into(), failure }),
            None => Ok(()),
        }
    }

    fn place(&self, caching: Caching) -> Place<'_> {
        Place::Device {
            path: self.layout.path,
            block_device: self.block_device.as_ref(),
            caching,
            method: self.method,
            never_written: self.never_written.get(),
        }
    }

    fn evict_if_buffered(&self, requests: Requests) -> Result<(), ExperimentError> {
        if self.target.caching() == Caching::Direct {
            return Ok(());
        }
        let refused =
            |reason| ExperimentError::Parameters(format!("{} cannot be evicted: {reason}", self.layout.path.display()));
        witness::evict(&self.target, requests.span.offset, requests.span.length).map_err(refused)
    }

    /// Looks at blocks that were just read, so that no block is touched only by the check.
    fn check_content(&self, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
        let single = self.layout.requests(0, BLOCKS_PER_READ[0]);
        if !self.machine.stop.requested() {
            let seed = self.layout.parameters.seed;
            let sample = content::sample(&self.target, single.span, single.bytes, single.count.min(64), seed)?;
            region::report_sample(&self.target, sample, journal);
        }
        Ok(())
    }

    fn report_no_direct_io(&self, journal: &mut dyn Journal) {
        let consequence = if self.layout.parameters.evict {
            "Its blocks were evicted before each pass instead, and read through the page cache."
        } else {
            "The first-touch and storage-cached passes are absent. With --evict, on a file of your own, its blocks \
             are dropped from the page cache before each pass instead."
        };
        let message = format!(
            "{} cannot be read past the page cache: its file system refuses direct I/O. {consequence}",
            self.layout.path.display()
        );
        journal.find(Finding::warning("no-direct-io", message));
    }

    fn report_fewer(&self, requests: Requests, journal: &mut dyn Journal) {
        let Requests { blocks_per_read, count, .. } = requests;
        if count < self.layout.wanted(blocks_per_read) {
            let message = format!(
                "{} has room for {count} requests of {blocks_per_read} blocks in a part of its own, {} were asked for.",
                self.layout.path.display(),
                self.layout.wanted(blocks_per_read)
            );
            journal.find(Finding::info("fewer-blocks", message));
        }
    }
}
