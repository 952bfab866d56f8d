//! Core cycles of a thread, counted by the processor: a third clock next to the wall clock and the CPU clock.
//!
//! Most virtual machines hide the counter. It is then absent, with the reason; nothing replaces it.

use std::cell::RefCell;
use std::hint::black_box;
use std::io;

use perf_event::events::Hardware;
use perf_event::{Builder, CountAndTime, Counter};
use thiserror::Error;

/// The least part of its time, in per cent, that a counter has to run for its count to stand for all of it.
const SHARE_MIN: u64 = 99;

/// Why cycles are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoCycles {
    /// The kernel's settings or a sandbox forbid it.
    #[error("the kernel forbids performance counters (kernel.perf_event_paranoid above 2, or a sandbox)")]
    Forbidden,
    /// There is no counter, or it opens and stays at zero, as under some hypervisors.
    #[error("this machine hides the processor's counters, as most virtual machines do")]
    Hidden,
    /// A counter opens and gets no turn, or another one has the processor's for itself.
    #[error("other programs held the processor's counters")]
    Busy,
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
            libc::EBUSY => NoCycles::Busy,
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
        let mut counter = opened.map_err(|error| NoCycles::of(&error))?;
        let mut work = 0u64;
        for step in 0..10_000 {
            work = black_box(work.wrapping_add(step));
        }
        prove(&counter.read_count_and_time().map_err(|_| NoCycles::Hidden)?)?;
        Ok(CycleCounter { counter: RefCell::new(counter) })
    }

    /// Cycles so far; a system call of about half a microsecond. `None` where others' counters took turns with this
    /// one, so that it saw a part of them.
    pub fn read(&self) -> Option<u64> {
        whole(&self.counter.borrow_mut().read_count_and_time().ok()?)
    }
}

/// Whether a counter has counted.
fn prove(read: &CountAndTime) -> Result<(), NoCycles> {
    match read {
        CountAndTime { count: 1.., .. } => Ok(()),
        CountAndTime { time_enabled: 1.., time_running: 0, .. } => Err(NoCycles::Busy),
        CountAndTime { .. } => Err(NoCycles::Hidden),
    }
}

/// The count, where it is that of all the time.
fn whole(read: &CountAndTime) -> Option<u64> {
    let is_whole = read.time_running.saturating_mul(100) >= read.time_enabled.saturating_mul(SHARE_MIN);
    is_whole.then_some(read.count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_grow_or_are_absent_with_a_reason() {
        match CycleCounter::of_this_thread() {
            Ok(counter) => assert!(counter.read().zip(counter.read()).is_none_or(|(one, next)| one < next)),
            Err(reason) => assert!(reason.to_string().len() > 20),
        }
    }

    fn read(count: u64, time_running: u64) -> CountAndTime {
        CountAndTime { count, time_enabled: 1000, time_running }
    }

    #[test]
    fn a_counter_that_took_turns_with_others_gives_no_cycles_rather_than_a_part_of_them() {
        assert_eq!([1000, 990, 989, 0].map(|running| whole(&read(7, running))), [Some(7), Some(7), None, None]);
    }

    #[test]
    fn counters_that_other_programs_hold_are_not_said_to_be_hidden_by_the_machine() {
        assert_eq!((prove(&read(7, 500)), prove(&read(0, 1000))), (Ok(()), Err(NoCycles::Hidden)));
        assert_eq!(prove(&read(0, 0)), Err(NoCycles::Busy));
        let nothing = CountAndTime { count: 0, time_enabled: 0, time_running: 0 };
        assert_eq!(prove(&nothing), Err(NoCycles::Hidden), "no time passes for it either");
    }

    #[test]
    fn a_machine_is_said_to_hide_its_counters_only_where_the_kernel_knows_none() {
        let of = |errno: i32| NoCycles::of(&io::Error::from_raw_os_error(errno));
        assert_eq!([libc::EACCES, libc::EPERM].map(of), [NoCycles::Forbidden; 2]);
        let unknown = [libc::ENOENT, libc::ENODEV, libc::EOPNOTSUPP, libc::ENOSYS, libc::EINVAL];
        assert_eq!(unknown.map(of), [NoCycles::Hidden; 5]);
        assert_eq!(of(libc::EBUSY), NoCycles::Busy);
        assert_eq!(of(libc::EMFILE), NoCycles::Refused(libc::EMFILE));
        let said = of(libc::EMFILE).to_string();
        assert!(said.starts_with("the kernel refused to open a counter: Too many open files"), "{said}");
        assert_eq!(NoCycles::of(&io::Error::from(io::ErrorKind::Unsupported)), NoCycles::Refused(libc::E2BIG));
    }
}
