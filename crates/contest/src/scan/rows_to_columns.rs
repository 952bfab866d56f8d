//! Columns built from rows, timed: shared by the example and the benchmark of scans.

use std::sync::Arc;

use measure::Nanos;
use storage::column::{Budget, ColumnSpec, ColumnTable, TableBuilder};
use storage::customers::{CustomerGenerator, ROWS_PER_PAGE, SCHEMA};
use storage::page::{PageBytes, PageKind, PageMut, PageView};
use storage::page_id::PAGE_SIZE;
use storage::{PageId, SegmentId, StorageError};
use sys::account::thread_cpu;

/// Pages that are made before they are appended.
const PAGES_AT_ONCE: usize = 512;

/// The table, its rows' bytes and the processor time that appending took, on one thread.
pub(crate) fn build(rows: u64, budget: &Arc<Budget>) -> Result<(ColumnTable, usize, Nanos), StorageError> {
    let specs: Vec<ColumnSpec> = SCHEMA.iter().map(ColumnSpec::from).collect();
    let mut builder = TableBuilder::new(&specs, rows as usize, budget)?;
    let generator = CustomerGenerator::new(1);
    let mut pages: Vec<PageBytes> = vec![[0; PAGE_SIZE]; PAGES_AT_ONCE];
    let (mut row_bytes, mut time, mut number) = (0, Nanos::ZERO, 0);
    while number < rows {
        let mut made = 0;
        for (page, bytes) in (0..).zip(&mut pages) {
            let end = (number + u64::from(ROWS_PER_PAGE)).min(rows);
            let id = PageId { segment: SegmentId(0), number: page };
            generator.fill_page(number..end, &mut PageMut::format(bytes, id, PageKind::Heap), &mut Vec::new());
            row_bytes += PageView::verified(bytes).rows().map(|row| row.bytes().len()).sum::<usize>();
            (number, made) = (end, made + usize::from(number < end));
        }
        let start = thread_cpu();
        pages[..made].iter().try_for_each(|bytes| builder.append_page(PageView::verified(bytes)))?;
        time += thread_cpu().since(start);
    }
    let start = thread_cpu();
    let table = builder.finish()?;
    Ok((table, row_bytes, time + thread_cpu().since(start)))
}
