//! Which processor a thread runs on.

use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};

use crate::host::allowed_cpus;

/// Binds the calling thread to one processor; `false` if that is refused, which changes nothing.
pub fn pin(cpu: usize) -> bool {
    // The mask has no place for it.
    if cpu >= CpuSet::MAX_CPU {
        return false;
    }
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    sched_setaffinity(None, &cpus).is_ok()
}

/// Processors for threads that work next to the calling one: those that this process may use, starting after the
/// caller's, with the caller's last.
pub fn beside_this_thread() -> Vec<usize> {
    let mut cpus = allowed_cpus();
    if let Some(own) = cpus.iter().position(|cpu| *cpu == sched_getcpu()) {
        cpus.rotate_left(own + 1);
    }
    cpus
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_beyond_the_mask_of_a_very_large_machine_is_refused_and_no_panic() {
        assert!(!pin(CpuSet::MAX_CPU) && !pin(usize::MAX));
    }
}
