//! Waiting for a child to end, with what the kernel charged it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use measure::Nanos;
use rustix::process::{Signal, pidfd_send_signal};

use super::orphans::Orphans;
use super::tree::{PROCESSES, descendants};
use super::watch::{NAP_MAX, pidfd, sleep_until_gone};

/// Time for a process to end by itself after the user asked to stop: ^C reaches it from the terminal too.
const GRACE: Duration = Duration::from_millis(500);

/// Time for a process to end after SIGTERM, before it is killed.
const GRACE_AFTER_TERM: Duration = Duration::from_secs(5);

/// Time for processes to be gone after SIGKILL, before what they have started meanwhile is killed too.
const GRACE_AFTER_KILL: Duration = Duration::from_millis(200);

/// Between two looks at what a command has left behind.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// What the kernel charges to a process and the children that it has waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time in user mode.
    pub user: Nanos,
    /// Processor time in the kernel.
    pub system: Nanos,
    /// How often it gave its processor up, or lost it.
    pub context_switches: u64,
    /// Faults on pages in memory, on fresh pages, and on pages read from storage.
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
    /// The time limit passed, and it was killed.
    TimedOut,
}

/// A process that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Exit code or signal.
    pub status: ExitStatus,
    /// What the kernel charged to it: getrusage(2) as wait4(2) returns it.
    pub usage: Usage,
    /// Why it ended.
    pub ending: Ending,
}

/// Waits for a child, and ends it when `stop` is raised or `limit` has passed, with what it has started. What a child
/// leaves behind that still ran when `stop` was seen is waited for too, and is killed where it does not end. What one
/// has started that the same ^C has already ended is found only where this process adopts it
/// ([`Adoption`](super::Adoption)). A child that ends by itself leaves what it started to itself.
pub fn wait(child: &Child, stop: &AtomicBool, limit: Option<Duration>) -> io::Result<Ended> {
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let (gone, orphans) = (pidfd(child.id()), Orphans::of(pid));
    let start = Instant::now();
    let (mut ending, mut asked, mut sent) = (Ending::ByItself, None, None);
    let mut below = Vec::new();
    loop {
        if let Some((status, usage)) = reap(pid)? {
            // The kernel sends ^C to all processes of a terminal before one of them ends: the flag is up by now.
            if ending == Ending::ByItself && stop.load(Ordering::Relaxed) {
                (ending, asked) = (Ending::Stopped, Some(Instant::now()));
            }
            match (asked, &orphans) {
                (Some(asked), orphans) => see_off(below, orphans.as_ref(), asked, sent),
                (None, Some(orphans)) if ending == Ending::TimedOut => orphans.signal(Signal::KILL),
                _ => {}
            }
            return Ok(Ended { status, usage, ending });
        }
        orphans.iter().for_each(Orphans::reap);
        if ending == Ending::ByItself && stop.load(Ordering::Relaxed) {
            (ending, asked) = (Ending::Stopped, Some(Instant::now()));
            below.extend(watched_descendants(pid));
        }
        if ending == Ending::ByItself && limit.is_some_and(|limit| start.elapsed() >= limit) {
            ending = Ending::TimedOut;
            signal_with_descendants(pid, libc::SIGKILL);
        }
        if sent.is_none() && asked.is_some_and(|asked| asked.elapsed() >= GRACE) {
            sent = Some(Instant::now());
            below.extend(watched_descendants(pid));
            signal_with_descendants(pid, libc::SIGTERM);
            orphans.iter().for_each(|orphans| orphans.signal(Signal::TERM));
        }
        if sent.is_some_and(|sent| sent.elapsed() >= GRACE_AFTER_TERM) {
            signal_with_descendants(pid, libc::SIGKILL);
        }
        let left = limit.map_or(NAP_MAX, |limit| limit.saturating_sub(start.elapsed()).max(Duration::from_millis(1)));
        sleep_until_gone(gone.as_ref(), left.min(NAP_MAX));
    }
}

/// Reaps a child that has ended, with what the kernel charged to it.
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

/// The processes that a child has started, by descriptors: once the child has ended, nothing leads to them any more,
/// and their numbers may become those of others. None on kernels before 5.3.
fn watched_descendants(pid: libc::pid_t) -> impl Iterator<Item = OwnedFd> {
    descendants(pid, Path::new(PROCESSES)).into_iter().filter_map(|pid| pidfd(pid.try_into().ok()?))
}

