//! What the read loop itself costs: the same loop over a device that does nothing.

use std::sync::atomic::AtomicBool;

use measure::Nanos;
use sys::memory::Pages;
use sys::time::Clock;

use crate::null::Null;
use crate::pattern::{Pattern, Span};
use crate::plan::{ReadPlan, StopAfter, reap_batch_for};
use crate::read_loop;

/// Reads a sample: 50 us to 5 ms of work, so that the sample's two clock reads vanish in it.
const READS_A_SAMPLE: u64 = 100_000;

/// Nanoseconds of the tool's own work for one read at `depth`: choosing the offset, both clock reads, the
/// histogram, the windows. One sample each of `samples` loops over the null device.
pub fn null_device_read_ns(clock: &Clock, depth: usize, samples: usize) -> Vec<f64> {
    let plan = ReadPlan {
        pattern: Pattern::Random,
        block_size: 8192,
        pages: Pages::Huge,
        span: Span { offset: 0, length: 1 << 40 },
        seed: 1,
        working_set: None,
        depth,
        reap_batch: reap_batch_for(depth),
        warm_up: StopAfter::Reads(READS_A_SAMPLE / 10),
        stop_after: StopAfter::Reads(READS_A_SAMPLE),
        rate: None,
    };
    let stop = AtomicBool::new(false);
    let mut method: Box<dyn sys::read::ReadMethod> = Box::new(Null::new(depth));
    let mut sample = || {
        let outcome = read_loop::run(method.as_mut(), clock, &plan, &stop);
        outcome.elapsed.max(Nanos(1)).0 as f64 / outcome.latency.reads().max(1) as f64
    };
    (0..samples).map(|_| sample()).collect()
}
