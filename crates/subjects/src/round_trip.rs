//! What the experiment on round trips asks of a subject that is no device: a small table, and single blocks of it, read
//! with less and less cached.

use crate::error::SubjectError;
use crate::opening::Progress;
use crate::subject::Subject;
use measure::Finding;

measure::words! {
    /// A pass over the blocks.
    pub enum Pass ("pass") {
        /// The first read of each block by this run
        FirstTouch = "first-touch",
        /// Blocks just read, past the host's cache: as near as the storage can hold them
        StorageCached = "storage-cached",
        /// Blocks in the host's page cache
        PageCached = "page-cached",
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Blocks that are read at a time.
    pub blocks: u64,
    /// Blocks of the table.
    pub table_blocks: u64,
}

/// A pass that a subject can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassOffer {
    /// What is cached.
    pub pass: Pass,
    /// Whether reads go past the page cache.
    pub is_direct: bool,
}

/// How the figures are obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sources {
    /// Waiting for a read.
    pub wait: &'static str,
    /// What waiting for a read takes at most.
    pub at_most: &'static str,
    /// Waiting of all readers of the subject.
    pub wait_of_all: &'static str,
    /// Blocks that were read or found.
    pub blocks: &'static str,
    /// The subject's own cache, in words.
    pub cache: &'static str,
}

/// What reading single blocks took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SingleReads {
    /// Blocks that were read.
    pub read: u64,
    /// Blocks that were found in the subject's cache.
    pub hits: u64,
    /// Microseconds of waiting for one; `None` where the subject does not time reads, or nothing was read.
    pub wait: Option<f64>,
    /// Microseconds of all that was done for one, which waiting for it cannot exceed; `None` where nothing was read.
    pub at_most: Option<f64>,
    /// Waiting of all readers of the subject; `None` where it does not tell.
    pub wait_of_all: Option<f64>,
    /// Share of the table that the page cache held before; `None` where that cannot be known.
    pub cached: Option<f64>,
}

/// A subject that reads single blocks of a table.
pub trait RoundTrip: Subject {
    /// Makes the table, and gives the passes that can be made over it, in their order.
    fn prepare(&mut self, progress: &mut Progress<'_>) -> Result<(Vec<PassOffer>, Sources), SubjectError>;

    /// Turns to a pass; otherwise why it cannot be made.
    fn turn_to(&mut self, offer: PassOffer, progress: &mut Progress<'_>) -> Result<Result<(), Finding>, SubjectError>;

    /// Empties the caches that the pass finds empty, and reads these blocks one by one.
    fn read(&mut self, blocks: &[u64]) -> Result<SingleReads, SubjectError>;
}
