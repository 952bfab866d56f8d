//! A child that never outlives this process, not even `kill -9`, and that may run as another user.
//!
//! The kernel sends it a signal when the thread that started it ends (prctl(2), `PR_SET_PDEATHSIG`). So that a server
//! does not end with whichever thread happened to start it, a thread of its own starts it and waits for its end.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, test_kill_process_group, waitid,
};

/// The user and group that a child runs as, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// Number of the user.
    pub user: u32,
    /// Number of the user's group; supplementary groups are dropped.
    pub group: u32,
}

/// A running child. Dropping it kills it.
#[derive(Debug)]
pub struct BoundChild {
    id: u32,
    state: Arc<State>,
    keeper: Option<JoinHandle<()>>,
}

/// What the keeper knows of the child: the process number is the child's own until there is a status.
#[derive(Debug, Default)]
struct State {
    status: Mutex<Option<ExitStatus>>,
    ended: Condvar,
}

/// Makes the command's child run with `credentials`, if given, and receive `signal` when the thread that started it
/// ends. ^C in the terminal does not reach it: it has a process group of its own.
///
/// Only root can change credentials.
pub fn bind(command: &mut Command, credentials: Option<Credentials>, signal: Signal) {
    if let Some(Credentials { user, group }) = credentials {
        command.uid(user).gid(group);
    }
    command.process_group(0);
    end_with_this_thread(command, signal);
}

/// Makes the command's child receive `signal` when the thread that starts it ends, `kill -9` included: for a thread
/// that waits for the child. What the child itself starts gets no signal.
pub fn end_with_this_thread(command: &mut Command, signal: Signal) {
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only two system calls are made, which take and give numbers; nothing is allocated
    // or locked. The user is changed before this runs; changing it later would clear the signal.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(signal))?;
            // A parent that ended before the line above no longer sends anything.
            match rustix::process::getppid() == Some(parent) {
                true => Ok(()),
                false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
            }
        });
    }
}

impl BoundChild {
    /// Starts the command as [`bind`] prepares it.
    pub fn spawn(mut command: Command, credentials: Option<Credentials>, signal: Signal) -> io::Result<BoundChild> {
        bind(&mut command, credentials, signal);
        let state = Arc::new(State::default());
        let kept = Arc::clone(&state);
        let (sender, receiver) = mpsc::sync_channel(1);
        let keeper = thread::Builder::new().name("keeper".into()).spawn(move || match command.spawn() {
            Ok(child) => {
                let _ = sender.send(Ok(child.id()));
                kept.keep(child);
            }
            Err(error) => drop(sender.send(Err(error))),
        })?;
        let id = receiver.recv().map_err(io::Error::other)??;
        Ok(BoundChild { id, state, keeper: Some(keeper) })
    }

    /// The child's process number.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// How it ended; `None` while it runs.
    pub fn ended(&self) -> Option<ExitStatus> {
        *self.state.lock()
    }

    /// Waits for its end, at most for `limit`; returns how it ended, or `None`.
    pub fn wait(&self, limit: Duration) -> Option<ExitStatus> {
        let end = Instant::now() + limit;
        let mut status = self.state.lock();
        while status.is_none() {
            let left = end.checked_duration_since(Instant::now())?;
            let waited = self.state.ended.wait_timeout(status, left);
            status = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *status
    }

    /// Sends a signal unless it has ended.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        // Under the lock the child cannot be reaped, so its number cannot become another process's.
        let status = self.state.lock();
        match (*status, Pid::from_raw(self.id.cast_signed())) {
            (None, Some(pid)) => Ok(kill_process(pid, signal)?),
            _ => Ok(()),
        }
    }
}

