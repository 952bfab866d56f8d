//! Core cycles of a thread, counted by the processor: a third clock beside the wall and the CPU clock.
//!
//! Most virtual machines hide the counter. It is absent then, with the reason; nothing is put in its place.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read};

use thiserror::Error;

use super::kernel::{self, EXCLUDE_HYPERVISOR, EXCLUDE_KERNEL, EventAttributes};

/// Why cycles are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoCycles {
    /// The kernel's settings or a sandbox forbid it.
    #[error("the kernel forbids performance counters (kernel.perf_event_paranoid above 2, or a sandbox)")]
    Forbidden,
    /// There is no counter, or it opens and stays at zero, as some hypervisors have it.
    #[error("this machine hides the processor's counters, as most virtual machines do")]
    Hidden,
}

/// Cycles that one thread has spent in user mode.
#[derive(Debug)]
pub struct CycleCounter {
    descriptor: File,
}

impl CycleCounter {
    /// A counter of the calling thread, proven to count.
    pub fn of_this_thread() -> Result<CycleCounter, NoCycles> {
        let descriptor = open_cycles().map_err(|error| match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => NoCycles::Forbidden,
            _ => NoCycles::Hidden,
        })?;
        let counter = CycleCounter { descriptor };
        let mut work = 0u64;
        for step in 0..10_000 {
            work = black_box(work.wrapping_add(step));
        }
        match counter.read() {
            Some(cycles) if cycles > 0 => Ok(counter),
            _ => Err(NoCycles::Hidden),
        }
    }

    /// Cycles so far; a system call of about half a microsecond.
    pub fn read(&self) -> Option<u64> {
        // The count, and the times for which it was enabled and ran.
        let mut words = [[0; 8]; 3];
        (&self.descriptor).read_exact(words.as_flattened_mut()).ok()?;
        Some(u64::from_ne_bytes(words[0]))
    }
}

// From include/uapi/linux/perf_event.h.
const TYPE_HARDWARE: u32 = 0;
const HARDWARE_CPU_CYCLES: u64 = 0;

/// Opens a counter of this thread's cycles in user mode, which asks for the least permission.
fn open_cycles() -> io::Result<File> {
    let flags = EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR;
    let attributes = EventAttributes::new(TYPE_HARDWARE, HARDWARE_CPU_CYCLES, flags);
    kernel::open(&attributes, 0, -1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_grow_or_are_absent_with_a_reason() {
        match CycleCounter::of_this_thread() {
            Ok(counter) => assert!(counter.read() < counter.read()),
            Err(reason) => assert!(reason.to_string().len() > 20),
        }
    }
}
