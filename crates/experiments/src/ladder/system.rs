//! The rungs of the operating system: a system call, and a block from the page cache.

use device::pattern::{Pattern, Span};
use device::plan::{ReadPlan, StopAfter};
use device::tier::Tier;
use measure::{Finding, Nanos};
use sys::system_call;
use sys::target::Caching;

use super::storage::{read_rung, rung_of_reading};
use super::{BLOCK, Steps, rung, timed_rung};
use crate::error::ExperimentError;
use crate::journal::Journal;

/// Part of the test file that is read through the page cache.
const CACHED_PART: u64 = 128 << 20;

/// Measures system-call and page-cache-read.
pub(super) fn rungs(steps: &Steps<'_>, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let clock = steps.machine.clock;
    let source = "getppid in a loop, the empty loop taken off";
    timed_rung(steps, rung("system-call"), source, move || system_call::cost_ns(&clock), journal)?;
    if steps.machine.stop.requested() { Ok(()) } else { page_cache(steps, journal) }
}

/// Warms a part of the test file and reads it at once: kernels reclaim page cache that was idle for a minute.
fn page_cache(steps: &Steps<'_>, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let file = &steps.storage.own_file;
    let plan = ReadPlan {
        pattern: Pattern::Sequential,
        block_size: 1 << 20,
        span: Span { offset: 0, length: CACHED_PART.min(file.size()) },
        seed: steps.parameters.seed,
        working_set: None,
        depth: 1,
        reap_batch: 1,
        warm_up: StopAfter::Reads(0),
        stop_after: StopAfter::Reads(CACHED_PART.min(file.size()) >> 20),
        rate: None,
    };
    steps.storage.read_unmeasured(steps, &file.path(), Caching::Buffered, plan)?;
    let measured = ReadPlan {
        pattern: Pattern::Random,
        block_size: BLOCK,
        warm_up: StopAfter::Reads(2000),
        stop_after: StopAfter::Time(Nanos::from_millis(1000)),
        ..plan
    };
    let answer = steps.storage.measure(steps, &file.path(), Caching::Buffered, measured, "page-cache-read", journal)?;
    if let Some(verdict) = &answer.verdict
        && verdict.tier != Tier::PageCache
        && !answer.interrupted
    {
        journal.find(Finding::warning(
            "page-cache-lost",
            format!(
                "The page cache was to answer rung page-cache-read and did not: {}. Repeat with more free memory.",
                verdict.proof
            ),
        ));
    }
    rung_of_reading(&answer, read_rung("page-cache-read", 1, 1), 1, journal)
}
