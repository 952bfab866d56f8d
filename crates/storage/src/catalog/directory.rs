//! A data directory: its lock, who uses it, and its names on the disk.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use measure::atomic_file::sync_folder;

use crate::error::{StorageError, io_error};

/// The name of the file that a loading process holds locked. It also shows that a directory is this program's.
pub const LOCK_FILE: &str = "readpath.lock";

/// Puts the names in a directory on the disk, after a file was made, renamed or removed.
pub fn sync_directory(directory: &Path) -> Result<(), StorageError> {
    sync_folder(directory).map_err(io_error(directory, "writing to the disk"))
}

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

/// The use of a data directory, which another process must not empty until this is dropped or the process ends.
///
/// Those who read tables stand beside each other and beside one who loads, so this is not the [`DirectoryLock`].
#[derive(Debug)]
pub struct DirectoryUse {
    _folder: Option<File>,
}

impl DirectoryUse {
    /// Begins to use a directory beside others, and makes it where there is none. Errors with [`StorageError::Locked`]
    /// when another process is emptying it.
    pub fn begin(directory: &Path) -> Result<DirectoryUse, StorageError> {
        fs::create_dir_all(directory).map_err(io_error(directory, "creating"))?;
        DirectoryUse::locked(directory, File::try_lock_shared)
    }

    /// The right to empty a directory. Errors with [`StorageError::Locked`] when another process uses it.
    pub fn alone(directory: &Path) -> Result<DirectoryUse, StorageError> {
        DirectoryUse::locked(directory, File::try_lock)
    }

    /// A file system that locks no folders, such as NFS, holds up no one.
    fn locked(directory: &Path, lock: fn(&File) -> Result<(), TryLockError>) -> Result<DirectoryUse, StorageError> {
        let folder = File::open(directory).ok();
        match folder.as_ref().map(lock) {
            Some(Err(TryLockError::WouldBlock)) => Err(StorageError::Locked { directory: directory.into() }),
            _ => Ok(DirectoryUse { _folder: folder }),
        }
    }
}
