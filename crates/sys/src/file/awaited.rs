//! Pipes, terminals and others whose bytes come when another program writes: a reader that can be called off.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::process::poll;

/// Longest sleep before the flag is read again, in milliseconds.
const NAP_MILLIS: libc::c_int = 50;

/// The flag of the whole process: a read that waits for bytes holds up everything behind it.
static CALLED_OFF: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on, reads that wait for bytes end with an error when this flag is raised, and [`unless_called_off`] gives
/// one. The first flag counts.
pub fn call_off_by(flag: Arc<AtomicBool>) {
    let _ = CALLED_OFF.set(flag);
}

/// An error if the flag is raised, for a loop that may read long before its caller can look at it.
pub fn unless_called_off() -> io::Result<()> {
    match CALLED_OFF.get().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
        true => Err(io::Error::other("a signal ended the reading")),
        false => Ok(()),
    }
}

/// Opens a file for reading. A named pipe is opened before its writer is there, which a plain open waits for.
pub fn open(path: &Path) -> io::Result<File> {
    let is_pipe = std::fs::metadata(path)?.file_type().is_fifo();
    OpenOptions::new().read(true).custom_flags(if is_pipe { libc::O_NONBLOCK } else { 0 }).open(path)
}

/// A descriptor whose bytes are waited for.
#[derive(Debug)]
pub struct Awaited(File);

impl Awaited {
    /// Over a pipe, a terminal or a socket.
    pub fn new(file: File) -> Awaited {
        Awaited(file)
    }
}

impl Read for Awaited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            wait(&self.0)?;
            match self.0.read(buffer) {
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                answer => return answer,
            }
        }
    }
}

/// Sleeps until there are bytes, a signal comes or the time is over. Gives whether the other end is gone, so that no
/// bytes will come any more: a terminal that was closed.
pub fn is_closed_within(descriptor: BorrowedFd<'_>, limit: Duration) -> io::Result<bool> {
    let millis = libc::c_int::try_from(limit.as_millis()).unwrap_or(libc::c_int::MAX);
    Ok(poll(descriptor, millis)? & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0)
}

/// Sleeps until there are bytes, or no more will come; errors when it is called off.
fn wait(file: &File) -> io::Result<()> {
    loop {
        unless_called_off()?;
        if poll(file.as_fd(), NAP_MILLIS)? != 0 {
            return Ok(());
        }
    }
}
