//! What the kernel has charged to another process, at one moment, and the difference between two.

use std::collections::BTreeMap;
use std::fs;

use measure::Nanos;

use super::watch::stat;
use crate::counters::threads;

/// What the kernel has charged to a process, at one moment; it need not be a child of this one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageSnapshot {
    cpu: Option<Nanos>,
    faults: Option<(u64, u64)>,
    switches: BTreeMap<u32, u64>,
}

/// What was charged between two moments; what the kernel does not report is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageDelta {
    /// Processor time of all threads, those that have ended included.
    pub cpu: Option<Nanos>,
    /// Context switches of the threads that existed at the second moment.
    pub context_switches: Option<u64>,
    /// Page faults, major ones included.
    pub page_faults: Option<u64>,
    /// Pages that were read from storage.
    pub major_faults: Option<u64>,
}

impl UsageSnapshot {
    /// What is charged to a process now: its CPU clock, `/proc/PID/stat`, and `status` of each of its threads.
    pub fn of(pid: u32) -> UsageSnapshot {
        let threads = threads(pid).unwrap_or_default();
        let switches = threads.into_iter().filter_map(|thread| Some((thread, switches(pid, thread)?))).collect();
        UsageSnapshot { cpu: cpu_clock(pid), faults: faults(pid), switches }
    }

    /// What was added since `earlier`.
    pub fn since(&self, earlier: &UsageSnapshot) -> UsageDelta {
        let faults = self.faults.zip(earlier.faults);
        let minor = faults.map(|(now, then)| now.0.saturating_sub(then.0));
        let major = faults.map(|(now, then)| now.1.saturating_sub(then.1));
        let added =
            |(thread, count): (&u32, &u64)| count.saturating_sub(earlier.switches.get(thread).copied().unwrap_or(0));
        UsageDelta {
            cpu: self.cpu.zip(earlier.cpu).map(|(now, then)| now.since(then)),
            context_switches: (!self.switches.is_empty()).then(|| self.switches.iter().map(added).sum()),
            page_faults: minor.zip(major).map(|(minor, major)| minor + major),
            major_faults: major,
        }
    }
}

/// The CPU clock of a process, as clock_getcpuclockid(3) makes its number; `None` where there is no such process.
fn cpu_clock(pid: u32) -> Option<Nanos> {
    let pid = libc::pid_t::try_from(pid).ok()?;
    let mut clock: libc::clockid_t = 0;
    // SAFETY: the pointer is to a number of ours that lives across the call.
    if unsafe { libc::clock_getcpuclockid(pid, &mut clock) } != 0 {
        return None;
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a structure of ours that lives across the call.
    let is_read = unsafe { libc::clock_gettime(clock, &mut time) } == 0;
    is_read.then(|| Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64))
}

/// Minor and major page faults of all threads: fields 10 and 12 of proc(5).
fn faults(pid: u32) -> Option<(u64, u64)> {
    let fields = stat(pid)?;
    let number = |field: usize| fields.get(field - 3)?.parse().ok();
    Some((number(10)?, number(12)?))
}

fn switches(pid: u32, thread: u32) -> Option<u64> {
    // The name of a thread, which stands there too, may be cut within a letter and so be no UTF-8.
    let status = fs::read(format!("/proc/{pid}/task/{thread}/status")).ok()?;
    let status = String::from_utf8_lossy(&status);
    let number =
        |name: &str| -> Option<u64> { status.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok() };
    Some(number("voluntary_ctxt_switches:")? + number("nonvoluntary_ctxt_switches:")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::process_cpu;

    #[test]
    fn a_thread_whose_name_was_cut_within_a_letter_is_counted_too() {
        let counted = std::thread::spawn(|| {
            // SAFETY: the name ends with a zero and is read during the call, which changes the calling thread alone.
            let named = unsafe { libc::prctl(libc::PR_SET_NAME, c"gr\xc3".as_ptr()) };
            let own = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
            (named, switches(std::process::id(), own))
        });
        let (named, switches) = counted.join().unwrap();
        assert!(named == 0 && switches.is_some(), "{named} {switches:?}");
    }

    #[test]
    fn the_account_of_this_process_grows_and_that_of_none_is_absent() {
        let before = UsageSnapshot::of(std::process::id());
        let start = process_cpu();
        while process_cpu().since(start) < Nanos::from_millis(5) {}
        let booked = UsageSnapshot::of(std::process::id()).since(&before);
        assert!(booked.cpu >= Some(Nanos::from_millis(5)), "{booked:?}");
        assert!(booked.page_faults.is_some() && booked.context_switches.is_some());
        assert_eq!(UsageSnapshot::of(u32::MAX - 1).since(&UsageSnapshot::default()), UsageDelta::default());
    }
}
