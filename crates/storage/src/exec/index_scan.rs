//! Index range scan with table access: in the order of the keys, every entry's row is fetched and one column of it
//! looked at.
//!
//! The next row may lie anywhere, so each one costs as many loads from memory as lie on the way to it, one after the
//! other: the page's word, the page's head, the row's entry in the directory, the row. But the addresses to come are
//! known: they stand in the leaf. So the scan works at three places at once. Farthest ahead it asks for the lines of
//! the page's head; nearer it gets the page and asks for the lines of the row; then it walks, several rows side by
//! side.
//!
//! A row in the page of the row before is a *revisit* of a page that is still pinned: no get. So the gets of the table
//! by a scan of the whole index are its clustering factor.

use std::collections::VecDeque;
use std::ops::Bound;

use crate::btree::key::Place;
use crate::btree::{BTree, Key};
use crate::error::StorageError;
use crate::heap::PageAccess;
use crate::page::PageView;
use crate::page_id::{PageId, SegmentId};
use crate::walk::{Spot, count_values};

/// How many rows ahead of the walk a page is asked for, where nobody says otherwise.
pub const LOOK_AHEAD: usize = 32;

/// Rows that are walked side by side, and pages that are got before: so many may be pinned at once, and as many again.
/// With 16 a row took 35 ns in the order of the table, with eight 29.
const GROUP: usize = 8;

/// Rows that were walked and are still in the queue, before it is cut.
const WALKED_MAX: usize = 4096;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct IndexScan<'k> {
    /// Where the keys begin.
    pub lower: Bound<Key<'k>>,
    /// Where they end.
    pub upper: Bound<Key<'k>>,
    /// The column whose values are counted, from 1.
    pub column: u8,
    /// For how many rows ahead the pages are asked for; 0: each page is met cold. See [`LOOK_AHEAD`].
    pub look_ahead: usize,
}

/// What was found and what it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexScanResult {
    /// Entries whose key is in the range: rows that were visited.
    pub rows: u64,
    /// Rows among them whose column is not null: COUNT(column).
    pub values: u64,
    /// Gets of pages of the index.
    pub index_gets: u64,
    /// Gets of pages of the table.
    pub table_gets: u64,
    /// Rows in the page of the row before, which was still held.
    pub pinned_revisits: u64,
}

/// Counts the rows whose key is in a range and whose column is not null.
///
/// At most 17 pages of the table and one of the index are held at a time; when the pool has fewer, the scan goes on
/// with those. Errors as the gets, for keys that are none of the index, and for an entry that leads to no row.
pub fn count_by_index<A: PageAccess>(
    access: &A,
    tree: &BTree,
    scan: &IndexScan<'_>,
) -> Result<IndexScanResult, StorageError> {
    let mut rows = RowQueue::new(access, tree.table(), scan);
    let mut leaves = tree.range(access, (scan.lower, scan.upper))?;
    while let Some((node, span)) = leaves.next_leaf()? {
        rows.result.rows += span.len() as u64;
        rows.waiting.extend(node.places(span));
        rows.work_off(scan.look_ahead.max(1))?;
    }
    rows.work_off(0)?;
    Ok(IndexScanResult { index_gets: leaves.gets(), ..rows.result })
}

/// Rows on their way from the index to the walk.
struct RowQueue<'a, A: PageAccess + 'a> {
    access: &'a A,
    table: SegmentId,
    column: u8,
    look_ahead: usize,
    result: IndexScanResult,
    /// The rows, in key order; before `got` their pages are held or let go already, before `announced` asked for.
    waiting: Vec<Place>,
    announced: usize,
    got: usize,
    /// Number of the page that was asked for last.
    page_announced: Option<u32>,
    /// Pages that are held, in the order of their gets; `released` others were got before them.
    held: VecDeque<A::Guard<'a>>,
    released: usize,
    /// Number of the page that was got last, if it is held.
    page_held: Option<u32>,
    /// Rows that are ready to be walked.
    ready: VecDeque<Ready>,
}

