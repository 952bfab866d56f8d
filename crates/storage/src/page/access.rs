//! What readers and writers ask of a store of pages: the buffer pool, generated pages, or plain memory in tests.

use std::ops::{Deref, DerefMut};

use super::id::PageId;
use super::slotted::PageBytes;
use crate::error::StorageError;

/// Pages to read.
pub trait PageAccess {
    /// A page that stays where it is, unchanged, until this is dropped.
    type Guard<'a>: Deref<Target = PageBytes>
    where
        Self: 'a;

    /// One get. The page was verified when it came from a disk.
    fn get(&self, page: PageId) -> Result<Self::Guard<'_>, StorageError>;

    /// Hints that a page will be asked for soon. No get.
    fn prefetch(&self, page: PageId);

    /// Counts that a page was used again while still held. No get.
    fn pinned_revisit(&self) {}
}

/// Pages that can be asked for before their use.
pub trait ReadAhead: PageAccess {
    /// Whether a page can be got without a read from a disk. It may be gone a moment later.
    fn is_cached(&self, _page: PageId) -> bool {
        true
    }

    /// Brings absent pages in one go, in the order given. A get of none of them; they may be gone before they are got.
    /// Errors as the get of the first one that cannot be brought.
    fn load_many(&self, _pages: &[PageId]) -> Result<(), StorageError> {
        Ok(())
    }

    /// Asks for absent pages, in the order given, without waiting for them; returns how many these are. A get of none
    /// of them; one that cannot be brought is an error of the get or [`advance`](ReadAhead::advance) that finds out.
    /// After the last of them, or after an error, [`settle`](ReadAhead::settle) is called.
    fn ask_ahead(&self, _pages: &[PageId]) -> Result<u64, StorageError> {
        Ok(0)
    }

    /// Takes in what has come of the pages asked for, without waiting.
    fn advance(&self) -> Result<(), StorageError> {
        Ok(())
    }

    /// Waits for the reads that are under way, and forgets pages asked for ahead that are not being read yet.
    fn settle(&self) {}

    /// Blocks read from a disk so far.
    fn blocks_read(&self) -> u64 {
        0
    }
}

/// Pages to change.
pub trait PageUpdate: PageAccess {
    /// A page for the caller alone until this is dropped.
    type GuardMut<'a>: DerefMut<Target = PageBytes>
    where
        Self: 'a;

    /// A page to change. Waits for its readers.
    fn get_mut(&self, page: PageId) -> Result<Self::GuardMut<'_>, StorageError>;

    /// A page that was not there before, with bytes of no meaning.
    fn create(&self, page: PageId) -> Result<Self::GuardMut<'_>, StorageError>;
}