impl BoundChild {
    /// Sends SIGTERM, and waits until it and its own children in its process group have ended, at most for `limit`; the
    /// children get no signal and run to their end. Does nothing if it has ended.
    pub fn end_gently(&self, limit: Duration) {
        let Some(group) = Pid::from_raw(self.id.cast_signed()) else { return };
        let is_asked = self.signal(Signal::TERM).is_ok() && self.ended().is_none();
        let end = Instant::now() + limit;
        while is_asked && test_kill_process_group(group).is_ok() && Instant::now() < end {
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends SIGTERM to it and to its own children in its process group, and kills what is left of these after `limit`.
    /// Does nothing if it has ended.
    pub fn end_group(&self, limit: Duration) {
        let Some(group) = Pid::from_raw(self.id.cast_signed()) else { return };
        {
            // Under the lock it cannot be reaped, so that its group is still its own.
            let status = self.state.lock();
            if status.is_some() || kill_process_group(group, Signal::TERM).is_err() {
                return;
            }
        }
        let end = Instant::now() + limit;
        while test_kill_process_group(group).is_ok() {
            if Instant::now() >= end {
                let _ = kill_process_group(group, Signal::KILL);
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills it with those of its own children that are still in its process group.
    fn kill_group(&self) {
        let status = self.state.lock();
        if let (None, Some(pid)) = (*status, Pid::from_raw(self.id.cast_signed())) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

impl Drop for BoundChild {
    fn drop(&mut self) {
        self.kill_group();
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

impl State {
    /// Waits for the child's end and takes its status.
    fn keep(&self, mut child: Child) {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(Pid::from_child(&child)), ended) {}
        let mut status = self.lock();
        // It has ended, so this gives its status at once.
        *status = Some(child.wait().unwrap_or_default());
        self.ended.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Option<ExitStatus>> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn sleeper() -> Command {
        let mut command = Command::new("sleep");
        command.arg("60");
        command
    }

    #[test]
    fn a_child_outlives_the_thread_that_asked_for_it_and_not_its_handle() {
        let child = thread::spawn(|| BoundChild::spawn(sleeper(), None, Signal::KILL).unwrap()).join().unwrap();
        assert_eq!(child.wait(Duration::from_millis(100)), None);
        let id = child.id();
        assert!(crate::process::is_there(id));
        drop(child);
        assert!(!crate::process::is_there(id));
    }

    #[test]
    fn what_the_child_has_started_ends_with_it() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & echo $!; wait"]);
        let (mut reader, writer) = io::pipe().unwrap();
        command.stdout(writer);
        let child = BoundChild::spawn(command, None, Signal::KILL).unwrap();
        let mut line = [0; 16];
        let length = io::Read::read(&mut reader, &mut line).unwrap();
        let grandchild: u32 = std::str::from_utf8(&line[..length]).unwrap().trim().parse().unwrap();
        assert!(crate::process::is_there(grandchild));
        drop(child);
        let start = Instant::now();
        while crate::process::is_there(grandchild) {
            assert!(start.elapsed() < Duration::from_secs(40), "it outlived its parent");
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn a_child_that_is_asked_to_end_may_tidy_up_first() {
        let mut command = Command::new("sh");
        command.args(["-c", "trap 'echo tidied; exit' TERM; echo ready; while :; do sleep 0.02; done"]);
        let (reader, writer) = io::pipe().unwrap();
        command.stdout(writer);
        let child = BoundChild::spawn(command, None, Signal::KILL).unwrap();
        let mut lines = io::BufRead::lines(io::BufReader::new(reader));
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        child.end_gently(Duration::from_secs(10));
        assert_eq!(lines.next().unwrap().unwrap(), "tidied");
        assert!(child.wait(Duration::from_secs(10)).is_some());
        child.end_gently(Duration::from_secs(10));
    }

    #[test]
    fn what_a_child_runs_ends_with_it_also_where_it_takes_no_signal() {
        for script in ["sleep 60 & echo $!; wait", "trap '' TERM; sleep 60 & echo $!; wait"] {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            let (reader, writer) = io::pipe().unwrap();
            command.stdout(writer);
            let child = BoundChild::spawn(command, None, Signal::KILL).unwrap();
            let line = io::BufRead::lines(io::BufReader::new(reader)).next().unwrap().unwrap();
            let grandchild: u32 = line.trim().parse().unwrap();
            assert!(crate::process::is_there(grandchild), "{script}");
            child.end_group(Duration::from_millis(300));
            let start = Instant::now();
            while crate::process::is_there(grandchild) {
                assert!(start.elapsed() < Duration::from_secs(40), "{script}: it outlived its parent");
                thread::sleep(Duration::from_millis(10));
            }
        }
    }

    #[test]
    fn the_end_of_a_child_is_told_with_its_signal() {
        let child = BoundChild::spawn(sleeper(), None, Signal::KILL).unwrap();
        child.signal(Signal::TERM).unwrap();
        let status = child.wait(Duration::from_secs(10)).unwrap();
        assert_eq!((status.signal(), child.ended()), (Some(libc::SIGTERM), Some(status)));
        child.signal(Signal::TERM).unwrap();
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error_and_no_child() {
        let error = BoundChild::spawn(Command::new("/nonexistent/program"), None, Signal::KILL).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_child_dies_with_the_thread_that_bound_it() {
        let started = thread::spawn(|| {
            let mut command = sleeper();
            bind(&mut command, None, Signal::TERM);
            command.spawn().unwrap()
        });
        let status = started.join().unwrap().wait().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGTERM));
    }

    #[test]
    fn root_becomes_another_user_for_a_child() {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root can become another user");
            return;
        }
        let mut command = Command::new("sh");
        command.args(["-c", "test $(id -u) = 65534 && test \"$(id -G)\" = 65533"]);
        let account = Some(Credentials { user: 65534, group: 65533 });
        let child = BoundChild::spawn(command, account, Signal::KILL).unwrap();
        assert_eq!(child.wait(Duration::from_secs(10)).and_then(|status| status.code()), Some(0));
    }
}
