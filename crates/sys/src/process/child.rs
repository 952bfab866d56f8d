//! Another process: what the kernel has booked on it, and waiting for its end.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::Nanos;

use crate::counters;

/// Longest sleep before the flag is looked at again.
const NAP_MAX: Duration = Duration::from_millis(100);

/// How long a process may take to end by itself after the user asked to stop: ^C reaches it from the terminal too.
const GRACE: Duration = Duration::from_millis(500);

/// How long a process may take to end after SIGTERM, before it is killed.
const GRACE_AFTER_TERM: Duration = Duration::from_secs(5);

/// What the kernel books on a process and the children that it has waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time in user mode.
    pub user: Nanos,
    /// Processor time in the kernel.
    pub system: Nanos,
    /// How often it gave its processor away, or had it taken.
    pub context_switches: u64,
    /// Pages that were there or only had to be laid out, and pages that were read from storage.
    pub page_faults: u64,
    /// Pages that were read from storage.
    pub major_faults: u64,
}

/// How waiting for a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The process ended by itself.
    ByItself,
    /// The user asked to stop.
    Stopped,
    /// Its time was up, and it was killed.
    TimedOut,
}

/// A process that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Exit code or signal.
    pub status: ExitStatus,
    /// What the kernel booked on it: getrusage(2) as wait4(2) gives it.
    pub usage: Usage,
    /// Why it ended.
    pub ending: Ending,
}

/// Waits for a child, and ends it when `stop` is raised or `limit` has passed.
pub fn wait(child: &Child, stop: &AtomicBool, limit: Option<Duration>) -> io::Result<Ended> {
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let gone = pidfd(child.id());
    let start = Instant::now();
    let (mut ending, mut asked, mut sent) = (Ending::ByItself, None, None);
    loop {
        if let Some((status, usage)) = reap(pid)? {
            return Ok(Ended { status, usage, ending });
        }
        if ending == Ending::ByItself && stop.load(Ordering::Relaxed) {
            (ending, asked) = (Ending::Stopped, Some(Instant::now()));
        }
        if ending == Ending::ByItself && limit.is_some_and(|limit| start.elapsed() >= limit) {
            ending = Ending::TimedOut;
            signal(pid, libc::SIGKILL);
        }
        if sent.is_none() && asked.is_some_and(|asked| asked.elapsed() >= GRACE) {
            sent = Some(Instant::now());
            signal(pid, libc::SIGTERM);
        }
        if sent.is_some_and(|sent| sent.elapsed() >= GRACE_AFTER_TERM) {
            signal(pid, libc::SIGKILL);
        }
        let left = limit.map_or(NAP_MAX, |limit| limit.saturating_sub(start.elapsed()).max(Duration::from_millis(1)));
        sleep_until_gone(gone.as_ref(), left.min(NAP_MAX));
    }
}

/// Watches a process that is nobody's child for `duration`, or until it ends or `stop` is raised; how long that was,
/// and whether it is still there.
pub fn watch(pid: u32, duration: Duration, stop: &AtomicBool) -> (Duration, bool) {
    let gone = pidfd(pid);
    let start = Instant::now();
    while start.elapsed() < duration && !stop.load(Ordering::Relaxed) {
        if !is_there(pid) {
            return (start.elapsed(), false);
        }
        sleep_until_gone(gone.as_ref(), duration.saturating_sub(start.elapsed()).min(NAP_MAX));
    }
    (start.elapsed(), is_there(pid))
}

/// Whether the process runs: neither gone nor ended and waiting for its parent.
pub fn is_there(pid: u32) -> bool {
    let state = stat(pid).and_then(|fields| fields.first().cloned());
    state.is_some_and(|state| state != "Z" && state != "X")
}

/// The name of a process as the kernel keeps it, of at most 15 bytes.
pub fn name(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/comm")).ok().map(|name| name.trim_end().to_string())
}

/// A descriptor that becomes readable when the process ends; `None` on kernels before 5.3.
fn pidfd(pid: u32) -> Option<OwnedFd> {
    // SAFETY: pidfd_open takes a number and flags and touches no memory of ours.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, libc::c_long::from(pid), 0) };
    // SAFETY: the kernel just opened this descriptor for us, and nothing else knows it.
    (descriptor >= 0).then(|| unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) })
}

