//! The passes over one device.

use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use device::pattern::Span;
use device::tier::Stored;
use device::{Device, Witnesses, content};
use measure::schema::roundtrip::parameters;
use subjects::round_trip::Pass;
use sys::file::{Caching, Target};
use sys::read::{MethodRow, method};

use super::findings;
use super::layout::{Layout, Requests, Way};
use super::parameters::RoundtripParameters;
use crate::disk;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::reading::{self, Job, Measured, PageCache};
use crate::region;

/// How often the blocks are read to make them hot, and how often they are read then.
const WARMING_ROUNDS: u64 = 2;
const MEASURED_ROUNDS: u64 = 4;

/// About how long a pass takes.
const PASS_TIME: Duration = Duration::from_secs(1);

/// What helps where the page cache kept blocks that were evicted. The experiment reads past it wherever it can.
const OTHER_PLACE: &str = "use a file system that does direct I/O, or a block device";

/// The experiment on one path.
pub(super) struct Trip<'a> {
    layout: Layout<'a>,
    machine: &'a Machine,
    pub(super) device: Box<dyn Device>,
    method: &'static MethodRow,
    stored: Cell<Stored>,
    pub(super) way: Way,
    /// Passes that are still to come, over this path and those behind it: for the time left.
    passes_left: Cell<u32>,
}

