//! The rungs of the operating system: a system call, and a block from the page cache.

use device::pattern::{Pattern, Span};
use device::plan::{ReadPlan, StopAfter};
use device::tier::Stored;
use measure::Nanos;
use sys::file::{Caching, Target};
use sys::time::system_call;

use super::block_reads::{Source, keep, measure, read_rung, read_unmeasured};
use super::findings;
use super::parameters::CACHED_PART;
use super::steps::Steps;
use super::storage::BLOCK;
use crate::error::ExperimentError;
use crate::journal::Journal;

/// Measures system-call and page-cache-read.
pub(super) fn rungs(steps: &Steps<'_>, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let clock = steps.machine.clock;
    let source = "getppid in a loop, the empty loop taken off";
    steps.timed_rung(
        "system-call",
        steps.rung("system-call"),
        source,
        move || system_call::cost_ns(&clock),
        journal,
    )?;
    if steps.machine.stop.requested() { Ok(()) } else { page_cache(steps, journal) }
}

/// Warms a part of the test file and reads it at once: kernels reclaim page cache that was idle for a minute.
fn page_cache(steps: &Steps<'_>, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let file = &steps.storage.own_file;
    let warming = ReadPlan {
        pattern: Pattern::Sequential,
        block_size: 1 << 20,
        pages: steps.parameters.pages(),
        span: Span { offset: 0, length: CACHED_PART.min(file.size()) },
        seed: steps.parameters.seed(),
        working_set: None,
        depth: 1,
        reap_batch: 1,
        warm_up: StopAfter::Reads(0),
        stop_after: StopAfter::Reads(CACHED_PART.min(file.size()) >> 20),
        rate: None,
    };
    let cached = Target::open(&file.path(), Caching::Buffered)?;
    read_unmeasured(steps, &cached, warming)?;
    let plan = ReadPlan {
        pattern: Pattern::Random,
        block_size: BLOCK,
        warm_up: StopAfter::Reads(2000),
        stop_after: StopAfter::Time(Nanos::from_millis(1000)),
        ..warming
    };
    let source = Source { device: &cached, stored: Stored::default() };
    let measured = measure(steps, source, plan, "page-cache-read", journal)?;
    if !measured.interrupted {
        journal.find_all(findings::page_cache_lost(measured.verdict.as_ref()));
    }
    keep(&measured, read_rung(steps, ("page-cache-read", 1), &cached, &plan), 1, journal)
}