/// A row whose page is held.
#[derive(Clone, Copy)]
struct Ready {
    /// Which of the gets gave its page.
    get: usize,
    /// Where in the page it begins.
    start: u16,
}

impl<'a, A: PageAccess> RowQueue<'a, A> {
    fn new(access: &'a A, table: SegmentId, scan: &IndexScan<'_>) -> RowQueue<'a, A> {
        RowQueue {
            access,
            table,
            column: scan.column,
            look_ahead: scan.look_ahead,
            result: IndexScanResult::default(),
            waiting: Vec::new(),
            announced: 0,
            got: 0,
            page_announced: None,
            held: VecDeque::new(),
            released: 0,
            page_held: None,
            ready: VecDeque::new(),
        }
    }

    /// Walks rows until at most `kept` are left that were not got yet: as long as more are to come, those are looked
    /// ahead at.
    fn work_off(&mut self, kept: usize) -> Result<(), StorageError> {
        let is_last = kept == 0;
        while self.waiting.len() - self.got > kept || (is_last && !self.ready.is_empty()) {
            self.announce();
            let is_short_of_frames = self.get_some()?;
            // One group stays behind, so that its lines have time to come; the rest only when nothing comes any more.
            let is_dry = is_short_of_frames || (is_last && self.got == self.waiting.len());
            while self.ready.len() > GROUP || (is_dry && !self.ready.is_empty()) {
                self.walk_group();
            }
            self.release();
        }
        if self.got > WALKED_MAX {
            self.waiting.drain(..self.got);
            self.announced -= self.got;
            self.got = 0;
        }
        Ok(())
    }

    /// Asks for the pages of the rows that come next but are not got yet.
    #[inline]
    fn announce(&mut self) {
        self.announced = self.announced.max(self.got);
        if self.look_ahead == 0 {
            return;
        }
        let end = (self.got + GROUP + self.look_ahead).min(self.waiting.len());
        for place in &self.waiting[self.announced.min(end)..end] {
            if self.page_announced != Some(place.page()) {
                self.page_announced = Some(place.page());
                self.access.prefetch(PageId { segment: self.table, number: place.page() });
            }
        }
        self.announced = self.announced.max(end);
    }

    /// Gets the pages of the next rows, a group at most; `true` when the pool has no frame for one of them now.
    #[inline]
    fn get_some(&mut self) -> Result<bool, StorageError> {
        let end = (self.got + GROUP).min(self.waiting.len());
        while self.got < end {
            let place = self.waiting[self.got];
            if self.page_held == Some(place.page()) {
                self.access.pinned_revisit();
                self.result.pinned_revisits += 1;
            } else {
                match self.access.get(PageId { segment: self.table, number: place.page() }) {
                    Ok(page) => self.held.push_back(page),
                    Err(StorageError::PoolExhausted { .. }) if !self.held.is_empty() => {
                        self.page_held = None;
                        return Ok(true);
                    }
                    Err(error) => return Err(error),
                }
                self.page_held = Some(place.page());
                self.result.table_gets += 1;
            }
            let page = self.held.back().map(|page| Spot::of(PageView::verified(page), place.slot()));
            let Some(spot) = page.flatten() else { return Err(no_row(place, self.table)) };
            let ready = Ready { get: self.released + self.held.len() - 1, start: spot.start() };
            self.ready.push_back(ready);
            self.got += 1;
        }
        Ok(false)
    }

    /// Walks the rows that were got first.
    #[inline]
    fn walk_group(&mut self) {
        let count = self.ready.len().min(GROUP);
        let Some(first) = self.ready.front() else { return };
        let spot = |ready: &Ready| Spot::at(&self.held[ready.get - self.released], ready.start);
        let mut spots = [spot(first); GROUP];
        for (spot_of, ready) in spots.iter_mut().zip(&self.ready) {
            *spot_of = spot(ready);
        }
        self.result.values += count_values(&spots[..count], self.column);
        self.ready.drain(..count);
    }

    /// Lets go of the pages that no row waits for any more, but for the last one: the next row may be in it.
    #[inline]
    fn release(&mut self) {
        let kept = usize::from(self.page_held.is_some());
        let needed = self.ready.front().map_or(self.released + self.held.len() - kept, |first| first.get);
        while self.released < needed {
            self.held.pop_front();
            self.released += 1;
        }
    }
}

