//! Which processes the server has now: the children of its first one.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// How often new processes are looked for: a session of one short statement is to be met.
const LOOKED_EVERY: Duration = Duration::from_millis(10);

/// The list is read this often also where no process seems to have begun.
const READ_EVERY: Duration = Duration::from_secs(1);

/// The part of the time that reading the list may take: it grows with the number of processes.
const SHARE_MAX: u32 = 100;

/// The number of the process that was begun last, in all of the machine, or of the container.
const LAST_BORN: &str = "/proc/sys/kernel/ns_last_pid";

/// The kernel's list of a process's children.
pub(super) struct Relatives {
    list: File,
    /// What was read of it last, when, and from when on it may be read again.
    listed: Vec<u8>,
    read: Option<Instant>,
    next: Instant,
    /// `None` where the kernel does not say which process was begun last.
    births: Option<File>,
    last_born: Vec<u8>,
}

impl Relatives {
    /// The list of a process's children. Errors where there is no such process.
    pub(super) fn of(process: u32) -> io::Result<Relatives> {
        Ok(Relatives {
            list: File::open(format!("/proc/{process}/task/{process}/children"))?,
            listed: Vec::new(),
            read: None,
            next: Instant::now(),
            births: File::open(LAST_BORN).ok(),
            last_born: Vec::new(),
        })
    }

    /// Whether it is time to read the list again. Where what it showed is all known and `is_whole`, it is read when a
    /// process was begun somewhere.
    pub(super) fn is_due(&mut self, is_whole: bool) -> bool {
        let now = Instant::now();
        if now < self.next {
            return false;
        }
        self.next = now + LOOKED_EVERY;
        let is_old = self.read.is_none_or(|read| now.duration_since(read) >= READ_EVERY);
        let has_births = self.has_births();
        is_old || !is_whole || has_births
    }

    /// Whether a process may have been begun since this was asked last.
    fn has_births(&mut self) -> bool {
        let Some(births) = &self.births else { return true };
        let mut number = [0; 16];
        let Ok(length) = births.read_at(&mut number, 0) else { return true };
        let is_new = self.last_born != number[..length];
        if is_new {
            self.last_born.clear();
            self.last_born.extend_from_slice(&number[..length]);
        }
        is_new
    }

    /// Reads the list again; whether it differs from what was read before.
    pub(super) fn read(&mut self) -> io::Result<bool> {
        let begun = Instant::now();
        let mut now = Vec::with_capacity(self.listed.len() + 256);
        self.list.rewind()?;
        self.list.read_to_end(&mut now)?;
        let is_new = now != self.listed;
        self.listed = now;
        self.read = Some(begun);
        self.next = begun + LOOKED_EVERY.max(begun.elapsed() * SHARE_MAX);
        Ok(is_new)
    }

    /// The numbers of the processes, as they were read last.
    pub(super) fn numbers(&self) -> HashSet<u32> {
        numbers(&self.listed)
    }
}

/// The numbers in a list.
fn numbers(list: &[u8]) -> HashSet<u32> {
    String::from_utf8_lossy(list).split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::parent;

    #[test]
    fn a_process_is_found_under_its_parent() {
        let own = std::process::id();
        let mut child = std::process::Command::new("sleep").arg("5").spawn().unwrap();
        assert_eq!(parent(child.id()), Some(own));
        // Children are listed with the thread that started them.
        assert!(parent(u32::MAX).is_none() && Relatives::of(u32::MAX).is_err());
        assert_eq!(numbers(b"12 7 x 99 "), HashSet::from([12, 7, 99]));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_list_is_read_again_when_a_process_was_begun_and_not_before() {
        let mut relatives = Relatives::of(std::process::id()).unwrap();
        assert!(relatives.is_due(true), "it was never read");
        relatives.read().unwrap();
        assert!(!relatives.is_due(true), "a moment ago");
        let until_due = |relatives: &Relatives| {
            std::thread::sleep(relatives.next.saturating_duration_since(Instant::now()));
        };
        // On a busy machine the reading takes longer, and the next one comes later for that.
        until_due(&relatives);
        relatives.has_births();
        std::process::Command::new("true").status().unwrap();
        assert!(relatives.is_due(true), "a process was begun");
        until_due(&relatives);
        assert!(relatives.is_due(false), "one of those that are known has ended");
    }
}
