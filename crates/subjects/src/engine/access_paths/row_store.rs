//! The blocks of rows in a buffer pool, with one index at a time beside them.

use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use measure::Metric;
use measure::schema::scan as schema;
use storage::btree::{BTree, BulkSettings, Key, KeyKind, TreePlace};
use storage::catalog::{TableInfo, TableSpec};
use storage::exec::full_scan::full_scan;
use storage::exec::index_scan::{IndexScan, LOOK_AHEAD, count_by_index};
use storage::exec::question::Answer;
use storage::heap::HeapTable;
use storage::page::PageView;
use storage::page::id::PAGE_SIZE;
use storage::page::number;
use storage::pool::{Pool, PoolSettings, Session};
use storage::{PageId, RowId, StorageError};
use sys::time::Clock;

use super::generated::GeneratedPages;
use super::question::{COUNTED, CUST_ID, POSTAL_CODE, question};
use super::store::{self, StorePass};
use super::structure::SPARE_PAGES;
use super::threads;
use crate::access_paths::{AccessPath, Asked, ScanCost};

/// Fewest entries of a leaf: keys of eight bytes with their addresses, nine tenths full.
const ENTRIES_PER_LEAF: u64 = 400;

/// How full leaves become, in percent, so that an insert finds room: PostgreSQL's and Oracle's own choice.
const FILL_PERCENT: u8 = 90;

/// Bytes of an entry while the entries of an index are sorted.
pub(super) const SORTED_ENTRY_BYTES: u64 = size_of::<(u64, u32, u16)>() as u64;

/// Most leading bytes of a text that order its entries; a postal code has five.
const HEAD_BYTES: usize = size_of::<u64>();

/// Takes a value and the address of its row.
type EachValue<'a> = dyn FnMut(&[u8], RowId) -> Result<(), StorageError> + 'a;

/// The table in its pool.
pub(super) struct RowStore {
    pool: Pool,
    table: HeapTable,
    index: Option<(AccessPath, BTree)>,
}

/// Most blocks that an index over `rows` rows takes.
pub(super) fn index_pages(rows: u64) -> u64 {
    rows.div_ceil(ENTRIES_PER_LEAF) + 64
}

impl RowStore {
    /// Makes the table with `builders` threads in a pool with room for it, and for an index where `has_index`.
    pub(super) fn build(
        spec: &TableSpec,
        has_index: bool,
        builders: usize,
        stop: &AtomicBool,
    ) -> Result<RowStore, StorageError> {
        let pages = spec.pages()?;
        let beside = if has_index { index_pages(spec.rows()) } else { 0 };
        let bytes = (u64::from(pages) + beside + SPARE_PAGES) * PAGE_SIZE as u64;
        let pool = Pool::new(PoolSettings::new(bytes as usize))?;
        let segment = pool.add_volatile_segment("customers", pages)?;
        let rows = GeneratedPages::new(spec, stop)?;
        threads::make_parts(pages, builders.max(1), &|_, part| {
            let session = pool.session();
            part.into_iter().try_for_each(|number| {
                // The block carries its maker's segment number, which is never read in memory.
                rows.make(number, &mut *session.create(PageId { segment, number })?)
            })
        })?;
        let table = HeapTable::new(&TableInfo::planned(spec, segment)?, segment);
        Ok(RowStore { pool, table, index: None })
    }

    /// Turns to a path, whose index takes the place of another one, and gives what is known of both.
    pub(super) fn prepare(&mut self, path: AccessPath, stop: &AtomicBool) -> Result<Vec<Metric>, StorageError> {
        let is_there = self.index.as_ref().is_some_and(|(of, _)| *of == path);
        if !is_there && let Some((_, old)) = self.index.take() {
            self.pool.discard(old.segment())?;
        }
        if path.is_index() && !is_there {
            self.index = Some((path, self.build_index(path, stop)?));
        }
        let mut metrics = store::blocks(self.table.pages().into()).to_vec();
        if let Some((_, tree)) = &self.index {
            let factor = "table-block changes met when the index is walked in key order";
            let built = tree.built();
            metrics.push(schema::CLUSTERING_FACTOR.count(factor, built.clustering_factor));
            metrics.push(schema::LEAF_BLOCKS.count("leaves of the index", built.leaves.into()));
        }
        Ok(metrics)
    }

