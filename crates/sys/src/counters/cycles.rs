//! Core cycles of a thread, counted by the processor: a third clock next to the wall clock and the CPU clock.
//!
//! Most virtual machines hide the counter. It is then absent, with the reason; nothing replaces it.

use std::cell::RefCell;
use std::hint::black_box;
use std::io;

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
    /// The kernel refused for another reason, such as too many open files.
    #[error("the kernel refused to open a counter: {}", io::Error::from_raw_os_error(*.0))]
    Refused(i32),
}

impl NoCycles {
    /// The reason behind an error of perf_event_open(2).
    fn of(error: &io::Error) -> NoCycles {
        // The crate keeps the number of every error but of this one.
        match error.raw_os_error().unwrap_or(libc::E2BIG) {
            libc::EACCES | libc::EPERM => NoCycles::Forbidden,
            libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL => NoCycles::Hidden,
            other => NoCycles::Refused(other),
        }
    }
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
        let counter = opened.map_err(|error| NoCycles::of(&error))?;
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

    #[test]
    fn a_machine_is_said_to_hide_its_counters_only_where_the_kernel_knows_none() {
        let of = |errno: i32| NoCycles::of(&io::Error::from_raw_os_error(errno));
        assert_eq!([libc::EACCES, libc::EPERM].map(of), [NoCycles::Forbidden; 2]);
        let unknown = [libc::ENOENT, libc::ENODEV, libc::EOPNOTSUPP, libc::ENOSYS, libc::EINVAL];
        assert_eq!(unknown.map(of), [NoCycles::Hidden; 5]);
        assert_eq!(of(libc::EMFILE), NoCycles::Refused(libc::EMFILE));
        let said = of(libc::EMFILE).to_string();
        assert!(said.starts_with("the kernel refused to open a counter: Too many open files"), "{said}");
        assert_eq!(NoCycles::of(&io::Error::from(io::ErrorKind::Unsupported)), NoCycles::Refused(libc::E2BIG));
    }
}
