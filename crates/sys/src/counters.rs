//! Events that the processor and the kernel count: for this thread, a command, or a whole process.
//!
//! Events are counted in groups that fit the processor's counters at once. If there are more events than counters, the
//! groups take turns, and each count carries its share of the time. What cannot be counted is absent with its reason,
//! never zero: most virtual machines hide the processor's counters.

mod absence;
mod cycles;
mod event;
mod groups;
mod kernel;
mod rings;
mod tally;

use std::fs;

pub use absence::Absence;
pub use cycles::{CycleCounter, NoCycles};
pub use event::{Event, HARDWARE_EVENTS, SOFTWARE_EVENTS};
pub use rings::Rings;
pub use tally::{Count, Raw, Tally};

use groups::{Counting, Groups, Pmu};
use kernel::{Kernel, KernelCounter, Life};

impl Rings {
    /// The most that this process may count of itself: both, or user mode alone if the kernel hides its part
    /// (`kernel.perf_event_paranoid` of 2 and more, without the capability CAP_PERFMON).
    pub fn widest() -> Rings {
        let both = Kernel { thread: 0, life: Life::OneThread, rings: Rings::UserAndKernel };
        if both.open(SOFTWARE_EVENTS[0], None).is_ok() { Rings::UserAndKernel } else { Rings::User }
    }
}

/// Counters over one thread, the commands it starts, or several threads.
#[derive(Debug)]
pub struct Counters {
    rings: Rings,
    of_threads: Vec<Groups<KernelCounter>>,
}

impl Counters {
    /// Counters of the calling thread, stopped until [`Counters::start`].
    pub fn of_this_thread(rings: Rings) -> Counters {
        Counters::open(&[0], Life::OneThread, rings)
    }

    /// Counters of everything that the calling thread starts with `exec` from now on, including threads and children.
    /// They count from the `exec` on, so that they include nothing of this program. A descendant that is still alive
    /// when they are read is counted so far.
    pub fn of_commands(rings: Rings) -> Counters {
        Counters::open(&[0], Life::FromExec, rings)
    }

    /// Counters of all threads of a process, and of those that they start, stopped until [`Counters::start`]. `None` if
    /// there is no such process.
    ///
    /// Counters that the kernel refuses are absent.
    pub fn of_process(pid: u32, rings: Rings) -> Option<Counters> {
        Some(Counters::of_threads(&threads(pid)?, rings))
    }

    /// Counters of threads by their numbers, and of those that they start, stopped until [`Counters::start`].
    pub fn of_threads(threads: &[u32], rings: Rings) -> Counters {
        Counters::open(threads, Life::WithDescendants, rings)
    }

    fn open(threads: &[u32], life: Life, rings: Rings) -> Counters {
        let hidden = hardware_absence();
        let own = Kernel { thread: 0, life: Life::OneThread, rings };
        let size = if hidden.is_none() { groups::size_max(&own, HARDWARE_EVENTS) } else { 0 };
        let open = |thread: &u32| {
            let kernel = Kernel { thread: *thread, life, rings };
            let mut groups = Groups::open(&kernel, SOFTWARE_EVENTS, 1);
            match hidden {
                Some(reason) => groups.add_absent(HARDWARE_EVENTS, reason),
                None => groups.add(Groups::open(&kernel, HARDWARE_EVENTS, size)),
            }
            groups
        };
        Counters { rings, of_threads: threads.iter().map(open).collect() }
    }

    /// The privilege levels that are counted.
    pub fn rings(&self) -> Rings {
        self.rings
    }

    /// Starts the counters; a system call for each group and thread.
    pub fn start(&self) {
        self.leaders().for_each(Counting::start);
    }

    /// Stops the counters; they keep their counts and add to them after another start.
    pub fn stop(&self) {
        self.leaders().for_each(Counting::stop);
    }

    fn leaders(&self) -> impl Iterator<Item = &KernelCounter> {
        self.of_threads.iter().flat_map(Groups::leaders)
    }

    /// The counts so far, over all threads; a system call for each event and thread.
    pub fn read(&self) -> Tally {
        let mut tally = Tally::default();
        self.of_threads.iter().for_each(|groups| groups.read_into(&mut tally));
        tally
    }
}

/// The numbers of a process's threads; `None` if there is no such process.
pub fn threads(pid: u32) -> Option<Vec<u32>> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Some(numbers.collect())
}

/// Why the processor counts nothing at all here, proven on this thread: under some hypervisors a counter opens and
/// stays at zero. `None` if it counts cycles, or may yet do so.
pub fn hardware_absence() -> Option<Absence> {
    CycleCounter::of_this_thread().err().and_then(absence_of_all)
}

/// Why no event is counted where cycles are not. Counters that others hold at this moment may get their turns later,
/// and of those that the kernel refuses for another reason each has its own.
fn absence_of_all(reason: NoCycles) -> Option<Absence> {
    match reason {
        NoCycles::Forbidden => Some(Absence::Forbidden),
        NoCycles::Hidden => Some(Absence::Hidden),
        NoCycles::Busy | NoCycles::Refused(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_threads_clock_counts_and_what_is_absent_says_why() {
        let counters = Counters::of_this_thread(Rings::User);
        counters.start();
        let start = crate::process::thread_cpu();
        while crate::process::thread_cpu().since(start) < measure::Nanos::from_millis(3) {}
        counters.stop();
        let tally = counters.read();
        match tally.of("task_clock") {
            Ok(count) => assert!(count.value() >= 3e6, "{count:?}"),
            Err(reason) => println!("skipped: {reason}"),
        }
        for event in HARDWARE_EVENTS {
            match tally.of(event.name) {
                Ok(count) => assert!(count.share() > 0.0, "{event:?} {count:?}"),
                Err(reason) => assert!(reason.to_string().len() > 20),
            }
        }
    }

    #[test]
    fn counters_that_others_hold_for_a_moment_are_not_given_up() {
        assert_eq!([NoCycles::Busy, NoCycles::Refused(libc::EMFILE)].map(absence_of_all), [None; 2]);
        assert_eq!(absence_of_all(NoCycles::Hidden), Some(Absence::Hidden));
        assert_eq!(Absence::of(libc::EBUSY), Absence::NeverRan);
    }

    #[test]
    fn a_process_that_is_gone_has_no_counters() {
        assert!(Counters::of_process(u32::MAX - 1, Rings::User).is_none());
    }
}
