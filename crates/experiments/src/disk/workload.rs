//! The reads of one case: how many, how large, how many at once.

use std::ops::Range;
use std::time::Duration;

use device::Slots;
use device::pattern::{Pattern, Span};
use device::plan::{ReadPlan, StopAfter};
use measure::Nanos;
use measure::quantity::{counted, size_in_words};
use sys::memory::Pages;
use sys::read::MethodRow;

use crate::error::{ExperimentError, refuse};

/// Share of the free memory that the read buffers of all workers may take.
const BUFFERS_SHARE: u64 = 4;

/// Seconds that a read is taken at, where how long a count of them lasts is estimated.
const READ_SECONDS: f64 = 100e-6;

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
        self.plans_of(span, 0..self.workers)
    }

    /// The plans of some of the workers, who have the span to themselves.
    pub(super) fn plans_of(&self, span: Span, workers: Range<usize>) -> Vec<ReadPlan> {
        let count = workers.len() as u64;
        let part = |index: usize| match self.pattern {
            // Of fewer blocks than workers, no part would hold one.
            Pattern::Sequential if (2..=span.blocks(self.block_size)).contains(&count) => {
                span.part(index as u64, count, self.block_size)
            }
            _ => span,
        };
        workers.clone().map(|index| self.plan(part(index - workers.start), index)).collect()
    }

    /// The reads of one of as many turns, which together are all of them.
    pub(super) fn part(&self, turn: u64, turns: u64) -> Workload {
        let of = |limit: StopAfter| match limit {
            StopAfter::Time(time) => StopAfter::Time(Nanos(time.0 / turns)),
            StopAfter::Reads(count) => StopAfter::Reads(count / turns + u64::from(turn < count % turns)),
        };
        Workload { stop_after: of(self.stop_after), warm_up: of(self.warm_up), ..*self }
    }

    /// The plan of worker `index` on a span of its own.
    fn plan(&self, span: Span, index: usize) -> ReadPlan {
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

    /// About how long a case takes. A count of reads lasts as long as its rate says; without one, as many reads as are
    /// in flight end together. Zero where that is too long to be told.
    pub(super) fn expected(&self) -> Duration {
        let each = match self.rate {
            Some(rate) => self.workers as f64 / rate,
            None => READ_SECONDS / self.depth.max(1) as f64,
        };
        let of = |limit: StopAfter| match limit {
            StopAfter::Time(time) => Duration::from(time),
            StopAfter::Reads(count) => Duration::try_from_secs_f64(each * count as f64).unwrap_or_default(),
        };
        of(self.warm_up).saturating_add(of(self.stop_after))
    }

    /// Refuses buffers that would drive the machine out of memory.
    pub(super) fn check_memory(&self) -> Result<(), ExperimentError> {
        let slot = self.block_size.max(4096) as u64;
        let wanted = slot.saturating_mul(self.depth as u64).saturating_mul(self.workers as u64);
        match sys::host::available_memory() {
            Some(free) if wanted > free / BUFFERS_SHARE => refuse(format!(
                "{} with {} of {} in flight each would need {} MiB of buffers, more than a quarter of the free memory: \
                 give smaller --workers, --depth or --block-size",
                counted(self.workers as u64, "worker", "workers"),
                counted(self.depth as u64, "read", "reads"),
                size_in_words(self.block_size as u64),
                wanted >> 20
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::parameters::DiskParameters;

    #[test]
    fn workers_in_sequence_never_read_the_same_blocks_of_a_zone() {
        let workload = Workload { pattern: Pattern::Sequential, workers: 5, ..DiskParameters::default().workload() };
        let [outer, inner] = [0, 1 << 30].map(|offset| Span { offset, length: 64 << 20 });
        let mut plans = workload.plans_of(outer, 0..2);
        plans.extend(workload.plans_of(inner, 2..5));
        let mut spans: Vec<Span> = plans.iter().map(|plan| plan.span).collect();
        spans.sort_unstable_by_key(|span| span.offset);
        assert!(spans.windows(2).all(|pair| pair[0].offset + pair[0].length <= pair[1].offset), "{spans:?}");
        assert_eq!(spans.iter().map(|span| span.length).sum::<u64>(), 128 << 20);
        let seeds: std::collections::HashSet<u64> = plans.iter().map(|plan| plan.seed).collect();
        assert_eq!(seeds.len(), 5, "each worker keeps its own");
    }

    #[test]
    fn turns_take_no_longer_and_read_no_less_than_a_case_at_once() {
        let of = |parameters: DiskParameters, turns: u64| {
            let whole = parameters.workload();
            (0..turns).map(|turn| whole.part(turn, turns)).collect::<Vec<_>>()
        };
        let timed: Duration = of(DiskParameters::default(), 10).iter().map(Workload::expected).sum();
        assert_eq!(timed, DiskParameters::default().workload().expected());
        let counted = of(DiskParameters { count: Some(1003), ..DiskParameters::default() }, 10);
        let reads = |part: &Workload| match part.stop_after {
            StopAfter::Reads(count) => count,
            StopAfter::Time(_) => 0,
        };
        assert_eq!(counted.iter().map(reads).sum::<u64>(), 1003);
        assert!(counted.iter().all(|part| (100..=101).contains(&reads(part))));
    }

    #[test]
    fn the_time_of_a_count_of_reads_follows_its_rate_and_its_depth() {
        let expected = |parameters: DiskParameters| {
            DiskParameters { count: Some(20_000), ..parameters }.workload().expected().as_millis()
        };
        let usual = DiskParameters::default;
        assert_eq!(expected(usual()), 2000);
        assert_eq!(expected(DiskParameters { depth: 32, ..usual() }), 62);
        // Each of two workers begins 500 of these reads a second.
        assert_eq!(expected(DiskParameters { rate: Some(1000.0), workers: Some(2), ..usual() }), 40_000);
        let endless = DiskParameters { rate: Some(f64::MIN_POSITIVE), ..usual() };
        assert_eq!(expected(endless), 0, "it is not known, and nothing overflows");
    }
}
