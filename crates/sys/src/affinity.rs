//! Which processor a thread runs on.

use rustix::thread::{CpuSet, sched_setaffinity};

/// Binds the calling thread to one processor; `false` when that is refused, which changes nothing.
pub fn pin(cpu: usize) -> bool {
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    sched_setaffinity(None, &cpus).is_ok()
}
