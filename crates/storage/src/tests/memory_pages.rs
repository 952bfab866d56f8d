//! Pages in plain memory behind a lock each: what tests read and change in place of the pool.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::catalog::table::{TableInfo, TableSpec};
use crate::error::StorageError;
use crate::heap::loader::build_page;
use crate::heap::table::HeapTable;
use crate::page::PageBytes;
use crate::page::access::{PageAccess, PageUpdate, ReadAhead};
use crate::page::id::{PAGE_SIZE, PageId, RowId, SegmentId};

/// The segment of the table of [`MemoryPages::with_table`].
pub(crate) const TABLE: SegmentId = SegmentId(4);

/// The segment for undo.
pub(crate) const UNDO: SegmentId = SegmentId(9);

/// A fixed set of pages.
#[derive(Default)]
pub(crate) struct MemoryPages {
    pages: HashMap<PageId, Box<RwLock<PageBytes>>>,
    pub(crate) gets: AtomicU64,
    pub(crate) revisits: AtomicU64,
    pub(crate) prefetches: AtomicU64,
}

impl MemoryPages {
    /// A loaded table, and `undo_pages` pages of zeros to be created in segment [`UNDO`].
    pub(crate) fn with_table(spec: &TableSpec, undo_pages: u32) -> (MemoryPages, HeapTable) {
        let info = TableInfo::planned(spec, TABLE).unwrap();
        let rows = crate::heap::rows::TableRows::of(spec).unwrap();
        let mut memory = MemoryPages::default();
        for number in 0..info.pages {
            let mut bytes = [0; PAGE_SIZE];
            build_page(&info, &rows, number, &mut bytes);
            memory.pages.insert(PageId { segment: TABLE, number }, Box::new(RwLock::new(bytes)));
        }
        for number in 0..undo_pages {
            memory.pages.insert(PageId { segment: UNDO, number }, Box::new(RwLock::new([0; PAGE_SIZE])));
        }
        (memory, HeapTable::new(&info, TABLE))
    }

    /// Pages of zeros, to be created.
    pub(crate) fn blank(segment: SegmentId, pages: u32) -> MemoryPages {
        let mut memory = MemoryPages::default();
        (0..pages).for_each(|number| memory.add(PageId { segment, number }, [0; PAGE_SIZE]));
        memory
    }

    /// One page more.
    pub(crate) fn add(&mut self, page: PageId, bytes: PageBytes) {
        self.pages.insert(page, Box::new(RwLock::new(bytes)));
    }

    fn page(&self, page: PageId) -> Result<&RwLock<PageBytes>, StorageError> {
        let found = self.pages.get(&page).map(Box::as_ref);
        found.ok_or_else(|| StorageError::Parameters(format!("there is no {page}")))
    }
}

impl PageAccess for MemoryPages {
    type Guard<'a> = RwLockReadGuard<'a, PageBytes>;

    fn get(&self, page: PageId) -> Result<Self::Guard<'_>, StorageError> {
        self.gets.fetch_add(1, Ordering::Relaxed);
        Ok(self.page(page)?.read().unwrap())
    }

    fn prefetch(&self, _page: PageId) {
        self.prefetches.fetch_add(1, Ordering::Relaxed);
    }

    fn pinned_revisit(&self) {
        self.revisits.fetch_add(1, Ordering::Relaxed);
    }
}

impl ReadAhead for MemoryPages {}

impl PageUpdate for MemoryPages {
    type GuardMut<'a> = RwLockWriteGuard<'a, PageBytes>;

    fn get_mut(&self, page: PageId) -> Result<Self::GuardMut<'_>, StorageError> {
        Ok(self.page(page)?.write().unwrap())
    }

    fn create(&self, page: PageId) -> Result<Self::GuardMut<'_>, StorageError> {
        self.get_mut(page)
    }
}

/// The addresses of all rows in the order of loading.
pub(crate) fn row_ids(table: &HeapTable) -> impl Iterator<Item = RowId> {
    (0..table.rows()).map(|number| table.row_id(number))
}

/// Gives at most this many pages at a time.
pub(crate) struct FewFrames<'a> {
    pages: &'a MemoryPages,
    pub(crate) free: Cell<usize>,
}

impl<'a> FewFrames<'a> {
    pub(crate) fn new(pages: &'a MemoryPages, frames: usize) -> FewFrames<'a> {
        FewFrames { pages, free: Cell::new(frames) }
    }
}

pub(crate) struct Frame<'a> {
    page: <MemoryPages as PageAccess>::Guard<'a>,
    free: &'a Cell<usize>,
}

impl Deref for Frame<'_> {
    type Target = PageBytes;
    fn deref(&self) -> &PageBytes {
        &self.page
    }
}

impl Drop for Frame<'_> {
    fn drop(&mut self) {
        self.free.set(self.free.get() + 1);
    }
}

impl PageAccess for FewFrames<'_> {
    type Guard<'a>
        = Frame<'a>
    where
        Self: 'a;

    fn get(&self, page: PageId) -> Result<Frame<'_>, StorageError> {
        let left = self.free.get().checked_sub(1).ok_or(StorageError::PoolExhausted { frames: 0 })?;
        let page = self.pages.get(page)?;
        self.free.set(left);
        Ok(Frame { page, free: &self.free })
    }

    fn prefetch(&self, _page: PageId) {}
}
