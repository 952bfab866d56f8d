//! The folder of a database of our own, which goes with it.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::error::SubjectError;

/// Folders that one process may have at one time.
const FOLDERS_MAX: u32 = 10_000;

/// A folder that is removed with all that is in it.
#[derive(Debug)]
pub(super) struct OwnFolder {
    path: PathBuf,
}

impl OwnFolder {
    /// Makes a new one that no other user can look into.
    pub(super) fn create(scratch: &Path) -> Result<OwnFolder, SubjectError> {
        for number in 1..=FOLDERS_MAX {
            let path = scratch.join(format!("readpath-sqlite-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(OwnFolder { path }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(refused(&path, &error)),
            }
        }
        Err(refused(scratch, &io::Error::from(ErrorKind::AlreadyExists)))
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it and reports when that fails.
    pub(super) fn remove(self) -> Result<(), SubjectError> {
        fs::remove_dir_all(&self.path).map_err(|error| {
            SubjectError::Failed(format!("{} could not be removed ({error}): remove it.", self.path.display()))
        })
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn refused(path: &Path, error: &io::Error) -> SubjectError {
    SubjectError::Directory(format!(
        "{} cannot be created for the tables of SQLite: {error}; name another folder for temporary files in TMPDIR",
        path.display()
    ))
}
