//! The rungs of the operating system: a system call, and a block from the page cache.

use device::pattern::{Pattern, Span};
use device::plan::{ReadPlan, StopAfter};
use device::tier::Stored;
use measure::Nanos;
use sys::file::{Caching, Target};
use sys::time::system_call;

use super::block_reads::{Source, keep, measure, plan, read_rung};
use super::findings;
use super::parameters::CACHED_PART;
use super::steps::Steps;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::reading;

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
    steps.machine.stop.check()?;
    page_cache(steps, journal)
}

/// Warms a part of the test file and reads it at once: kernels reclaim page cache that was idle for a minute.
fn page_cache(steps: &Steps<'_>, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let file = &steps.storage.own_file;
    let length = CACHED_PART.min(file.size());
    let random = plan(steps, 1, StopAfter::Time(Nanos::from_millis(1000)));
    let plan = ReadPlan { span: Span { offset: 0, length }, warm_up: StopAfter::Reads(2000), ..random };
    let (pattern, block_size, stop_after) = (Pattern::Sequential, 1 << 20, StopAfter::Reads(length >> 20));
    let warming = ReadPlan { pattern, block_size, stop_after, warm_up: StopAfter::Reads(0), ..plan };
    let cached = Target::open(&file.path(), Caching::Buffered)?;
    reading::unmeasured(steps.machine, &cached, (None, warming))?;
    let source = Source { device: &cached, stored: Stored::default() };
    let measured = measure(steps, source, plan, "page-cache-read", journal)?;
    if !measured.interrupted {
        journal.find_all(findings::page_cache_lost(measured.verdict.as_ref()));
    }
    keep(&measured, read_rung(steps, ("page-cache-read", 1), &cached, &plan), 1, journal)
}