    fn build_index(&self, path: AccessPath, stop: &AtomicBool) -> Result<BTree, StorageError> {
        let pages = u32::try_from(index_pages(self.table.rows()));
        let pages = pages.map_err(|_| StorageError::Parameters("the index has more blocks than can be".into()))?;
        let segment = self.pool.add_volatile_segment(path.name(), pages)?;
        let place = TreePlace { segment, table: self.table.segment(), name: path.name().into() };
        let session = self.pool.session();
        let settings = |keys| BulkSettings { keys, fill_percent: FILL_PERCENT, segment };
        if path == AccessPath::IndexGoodClustering {
            // The rows stand in the order of their numbers.
            return BTree::create_from(&session, place, settings(KeyKind::Number), |add| {
                each_value(&session, &self.table, CUST_ID, stop, &mut |value, row| {
                    add(Key::Number(number::decode(value).unwrap_or(0)), row)
                })
            });
        }
        let mut entries: Vec<(u64, u32, u16)> = Vec::with_capacity(self.table.rows() as usize);
        each_value(&session, &self.table, POSTAL_CODE, stop, &mut |value, row| {
            entries.push((head(value), row.page.number, row.slot));
            Ok(())
        })?;
        entries.sort_unstable();
        let table = self.table.segment();
        BTree::create_from(&session, place, settings(KeyKind::Text), |add| {
            entries.iter().try_for_each(|(head, number, slot)| {
                let bytes = head.to_be_bytes();
                let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(HEAD_BYTES);
                add(
                    Key::Text(&bytes[..length]),
                    RowId { page: PageId { segment: table, number: *number }, slot: *slot },
                )
            })
        })
    }

    /// Takes the path that was prepared.
    pub(super) fn scan(&self, path: AccessPath, pass: &StorePass, clock: &Clock) -> Result<ScanCost, StorageError> {
        if path == AccessPath::FullScan {
            let question = question(pass.asked);
            return threads::run(&self.pool, clock, pass, self.table.pages(), &|session, pages| {
                full_scan(session, &self.table, pages, &question)
            });
        }
        let unready = || StorageError::Parameters(format!("the path {} was not prepared", path.name()));
        let (_, tree) = self.index.as_ref().filter(|(of, _)| *of == path).ok_or_else(unready)?;
        let lower = match (pass.asked, path) {
            (Asked::NoPredicate, _) => Bound::Unbounded,
            (_, AccessPath::IndexGoodClustering) => Bound::Excluded(Key::Number(0)),
            _ => Bound::Excluded(Key::Text(b"0")),
        };
        let scan = IndexScan { lower, upper: Bound::Unbounded, column: COUNTED, look_ahead: LOOK_AHEAD };
        let table_gets = AtomicU64::new(0);
        let alone = StorePass { threads: 1, ..*pass };
        let cost = threads::run(&self.pool, clock, &alone, 1, &|session, _| {
            let found = count_by_index(session, tree, &scan)?;
            table_gets.fetch_add(found.table_gets, Ordering::Relaxed);
            Ok(Answer { rows: found.rows, count: found.values })
        })?;
        Ok(ScanCost { table_gets: Some(table_gets.into_inner() / pass.watch.rounds()), ..cost })
    }

    /// The pool, for what it says about itself.
    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }
}

/// Hands the value of a column in every row to `each`, in the order of the table.
fn each_value(
    session: &Session<'_>,
    table: &HeapTable,
    column: u8,
    stop: &AtomicBool,
    each: &mut EachValue<'_>,
) -> Result<(), StorageError> {
    for number in 0..table.pages() {
        StorageError::unless_stopped(stop)?;
        let id = table.page(number);
        let page = session.get(id)?;
        for (slot, row) in (0..).zip(PageView::verified(&page).rows()) {
            each(row.column(column).flatten().unwrap_or(&[]), RowId { page: id, slot })?;
        }
    }
    Ok(())
}

/// The first bytes of a text as a number of the same order; shorter texts end in zeros.
fn head(text: &[u8]) -> u64 {
    let mut bytes = [0; HEAD_BYTES];
    let length = text.len().min(HEAD_BYTES);
    bytes[..length].copy_from_slice(&text[..length]);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_have_the_order_of_their_texts() {
        let texts: [&[u8]; 5] = [b"", b"3", b"30000", b"30097", b"9"];
        assert!(texts.windows(2).all(|pair| head(pair[0]) < head(pair[1])));
    }

    #[test]
    fn an_index_has_room_for_its_upper_nodes() {
        assert!(index_pages(1) > 2 && index_pages(69_642_625) < 200_000);
    }
}
