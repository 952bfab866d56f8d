//! Which blocks the passes read: each size of request in a part of its own.

use std::path::Path;

use device::pattern::{Pattern, Span};
use device::plan::{ReadPlan, StopAfter};
use measure::Parameters;
use serde_json::json;

use super::{BLOCKS_PER_READ, Pass, READS_MIN, RoundtripParameters};

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

impl Layout<'_> {
    /// Each size of request has its own third, so that one does not touch the blocks of the next first.
    pub(super) fn requests(&self, index: usize, blocks_per_read: u64) -> Requests {
        let bytes = self.parameters.block_size * blocks_per_read as usize;
        let whole = Span { offset: 0, length: self.size };
        let largest = BLOCKS_PER_READ[2] as usize * self.parameters.block_size;
        let span = whole.part(index as u64, BLOCKS_PER_READ.len() as u64, largest);
        let wanted = self.wanted(blocks_per_read);
        Requests { blocks_per_read, bytes, span, count: wanted.min(span.blocks(bytes)) }
    }

    /// Requests of this size that were asked for.
    pub(super) fn wanted(&self, blocks_per_read: u64) -> u64 {
        (self.parameters.blocks / blocks_per_read).max(READS_MIN.min(self.parameters.blocks))
    }

    /// Reads so many of the requests, again from the first when all were read.
    pub(super) fn plan(&self, requests: Requests, warm_up: u64, reads: u64) -> ReadPlan {
        ReadPlan {
            pattern: Pattern::Random,
            block_size: requests.bytes,
            span: requests.span,
            seed: self.parameters.seed,
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
        format!("the {} reads of {} blocks of {}", pass.name(), requests.blocks_per_read, self.path.display())
    }

    /// The parameters of a case.
    pub(super) fn case(&self, pass: Pass, requests: Requests) -> Parameters {
        let mut case = Parameters::new();
        case.insert("path".into(), json!(self.path.display().to_string()));
        case.insert("pass".into(), json!(pass.name()));
        case.insert("blocks_per_read".into(), json!(requests.blocks_per_read));
        case.insert("block_size".into(), json!(self.parameters.block_size));
        case.insert("blocks".into(), json!(requests.count * requests.blocks_per_read));
        case.insert("seed".into(), json!(self.parameters.seed));
        case
    }
}
