//! A data directory: its lock, and its names on the disk.

use std::fs::{File, TryLockError};
use std::path::Path;

use measure::atomic_file::sync_folder;

use crate::error::StorageError;

/// The name of the file that a loading process holds locked.
pub const LOCK_FILE: &str = "lock";

/// Puts the names in a directory on the disk, after a file was made, renamed or removed.
pub fn sync_directory(directory: &Path) -> Result<(), StorageError> {
    let failed = |error| StorageError::Io { file: directory.into(), doing: "writing to the disk", error };
    sync_folder(directory).map_err(failed)
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
        let failed = |doing| {
            let file = path.clone();
            move |error| StorageError::Io { file, doing, error }
        };
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed("opening"))?;
        match file.try_lock() {
            Ok(()) => Ok(DirectoryLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(StorageError::Locked { directory: directory.into() }),
            Err(TryLockError::Error(error)) => Err(failed("locking")(error)),
        }
    }
}
