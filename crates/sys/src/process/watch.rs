//! Watching another process: whether it runs, what it is called, and sleeping until it ends.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, io};

/// Longest sleep before the stop flag is read again.
pub(super) const NAP_MAX: Duration = Duration::from_millis(100);

/// Watches a process, which need not be a child, for `duration` or until it ends or `stop` is raised. Returns how long
/// that was, and whether the process still runs.
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

/// The name of a process as the kernel keeps it, of at most 15 bytes, which may end within a letter.
pub fn name(pid: u32) -> Option<String> {
    let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(String::from_utf8_lossy(&name).trim_end().to_string())
}

/// A descriptor that becomes readable when the process ends; `None` on kernels before 5.3.
pub(super) fn pidfd(pid: u32) -> Option<OwnedFd> {
    // SAFETY: pidfd_open takes a number and flags and touches no memory of ours.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, libc::c_long::from(pid), 0) };
    // SAFETY: the kernel just opened this descriptor for us, and nothing else knows it.
    (descriptor >= 0).then(|| unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) })
}

/// Sleeps for at most `nap`, or until the process ends; 1 ms at most if it cannot be watched. Whether it is known to
/// have ended.
pub(super) fn sleep_until_gone(pidfd: Option<&OwnedFd>, nap: Duration) -> bool {
    let Some(pidfd) = pidfd else {
        std::thread::sleep(nap.min(Duration::from_millis(1)));
        return false;
    };
    let millis = libc::c_int::try_from(nap.as_millis()).unwrap_or(libc::c_int::MAX).max(1);
    let has_ended = poll(pidfd.as_fd(), millis).is_ok_and(|said| said != 0);
    // A process that has ended leaves its descriptor readable: without a nap the callers' loops would spin until the
    // parent has taken its exit code.
    if has_ended {
        std::thread::sleep(Duration::from_micros(50));
    }
    has_ended
}

/// Sleeps until a descriptor can be read, a signal comes or the time is over; what the kernel says of the descriptor,
/// which is 0 where it says nothing.
pub(crate) fn poll(descriptor: BorrowedFd<'_>, millis: libc::c_int) -> io::Result<libc::c_short> {
    let mut watched = libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the pointer is to one structure of ours, which lives across the call.
    match unsafe { libc::poll(&mut watched, 1, millis) } {
        0.. => Ok(watched.revents),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            error => Err(error),
        },
    }
}

/// The fields of `/proc/PID/stat` from the third, the state, on. The second is the name, which may hold anything.
pub(super) fn stat(pid: u32) -> Option<Vec<String>> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let (_, fields) = text.rsplit_once(')')?;
    Some(fields.split_whitespace().map(String::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_never_was_is_not_there() {
        assert!(!is_there(u32::MAX - 1) && is_there(std::process::id()));
    }

    #[test]
    fn a_name_that_was_cut_within_a_letter_is_still_a_name() {
        let named = std::thread::spawn(|| {
            // SAFETY: the name ends with a zero and is read during the call, which changes the calling thread alone.
            let done = unsafe { libc::prctl(libc::PR_SET_NAME, c"gr\xc3".as_ptr()) };
            let own = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
            (done, name(own))
        });
        assert_eq!(named.join().unwrap(), (0, Some("gr\u{fffd}".to_string())));
    }
}
