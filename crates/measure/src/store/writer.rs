//! Replacing a file whole: temporary file, fsync, rename, fsync of the directory. And removing what killed
//! writers left.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// How the names of temporary files begin; the dot keeps them out of every list of runs.
const TEMPORARY_PREFIX: &str = ".readpath-writing-";

/// Bytes written to prove that there is room: about a run document with its timelines.
const PROBE_BYTES: usize = 64 << 10;

/// Puts `bytes` at `path` in `dir`, whole or not at all, and durable when it returns.
pub(super) fn replace(dir: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temporary = Temporary::create(dir)?;
    temporary.file.write_all(bytes)?;
    temporary.file.sync_all()?;
    temporary.rename(path)?;
    // Without this the new name may be lost with the power although its content is on the device.
    File::open(dir)?.sync_all()
}

/// Fails when a file cannot be made or filled in `dir`.
pub(super) fn probe(dir: &Path) -> io::Result<()> {
    let mut temporary = Temporary::create(dir)?;
    temporary.file.write_all(&[0; PROBE_BYTES])?;
    // Some file systems allocate late and say only now that they are full.
    temporary.file.sync_all()
}

/// Removes temporary files whose writer is dead.
///
/// A writer holds a lock on its file as long as it lives, so a lock that can be had proves that it does not. Process
/// ids would not: they come again, and mean nothing in another container that shares the directory.
pub(super) fn sweep(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(TEMPORARY_PREFIX) {
            sweep_one(&entry.path());
        }
    }
    Ok(())
}

/// A file that cannot be judged or removed stays: it harms nothing.
fn sweep_one(path: &Path) {
    let Ok(file) = File::open(path) else { return };
    if file.try_lock().is_ok() {
        let _ = fs::remove_file(path);
    }
}

/// A temporary file, locked while it is written and removed unless it was renamed.
struct Temporary {
    file: File,
    path: PathBuf,
    renamed: bool,
}

impl Temporary {
    fn create(dir: &Path) -> io::Result<Temporary> {
        loop {
            let path = dir.join(unused_name());
            let file = match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            };
            let temporary = Temporary { file, path, renamed: false };
            if temporary.claim()? {
                return Ok(temporary);
            }
        }
    }

    /// Takes the lock; false when another process swept the file between its creation and the lock.
    fn claim(&self) -> io::Result<bool> {
        match self.file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(false),
            // A file system without locks: nobody else can take one either, so nobody sweeps.
            Err(TryLockError::Error(_)) => return Ok(true),
        }
        let inode = self.file.metadata()?.ino();
        Ok(fs::metadata(&self.path).is_ok_and(|found| found.ino() == inode))
    }

    fn rename(mut self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A name that no other writer of this process uses; one of another process with the same id is met by `create_new`.
fn unused_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{TEMPORARY_PREFIX}{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_writer_left_is_swept_and_what_a_living_one_writes_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let abandoned = dir.path().join(format!("{TEMPORARY_PREFIX}1-0"));
        fs::write(&abandoned, "half").unwrap();
        let living = Temporary::create(dir.path()).unwrap();
        sweep(dir.path()).unwrap();
        assert!(!abandoned.exists());
        assert!(living.path.exists());
    }

    #[test]
    fn a_writer_that_fails_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let nowhere = dir.path().join("missing/run.json");
        assert!(replace(dir.path(), &nowhere, b"{}").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
