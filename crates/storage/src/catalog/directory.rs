//! A data directory: its lock, and its names on the disk.

use std::fs::{File, TryLockError};
use std::path::Path;

use measure::atomic_file::sync_folder;

use crate::error::{StorageError, io_error};

/// The name of the file that a loading process holds locked.
pub const LOCK_FILE: &str = "lock";

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
