//! Index range scan with table access: in the order of the keys, every entry's row is fetched and one column of it
//! looked at.
//!
//! The addresses to come stand in the leaf, so the rows go through a queue that looks ahead (`row_queue.rs`). A row in
//! the page of the row before is no get, so the gets of the table by a scan of the whole index are its clustering
//! factor.

use std::ops::Bound;

use super::row_queue::{RowQueue, RowSink};
use crate::btree::{BTree, Key};
use crate::error::StorageError;
use crate::page::access::PageAccess;
use crate::page::walk::{Spot, count_values};

pub use super::row_queue::LOOK_AHEAD;

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
    let count = Count { column: scan.column, rows: 0, values: 0 };
    let mut rows = RowQueue::new(access, tree.table(), scan.look_ahead, count);
    let mut leaves = tree.range(access, (scan.lower, scan.upper))?;
    while let Some((node, span)) = leaves.next_leaf()? {
        rows.extend(node.places(span).map(|place| (place, ())));
        rows.work_off(scan.look_ahead.max(1))?;
    }
    rows.work_off(0)?;
    let Count { rows: visited, values, .. } = rows.sink;
    let (table_gets, pinned_revisits) = (rows.gets, rows.revisits);
    Ok(IndexScanResult { rows: visited, values, index_gets: leaves.gets(), table_gets, pinned_revisits })
}

/// Counts rows and values.
struct Count {
    column: u8,
    rows: u64,
    values: u64,
}

impl RowSink for Count {
    type Tag = ();

    #[inline]
    fn take(&mut self, rows: &[Spot<'_>], _: &[()]) {
        self.rows += rows.len() as u64;
        self.values += count_values(rows, self.column);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btree::{BulkSettings, KeyKind, TreePlace};
    use crate::page::access::PageUpdate;
    use crate::page::id::{PAGE_SIZE, PageId, RowId};
    use crate::page::row::Value;
    use crate::page::{PageKind, PageMut, row};
    use crate::tests::memory_pages::{FewFrames, MemoryPages, TABLE, UNDO};
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
            assert_eq!(result.table_gets, tree.built().clustering_factor);
            let blocks = u64::from(places[2999].page.number) + 1;
            assert!((step == 1) == (result.table_gets == blocks), "step {step}: {}", result.table_gets);
            assert_eq!(result.index_gets, u64::from(tree.built().leaves) + 1);
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
            assert!(tree.built().leaves > 3);
            access.get_mut(PageId { segment: UNDO, number: leaf }).unwrap().fill(0);
            let message = count_by_index(&access, &tree, &whole(2, LOOK_AHEAD)).unwrap_err().to_string();
            assert!(message.contains(&format!("test.index: page {leaf} is damaged")), "{message}");
        }
    }

    #[test]
    fn an_entry_that_leads_to_no_row_is_an_error_that_names_it() {
        let (access, _, places) = indexed(&plain_rows(100), &(0..100).collect::<Vec<i64>>());
        let settings = BulkSettings { keys: KeyKind::Number, fill_percent: 100, segment: UNDO };
        let place = TreePlace { segment: UNDO, table: TABLE, name: "test.index".into() };
        let astray = RowId { slot: 999, ..places[0] };
        let tree = BTree::create_from(&access, place, settings, |add| add(Key::Number(50), astray)).unwrap();
        let message = count_by_index(&access, &tree, &whole(1, 4)).unwrap_err().to_string();
        assert!(message.contains("an index leads to page 0 of segment 4, which has no row 999"), "{message}");
        drop(access.get(places[0].page).unwrap());
    }
}
