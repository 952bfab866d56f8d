//! Which blocks the passes read, each size of request in a part of its own, and by which way they come.

use std::path::Path;

use device::Device;
use device::pattern::{Pattern, Span};
use device::plan::{ReadPlan, StopAfter};
use measure::Parameters;
use measure::quantity::{counted, size_in_words};
use measure::schema::roundtrip::parameters;
use subjects::round_trip::Pass;
use sys::file::Caching;
use sys::memory::Pages;

use super::parameters::{BLOCKS_PER_READ, RoundtripParameters};
use crate::error::{ExperimentError, refuse};
use crate::region;

/// Fewest requests of a pass: below, one slow answer is the whole result.
pub(super) const READS_MIN: u64 = 16;

/// By which way blocks come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// With direct I/O, or from a device that has no page cache.
    PastPageCache,
    /// Because there is no direct I/O. Blocks can be evicted.
    ThroughPageCache,
    /// Out of a file system in memory.
    InMemory,
}

impl Way {
    pub(super) fn of(device: &dyn Device) -> Way {
        match device.witnesses().target().filter(|target| target.caching() == Caching::Buffered) {
            None => Way::PastPageCache,
            Some(target) if region::is_in_memory(target) => Way::InMemory,
            Some(_) => Way::ThroughPageCache,
        }
    }
}

/// The requests of one size: where they go and how many there are.
#[derive(Clone, Copy)]
pub(super) struct Requests {
    pub(super) blocks_per_read: u64,
    pub(super) bytes: usize,
    pub(super) span: Span,
    pub(super) count: u64,
}

/// One path divided among the sizes.
#[derive(Clone, Copy)]
pub(super) struct Layout<'a> {
    pub(super) path: &'a Path,
    pub(super) parameters: &'a RoundtripParameters,
    /// Bytes that there are.
    pub(super) size: u64,
}

impl<'a> Layout<'a> {
    /// The layout of a device that is open. Refuses blocks and devices that the passes cannot have.
    pub(super) fn of(
        path: &'a Path,
        parameters: &'a RoundtripParameters,
        device: &dyn Device,
    ) -> Result<Layout<'a>, ExperimentError> {
        let layout = Layout { path, parameters, size: device.size() };
        layout.check(device.alignment().offset)?;
        Ok(layout)
    }

    /// The requests of every size.
    pub(super) fn all_requests(&self) -> impl Iterator<Item = Requests> {
        BLOCKS_PER_READ.into_iter().enumerate().map(|(index, blocks)| self.requests(index, blocks))
    }

    /// Each size of request has its own third, so that one does not touch the blocks of the next first.
    fn requests(&self, index: usize, blocks_per_read: u64) -> Requests {
        let bytes = self.block_size() * blocks_per_read as usize;
        let whole = Span { offset: 0, length: self.size };
        let largest = BLOCKS_PER_READ[2] as usize * self.block_size();
        let span = whole.part(index as u64, BLOCKS_PER_READ.len() as u64, largest);
        let wanted = self.wanted(blocks_per_read);
        Requests { blocks_per_read, bytes, span, count: wanted.min(span.blocks(bytes)) }
    }

    fn block_size(&self) -> usize {
        self.parameters.block_size.in_memory()
    }

    /// Picks the blocks.
    pub(super) fn seed(&self) -> u64 {
        self.parameters.seed.unwrap_or_default()
    }

    /// Requests of this size that were asked for.
    pub(super) fn wanted(&self, blocks_per_read: u64) -> u64 {
        (self.parameters.blocks / blocks_per_read).max(READS_MIN.min(self.parameters.blocks))
    }

    /// Reads this many of the requests, again from the first when all were read.
    pub(super) fn plan(&self, requests: Requests, warm_up: u64, reads: u64) -> ReadPlan {
        ReadPlan {
            pattern: Pattern::Random,
            block_size: requests.bytes,
            pages: Pages::Huge,
            span: requests.span,
            seed: self.seed(),
            working_set: Some(requests.count),
            depth: 1,
            reap_batch: 1,
            warm_up: StopAfter::Reads(warm_up),
            stop_after: StopAfter::Reads(reads),
            rate: None,
        }
    }

    /// A pass in words.
    pub(super) fn what(&self, pass: Pass, requests: Requests) -> String {
        let blocks = counted(requests.blocks_per_read, "block", "blocks");
        format!("the {pass} reads of {blocks} of {}", self.path.display())
    }

    /// The parameters of a case.
    pub(super) fn case(&self, pass: Pass, requests: Requests) -> Parameters {
        Parameters::from_iter([
            parameters::PATH.of(self.path.display().to_string()),
            parameters::PASS.of(pass.name()),
            parameters::BLOCKS_PER_READ.of(requests.blocks_per_read),
            parameters::BLOCK_SIZE.of(self.block_size()),
            parameters::BLOCKS.of(requests.count * requests.blocks_per_read),
            parameters::SEED.of(self.seed()),
        ])
    }

    /// Refuses blocks that direct reads of multiples of `multiple` bytes cannot have, and devices with too few blocks
    /// for passes that do not disturb each other.
    fn check(&self, multiple: u32) -> Result<(), ExperimentError> {
        let (path, block_size) = (self.path.display(), self.block_size() as u64);
        if !block_size.is_multiple_of(u64::from(multiple.max(1))) {
            return refuse(format!(
                "direct reads of {path} start and end at multiples of {multiple} bytes: give such a --block-size"
            ));
        }
        let needed = BLOCKS_PER_READ[2] * BLOCKS_PER_READ.len() as u64 * block_size;
        if self.size < needed {
            return refuse(format!(
                "{path} is too small: a round trip reads single blocks, 8 and {} at a time from three parts of a file, \
                 and needs {} for blocks of {}",
                BLOCKS_PER_READ[2],
                size_in_words(needed),
                size_in_words(block_size)
            ));
        }
        Ok(())
    }
}
