//! A private server's files and the operating system's page cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use sys::file::witness::{Cached, WitnessError, cached, evict};
use sys::file::{Caching, Target, TargetError};

use super::error::PrivateServerError;
use super::running::PrivateServer;
use crate::session::literal;

/// The first version that empties all its buffers on request.
const EVICTS_ALL_SINCE: u32 = 18;

/// Folders of the server's files that hold relations.
const RELATIONS: [&str; 2] = ["base", "global"];

impl PrivateServer {
    /// The files of a relation's main fork, a file for each GiB, in order.
    ///
    /// Errors where there is no such relation.
    pub fn relation_files(&self, relation: &str, stop: &AtomicBool) -> Result<Vec<PathBuf>, PrivateServerError> {
        let rows = self.ask(&format!("SELECT pg_relation_filepath({}::regclass)", literal(relation)), stop)?;
        let file = rows.into_iter().flatten().next().flatten().unwrap_or_default();
        Ok(files_of_relation(&self.data_directory().join(file)).collect())
    }

    /// What the page cache holds of a relation's files.
    pub fn cached(&self, relation: &str, stop: &AtomicBool) -> Result<Cached, PrivateServerError> {
        let of_file = |path: PathBuf| -> Result<Cached, PrivateServerError> {
            let target = Target::open(&path, Caching::Buffered).map_err(WitnessError::from)?;
            Ok(cached(&target, 0, target.size())?)
        };
        let found = self.relation_files(relation, stop)?.into_iter().map(of_file);
        Ok(of_all(found.collect::<Result<Vec<_>, _>>()?))
    }

    /// Empties the shared buffers without a restart; false where the version or its extensions cannot, and nothing
    /// was done.
    pub fn empty_buffers(&self, stop: &AtomicBool) -> Result<bool, PrivateServerError> {
        // A copy gets no extension.
        if self.version().major < EVICTS_ALL_SINCE || self.is_on_copy() {
            return Ok(false);
        }
        // A build without the extension is no failure: there is always a restart.
        match self.ask("CREATE EXTENSION IF NOT EXISTS pg_buffercache", stop) {
            Err(PrivateServerError::Stopped) => return Err(PrivateServerError::Stopped),
            Err(_) => return Ok(false),
            Ok(_) => self.ask("CHECKPOINT; SELECT pg_buffercache_evict_all()", stop)?,
        };
        Ok(true)
    }

    /// Drops the files of all relations from the page cache; what of them it holds afterwards, by an interface that
    /// the kernel counts with. All of it should be gone.
    ///
    /// What the server has changed is written first. Its own buffers stay: [`PrivateServer::restart`] empties them.
    pub fn drop_page_cache(&self, stop: &AtomicBool) -> Result<Cached, PrivateServerError> {
        Ok(of_all(self.drop_files_from_page_cache(stop)?))
    }

    /// The same, with what it still holds of each file.
    pub fn drop_files_from_page_cache(&self, stop: &AtomicBool) -> Result<Vec<Cached>, PrivateServerError> {
        if self.is_running() {
            self.ask("CHECKPOINT", stop)?;
        }
        let mut left = Vec::new();
        for path in self.files()? {
            // A directory of terabytes has thousands of files, and some may have to be written first.
            if stop.load(Ordering::Relaxed) {
                return Err(PrivateServerError::Stopped);
            }
            left.push(drop_from_page_cache(&path)?);
        }
        Ok(left)
    }

    /// Whether its files can be read past the page cache. Those in memory cannot, although the kernel may let a server
    /// open them so.
    pub fn takes_direct(&self) -> bool {
        let file = self.data_directory().join("global/pg_control");
        !matches!(Target::open(&file, Caching::Direct), Err(TargetError::DirectRefused { .. }))
    }

    /// The type of the file system that its files lie on, such as `ext4`; `None` where the kernel does not show it.
    pub fn filesystem(&self) -> Option<String> {
        Target::open(&self.data_directory().join("PG_VERSION"), Caching::Buffered).ok()?.filesystem()
    }

    fn files(&self) -> Result<Vec<PathBuf>, PrivateServerError> {
        let mut files = Vec::new();
        for folder in RELATIONS {
            collect(&self.data_directory().join(folder), &mut files)?;
        }
        Ok(files)
    }
}

/// The files of a relation whose first one this is, a file for each GiB, in order.
pub fn files_of_relation(first: &Path) -> impl Iterator<Item = PathBuf> {
    (0..).map(move |number| segment(first, number)).take_while(|path| path.is_file())
}

/// What is cached of several files together.
fn of_all(files: impl IntoIterator<Item = Cached>) -> Cached {
    let none = Cached { pages: 0, of: 0, source: "an empty range" };
    let sum = |all: Cached, one: Cached| Cached { pages: all.pages + one.pages, of: all.of + one.of, ..one };
    files.into_iter().fold(none, sum)
}

/// File `number` of a relation whose first one is `first`. The folder it is in may have a name that is no text.
fn segment(first: &Path, number: u32) -> PathBuf {
    let mut name = first.as_os_str().to_owned();
    if number > 0 {
        name.push(format!(".{number}"));
    }
    name.into()
}

/// Adds the files below `folder` that are not empty.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), PrivateServerError> {
    for entry in fs::read_dir(folder).map_err(PrivateServerError::at(folder))?.flatten() {
        let Ok(found) = entry.metadata() else { continue };
        if found.is_dir() {
            collect(&entry.path(), files)?;
        } else if found.is_file() && found.len() > 0 {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// Drops a file from the page cache; what that still holds of it.
pub fn drop_from_page_cache(path: &Path) -> Result<Cached, PrivateServerError> {
    let target = Target::open(path, Caching::Buffered).map_err(WitnessError::from)?;
    // The server flushes nothing, and pages that are not on the disk cannot be dropped.
    rustix::fs::fdatasync(&target).map_err(|error| PrivateServerError::at(path)(error.into()))?;
    evict(&target, 0, target.size()).map_err(PrivateServerError::at(path))?;
    Ok(cached(&target, 0, target.size())?)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn no_file_of_a_relation_is_missed_in_a_folder_whose_name_is_no_text() {
        let [first, second] = [&b"/t\xfc/16384"[..], b"/t\xfc/16384.1"].map(|path| Path::new(OsStr::from_bytes(path)));
        assert_eq!([segment(first, 0), segment(first, 1)], [first, second]);
    }
}
