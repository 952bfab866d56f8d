//! A folder of this process: locked while the process lives, and removed with all that is in it. What a killed process
//! left is removed by the next one that makes such a folder.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;

/// How often the removal of a folder is tried, and the pause between: a process that was just killed may still finish
/// the call that makes a file.
const REMOVALS: usize = 40;
const BETWEEN_REMOVALS: Duration = Duration::from_millis(25);

/// Distinguishes the folders of one process.
static FOLDERS: AtomicU64 = AtomicU64::new(0);

/// What becomes of folders that killed processes left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftovers {
    /// They stay, and are only found.
    Found,
    /// They are removed.
    Removed,
}

/// A folder that is removed when it is dropped.
#[derive(Debug)]
pub struct OwnFolder {
    path: PathBuf,
    /// The folder itself, open: the kernel lets the lock go when the process ends, however it ends.
    lock: Option<File>,
}

impl OwnFolder {
    /// Makes a folder in `parent` that only this user can enter; the process number and a count follow `prefix` in its
    /// name. First it removes the folders of this prefix that killed processes of this user left. Errors where the
    /// folder cannot be made, opened or locked; then it is not left.
    pub fn create(parent: &Path, prefix: &str) -> io::Result<OwnFolder> {
        OwnFolder::create_with_mode(parent, prefix, 0o700)
    }

    /// As [`OwnFolder::create`], with the permissions of `mode` that the umask leaves: for a folder that is published.
    pub fn create_with_mode(parent: &Path, prefix: &str, mode: u32) -> io::Result<OwnFolder> {
        sweep(parent, prefix, Leftovers::Removed);
        loop {
            let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{prefix}{}-{number}", std::process::id()));
            match DirBuilder::new().mode(mode).create(&path) {
                // In another container a process may have the same number.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            match lock(&path) {
                Ok(lock) if is_at(&lock, &path) => return Ok(OwnFolder { path, lock: Some(lock) }),
                // Another process may have swept it before it was locked, or does so now.
                Ok(_) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) if error.kind() == ErrorKind::NotFound => {}
                // Out of descriptors, or a file system without locks: the next folder would fare no better.
                Err(TryLockError::Error(error)) => {
                    let _ = fs::remove_dir(&path);
                    return Err(error);
                }
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it, and reports where that fails.
    pub fn remove(mut self) -> io::Result<()> {
        self.remove_now()
    }

    /// The lock goes first: where no more files can be opened, its descriptor is the one that the removal needs.
    fn remove_now(&mut self) -> io::Result<()> {
        self.lock = None;
        remove(&self.path)
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        // The next process removes what cannot be removed now.
        let _ = self.remove_now();
    }
}

/// The folders of this prefix in `parent` that killed processes of this user left; they are gone where they are to be
/// removed.
pub fn sweep(parent: &Path, prefix: &str, fate: Leftovers) -> Vec<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    sweep_after((parent, prefix), fate, &|owner| owner == user, &|_| ())
}

/// As [`sweep`], of all folders whose owner `is_ours`; each is removed after `end` has ended what still works in it.
pub fn sweep_after(
    (parent, prefix): (&Path, &str),
    fate: Leftovers,
    is_ours: &dyn Fn(u32) -> bool,
    end: &dyn Fn(&Path),
) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let named = entries.filter(|entry| is_named(entry.file_name().as_encoded_bytes(), prefix));
    let is_left = |path: &PathBuf| {
        let Ok(lock) = lock(path) else { return false };
        let is_dead = is_at(&lock, path) && lock.metadata().is_ok_and(|folder| is_ours(folder.uid()));
        if !is_dead || fate == Leftovers::Found {
            return is_dead;
        }
        end(path);
        remove(path).is_ok()
    };
    named.map(|entry| entry.path()).filter(is_left).collect()
}

/// Whether a folder has a name that [`OwnFolder::create`] gives: root would remove other users' folders of another.
fn is_named(name: &[u8], prefix: &str) -> bool {
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let numbers = name.strip_prefix(prefix.as_bytes()).and_then(|rest| {
        let dash = rest.iter().position(|byte| *byte == b'-')?;
        Some((&rest[..dash], &rest[dash + 1..]))
    });
    numbers.is_some_and(|(process, count)| is_number(process) && is_number(count))
}

/// The folder, open and locked. Errors where a living process has it, and where the file system knows no locks.
fn lock(path: &Path) -> Result<File, TryLockError> {
    let flags = (OFlags::DIRECTORY | OFlags::NOFOLLOW).bits().cast_signed();
    let folder = File::options().read(true).custom_flags(flags).open(path).map_err(TryLockError::Error)?;
    folder.try_lock()?;
    Ok(folder)
}

/// Whether the open folder is still the one of that name.
fn is_at(folder: &File, path: &Path) -> bool {
    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    folder.metadata().ok().map(identity) == fs::symlink_metadata(path).ok().map(identity)
}

fn remove(path: &Path) -> io::Result<()> {
    for _ in 1..REMOVALS {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => thread::sleep(BETWEEN_REMOVALS),
            // Another process swept it after its lock had gone.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            other => return other,
        }
    }
    fs::remove_dir_all(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: &str = "readpath-trial-";

    #[test]
    fn a_living_folder_is_left_alone_and_that_of_a_killed_process_is_removed_by_the_next() {
        let parent = tempfile::tempdir().unwrap();
        let living = OwnFolder::create(parent.path(), PREFIX).unwrap();
        assert_eq!(fs::metadata(living.path()).unwrap().mode() & 0o777, 0o700);
        let dead = parent.path().join(format!("{PREFIX}1-0"));
        fs::create_dir_all(dead.join("inner")).unwrap();
        fs::write(dead.join("inner/file"), "left").unwrap();
        let (foreign, target) = (parent.path().join("another-folder"), parent.path().join("target"));
        fs::create_dir(&foreign).unwrap();
        fs::create_dir(&target).unwrap();
        std::os::unix::fs::symlink(&target, parent.path().join(format!("{PREFIX}link"))).unwrap();
        let next = OwnFolder::create(parent.path(), PREFIX).unwrap();
        assert!(!dead.exists());
        assert!([living.path(), next.path(), &foreign, &target].iter().all(|path| path.is_dir()));
        let path = living.path().to_path_buf();
        living.remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_that_another_process_has_swept_is_removed_and_no_error() {
        let parent = tempfile::tempdir().unwrap();
        let folder = OwnFolder::create(parent.path(), PREFIX).unwrap();
        fs::remove_dir_all(folder.path()).unwrap();
        folder.remove().unwrap();
    }

    #[test]
    fn what_still_works_in_a_folder_is_ended_before_its_removal() {
        let parent = tempfile::tempdir().unwrap();
        let dead = parent.path().join(format!("{PREFIX}1-0"));
        fs::create_dir(&dead).unwrap();
        let is_there = |path: &Path| assert!(path.is_dir());
        let sweep = |fate, is_ours: bool| sweep_after((parent.path(), PREFIX), fate, &|_| is_ours, &is_there);
        assert_eq!(sweep(Leftovers::Removed, false), Vec::<PathBuf>::new());
        assert_eq!(sweep(Leftovers::Found, true), std::slice::from_ref(&dead));
        assert_eq!(sweep(Leftovers::Removed, true), [dead]);
        assert_eq!(sweep(Leftovers::Found, true), Vec::<PathBuf>::new());
    }
}
