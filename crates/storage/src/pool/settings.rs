//! What a pool is made with.

use sys::read::{MethodRow, best_method};

use crate::error::StorageError;
use crate::page::id::PAGE_SIZE;

/// The smallest pool, in frames: enough for every thread of a small machine to hold a table's, an index's and an undo
/// page at once.
pub const FRAMES_MIN: usize = 16;

/// What a pool is made with.
#[derive(Clone, Copy, Debug)]
pub struct PoolSettings {
    /// Bytes of all frames; whole pages of [`PAGE_SIZE`] count.
    pub bytes: usize,
    /// Most segments that may be added.
    pub segments_max: usize,
    /// The I/O method of [`Session::load_many`](super::Session::load_many). Single pages and ranges are read by the
    /// method that costs least for one read at a time, on the thread that asks.
    pub io_method: &'static MethodRow,
    /// Reads in flight of [`Session::load_many`](super::Session::load_many).
    pub read_depth: usize,
    /// Most blocks of one read of [`Session::prefetch_range`](super::Session::prefetch_range).
    pub blocks_per_read: usize,
    /// Most blocks of one read of [`Session::load_many`](super::Session::load_many): neighbours that are asked for one
    /// behind the other are read together. 1 reads every block by itself.
    pub blocks_per_gather: usize,
}

impl PoolSettings {
    /// A pool of `bytes` with usual settings: the best method of this system 32 deep, 128 blocks (1 MiB) a read, which
    /// is what the ladder's sequential rung reads.
    ///
    /// A small pool gets fewer of either, so that what is read at once stays below a quarter of its frames. Scattered
    /// blocks are read one by one.
    pub fn new(bytes: usize) -> PoolSettings {
        let at_once_max = (bytes / PAGE_SIZE / 4).max(1);
        let read_depth = at_once_max.min(32);
        let io_method = best_method(read_depth);
        let blocks_per_read = at_once_max.min(128);
        PoolSettings { bytes, segments_max: 64, io_method, read_depth, blocks_per_read, blocks_per_gather: 1 }
    }

    /// Refuses settings that no pool can have, before any memory is taken.
    pub fn check(&self) -> Result<(), StorageError> {
        self.frames().map(drop)
    }

    /// Most blocks of reads under way.
    pub(super) fn at_once(&self) -> usize {
        self.read_depth.saturating_mul(self.blocks_per_gather).max(self.blocks_per_read)
    }

    /// The number of frames, or what is wrong with the settings.
    pub(super) fn frames(&self) -> Result<u32, StorageError> {
        let count = self.bytes / PAGE_SIZE;
        let at_once = self.at_once();
        let needed = FRAMES_MIN.max(at_once.saturating_mul(2));
        if [self.read_depth, self.blocks_per_read, self.blocks_per_gather, self.segments_max].contains(&0) {
            let reason = "a buffer pool needs a read depth, blocks per read and a number of segments of at least 1";
            return Err(StorageError::Parameters(reason.into()));
        }
        if self.segments_max > usize::from(u16::MAX) + 1 {
            return Err(StorageError::Parameters(format!("{} segments cannot be numbered", self.segments_max)));
        }
        if count < needed {
            return Err(StorageError::Parameters(format!(
                "a buffer pool of {} bytes has {count} frames of {PAGE_SIZE} bytes and needs {needed} to read \
                 {at_once} at once; give it {} bytes or more",
                self.bytes,
                needed.saturating_mul(PAGE_SIZE)
            )));
        }
        u32::try_from(count)
            .map_err(|_| StorageError::Parameters(format!("a buffer pool of {count} frames is larger than 32 TiB")))
    }
}