impl<'a> Trip<'a> {
    /// Opens the path past the page cache where the file system allows that, through it otherwise.
    pub(super) fn open(
        path: &'a Path,
        parameters: &'a RoundtripParameters,
        machine: &'a Machine,
    ) -> Result<Trip<'a>, ExperimentError> {
        let device = device::open_direct_or_buffered(path)?;
        let layout = Layout::of(path, parameters, device.as_ref())?;
        let method = method("sync").expect("the plainest method is always in the table");
        let (stored, way, passes_left) = (Cell::new(Stored::default()), Way::of(device.as_ref()), Cell::new(0));
        Ok(Trip { layout, machine, device, method, stored, way, passes_left })
    }

    /// Takes the number of passes over the paths behind this one; gives it with that of its own.
    pub(super) fn count_passes(&self, later: u32) -> u32 {
        let of_a_size = match self.device.witnesses().target() {
            None => 2,
            Some(_) if self.way == Way::PastPageCache || self.is_evicted() => 3,
            Some(_) => 1,
        };
        self.passes_left.set(of_a_size * self.layout.all_requests().count() as u32 + later);
        self.passes_left.get()
    }

    /// Whether blocks are dropped from the page cache before each pass.
    fn is_evicted(&self) -> bool {
        self.layout.parameters.evict && self.way == Way::ThroughPageCache
    }

    /// Measures the passes. ^C ends it after the one under way, which is not kept. Gives whether any is kept. Where the
    /// path is one of several, each sentence names it.
    pub(super) fn run(&self, is_one_of_several: bool, journal: &mut dyn Journal) -> Result<bool, ExperimentError> {
        let witnesses = self.device.witnesses();
        let name_among_several = is_one_of_several.then(|| self.path());
        match &witnesses {
            Witnesses::Kernel { target, .. } => self.look_at(target, journal),
            Witnesses::Absent(device) => {
                let absent = findings::absent_page_cached(device.no_page_cache);
                journal.find(disk::on(name_among_several.as_deref(), absent));
            }
        }
        let mut measured = Vec::new();
        for requests in self.layout.all_requests() {
            let wanted = self.layout.wanted(requests.blocks_per_read);
            journal.find_all(findings::fewer_blocks(&self.path(), requests, wanted));
            for (pass, one) in self.passes(witnesses.target(), requests, journal)? {
                if one.interrupted {
                    return Ok(!measured.is_empty());
                }
                measured.push((pass, requests.blocks_per_read, one));
            }
        }
        if let Some(target) = witnesses.target() {
            self.check_content(target, journal)?;
        }
        let block_size = self.layout.parameters.block_size.0;
        journal.find_all(findings::report((self.path().as_str(), block_size), is_one_of_several, &measured));
        Ok(true)
    }

    fn path(&self) -> String {
        self.layout.path.display().to_string()
    }

    /// Looks what the file system stores of the file, and reports a file system without direct I/O.
    fn look_at(&self, target: &Target, journal: &mut dyn Journal) {
        let whole = Span { offset: 0, length: target.size() };
        self.stored.set(region::check_extents(target, &[whole], journal));
        journal.find_all(findings::no_direct_io(&self.path(), self.way, self.is_evicted()));
    }

    /// The passes that the device has: without a page cache there are two.
    fn passes(
        &self,
        target: Option<&Target>,
        requests: Requests,
        journal: &mut dyn Journal,
    ) -> Result<Vec<(Pass, Measured)>, ExperimentError> {
        let device = self.device.as_ref();
        let Some(target) = target else {
            // The rounds that make the blocks hot are part of the reading: a model begins each at rest.
            let first = self.pass(Pass::FirstTouch, device, requests, (0, 1), journal)?;
            let rounds = (WARMING_ROUNDS, MEASURED_ROUNDS);
            let again = self.pass(Pass::StorageCached, device, requests, rounds, journal)?;
            return Ok(vec![(Pass::FirstTouch, first), (Pass::StorageCached, again)]);
        };
        let mut measured = Vec::new();
        let is_direct = self.way == Way::PastPageCache;
        if is_direct || self.is_evicted() {
            self.evict_if_buffered(target, requests)?;
            measured.push((Pass::FirstTouch, self.pass(Pass::FirstTouch, device, requests, (0, 1), journal)?));
            self.warm(device, requests)?;
            self.evict_if_buffered(target, requests)?;
            let rounds = (0, if is_direct { MEASURED_ROUNDS } else { 1 });
            measured.push((Pass::StorageCached, self.pass(Pass::StorageCached, device, requests, rounds, journal)?));
        }
        // Right before it is measured: kernels reclaim page cache that was idle for a minute.
        let buffered = target.reopen(Caching::Buffered)?;
        self.warm(&buffered, requests)?;
        let rounds = (0, MEASURED_ROUNDS);
        measured.push((Pass::PageCached, self.pass(Pass::PageCached, &buffered, requests, rounds, journal)?));
        Ok(measured)
    }

    /// One pass: rounds to warm up, and rounds that are measured.
    fn pass(
        &self,
        pass: Pass,
        device: &dyn Device,
        requests: Requests,
        (warm_up, rounds): (u64, u64),
        journal: &mut dyn Journal,
    ) -> Result<Measured, ExperimentError> {
        let what = self.layout.what(pass, requests);
        journal.step_of_run(&what, PASS_TIME.saturating_mul(self.passes_left.get()));
        self.passes_left.set(self.passes_left.get().saturating_sub(1));
        let job = Job {
            device,
            method: Some(self.method),
            stored: self.stored.get(),
            plans: &[self.layout.plan(requests, requests.count * warm_up, requests.count * rounds)],
            parameters: self.layout.case(pass, requests),
            what,
            page_cache: if pass == Pass::PageCached { PageCache::Meant } else { PageCache::InTheWay(OTHER_PLACE) },
        };
        let mut measured = reading::run(self.machine, job, journal)?;
        let tier = parameters::TIER.of(measured.tier());
        for case in &mut measured.cases {
            case.parameters.extend([tier.clone()]);
        }
        measured.keep(journal)?;
        Ok(measured)
    }

    /// Reads the requests a few times, unmeasured.
    fn warm(&self, device: &dyn Device, requests: Requests) -> Result<(), ExperimentError> {
        let plan = self.layout.plan(requests, 0, requests.count * WARMING_ROUNDS);
        reading::unmeasured(self.machine, device, (Some(self.method), plan))
    }

    fn evict_if_buffered(&self, target: &Target, requests: Requests) -> Result<(), ExperimentError> {
        if self.way == Way::PastPageCache { Ok(()) } else { region::evict(target, requests.span) }
    }

    /// Looks at blocks that were just read, so that no block is touched only by the check.
    fn check_content(&self, target: &Target, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
        let Some(single) = self.layout.all_requests().next().filter(|_| !self.machine.stop.requested()) else {
            return Ok(());
        };
        let count = single.count.min(region::SAMPLE_BLOCKS);
        let sample = content::sample(target, single.span, single.bytes, count, self.layout.seed())?;
        journal.find_all(region::of_sample(target.path(), sample));
        Ok(())
    }
}
