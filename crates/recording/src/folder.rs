//! The folder of a recording: locked while a recorder lives, and kept within its limits.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use measure::atomic_file::sync_folder;
use measure::sorting;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::decode::is_segment;
use crate::encode::CHECKSUM_AT;
use crate::name::SegmentName;

/// The name of the file that is being written. Of a killed recorder it is replaced by the next.
const DRAFT: &str = ".readpath-segment.partial";

/// How long another process may still have a lock that was let go: a child that has it with all that its parent had
/// open, until it runs a program of its own.
const LET_GO: Duration = Duration::from_millis(500);
const TRIED_EVERY: Duration = Duration::from_millis(10);

/// Why there is no folder to record to.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Another recorder has it.
    #[error("another recorder writes to {}: give this one a folder of its own.", .0.display())]
    Locked(PathBuf),
    /// It cannot be made or used.
    #[error("{} cannot be recorded to: {source}.", path.display())]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// What the operating system answered.
        source: io::Error,
    },
}

/// Why a segment was not written.
#[derive(Debug, thiserror::Error)]
pub enum NotWritten {
    /// There is no room.
    #[error("there is no room in {}", .0.display())]
    OutOfSpace(PathBuf),
    /// Something else.
    #[error("{} cannot be written: {source}", path.display())]
    Failed {
        /// The folder.
        path: PathBuf,
        /// What the operating system answered.
        source: io::Error,
    },
}

/// A segment that could not be removed, such as one that its owner protects (`chattr +i`).
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be removed: {source}", path.display())]
pub struct NotRemoved {
    /// Its file.
    pub path: PathBuf,
    /// What the operating system answered.
    pub source: io::Error,
}

/// How much of a recording is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// How long, in microseconds; without end where it is not said.
    pub age: Option<i64>,
    /// How many bytes; any number where it is not said.
    pub bytes: Option<u64>,
}

/// The folder of a recording that this process writes.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// The folder itself, open: the kernel lets the lock go when the process ends, however it ends.
    _lock: File,
    next: u64,
    /// How many segments it had when it was listed last.
    listed: usize,
}

impl Folder {
    /// Opens the folder and makes it where it is not there; texts of statements are for its user alone.
    ///
    /// # Errors
    /// Where another recorder has it, or it cannot be made, locked or written to.
    pub fn open(path: &Path) -> Result<Folder, FolderError> {
        let unusable = |source| FolderError::Unusable { path: path.into(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unusable)?;
        let lock = File::open(path).map_err(unusable)?;
        lock_soon(&lock).map_err(|error| match error {
            fs::TryLockError::WouldBlock => FolderError::Locked(path.into()),
            fs::TryLockError::Error(source) => unusable(source),
        })?;
        // What cannot be written to says so now, and not when the first segment is over.
        remove_draft(path).map_err(unusable)?;
        create(&path.join(DRAFT)).map_err(unusable)?;
        remove_draft(path).map_err(unusable)?;
        let all = segments(path).map_err(unusable)?;
        let next = all.last().map_or(1, |(name, _)| behind(*name));
        Ok(Folder { path: path.into(), _lock: lock, next, listed: all.len() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the next segment.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// How many segments it had when it was listed last: as it was opened, and by [`Folder::keep`].
    pub fn listed(&self) -> usize {
        self.listed
    }

    /// Writes a segment: the file is there as a whole when it has its name.
    ///
    /// # Errors
    /// Where it cannot be written; nothing of it is left then.
    pub fn publish(&mut self, name: SegmentName, bytes: &[u8]) -> Result<(), NotWritten> {
        let draft = self.path.join(DRAFT);
        let written = self.write(&draft, name, bytes);
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written.map_err(|source| match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                NotWritten::OutOfSpace(self.path.clone())
            }
            _ => NotWritten::Failed { path: self.path.clone(), source },
        })?;
        self.next = behind(name);
        Ok(())
    }

    fn write(&self, draft: &Path, name: SegmentName, bytes: &[u8]) -> io::Result<()> {
        // Nothing that stands there is written to, neither a draft that could not be removed nor a link.
        remove_draft(&self.path)?;
        let mut file = create(draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        name_draft(draft, &self.path.join(name.to_string()))?;
        sync_folder(&self.path)
    }

    /// Removes the oldest segments that are beyond the limits at this time, in microseconds since 1970; the newest one
    /// stays. Gives how many were removed, and the first that could not be removed, which keeps none behind it.
    ///
    /// # Errors
    /// Where the folder cannot be listed.
    pub fn keep(&mut self, limits: Limits, now: i64) -> io::Result<(u64, Option<NotRemoved>)> {
        let all = segments(&self.path)?;
        self.listed = all.len();
        let mut bytes: u64 = all.iter().map(|(_, bytes)| bytes).sum();
        let (mut removed, mut refused) = (0, None);
        for (name, size) in &all[..all.len().saturating_sub(1)] {
            let is_old = limits.age.is_some_and(|age| name.end < now.saturating_sub(age));
            let is_beyond = limits.bytes.is_some_and(|most| bytes > most);
            // One whose clock was ahead keeps none behind it.
            if !is_old && !is_beyond {
                continue;
            }
            let path = self.path.join(name.to_string());
            bytes -= size;
            if !is_ours(&path) {
                continue;
            }
            match fs::remove_file(&path) {
                Ok(()) => removed += 1,
                Err(source) => refused = refused.or(Some(NotRemoved { path, source })),
            }
        }
        Ok((removed, refused))
    }
}

/// The number of the segment behind one. There is none behind the greatest, which only a file of another hand can have:
/// with the same number, names are in the order of their times.
fn behind(name: SegmentName) -> u64 {
    name.number.saturating_add(1)
}

/// Gives a draft its name, which no file may have. Where the file system has no such renaming, as over NFS, by a second
/// name: to link replaces nothing either.
fn name_draft(draft: &Path, path: &Path) -> io::Result<()> {
    match renameat_with(CWD, draft, CWD, path, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            fs::hard_link(draft, path)?;
            fs::remove_file(draft)
        }
        renamed => Ok(renamed?),
    }
}

/// Locks a folder, whose lock may be let go a moment later.
fn lock_soon(folder: &File) -> Result<(), fs::TryLockError> {
    let start = Instant::now();
    loop {
        match folder.try_lock() {
            Err(fs::TryLockError::WouldBlock) if start.elapsed() < LET_GO => thread::sleep(TRIED_EVERY),
            other => return other,
        }
    }
}

fn remove_draft(folder: &Path) -> io::Result<()> {
    match fs::remove_file(folder.join(DRAFT)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes the file that is being written.
fn create(draft: &Path) -> io::Result<File> {
    // Through a link, another file would be written to, and a pipe would wait for a reader.
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)
}

/// The segments of a folder with their bytes, in their order.
///
/// # Errors
/// Where it cannot be listed.
pub fn segments(folder: &Path) -> io::Result<Vec<(SegmentName, u64)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Some(name) = SegmentName::of(&entry.path()) else { continue };
        // It may have been removed meanwhile.
        let Ok(data) = entry.metadata() else { continue };
        if data.is_file() {
            found.push((name, data.len()));
        }
    }
    sorting::ascending(&mut found);
    Ok(found)
}

/// Whether a file is a segment: what only has the name of one is never removed.
fn is_ours(path: &Path) -> bool {
    let mut head = [0; CHECKSUM_AT];
    let is_file = fs::symlink_metadata(path).is_ok_and(|data| data.is_file());
    is_file && File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && is_segment(&head)
}
