//! What can go wrong in the engine; each variant is a sentence for the user.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use dataset::Refused;
use measure::quantity::{rounded_size, size_in_words};
use sys::threads::NotStarted;
use thiserror::Error;

use crate::page::id::PageId;
use crate::unit::format::UnitDamage;

/// An engine error.
#[derive(Debug, Error)]
pub enum StorageError {
    /// A page that must not be used.
    #[error("{file}: page {number} is damaged ({reason}); load the table again",
        file = file.display(), number = page.number)]
    BadPage {
        /// The data file.
        file: PathBuf,
        /// The page.
        page: PageId,
        /// What is wrong with it.
        reason: String,
    },
    /// A columnar unit that must not be used.
    #[error("the unit that begins with {page} is damaged ({damage}); build it again from its rows")]
    BadUnit {
        /// Its first page.
        page: PageId,
        /// What is wrong with it.
        damage: UnitDamage,
    },
    /// A data file that is not one, or not of this version or length.
    #[error("{file}: {reason}", file = file.display())]
    BadFile {
        /// The file.
        file: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A manifest that must not be used.
    #[error("{file} is damaged ({reason}); load the tables again", file = file.display())]
    BadManifest {
        /// The manifest.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file of another program, with a name that a data directory has.
    #[error("{file} was not made by readpath, whose tables would take its place: name an empty directory",
        file = file.display())]
    Foreign {
        /// The file.
        file: PathBuf,
    },
    /// The kernel refused.
    #[error("{file}: {doing} failed: {error}", file = file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// The kernel's answer.
        error: io::Error,
    },
    /// The kernel, or the device below it, refused to read pages.
    #[error("{file}: reading from page {number} on failed: {error}", file = file.display(), number = page.number)]
    Read {
        /// The data file.
        file: PathBuf,
        /// The first page of the read.
        page: PageId,
        /// The kernel's answer.
        error: io::Error,
    },
    /// The disk has no room for a table.
    #[error("{directory} has {free} free and {needed} are needed; ask for a smaller table or name another directory",
        directory = directory.display(), free = rounded_size(*free), needed = rounded_size(*needed))]
    NoSpace {
        /// The data directory.
        directory: PathBuf,
        /// Bytes of the table, with what is to stay free.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// Another process has the data directory.
    #[error("another process is loading into {directory} or emptying it; wait for it or name another directory",
        directory = directory.display())]
    Locked {
        /// The data directory.
        directory: PathBuf,
    },
    /// Another process reads tables of the data directory, of which this one would remove some.
    #[error("another run uses the tables of {directory}, and this one would replace some of them; wait for it or name \
        another directory", directory = directory.display())]
    InUse {
        /// The data directory.
        directory: PathBuf,
    },
    /// Every frame of the pool is pinned.
    #[error("all {frames} frames of the buffer pool are pinned and one more page is needed: give the pool more memory")]
    PoolExhausted {
        /// Frames of the pool.
        frames: usize,
    },
    /// A page was held for longer than the pool waits.
    #[error(
        "{page} was held by another reader or writer for longer than {seconds} s: a thread that keeps a page must \
         not ask for it again to change it"
    )]
    PageBusy {
        /// The page.
        page: PageId,
        /// How long was waited.
        seconds: u64,
    },
    /// Columns in memory would take more than they were given.
    #[error(
        "the columns need {needed} bytes of memory so far and {limit} were given; ask for fewer rows or give more \
         memory"
    )]
    MemoryLimit {
        /// Bytes that are taken, with those that were asked for.
        needed: u64,
        /// Bytes that may be taken.
        limit: u64,
    },
    /// The kernel has no memory.
    #[error(
        "the system has no memory for {what} of {} ({error}): ask for less at one time, or raise the limit (ulimit -v, \
         memory.max of the control group)", size_in_words(*needed)
    )]
    NoMemory {
        /// What it was for.
        what: &'static str,
        /// Bytes that were asked for.
        needed: u64,
        /// The kernel's answer.
        error: io::Error,
    },
    /// Threads could not be started.
    #[error(transparent)]
    NotStarted(#[from] NotStarted),
    /// Parameters that cannot be.
    #[error("{0}")]
    Parameters(String),
    /// The user asked to stop.
    #[error("stopped")]
    Stopped,
}

impl StorageError {
    /// [`StorageError::Stopped`] where the user asked to stop, which raises the flag.
    pub fn unless_stopped(stop: &AtomicBool) -> Result<(), StorageError> {
        if stop.load(Ordering::Relaxed) { Err(StorageError::Stopped) } else { Ok(()) }
    }
}

/// What it means that something could not be done with a file.
pub(crate) fn io_error(file: &Path, doing: &'static str) -> impl Fn(io::Error) -> StorageError + use<> {
    let file = file.to_path_buf();
    move |error| StorageError::Io { file: file.clone(), doing, error }
}

impl From<Refused> for StorageError {
    fn from(refused: Refused) -> StorageError {
        StorageError::Parameters(refused.0)
    }
}
