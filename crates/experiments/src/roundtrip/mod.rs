//! roundtrip: what the way to the storage costs (source: "How to figure out disk network latency using cached
//! blocks", whose own trap is the point: the tool must prove who answered).

mod answers;

use std::path::{Path, PathBuf};
use std::time::Duration;

use device::content;
use device::pattern::{Pattern, Span};
use device::plan::{ReadPlan, StopAfter};
use measure::{Finding, Parameters};
use serde_json::json;
use sys::block_device::BlockDevice;
use sys::read::{self, MethodRow};
use sys::target::{Caching, Target, TargetError};
use sys::witness;

use crate::disk::describe_device;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::reading::{self, Answer, Job, Place, WithoutPageCacheWarning};
use crate::{own_cost, region};

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
    /// Files or block devices.
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
    let trips =
        parameters.paths.iter().map(|path| Trip::open(path, parameters, machine)).collect::<Result<Vec<_>, _>>()?;
    machine.report_absences(journal);
    own_cost::measure(machine, journal);
    for trip in &trips {
        trip.run(journal)?;
    }
    machine.report_disturbances(journal);
    Ok(())
}

/// The experiment on one path.
struct Trip<'a> {
    path: &'a Path,
    parameters: &'a RoundtripParameters,
    machine: &'a Machine,
    target: Target,
    block_device: Option<BlockDevice>,
    method: &'static MethodRow,
}

/// The requests of one size: where they go and how many there are.
#[derive(Clone, Copy)]
struct Requests {
    blocks_per_read: u64,
    bytes: usize,
    span: Span,
    count: u64,
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
        target.check_block_size(parameters.block_size as u64)?;
        let block_device = BlockDevice::under(&target).ok();
        let method = read::method("sync").expect("the plainest method is always in the table");
        Ok(Trip { path, parameters, machine, target, block_device, method })
    }

    fn run(&self, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
        describe_device(&self.target, self.block_device.as_ref(), journal);
        region::check_extents(&self.target, Span { offset: 0, length: self.target.size() }, journal);
        if self.target.caching() == Caching::Buffered {
            self.report_no_direct_io(journal);
        }
        let mut answered = Vec::new();
        for (index, blocks_per_read) in BLOCKS_PER_READ.into_iter().enumerate() {
            let Some(requests) = self.requests(index) else {
                self.report_too_small(blocks_per_read, journal);
                continue;
            };
            for (pass, answer) in self.passes(requests, journal)? {
                if answer.interrupted {
                    return Ok(());
                }
                answered.push((pass, requests.blocks_per_read, answer));
            }
        }
        self.check_content(journal)?;
        answers::report(&self.path.display().to_string(), &answered, journal);
        Ok(())
    }

    /// Each size of request has its own third of the file, so that one does not touch the blocks of the next first.
    fn requests(&self, index: usize) -> Option<Requests> {
        let blocks_per_read = BLOCKS_PER_READ[index];
        let bytes = self.parameters.block_size * blocks_per_read as usize;
        let whole = Span { offset: 0, length: self.target.size() };
        let span = whole.part(
            index as u64,
            BLOCKS_PER_READ.len() as u64,
            BLOCKS_PER_READ[2] as usize * self.parameters.block_size,
        );
        let wanted = (self.parameters.blocks / blocks_per_read).max(READS_MIN.min(self.parameters.blocks));
        let count = wanted.min(span.blocks(bytes));
        (count > 0).then_some(Requests { blocks_per_read, bytes, span, count })
    }

    fn passes(&self, requests: Requests, journal: &mut dyn Journal) -> Result<Vec<(Pass, Answer)>, ExperimentError> {
        let mut answers = Vec::new();
        let beyond_the_host = self.target.caching() == Caching::Direct || self.parameters.evict;
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
        let what =
            format!("the {} reads of {} blocks of {}", pass.name(), requests.blocks_per_read, self.path.display());
        journal.step(&what, Duration::from_secs(1));
        let caching = if pass == Pass::PageCached { Caching::Buffered } else { self.target.caching() };
        let evicted = self.target.caching() == Caching::Buffered && pass != Pass::PageCached;
        let rounds = if pass == Pass::FirstTouch || evicted { 1 } else { MEASURED_ROUNDS };
        let plans = vec![self.plan(requests, requests.count * rounds)];
        let job = Job { place: self.place(caching), plans, parameters: self.case(pass, requests), what };
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
            path: self.path,
            caching,
            method: self.method,
            clock: self.machine.clock,
            stop: self.machine.stop.flag(),
        };
        let mut reading = team.read(&[self.plan(requests, requests.count * WARMING_ROUNDS)])?;
        match reading.outcome.failure.take() {
            Some(failure) => Err(ExperimentError::ReadFailed { path: self.path.into(), failure }),
            None => Ok(()),
        }
    }

    fn plan(&self, requests: Requests, reads: u64) -> ReadPlan {
        ReadPlan {
            pattern: Pattern::Random,
            block_size: requests.bytes,
            span: requests.span,
            seed: self.parameters.seed,
            working_set: Some(requests.count),
            depth: 1,
            reap_batch: 1,
            warm_up: StopAfter::Reads(0),
            stop_after: StopAfter::Reads(reads),
            rate: None,
        }
    }

    fn place(&self, caching: Caching) -> Place<'_> {
        Place::Device { path: self.path, block_device: self.block_device.as_ref(), caching, method: self.method }
    }

    fn case(&self, pass: Pass, requests: Requests) -> Parameters {
        let mut case = Parameters::new();
        case.insert("path".into(), json!(self.path.display().to_string()));
        case.insert("pass".into(), json!(pass.name()));
        case.insert("blocks_per_read".into(), json!(requests.blocks_per_read));
        case.insert("block_size".into(), json!(self.parameters.block_size));
        case.insert("blocks".into(), json!(requests.count * requests.blocks_per_read));
        case.insert("seed".into(), json!(self.parameters.seed));
        case
    }

    fn evict_if_buffered(&self, requests: Requests) -> Result<(), ExperimentError> {
        if self.target.caching() == Caching::Direct {
            return Ok(());
        }
        let refused =
            |reason| ExperimentError::Parameters(format!("{} cannot be evicted: {reason}", self.path.display()));
        witness::evict(&self.target, requests.span.offset, requests.span.length).map_err(refused)
    }

    /// Looks at blocks that were just read, so that no block is touched only by the check.
    fn check_content(&self, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
        if let Some(single) = self.requests(0)
            && !self.machine.stop.requested()
        {
            let seed = self.parameters.seed;
            let sample = content::sample(&self.target, single.span, single.bytes, single.count.min(64), seed)?;
            region::report_sample(&self.target, sample, journal);
        }
        Ok(())
    }

    fn report_no_direct_io(&self, journal: &mut dyn Journal) {
        let consequence = if self.parameters.evict {
            "Its blocks were evicted before each pass instead, and read through the page cache."
        } else {
            "The first-touch and storage-cached passes are absent. With --evict, on a file of your own, its blocks \
             are dropped from the page cache before each pass instead."
        };
        let message = format!(
            "{} cannot be read past the page cache: its file system refuses direct I/O. {consequence}",
            self.path.display()
        );
        journal.find(Finding::warning("no-direct-io", message));
    }

    fn report_too_small(&self, blocks_per_read: u64, journal: &mut dyn Journal) {
        let message = format!(
            "{} is too small for requests of {blocks_per_read} blocks in a part of its own: these passes are absent.",
            self.path.display()
        );
        journal.find(Finding::info("file-too-small", message));
    }
}
