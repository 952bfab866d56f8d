//! What one worker of a read loop is to do.

use measure::Nanos;
use sys::memory::Pages;

use crate::pattern::{Pattern, Span};

/// When a worker stops issuing reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopAfter {
    /// After this many reads.
    Reads(u64),
    /// After this long.
    Time(Nanos),
}

impl StopAfter {
    /// Whether nothing at all is asked for.
    pub fn is_nothing(self) -> bool {
        matches!(self, StopAfter::Reads(0) | StopAfter::Time(Nanos::ZERO))
    }
}

/// One worker's reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadPlan {
    /// Order of the blocks.
    pub pattern: Pattern,
    /// Bytes a read.
    pub block_size: usize,
    /// The pages that the buffers stand on.
    pub pages: Pages,
    /// Where to read.
    pub span: Span,
    /// Picks the random order.
    pub seed: u64,
    /// Read only this many blocks of the span, again and again; `None` for all of it.
    pub working_set: Option<u64>,
    /// Reads in flight at once.
    pub depth: usize,
    /// Completions to wait for at once. More than one saves wake-ups, and CPU, where many reads are in flight.
    pub reap_batch: usize,
    /// Reads before the measurement, kept apart.
    pub warm_up: StopAfter,
    /// The measurement.
    pub stop_after: StopAfter,
    /// Open loop: reads per second that are begun whether or not earlier ones have ended. `None` is the closed
    /// loop, in which a read begins when a slot is free.
    pub rate: Option<f64>,
}

/// Completions to wait for at once at this depth: one up to depth 15, then half of the reads in flight, at most 16.
///
/// Each wake-up costs the processor a few microseconds, so fewer of them make a read cheaper: in pairs on a virtual
/// disk, half instead of a quarter took 8 % less CPU a read at depth 32 and gave as many reads a second. Waiting for
/// company leaves the device half of its queue, and does not change the mean latency at a full queue: that is depth
/// over rate (Little, "A proof for the queuing formula L = λW", 1961).
pub fn reap_batch_for(depth: usize) -> usize {
    if depth < 16 { 1 } else { (depth / 2).min(16) }
}