/// Waits for what a child has left behind, which was asked to end at `asked`. What runs on after the time for that gets
/// SIGTERM, unless that was `sent` already, and SIGKILL where it ignores it. Not even that ends a process which the
/// kernel does not let go, as in a read from a disk that does not answer: it is not waited for without end.
fn see_off(mut left: Vec<OwnedFd>, orphans: Option<&Orphans>, asked: Instant, sent: Option<Instant>) {
    let killed = GRACE + GRACE_AFTER_TERM;
    let steps = [(GRACE, Signal::TERM), (killed, Signal::KILL), (killed + GRACE_AFTER_KILL, Signal::KILL)];
    for (grace, signal) in steps.into_iter().skip(usize::from(sent.is_some())) {
        if have_ended(&mut left, orphans, asked + grace) {
            return;
        }
        for one in &left {
            // One that has ended meanwhile takes no signal.
            let _ = pidfd_send_signal(one, signal);
        }
    }
}

/// Waits for these processes until `end`, and for what they leave behind in turn, as far as this process adopts that;
/// whether all have ended. Where not, `left` are those that are to be ended.
fn have_ended(left: &mut Vec<OwnedFd>, orphans: Option<&Orphans>, end: Instant) -> bool {
    loop {
        let all = left.iter().all(|one| ends_by(one, end));
        let Some(orphans) = orphans else { return all };
        *left = orphans.watched();
        if left.is_empty() || Instant::now() >= end {
            return left.is_empty();
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// Waits for a process until `end`; whether it has ended by then.
fn ends_by(process: &OwnedFd, end: Instant) -> bool {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if sleep_until_gone(Some(process), left.min(NAP_MAX)) {
            return true;
        }
        if left.is_zero() {
            return false;
        }
    }
}

/// Sends a signal to a child and to what it has started, which would go on without it: a shell ends and leaves its
/// programs.
fn signal_with_descendants(pid: libc::pid_t, number: libc::c_int) {
    let below = descendants(pid, Path::new(PROCESSES));
    // The child first, so that it starts nothing more.
    [pid].into_iter().chain(below).for_each(|pid| signal(pid, number));
}

fn signal(pid: libc::pid_t, number: libc::c_int) {
    // SAFETY: kill takes two numbers. The child has not been waited for, so the number is still its own; that of a
    // descendant was its own just before.
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

#[cfg(test)]
#[allow(clippy::zombie_processes, reason = "`wait` of this file reaps them, which is what is tested")]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::process::is_there;

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
    fn what_a_child_that_is_ended_has_started_ends_with_it() {
        if !Path::new("/proc/thread-self/children").exists() {
            return println!("skipped: this kernel does not list the children of a process");
        }
        // A shell that starts a shell that starts the last one.
        let script = "sh -c 'sleep 60 & echo $!; wait'; true";
        let soon = Some(Duration::from_millis(1));
        for (is_stopped, limit, ending) in [(false, soon, Ending::TimedOut), (true, None, Ending::Stopped)] {
            let mut child = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
            let mut line = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
            let last: u32 = line.trim().parse().unwrap();
            assert!(is_there(last));
            let ended = wait(&child, &AtomicBool::new(is_stopped), limit).unwrap();
            assert_eq!(ended.ending, ending);
            let start = Instant::now();
            while is_there(last) {
                assert!(start.elapsed() < Duration::from_secs(40), "{ending:?}: it outlived what started it");
                thread::sleep(Duration::from_millis(10));
            }
        }
    }

    #[test]
    fn what_ignores_the_end_of_its_child_ends_too_when_a_run_is_stopped() {
        if !Path::new("/proc/thread-self/children").exists() || pidfd(std::process::id()).is_none() {
            return println!("skipped: this kernel does not list the children of a process or lets none be watched");
        }
        // One whose program ignores SIGTERM, and one that ends by itself and leaves its program to itself.
        let ignores = "(trap '' TERM; echo; exec sleep 60) & echo $!; wait";
        let leaves = "sleep 60 & echo; echo $!; sleep 0.4";
        for script in [ignores, leaves] {
            let mut child = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines().take(2).map(Result::unwrap);
            let last: u32 = lines.collect::<String>().parse().unwrap();
            let ended = wait(&child, &AtomicBool::new(true), None).unwrap();
            assert_eq!(ended.ending, Ending::Stopped);
            let start = Instant::now();
            while is_there(last) {
                assert!(start.elapsed() < Duration::from_secs(40), "{script}: it outlived what started it");
                thread::sleep(Duration::from_millis(10));
            }
        }
    }

    #[test]
    fn a_stopped_run_does_not_leave_its_child_behind() {
        let child = sleeper();
        let ended = wait(&child, &AtomicBool::new(true), None).unwrap();
        assert_eq!((ended.status.signal(), ended.ending), (Some(libc::SIGTERM), Ending::Stopped));
    }
}
