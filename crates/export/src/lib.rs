//! A profile's calls and waits as Parquet, so that other programs can go further, and SQL for its tables over them; and
//! the numbers of runs as one table.
//!
//! [`events::EventWriter`] listens like every other observer and writes as it hears, with bounded memory: rows are kept
//! until a row group is full. The folder appears whole or not at all. The columns stand in [`rows`], and a test holds
//! the documentation to them.

pub mod events;
pub mod folder;
pub mod queries;
pub mod rows;
pub mod runs;
pub mod table;

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why nothing was exported; each sentence names the path and what to do.
#[derive(Debug, Error)]
pub enum ExportError {
    /// There is something of that name already.
    #[error("{} is there already. Name another folder with --output, or replace it with --force.", .0.display())]
    Exists(PathBuf),
    /// What is there was not made by an export, so it is not replaced.
    #[error("{} is no folder of exported events and is not replaced. Name another folder with --output.", .0.display())]
    Foreign(PathBuf),
    /// The folder cannot be made or written.
    #[error("the events could not be written to {}: {source}. Nothing was left there.", path.display())]
    NotWritten {
        /// The folder.
        path: PathBuf,
        /// What the operating system or the writer reported.
        source: io::Error,
    },
    /// There is no room.
    #[error("there is no room for the events in {}. Nothing was left there; name a folder on another file system with \
             --output.", .0.display())]
    OutOfSpace(PathBuf),
    /// A time does not fit into 64 bits of nanoseconds.
    #[error("a time at byte {offset} of {file} does not fit into 64 bits of nanoseconds. Nothing was written.")]
    TimeOutOfRange {
        /// The file that was read.
        file: String,
        /// Where the line stands.
        offset: u64,
    },
}
