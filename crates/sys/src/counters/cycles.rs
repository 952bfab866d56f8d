//! Core cycles of a thread, counted by the processor: a third clock next to the wall clock and the CPU clock.
//!
//! Most virtual machines hide the counter. It is then absent, with the reason; nothing replaces it.

use std::cell::RefCell;
use std::hint::black_box;

use perf_event::events::Hardware;
use perf_event::{Builder, Counter};
use thiserror::Error;

/// Why cycles are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoCycles {
    /// The kernel's settings or a sandbox forbid it.
    #[error("the kernel forbids performance counters (kernel.perf_event_paranoid above 2, or a sandbox)")]
    Forbidden,
    /// There is no counter, or it opens and stays at zero, as under some hypervisors.
    #[error("this machine hides the processor's counters, as most virtual machines do")]
    Hidden,
}

/// Cycles that one thread has spent in user mode.
#[derive(Debug)]
pub struct CycleCounter {
    counter: RefCell<Counter>,
}

impl CycleCounter {
    /// A counter of the calling thread, proven to count.
    pub fn of_this_thread() -> Result<CycleCounter, NoCycles> {
        // Of this thread in user mode, the crate's default, which needs the least permission.
        let opened = Builder::new(Hardware::CPU_CYCLES).enabled(true).build();
        let counter = opened.map_err(|error| match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => NoCycles::Forbidden,
            _ => NoCycles::Hidden,
        })?;
        let counter = CycleCounter { counter: RefCell::new(counter) };
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
        self.counter.borrow_mut().read().ok()
    }
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
