//! The heap table: reading all of it, or single rows by their addresses.
//!
//! Where the pages come from is the business of a [`PageAccess`]: the buffer pool, or plain memory in tests. A reader
//! that names a change number sees the table as of then; see [`crate::heap::versions`].

use std::collections::VecDeque;
use std::ops::Range;

use super::result::ScanResult;
use super::table::HeapTable;
use super::versions::Rebuilder;
use crate::error::StorageError;
use crate::page::access::PageAccess;
use crate::page::id::{PageId, RowId};
use crate::page::walk::{Touch, Walked};
use crate::page::{ChangeNumber, PageView, walk};

/// How many pages a scan holds besides the one that it walks, where its walk fetches all lines of the farthest.
///
/// Such a walk is long enough for them to come. On Zen 4, 153 to 281 row heads a page took 0.92 to 0.95 times as long
/// with one as with two, and with three 1.00 to 1.12 times: three pages fill most of a first-level cache of 32 KiB.
const PAGES_HELD: usize = 1;

/// The same where it fetches no more than the lines that it reads: with few pages, a walk of few lines ends before
/// they come.
///
/// On Zen 5, 31 row heads took 135 ns a page with one, 95 with two, 78 with three and 83 with four; the 75 places up
/// to the last column of 3 long rows took 237 with two and 182 with three. On Zen 4, 3 row heads took 0.74 to 0.79
/// times as long with three as with two.
const PAGES_HELD_OF_PLACES: usize = 3;

/// How many pages before its get a scan asks for the place of a page: far enough that it is known then, though a pin
/// keeps the processor from working ahead by itself.
const PAGES_AHEAD: u32 = 4;

/// A scan of neighbouring pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// Which pages; several threads take a range each.
    pub pages: Range<u32>,
    /// What is touched of every row.
    pub touch: Touch,
    /// The state to see; `None` takes the pages as they are, without a look at their change number.
    pub as_of: Option<ChangeNumber>,
}

/// Reads a whole table as it is.
pub fn full_scan<A: PageAccess>(access: &A, table: &HeapTable, touch: Touch) -> Result<ScanResult, StorageError> {
    scan(access, table, &Scan { pages: 0..table.pages(), touch, as_of: None })
}

/// Reads a range of pages in order, one get each.
///
/// Pages that come next are got before this one is walked, so that their lines can be fetched meanwhile: a scan holds
/// up to four pages. When the pool has fewer for it, it goes on with those.
pub fn scan<A: PageAccess>(access: &A, table: &HeapTable, scan: &Scan) -> Result<ScanResult, StorageError> {
    let mut result = ScanResult::default();
    let mut rebuilder = Rebuilder::new(scan.as_of);
    let mut window = Window::over(access, table, scan.pages.clone());
    while let Some(page) = window.advance()? {
        result.pages += 1;
        window.hold(PageView::verified(&page), scan.touch);
        let walked = match (window.held.back(), rebuilder.is_needed(&page)) {
            (_, true) => walk::walk(rebuilder.rebuild(access, page)?, scan.touch),
            (Some(later), false) => walk::walk_ahead(PageView::verified(&page), later, scan.touch),
            (None, false) => walk::walk(PageView::verified(&page), scan.touch),
        };
        result.add(walked);
    }
    rebuilder.count_into(&mut result);
    Ok(result)
}

/// The pages that a scan holds besides the one that it walks.
pub(crate) struct Window<'a, A: PageAccess + 'a> {
    access: &'a A,
    table: &'a HeapTable,
    /// The first page that was not got yet.
    next: u32,
    end: u32,
    /// How many pages are held.
    most: usize,
    pub(crate) held: VecDeque<A::Guard<'a>>,
}

impl<'a, A: PageAccess> Window<'a, A> {
    /// A window over a range of pages.
    pub(crate) fn over(access: &'a A, table: &'a HeapTable, pages: Range<u32>) -> Window<'a, A> {
        Window { access, table, next: pages.start, end: pages.end, most: PAGES_HELD, held: VecDeque::new() }
    }

    /// Holds as many pages as help a walk of pages like this one.
    #[inline]
    fn hold(&mut self, page: PageView<'_>, touch: Touch) {
        self.most = if walk::fetches_places(page, touch) { PAGES_HELD_OF_PLACES } else { PAGES_HELD };
    }

    /// The next page to walk; the window behind it is full, or as full as the pool allows.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<Option<A::Guard<'a>>, StorageError> {
        while self.next < self.end && self.held.len() <= self.most {
            match self.access.get(self.table.page(self.next)) {
                Ok(guard) => self.held.push_back(guard),
                // Every frame is pinned: what is held is walked and let go first.
                Err(StorageError::PoolExhausted { .. }) if !self.held.is_empty() => break,
                Err(error) => return Err(error),
            }
            self.next += 1;
            if self.next.saturating_add(PAGES_AHEAD) < self.end {
                self.access.prefetch(self.table.page(self.next + PAGES_AHEAD));
            }
        }
        Ok(self.held.pop_front())
    }
}

/// Rows to be read by their addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// What is touched of every row.
    pub touch: Touch,
    /// For how many rows ahead the pages are asked for; 0: each page is met cold.
    pub look_ahead: usize,
    /// The state to see, as in [`Scan`].
    pub as_of: Option<ChangeNumber>,
}

