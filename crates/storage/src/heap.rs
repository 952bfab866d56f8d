//! The heap table: reading all of it, or single rows by their addresses.
//!
//! Where the pages come from is the business of a [`PageAccess`]: the buffer pool, or plain memory in tests. A reader
//! that names a change number sees the table as of then; see [`crate::versions`].

use std::collections::VecDeque;
use std::ops::{Deref, Range};

use measure::random::{Permutation, SplitMix64};

use crate::error::StorageError;
use crate::manifest::{TableInfo, TableSpec};
use crate::page::{ChangeNumber, PageBytes, PageView};
use crate::page_id::{PageId, RowId, SegmentId};
use crate::row::RowView;
use crate::versions::Rebuilder;
use crate::walk::{self, Touch, Walked};

/// How many pages a scan holds besides the one that it walks; the lines of the farthest are being fetched.
///
/// With one, a walk of few lines ended before they came: 32 row heads took 156 ns a page, with two 108, with three 101.
const PAGES_HELD: usize = 2;

/// How many pages before its get a scan asks for the place of a page: far enough that it is known then, though a pin
/// keeps the processor from working ahead by itself.
const PAGES_AHEAD: u32 = 4;

/// Pages to read.
pub trait PageAccess {
    /// A page that stays where it is, unchanged, until this is dropped.
    type Guard<'a>: Deref<Target = PageBytes>
    where
        Self: 'a;

    /// One get. What it gives was verified when it came from a disk.
    fn get(&self, page: PageId) -> Result<Self::Guard<'_>, StorageError>;

    /// Says that a page will be asked for soon. A hint, no get.
    fn prefetch(&self, page: PageId);

    /// Hears that a page was used again while still held: no get, but counted.
    fn pinned_revisit(&self) {}

    /// Whether a page can be got without reading it from a disk. It may be gone a moment later.
    fn is_cached(&self, _page: PageId) -> bool {
        true
    }

    /// Brings pages that are not there in one go, in the order given. A get of none of them; they may be gone before
    /// they are got. Errors as the get of the first one that cannot be brought.
    fn load_many(&self, _pages: &[PageId]) -> Result<(), StorageError> {
        Ok(())
    }

    /// Asks for pages that are not there, in the order given, and does not wait for them: tells how many these are. A
    /// get of none of them; one that cannot be brought is an error of the get or [`advance`](PageAccess::advance) that
    /// finds out. After the last of them, or after an error, [`settle`](PageAccess::settle) is called.
    fn ask_ahead(&self, _pages: &[PageId]) -> Result<u64, StorageError> {
        Ok(0)
    }

    /// Takes in what of the pages asked for ahead has come, without waiting.
    fn advance(&self) -> Result<(), StorageError> {
        Ok(())
    }

    /// Waits for the reads that are under way, and forgets pages asked for ahead that are not being read yet.
    fn settle(&self) {}

    /// Blocks that were read from a disk so far.
    fn blocks_read(&self) -> u64 {
        0
    }
}

/// A loaded table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapTable {
    segment: SegmentId,
    pages: u32,
    rows: u64,
    rows_per_page: u32,
    spec: TableSpec,
}

impl HeapTable {
    /// The table of `info`, whose data file those who give the pages know as `segment`.
    pub fn new(info: &TableInfo, segment: SegmentId) -> HeapTable {
        let rows_per_page = info.spec.rows_per_page();
        HeapTable { segment, pages: info.pages, rows: info.rows, rows_per_page, spec: info.spec.clone() }
    }

    /// The segment of its pages.
    pub fn segment(&self) -> SegmentId {
        self.segment
    }

    /// Number of its pages.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Number of its rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// What it was made from.
    pub fn spec(&self) -> &TableSpec {
        &self.spec
    }

    /// A page of it.
    #[inline]
    pub fn page(&self, number: u32) -> PageId {
        PageId { segment: self.segment, number }
    }

    /// The address of row `number`, counted from 0 in the order of loading. Panics beyond the last row.
    #[inline]
    pub fn row_id(&self, number: u64) -> RowId {
        assert!(number < self.rows, "row {number} of {}", self.rows);
        let per_page = u64::from(self.rows_per_page);
        RowId { page: self.page((number / per_page) as u32), slot: (number % per_page) as u16 }
    }

    /// The addresses of all rows in the order of loading.
    pub fn row_ids(&self) -> impl Iterator<Item = RowId> + '_ {
        (0..self.rows).map(|number| self.row_id(number))
    }

    /// The addresses of all rows, each once, in an order that depends on the seed. Nothing is stored.
    pub fn row_ids_in_random_order(&self, seed: u64) -> impl Iterator<Item = RowId> + '_ {
        let order = Permutation::new(self.rows, &mut SplitMix64::new(seed));
        order.into_numbers().map(|number| self.row_id(number))
    }
}

/// What a reader found and what it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanResult {
    /// Rows that were read.
    pub rows: u64,
    /// Pages of the table that were got.
    pub pages: u64,
    /// Rows that were read from the page before, still held.
    pub pinned_revisits: u64,
    /// A sum over what was touched; see [`Walked::folded`].
    pub folded: u64,
    /// Pages that had changed and were rebuilt.
    pub rebuilt: u64,
    /// Gets of undo pages that this took.
    pub undo_gets: u64,
}

impl ScanResult {
    fn add(&mut self, walked: Walked) {
        self.rows += walked.rows;
        self.folded = self.folded.wrapping_add(walked.folded);
    }
}

impl std::ops::AddAssign for ScanResult {
    fn add_assign(&mut self, other: ScanResult) {
        self.add(Walked { rows: other.rows, folded: other.folded });
        self.pages += other.pages;
        self.pinned_revisits += other.pinned_revisits;
        self.rebuilt += other.rebuilt;
        self.undo_gets += other.undo_gets;
    }
}

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
/// up to three pages. When the pool has fewer for it, it goes on with those.
pub fn scan<A: PageAccess>(access: &A, table: &HeapTable, scan: &Scan) -> Result<ScanResult, StorageError> {
    let mut result = ScanResult::default();
    let mut rebuilder = Rebuilder::new(scan.as_of);
    let mut window = Window::over(access, table, scan.pages.clone());
    while let Some(page) = window.advance()? {
        result.pages += 1;
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
    pub(crate) held: VecDeque<A::Guard<'a>>,
}

impl<'a, A: PageAccess> Window<'a, A> {
    /// A window over a range of pages.
    pub(crate) fn over(access: &'a A, table: &'a HeapTable, pages: Range<u32>) -> Window<'a, A> {
        Window { access, table, next: pages.start, end: pages.end, held: VecDeque::new() }
    }

    /// The next page to walk; the window behind it is full, or as full as the pool allows.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<Option<A::Guard<'a>>, StorageError> {
        while self.next < self.end && self.held.len() <= PAGES_HELD {
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
        Some(view) => Ok(Walked { rows: 1, folded: fold_row(view, touch) }),
        None => Err(StorageError::Parameters(format!("{} has no row {}", row.page, row.slot))),
    }
}

#[inline]
fn fold_row(row: RowView<'_>, touch: Touch) -> u64 {
    match touch {
        Touch::Directory => 0,
        Touch::Rows => u64::from(row.column_count()),
        Touch::Column(number) => row.column(number).flatten().map_or(0, walk::fold_value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_pages::{FewFrames, MemoryPages};
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
            let in_order = fetched(&access, table.row_ids(), touch);
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
