//! What commands leave behind when they end, adopted by this process: so it can be found, ended and reaped.
//!
//! A process whose parent ends becomes a child of the nearest ancestor that asks for such, and without one a child of
//! the first process of all (prctl(2), `PR_SET_CHILD_SUBREAPER`).

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Signal, getpid, pidfd_send_signal, set_child_subreaper};

use super::tree::{PROCESSES, children, with_descendants};
use super::watch::{pidfd, stat};

/// Whether this process adopts orphans.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// As long as this is there, what the commands of this process leave behind becomes its children, and
/// [`wait`](super::wait) reaps them when they end, and ends them when the user asks to stop.
///
/// It is for a process that starts nothing meanwhile but commands for which it waits in turn: every other child that
/// ends would be reaped like an orphan.
#[derive(Debug)]
pub struct Adoption(());

impl Adoption {
    /// Begins to adopt.
    ///
    /// # Errors
    /// Where the kernel does not allow it: then nothing is adopted.
    pub fn begin() -> io::Result<Adoption> {
        set_child_subreaper(Some(getpid()))?;
        ADOPTS.store(true, Ordering::Relaxed);
        Ok(Adoption(()))
    }
}

impl Drop for Adoption {
    fn drop(&mut self) {
        ADOPTS.store(false, Ordering::Relaxed);
        // Those that were adopted stay so until this process ends.
        let _ = set_child_subreaper(None);
    }
}

/// What a command of this process leaves behind.
#[derive(Debug)]
pub(super) struct Orphans {
    /// The command itself.
    command: libc::pid_t,
    /// When it was begun. What was begun before is not its own.
    begun: Begun,
}

/// The tick of the kernel's clock in which a process was begun, and its number, which is greater than those of the
/// processes that were begun before it in the same tick.
type Begun = (u64, libc::pid_t);

impl Orphans {
    /// Those of a command that was started and not waited for; `None` where this process adopts none. It may have left
    /// some behind by now.
    pub(super) fn of(command: libc::pid_t) -> Option<Orphans> {
        // One of another user may be hidden.
        let orphans = || Orphans { command, begun: begun(command).unwrap_or((0, command)) };
        ADOPTS.load(Ordering::Relaxed).then(orphans)
    }

    /// Those that run, with what they have started, by descriptors: a number may become another process's when it
    /// ends. None on kernels before 5.3.
    pub(super) fn watched(&self) -> Vec<OwnedFd> {
        self.reap();
        let is_later = |pid: libc::pid_t| begun(pid).is_some_and(|begun| begun > self.begun);
        let is_orphan = |pid: &libc::pid_t| *pid != self.command && is_later(*pid);
        let children = children(getpid().as_raw_pid(), Path::new(PROCESSES));
        let orphans = children.into_iter().filter(is_orphan).collect();
        let all = with_descendants(orphans, Path::new(PROCESSES));
        all.into_iter().filter_map(|pid| pidfd(pid.try_into().ok()?)).collect()
    }

    /// Sends them a signal.
    pub(super) fn signal(&self, signal: Signal) {
        for one in self.watched() {
            // One that has ended meanwhile takes no signal, nor does one that runs as another user.
            let _ = pidfd_send_signal(&one, signal);
        }
    }

    /// Reaps those that have ended, which would take up numbers of processes until this process ends.
    pub(super) fn reap(&self) {
        while let Some(pid) = ended_child().filter(|pid| *pid != self.command) {
            // SAFETY: the call takes numbers, and a null pointer as the place for a status that is not wanted.
            if unsafe { libc::waitpid(pid, ptr::null_mut(), libc::WNOHANG) } != pid {
                return;
            }
        }
    }
}

/// When a process was begun: field 22 of proc(5).
fn begun(pid: libc::pid_t) -> Option<Begun> {
    let fields = stat(pid.try_into().ok()?)?;
    Some((fields.get(22 - 3)?.parse().ok()?, pid))
}

/// A child that has ended and is not reaped.
fn ended_child() -> Option<libc::pid_t> {
    // SAFETY: all-zero is a valid value of this structure of integers.
    let mut found: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the pointer is to a value of ours that lives across the call.
    let answer = unsafe { libc::waitid(libc::P_ALL, 0, &mut found, options) };
    // SAFETY: the call has filled in the fields of an ended child, or left them zero where there is none.
    let pid = unsafe { found.si_pid() };
    (answer == 0 && pid > 0).then_some(pid)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_was_started_before_a_command_is_told_from_what_it_starts() {
        let mut sleepers = [(); 2].map(|()| Command::new("sleep").arg("60").spawn().unwrap());
        let [first, second] = [&sleepers[0], &sleepers[1]].map(|one| begun(one.id().cast_signed()));
        for one in &mut sleepers {
            one.kill().unwrap();
            one.wait().unwrap();
        }
        assert!(first.is_some() && first < second, "{first:?} {second:?}");
        assert!(Orphans::of(1).is_none(), "nothing is adopted unless it is asked for");
    }
}