/// Sleeps for at most `nap`, and less when the process ends; a moment where it cannot be watched.
fn sleep_until_gone(pidfd: Option<&OwnedFd>, nap: Duration) {
    let Some(pidfd) = pidfd else { return std::thread::sleep(nap.min(Duration::from_millis(1))) };
    let mut watched = libc::pollfd { fd: pidfd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let millis = libc::c_int::try_from(nap.as_millis()).unwrap_or(libc::c_int::MAX).max(1);
    // SAFETY: the pointer is to one structure of ours, which lives across the call.
    let ready = unsafe { libc::poll(&mut watched, 1, millis) };
    // A process that is gone leaves its descriptor readable: without a nap the loops above would spin until the
    // parent has taken its exit code.
    if ready > 0 {
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// Takes a child that has ended, with what the kernel booked on it.
fn reap(pid: libc::pid_t) -> io::Result<Option<(ExitStatus, Usage)>> {
    let mut status = 0;
    // SAFETY: all-zero is a valid value of this structure of integers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to values of ours that live across the call.
    match unsafe { libc::wait4(pid, &mut status, libc::WNOHANG, &mut usage) } {
        0 => Ok(None),
        -1 => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            error => Err(error),
        },
        _ => Ok(Some((ExitStatus::from_raw(status), Usage::of(&usage)))),
    }
}

fn signal(pid: libc::pid_t, number: libc::c_int) {
    // SAFETY: kill takes two numbers. The child has not been waited for, so the number is still its own.
    unsafe { libc::kill(pid, number) };
}

impl Usage {
    fn of(usage: &libc::rusage) -> Usage {
        let nanos = |time: libc::timeval| Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000);
        Usage {
            user: nanos(usage.ru_utime),
            system: nanos(usage.ru_stime),
            context_switches: (usage.ru_nvcsw + usage.ru_nivcsw) as u64,
            page_faults: (usage.ru_minflt + usage.ru_majflt) as u64,
            major_faults: usage.ru_majflt as u64,
        }
    }
}

/// What the kernel has booked on a process that is nobody's child, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    cpu: Option<Nanos>,
    faults: Option<(u64, u64)>,
    switches: BTreeMap<u32, u64>,
}

/// What was booked between two moments; what the kernel does not tell is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Booked {
    /// Processor time of all threads, those that have ended included.
    pub cpu: Option<Nanos>,
    /// Context switches of the threads that were there at the second moment.
    pub context_switches: Option<u64>,
    /// Page faults, major ones included.
    pub page_faults: Option<u64>,
    /// Pages that were read from storage.
    pub major_faults: Option<u64>,
}

impl Account {
    /// What is booked on a process now: its CPU clock, `/proc/PID/stat`, and `status` of each of its threads.
    pub fn of(pid: u32) -> Account {
        let threads = counters::threads(pid).unwrap_or_default();
        let switches = threads.into_iter().filter_map(|thread| Some((thread, switches(pid, thread)?))).collect();
        Account { cpu: cpu_clock(pid), faults: faults(pid), switches }
    }

    /// What was added since `earlier`.
    pub fn since(&self, earlier: &Account) -> Booked {
        let faults = self.faults.zip(earlier.faults);
        let minor = faults.map(|(now, then)| now.0.saturating_sub(then.0));
        let major = faults.map(|(now, then)| now.1.saturating_sub(then.1));
        let added =
            |(thread, count): (&u32, &u64)| count.saturating_sub(earlier.switches.get(thread).copied().unwrap_or(0));
        Booked {
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
    let answered = unsafe { libc::clock_gettime(clock, &mut time) } == 0;
    answered.then(|| Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64))
}

/// The fields of `/proc/PID/stat` from the third, the state, on. The second is the name, which may hold anything.
fn stat(pid: u32) -> Option<Vec<String>> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let (_, fields) = text.rsplit_once(')')?;
    Some(fields.split_whitespace().map(String::from).collect())
}

/// Minor and major page faults of all threads: fields 10 and 12 of proc(5).
fn faults(pid: u32) -> Option<(u64, u64)> {
    let fields = stat(pid)?;
    let number = |field: usize| fields.get(field - 3)?.parse().ok();
    Some((number(10)?, number(12)?))
}

fn switches(pid: u32, thread: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/task/{thread}/status")).ok()?;
    let number =
        |name: &str| -> Option<u64> { status.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok() };
    Some(number("voluntary_ctxt_switches:")? + number("nonvoluntary_ctxt_switches:")?)
}

#[cfg(test)]
#[allow(clippy::zombie_processes, reason = "`wait` of this file reaps them, which is what is tested")]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    /// A child that would run for a minute.
    fn sleeper() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    #[test]
    fn a_child_is_reaped_with_its_code_and_its_time() {
        let child = Command::new("sh").args(["-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 7"]).spawn();
        let ended = wait(&child.unwrap(), &AtomicBool::new(false), None).unwrap();
        assert_eq!((ended.status.code(), ended.ending), (Some(7), Ending::ByItself));
        assert!(ended.usage.user + ended.usage.system > Nanos(0) && ended.usage.page_faults > 0, "{ended:?}");
    }

    #[test]
    fn a_child_that_takes_too_long_is_killed() {
        let child = sleeper();
        let ended = wait(&child, &AtomicBool::new(false), Some(Duration::from_millis(100))).unwrap();
        assert_eq!((ended.status.signal(), ended.ending), (Some(libc::SIGKILL), Ending::TimedOut));
    }

    #[test]
    fn a_stopped_run_does_not_leave_its_child_behind() {
        let child = sleeper();
        let ended = wait(&child, &AtomicBool::new(true), None).unwrap();
        assert_eq!((ended.status.signal(), ended.ending), (Some(libc::SIGTERM), Ending::Stopped));
    }

    #[test]
    fn the_account_of_this_process_grows_and_that_of_none_is_absent() {
        let before = Account::of(std::process::id());
        let start = crate::process::process_cpu();
        while crate::process::process_cpu().since(start) < Nanos::from_millis(5) {}
        let booked = Account::of(std::process::id()).since(&before);
        assert!(booked.cpu >= Some(Nanos::from_millis(5)), "{booked:?}");
        assert!(booked.page_faults.is_some() && booked.context_switches.is_some());
        assert_eq!(Account::of(u32::MAX - 1).since(&Account::default()), Booked::default());
        assert!(!is_there(u32::MAX - 1) && is_there(std::process::id()));
    }
}
