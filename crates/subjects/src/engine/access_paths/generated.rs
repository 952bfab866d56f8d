//! The rows of the customers, made block by block as they are asked for: what units and columns are built from, so that
//! the blocks need not lie in memory beside them.

use std::sync::atomic::AtomicBool;

use storage::catalog::{TableInfo, TableSpec};
use storage::heap::loader::build_page;
use storage::heap::rows::TableRows;
use storage::heap::{HeapTable, PageAccess};
use storage::page::PageBytes;
use storage::page::id::PAGE_SIZE;
use storage::{PageId, SegmentId, StorageError};

/// Makes the blocks of a table.
pub(super) struct GeneratedPages<'a> {
    info: TableInfo,
    rows: TableRows,
    stop: &'a AtomicBool,
}

impl<'a> GeneratedPages<'a> {
    /// The blocks of `spec`, until `stop` is raised.
    pub(super) fn new(spec: &TableSpec, stop: &'a AtomicBool) -> Result<GeneratedPages<'a>, StorageError> {
        let info = TableInfo::planned(spec, SegmentId(0))?;
        Ok(GeneratedPages { info, rows: TableRows::of(spec)?, stop })
    }

    /// The table whose blocks they are.
    pub(super) fn table(&self) -> HeapTable {
        HeapTable::new(&self.info, SegmentId(0))
    }

    /// Makes a block in its place.
    pub(super) fn make(&self, number: u32, page: &mut PageBytes) -> Result<(), StorageError> {
        StorageError::unless_stopped(self.stop)?;
        build_page(&self.info, &self.rows, number, page);
        Ok(())
    }
}

impl PageAccess for GeneratedPages<'_> {
    type Guard<'b>
        = Box<PageBytes>
    where
        Self: 'b;

    fn get(&self, page: PageId) -> Result<Box<PageBytes>, StorageError> {
        let mut bytes = Box::new([0; PAGE_SIZE]);
        self.make(page.number, &mut bytes)?;
        Ok(bytes)
    }

    fn prefetch(&self, _page: PageId) {}
}
