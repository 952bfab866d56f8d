//! The pool as a source of pages for heap tables and their changes: every get passes its gate.

use crate::error::StorageError;
use crate::page::access::{PageAccess, PageUpdate, ReadAhead};
use crate::page::id::PageId;
use crate::pool::{Pinned, PinnedMut, Session};

impl<'pool> PageAccess for Session<'pool> {
    type Guard<'a>
        = Pinned<'pool>
    where
        Self: 'a;

    #[inline]
    fn get(&self, page: PageId) -> Result<Pinned<'pool>, StorageError> {
        Session::get(self, page)
    }

    #[inline]
    fn prefetch(&self, page: PageId) {
        Session::prefetch(self, page);
    }

    #[inline]
    fn pinned_revisit(&self) {
        Session::pinned_revisit(self);
    }
}

impl ReadAhead for Session<'_> {
    #[inline]
    fn is_cached(&self, page: PageId) -> bool {
        Session::is_cached(self, page)
    }

    fn load_many(&self, pages: &[PageId]) -> Result<(), StorageError> {
        Session::load_many(self, pages)
    }

    fn ask_ahead(&self, pages: &[PageId]) -> Result<u64, StorageError> {
        Session::ask_ahead(self, pages)
    }

    #[inline]
    fn advance(&self) -> Result<(), StorageError> {
        Session::advance(self)
    }

    fn settle(&self) {
        Session::settle(self);
    }

    fn blocks_read(&self) -> u64 {
        self.counts().blocks_read
    }
}

impl<'pool> PageUpdate for Session<'pool> {
    type GuardMut<'a>
        = PinnedMut<'pool>
    where
        Self: 'a;

    fn get_mut(&self, page: PageId) -> Result<PinnedMut<'pool>, StorageError> {
        Session::get_mut(self, page)
    }

    fn create(&self, page: PageId) -> Result<PinnedMut<'pool>, StorageError> {
        Session::create(self, page)
    }
}
