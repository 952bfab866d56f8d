//! The reads of one case: how many, how large, how many at once.

use std::time::Duration;

use device::Slots;
use device::pattern::{Pattern, Span};
use device::plan::{ReadPlan, StopAfter};
use measure::quantity::{counted, size_in_words};
use sys::memory::Pages;
use sys::read::MethodRow;

use crate::error::ExperimentError;

/// Share of the free memory that the read buffers of all workers may take.
const BUFFERS_SHARE: u64 = 4;

/// The reads of a case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Workload {
    pub(super) pattern: Pattern,
    pub(super) block_size: usize,
    pub(super) pages: Pages,
    /// Length of the case, a worker.
    pub(super) stop_after: StopAfter,
    /// Reads before it, kept apart.
    pub(super) warm_up: StopAfter,
    pub(super) seed: u64,
    pub(super) workers: usize,
    /// Reads in flight, a worker.
    pub(super) depth: usize,
    pub(super) reap_batch: usize,
    pub(super) method: Option<&'static MethodRow>,
    /// Reads a second over all workers.
    pub(super) rate: Option<f64>,
}

impl Workload {
    /// One plan a worker on `span`, each with its own seed and its own part of a sequential span.
    pub(super) fn plans(&self, span: Span) -> Vec<ReadPlan> {
        let part = |index: usize| match self.pattern {
            Pattern::Sequential if self.workers > 1 => span.part(index as u64, self.workers as u64, self.block_size),
            _ => span,
        };
        (0..self.workers).map(|index| self.plan(part(index), index)).collect()
    }

    /// The plan of worker `index` on a span of its own.
    pub(super) fn plan(&self, span: Span, index: usize) -> ReadPlan {
        ReadPlan {
            pattern: self.pattern,
            block_size: self.block_size,
            pages: self.pages,
            span,
            seed: self.seed.wrapping_add(index as u64),
            working_set: None,
            depth: self.depth,
            reap_batch: self.reap_batch,
            warm_up: self.warm_up,
            stop_after: self.stop_after,
            rate: self.rate.map(|rate| rate / self.workers as f64),
        }
    }

    /// The buffers of a worker.
    pub(super) fn slots(&self) -> Slots {
        Slots { method: self.method, depth: self.depth, bytes: self.block_size, pages: self.pages }
    }

    /// About how long a case takes; a count of reads is taken at 100 us each.
    pub(super) fn expected(&self) -> Duration {
        let of = |limit: StopAfter| match limit {
            StopAfter::Time(time) => Duration::from(time),
            StopAfter::Reads(count) => Duration::from_micros(100) * u32::try_from(count).unwrap_or(u32::MAX),
        };
        of(self.warm_up) + of(self.stop_after)
    }

    /// Refuses buffers that would drive the machine out of memory.
    pub(super) fn check_memory(&self) -> Result<(), ExperimentError> {
        let slot = self.block_size.max(4096) as u64;
        let wanted = slot.saturating_mul(self.depth as u64).saturating_mul(self.workers as u64);
        match sys::host::available_memory() {
            Some(free) if wanted > free / BUFFERS_SHARE => Err(ExperimentError::Parameters(format!(
                "{} with {} of {} in flight each would need {} MiB of buffers, more than a quarter of the free memory: \
                 give smaller --workers, --depth or --block-size",
                counted(self.workers as u64, "worker", "workers"),
                counted(self.depth as u64, "read", "reads"),
                size_in_words(self.block_size as u64),
                wanted >> 20
            ))),
            _ => Ok(()),
        }
    }
}
