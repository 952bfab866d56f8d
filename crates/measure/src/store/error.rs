//! What can go wrong with the store, and the identifiers that its files are named after.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// What can go wrong with the store; each sentence names the path and what to do.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The directory cannot be made or written.
    #[error(
        "runs cannot be kept in {}: {source}. Name another directory with --store DIR, or measure without keeping \
         the run with --no-store.", dir.display()
    )]
    Unwritable {
        /// The store's directory.
        dir: PathBuf,
        /// What the operating system reported.
        source: io::Error,
    },
    /// The directory's rights could not be taken from other users.
    #[error(
        "the rights of {} could not be changed: {source}. Close it with `chmod 700`, or name another directory with \
         --store DIR.", dir.display()
    )]
    LeftOpen {
        /// The store's directory.
        dir: PathBuf,
        /// What the operating system reported.
        source: io::Error,
    },
    /// The directory exists but cannot be read.
    #[error("the runs in {} cannot be read: {source}. Name another directory with --store DIR.", dir.display())]
    Unlistable {
        /// The store's directory.
        dir: PathBuf,
        /// What the operating system reported.
        source: io::Error,
    },
    /// A run could not be written; the state saved before it is untouched.
    #[error(
        "the run could not be kept in {}: {source}. What was saved before is untouched. Make room or name another \
         directory with --store DIR.", path.display()
    )]
    NotSaved {
        /// The file that was to be replaced.
        path: PathBuf,
        /// What the operating system reported.
        source: io::Error,
    },
    /// A run could not be removed.
    #[error("{} could not be removed: {source}.", path.display())]
    NotRemoved {
        /// The run's file.
        path: PathBuf,
        /// What the operating system reported.
        source: io::Error,
    },
    /// A file lies among the runs, and readpath did not write it.
    #[error("{} is no run of readpath: nothing was removed.", path.display())]
    NotARun {
        /// The file.
        path: PathBuf,
    },
    /// The run holds something that its document cannot carry.
    #[error("the run {id} cannot be kept: {reason}.")]
    NotADocument {
        /// Identifier of the run.
        id: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file is not a run that this version can read.
    #[error("{} is not read: {reason}.", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// No run has such an identifier.
    #[error("no run '{reference}' in {}. `readpath runs` lists those that are there; --store DIR names another \
             directory.", dir.display())]
    Unknown {
        /// What was asked for.
        reference: String,
        /// The store's directory.
        dir: PathBuf,
    },
    /// No run is kept at all.
    #[error("no run '{reference}', because none is kept in {} yet. A command that measures keeps its run there, such \
             as `readpath ladder`; --store DIR names another directory.", dir.display())]
    Empty {
        /// What was asked for.
        reference: String,
        /// The store's directory.
        dir: PathBuf,
    },
    /// Several runs begin with the prefix.
    #[error("'{prefix}' is the beginning of {} runs ({}): write more of it.", ids.len(), some_of(ids))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// The identifiers that begin so, newest first.
        ids: Vec<String>,
    },
    /// Not an identifier at all.
    #[error(
        "'{0}' is not a run: write an identifier or its beginning as `readpath runs` shows it, `last`, or `last~1` \
         for the one before."
    )]
    NotAReference(String),
}

/// The identifier in a file name of the store; `None` for other files.
pub(super) fn stem(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let stem = name.strip_suffix(".json")?;
    (!stem.starts_with('.')).then(|| stem.to_string())
}

/// The first few identifiers, for a sentence that must stay short.
fn some_of(ids: &[String]) -> String {
    let shown = ids.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
    if ids.len() > 3 { format!("{shown}, ...") } else { shown }
}
