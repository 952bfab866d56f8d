//! A data directory: its lock, and who uses it.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::error::{StorageError, io_error};

/// The name of the file that a loading process holds locked. It also shows that a directory is this program's.
pub const LOCK_FILE: &str = "readpath.lock";

/// The right to change a data directory, until it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    /// Takes the lock of an existing directory. Errors with [`StorageError::Locked`] when another process has it.
    pub fn take(directory: &Path) -> Result<DirectoryLock, StorageError> {
        let path = directory.join(LOCK_FILE);
        let opened = File::options().create(true).truncate(false).write(true).open(&path);
        let file = opened.map_err(io_error(&path, "opening"))?;
        match file.try_lock() {
            Ok(()) => Ok(DirectoryLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(StorageError::Locked { directory: directory.into() }),
            Err(TryLockError::Error(error)) => Err(io_error(&path, "locking")(error)),
        }
    }
}

/// The directories that this process uses. A lock belongs to the one opening of a folder: with another one the process
/// would be in its own way when it replaces a table.
static IN_USE: Mutex<Vec<Weak<File>>> = Mutex::new(Vec::new());

/// The use of a data directory, of which another process must not remove tables until this is dropped or the process
/// ends.
///
/// Those who read tables stand beside each other and beside one who loads, so this is not the [`DirectoryLock`].
#[derive(Debug)]
pub struct DirectoryUse {
    folder: Option<Arc<File>>,
}

impl DirectoryUse {
    /// Begins to use a directory beside others, and makes it where there is none. Errors with [`StorageError::Locked`]
    /// when another process is emptying it.
    pub fn begin(directory: &Path) -> Result<DirectoryUse, StorageError> {
        fs::create_dir_all(directory).map_err(io_error(directory, "creating"))?;
        let mut in_use = in_use();
        if let Some(folder) = own_use(&in_use, directory) {
            return Ok(DirectoryUse { folder: Some(folder) });
        }
        let used = DirectoryUse::locked(directory, File::try_lock_shared)?;
        in_use.retain(|folder| folder.strong_count() > 0);
        in_use.extend(used.folder.as_ref().map(Arc::downgrade));
        Ok(used)
    }

    /// The right to empty a directory. Errors with [`StorageError::Locked`] when it is used.
    pub fn alone(directory: &Path) -> Result<DirectoryUse, StorageError> {
        DirectoryUse::locked(directory, File::try_lock)
    }

    /// A file system that locks no folders, such as NFS, holds up no one.
    fn locked(directory: &Path, lock: fn(&File) -> Result<(), TryLockError>) -> Result<DirectoryUse, StorageError> {
        let folder = File::open(directory).ok();
        match folder.as_ref().map(lock) {
            Some(Err(TryLockError::WouldBlock)) => Err(StorageError::Locked { directory: directory.into() }),
            _ => Ok(DirectoryUse { folder: folder.map(Arc::new) }),
        }
    }
}

/// Removes what is in a directory, unless another process uses it: then it errors with [`StorageError::InUse`], and
/// nothing is changed.
pub(super) fn unless_used_by_others(
    directory: &Path,
    remove: impl FnOnce() -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    let own = own_use(&in_use(), directory);
    let Some(folder) = own.or_else(|| File::open(directory).ok().map(Arc::new)) else { return remove() };
    let removed = match rustix::fs::flock(&*folder, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(StorageError::InUse { directory: directory.into() }),
        _ => remove(),
    };
    // This process may go on using it. The kernel has dropped its lock also where it refused the other one.
    let _ = rustix::fs::flock(&*folder, FlockOperation::NonBlockingLockShared);
    removed
}

fn in_use() -> MutexGuard<'static, Vec<Weak<File>>> {
    IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The folder as this process uses it already.
fn own_use(in_use: &[Weak<File>], directory: &Path) -> Option<Arc<File>> {
    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    let asked = fs::metadata(directory).ok().map(identity)?;
    in_use.iter().filter_map(Weak::upgrade).find(|folder| folder.metadata().ok().map(identity) == Some(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_not_removed_under_a_process_that_reads_it_and_is_under_this_one() {
        let directory = tempfile::tempdir().unwrap();
        let removed = || unless_used_by_others(directory.path(), || Ok(()));
        let own = [(); 2].map(|()| DirectoryUse::begin(directory.path()).unwrap());
        removed().unwrap();
        // As another process opens the folder.
        let other = File::open(directory.path()).unwrap();
        other.try_lock_shared().unwrap();
        assert!(matches!(removed(), Err(StorageError::InUse { .. })));
        drop(other);
        assert!(matches!(DirectoryUse::alone(directory.path()), Err(StorageError::Locked { .. })), "its use was lost");
        removed().unwrap();
        drop(own);
        let other = DirectoryUse::alone(directory.path()).unwrap();
        assert!(matches!(removed(), Err(StorageError::InUse { .. })));
        drop(other);
        removed().unwrap();
    }
}