/// Reads rows by their addresses, in the order given: one get a row, or a pinned revisit when the row stands in the
/// page of the row before.
///
/// Errors with [`StorageError::Parameters`] for an address where no row is.
pub fn fetch_by_rowid<A: PageAccess>(
    access: &A,
    rows: impl IntoIterator<Item = RowId>,
    fetch: &Fetch,
) -> Result<ScanResult, StorageError> {
    let mut result = ScanResult::default();
    let mut rebuilder = Rebuilder::new(fetch.as_of);
    let mut held: Option<(PageId, A::Guard<'_>)> = None;
    for row in announced(access, rows.into_iter(), fetch.look_ahead) {
        let page = match held.take() {
            Some((id, page)) if id == row.page => {
                access.pinned_revisit();
                result.pinned_revisits += 1;
                page
            }
            other => {
                // Let go of the page before, so that one pin is enough.
                drop(other);
                result.pages += 1;
                access.get(row.page)?
            }
        };
        if rebuilder.is_needed(&page) {
            result.add(touch_row(rebuilder.rebuild(access, page)?, row, fetch.touch)?);
        } else {
            result.add(touch_row(PageView::verified(&page), row, fetch.touch)?);
            held = Some((row.page, page));
        }
    }
    rebuilder.count_into(&mut result);
    Ok(result)
}

/// The same addresses, each page asked for `look_ahead` rows before its row comes.
fn announced<A: PageAccess>(
    access: &A,
    mut rows: impl Iterator<Item = RowId>,
    look_ahead: usize,
) -> impl Iterator<Item = RowId> {
    let mut waiting = VecDeque::with_capacity(look_ahead + 1);
    std::iter::from_fn(move || {
        while waiting.len() <= look_ahead
            && let Some(row) = rows.next()
        {
            if look_ahead > 0 {
                access.prefetch(row.page);
            }
            waiting.push_back(row);
        }
        waiting.pop_front()
    })
}

/// Touches one row of a page.
#[inline]
fn touch_row(page: PageView<'_>, row: RowId, touch: Touch) -> Result<Walked, StorageError> {
    match page.row(row.slot) {
        Some(view) => Ok(Walked { rows: 1, folded: walk::fold_row(view, touch) }),
        None => Err(StorageError::Parameters(format!("{} has no row {}", row.page, row.slot))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::table::TableSpec;
    use crate::tests::memory_pages::{FewFrames, MemoryPages, row_ids};
    use dataset::DataSet;
    use dataset::uniform::RowShape;
    use std::sync::atomic::Ordering;

    const TOUCHES: [Touch; 4] = [Touch::Directory, Touch::Rows, Touch::Column(1), Touch::Column(5)];

    fn table() -> (MemoryPages, HeapTable) {
        let spec = TableSpec::new("t", DataSet::uniform(RowShape { row_length: 300, columns: 5 }, 100_000, 3));
        MemoryPages::with_table(&spec, 0)
    }

    fn fetched(access: &MemoryPages, rows: impl Iterator<Item = RowId>, touch: Touch) -> ScanResult {
        fetch_by_rowid(access, rows, &Fetch { touch, look_ahead: 4, as_of: None }).unwrap()
    }

    #[test]
    fn every_page_is_got_once_and_every_row_counted_once() {
        let (access, table) = table();
        let result = full_scan(&access, &table, Touch::Rows).unwrap();
        assert_eq!((result.rows, result.pages), (table.rows(), u64::from(table.pages())));
        assert_eq!(result.folded, 5 * table.rows());
        assert_eq!(access.gets.load(Ordering::Relaxed), u64::from(table.pages()));
    }

    #[test]
    fn a_scan_and_rowids_in_any_order_find_the_same() {
        let (access, table) = table();
        for touch in TOUCHES {
            let scanned = full_scan(&access, &table, touch).unwrap();
            let in_order = fetched(&access, row_ids(&table), touch);
            let at_random = fetched(&access, table.row_ids_in_random_order(9), touch);
            assert_eq!((scanned.rows, scanned.folded), (in_order.rows, in_order.folded), "{touch:?}");
            assert_eq!((scanned.rows, scanned.folded), (at_random.rows, at_random.folded), "{touch:?}");
            assert_eq!(in_order.pages, u64::from(table.pages()));
            assert_eq!(in_order.pages + in_order.pinned_revisits, table.rows());
        }
        assert!(access.revisits.load(Ordering::Relaxed) > 0);
        assert!(access.prefetches.load(Ordering::Relaxed) > 0);
    }

    #[test]
    fn ranges_of_pages_add_up_to_the_table() {
        let (access, table) = table();
        let mut sum = ScanResult::default();
        for pages in [0..3, 3..4, 4..4, 4..table.pages()] {
            sum += scan(&access, &table, &Scan { pages, touch: Touch::Column(5), as_of: None }).unwrap();
        }
        assert_eq!(sum, full_scan(&access, &table, Touch::Column(5)).unwrap());
    }

    #[test]
    fn a_pool_that_is_all_but_pinned_slows_a_scan_and_does_not_stop_it() {
        let (pages, table) = table();
        let expected = full_scan(&pages, &table, Touch::Rows).unwrap();
        for frames in 1..5 {
            let access = FewFrames::new(&pages, frames);
            assert_eq!(full_scan(&access, &table, Touch::Rows).unwrap(), expected, "{frames} frames");
            assert_eq!(access.free.get(), frames);
        }
        let access = FewFrames::new(&pages, 0);
        assert!(matches!(full_scan(&access, &table, Touch::Rows), Err(StorageError::PoolExhausted { .. })));
    }

    #[test]
    fn an_address_without_a_row_is_an_error() {
        let (access, table) = table();
        let nowhere = RowId { slot: 500, ..table.row_id(0) };
        let fetch = Fetch { touch: Touch::Rows, look_ahead: 0, as_of: None };
        let message = fetch_by_rowid(&access, [nowhere], &fetch).unwrap_err().to_string();
        assert!(message.contains("has no row 500"), "{message}");
    }
}