#[cold]
fn no_row(place: Place, table: SegmentId) -> StorageError {
    let row = place.row(table);
    StorageError::Parameters(format!("an index leads to {}, which has no row {}", row.page, row.slot))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btree::{BulkSettings, KeyKind, TreePlace};
    use crate::heap::PageAccess;
    use crate::memory_pages::{FewFrames, MemoryPages, TABLE, UNDO};
    use crate::page::{PageKind, PageMut};
    use crate::page_id::{PAGE_SIZE, RowId};
    use crate::row::{self, Value};
    use crate::versions::PageUpdate;
    use measure::random::SplitMix64;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::sync::atomic::Ordering;

    /// A row by its columns.
    type Columns = Vec<Option<Vec<u8>>>;

    /// A table of these rows and an index of these keys, one a row.
    fn indexed(rows: &[Columns], keys: &[i64]) -> (MemoryPages, BTree, Vec<RowId>) {
        let mut access = MemoryPages::blank(UNDO, 40);
        let mut places = Vec::new();
        let mut left = rows.iter().peekable();
        let mut id = PageId { segment: TABLE, number: 0 };
        while left.peek().is_some() {
            let mut bytes = [0; PAGE_SIZE];
            let mut page = PageMut::format(&mut bytes, id, PageKind::Heap);
            while let Some(columns) = left.peek() {
                let values: Vec<Value<'_>> = columns.iter().map(Option::as_deref).collect();
                let mut row = Vec::new();
                row::encode(&values, &mut row);
                let Some(slot) = page.append(&row) else { break };
                places.push(RowId { page: id, slot });
                left.next();
            }
            access.add(id, bytes);
            id.number += 1;
        }
        let mut entries: Vec<(i64, RowId)> = keys.iter().copied().zip(places.iter().copied()).collect();
        entries.sort_unstable();
        let settings = BulkSettings { keys: KeyKind::Number, fill_percent: 100, segment: UNDO };
        let place = TreePlace { segment: UNDO, table: TABLE, name: "test.index".into() };
        let tree = BTree::create_from(&access, place, settings, |add| {
            entries.iter().try_for_each(|(key, row)| add(Key::Number(*key), *row))
        });
        (access, tree.unwrap(), places)
    }

    fn whole(column: u8, look_ahead: usize) -> IndexScan<'static> {
        IndexScan { lower: Bound::Unbounded, upper: Bound::Unbounded, column, look_ahead }
    }

    fn columns() -> impl Strategy<Value = Columns> {
        let length = prop_oneof![8 => 0..12_usize, 1 => 240..260_usize];
        let value = length.prop_map(|length| vec![0xEE; length]);
        vec(proptest::option::weighted(0.7, value), 0..8)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(80))]
        #[test]
        fn an_index_scan_counts_what_a_look_at_every_row_counts(
            rows in vec(columns(), 0..600), seed in any::<u64>(), column in 0..10_u8, look_ahead in 0..50_usize,
            low in -5..20_i64, high in 0..30_i64,
        ) {
            let mut random = SplitMix64::new(seed);
            let keys: Vec<i64> = rows.iter().map(|_| random.below(20) as i64).collect();
            let (access, tree, _) = indexed(&rows, &keys);
            let scan = IndexScan {
                lower: Bound::Excluded(Key::Number(low)),
                upper: Bound::Included(Key::Number(high)),
                column,
                look_ahead,
            };
            let in_range: Vec<&Columns> =
                rows.iter().zip(&keys).filter(|(_, key)| **key > low && **key <= high).map(|(row, _)| row).collect();
            let has_value = |row: &&&Columns| {
                usize::from(column).checked_sub(1).is_some_and(|at| row.get(at).is_some_and(Option::is_some))
            };
            let before = access.gets.load(Ordering::Relaxed);
            let result = count_by_index(&access, &tree, &scan).unwrap();
            prop_assert_eq!(result.rows, in_range.len() as u64);
            prop_assert_eq!(result.values, in_range.iter().filter(has_value).count() as u64);
            prop_assert_eq!(result.table_gets + result.pinned_revisits, result.rows);
            prop_assert_eq!(access.gets.load(Ordering::Relaxed) - before, result.table_gets + result.index_gets);
            prop_assert_eq!(access.revisits.load(Ordering::Relaxed), result.pinned_revisits);
        }
    }

    fn plain_rows(count: usize) -> Vec<Columns> {
        (0..count).map(|number| vec![Some(vec![1; 60]), (number % 3 > 0).then(|| vec![2])]).collect()
    }

    #[test]
    fn the_gets_of_a_whole_scan_are_the_clustering_factor() {
        let rows = plain_rows(3000);
        for step in [1, 7, 997] {
            let keys: Vec<i64> = (0..3000).map(|number| number * step % 3001).collect();
            let (access, tree, places) = indexed(&rows, &keys);
            let result = count_by_index(&access, &tree, &whole(2, LOOK_AHEAD)).unwrap();
            assert_eq!((result.rows, result.values), (3000, 2000));
            assert_eq!(Some(result.table_gets), tree.clustering_factor());
            let blocks = u64::from(places[2999].page.number) + 1;
            assert!((step == 1) == (result.table_gets == blocks), "step {step}: {}", result.table_gets);
            assert_eq!(result.index_gets, u64::from(tree.leaves()) + 1);
        }
    }

    #[test]
    fn a_pool_that_is_all_but_pinned_slows_an_index_scan_and_does_not_stop_it() {
        let keys: Vec<i64> = (0..3000).map(|number| number * 997 % 3001).collect();
        let (pages, tree, _) = indexed(&plain_rows(3000), &keys);
        let expected = count_by_index(&pages, &tree, &whole(2, LOOK_AHEAD)).unwrap();
        for frames in 2..24 {
            let access = FewFrames::new(&pages, frames);
            let found = count_by_index(&access, &tree, &whole(2, LOOK_AHEAD)).unwrap();
            assert_eq!((found.rows, found.values), (expected.rows, expected.values), "{frames} frames");
            assert_eq!(access.free.get(), frames);
        }
        let error = count_by_index(&FewFrames::new(&pages, 1), &tree, &whole(2, LOOK_AHEAD));
        assert!(matches!(error, Err(StorageError::PoolExhausted { .. })));
    }

    #[test]
    fn a_damaged_leaf_in_the_middle_ends_an_index_scan_without_an_answer() {
        let keys: Vec<i64> = (0..3000).collect();
        for leaf in 1..3 {
            let (access, tree, _) = indexed(&plain_rows(3000), &keys);
            assert!(tree.leaves() > 3);
            access.get_mut(PageId { segment: UNDO, number: leaf }).unwrap().fill(0);
            let message = count_by_index(&access, &tree, &whole(2, LOOK_AHEAD)).unwrap_err().to_string();
            assert!(message.contains(&format!("test.index: page {leaf} is damaged")), "{message}");
        }
    }

    #[test]
    fn an_entry_that_leads_to_no_row_is_an_error_that_names_it() {
        let (access, mut tree, places) = indexed(&plain_rows(100), &(0..100).collect::<Vec<i64>>());
        tree.insert(&access, Key::Number(50), RowId { slot: 999, ..places[0] }).unwrap();
        let message = count_by_index(&access, &tree, &whole(1, 4)).unwrap_err().to_string();
        assert!(message.contains("an index leads to page 0 of segment 4, which has no row 999"), "{message}");
        drop(access.get(places[0].page).unwrap());
    }
}
