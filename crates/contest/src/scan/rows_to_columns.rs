//! Columns built from rows, timed.

use std::sync::Arc;

use dataset::DataSet;
use dataset::customers::SCHEMA;
use measure::Nanos;
use storage::catalog::{TableInfo, TableSpec};
use storage::column::{Budget, ColumnTable, TableBuilder};
use storage::heap::loader::build_page;
use storage::heap::rows::TableRows;
use storage::page::id::PAGE_SIZE;
use storage::page::{PageBytes, PageView};
use storage::{SegmentId, StorageError};
use sys::process::thread_cpu;

/// Pages that are made before they are appended.
const PAGES_AT_ONCE: usize = 512;

/// The table, its rows' bytes and the processor time that appending took, on one thread.
pub(crate) fn build(rows: u64, budget: &Arc<Budget>) -> Result<(ColumnTable, usize, Nanos), StorageError> {
    let mut builder = TableBuilder::new(&SCHEMA, rows as usize, budget)?;
    let spec = TableSpec::new("customers", DataSet::customers(rows, 1));
    let (info, generator) = (TableInfo::planned(&spec, SegmentId(0))?, TableRows::of(&spec)?);
    let mut pages: Vec<PageBytes> = vec![[0; PAGE_SIZE]; PAGES_AT_ONCE];
    let (mut row_bytes, mut time, mut next) = (0, Nanos::ZERO, 0);
    while next < info.pages {
        let made = pages.len().min((info.pages - next) as usize);
        for (number, bytes) in (next..).zip(&mut pages[..made]) {
            build_page(&info, &generator, number, bytes);
            row_bytes += PageView::verified(bytes).rows().map(|row| row.bytes().len()).sum::<usize>();
        }
        next += made as u32;
        let start = thread_cpu();
        pages[..made].iter().try_for_each(|bytes| builder.append_page(PageView::verified(bytes)))?;
        time += thread_cpu().since(start);
    }
    let start = thread_cpu();
    let table = builder.finish()?;
    Ok((table, row_bytes, time + thread_cpu().since(start)))
}
