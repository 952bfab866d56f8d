//! The nested loop with an index: for each row of an outer table, the rows of an inner one that have its key.
//!
//! The inner table is asked for row by row, so each row may cost a read. What the operators differ in is how many of
//! these reads are known before the first one is waited for:
//!
//! | file | rows come in | read at once |
//! | --- | --- | --- |
//! | `one_at_a_time.rs` | the order of the outer rows | one block |
//! | `prefetch.rs` | the order of the outer rows | what is missing of the rows ahead, by a distance that adapts |
//! | `batch.rs` | the order of the outer rows | what is missing of a batch of outer rows |
//! | `batched_rowid.rs` | the order of the blocks, in a larger batch | the same in block order, neighbours together |
//!
//! All of them give the same rows. The outer table is a list of keys: where it comes from costs the same for all.

mod batch;
mod batched_rowid;
mod one_at_a_time;
mod prefetch;

use crate::btree::BTree;
use crate::btree::probe::{Gathered, Hit, Probe, Wanted};
use crate::error::StorageError;
use crate::exec::row_queue::{LOOK_AHEAD, RowQueue, RowSink};
use crate::page::access::ReadAhead;
use crate::page::id::PageId;
use crate::page::number;
use crate::page::row::RowView;
use crate::page::walk::Spot;

/// Rows that are handed on before the reads under way are looked after: often enough that the device is not left idle,
/// and seldom enough that a look at nothing costs nothing.
const ROWS_BETWEEN_LOOKS: usize = 32;

/// How the rows of the inner table are gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Each row is fetched before the next key is looked up.
    OneAtATime,
    /// Looks ahead in the addresses of the rows to come.
    Prefetch(Distance),
    /// Outer rows are gathered, this many at a time.
    Batch(usize),
    /// Rows are gathered, this many at a time or a few more, and fetched in the order of their blocks.
    BatchedRowid(usize),
}

/// How far `Prefetch` looks ahead, in rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Distance {
    /// From one row on: twice as far after a row that had to be read, one row less after one that was cached.
    UpTo(usize),
    /// Always so far.
    Fixed(usize),
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Join<'q> {
    /// The keys of the outer rows, in the order of those; a null matches nothing. At most 2^32 - 1.
    pub outer: &'q [Option<i64>],
    /// The column of the inner table that is summed, from 1: whole numbers.
    pub column: u8,
    /// Most pages that are asked for at once; see [`Pool::pages_ahead`](crate::pool::Pool::pages_ahead).
    pub pages_at_once: usize,
    /// How.
    pub method: Method,
}

/// What was found and what it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JoinResult {
    /// Pairs of an outer and an inner row.
    pub rows: u64,
    /// Outer rows without an inner one.
    pub unmatched: u64,
    /// The sum of the inner column over all pairs, modulo 2^64, nulls left out. It does not depend on the order.
    pub sum: i64,
    /// Gets of pages of the index.
    pub index_gets: u64,
    /// Gets of pages of the table.
    pub table_gets: u64,
    /// Uses of pages that were still held, of either.
    pub pinned_revisits: u64,
    /// Requests for missing blocks that were waited for: one for each block that is got alone, one for all that were
    /// gathered.
    pub requests: u64,
    /// Blocks that these brought.
    pub blocks: u64,
    /// Requests for the index among them.
    pub index_requests: u64,
    /// Blocks of the index among them.
    pub index_blocks: u64,
}

/// Hears of each pair: the number of the outer row, from 0, and the inner row.
pub type Emit<'e> = &'e mut dyn FnMut(u32, RowView<'_>);

/// Joins the outer keys with the rows of the index's table.
///
/// Errors as the gets of either, for an index whose keys are no numbers, and for an entry that leads to no row. Rows
/// that `emit` has heard of before an error are rows of the join.
pub fn run<A: ReadAhead>(
    access: &A,
    tree: &BTree,
    join: &Join<'_>,
    emit: Option<Emit<'_>>,
) -> Result<JoinResult, StorageError> {
    if u32::try_from(join.outer.len()).is_err() {
        return Err(StorageError::Parameters("a join takes at most 2^32 - 1 outer rows at a time".into()));
    }
    let blocks_before = access.blocks_read();
    let mut work = Work::new(access, tree, join, emit)?;
    let outcome = match join.method {
        Method::OneAtATime => one_at_a_time::run(&mut work),
        Method::Prefetch(distance) => prefetch::run(&mut work, distance),
        Method::Batch(size) => batch::run(&mut work, size.max(1)),
        Method::BatchedRowid(size) => batched_rowid::run(&mut work, size.max(1)),
    };
    access.settle();
    outcome?;
    Ok(work.result(access.blocks_read() - blocks_before))
}

/// What every operator works with.
struct Work<'a, 'e, A: ReadAhead + 'a> {
    access: &'a A,
    tree: &'a BTree,
    join: &'a Join<'a>,
    probe: Probe<'a, A>,
    rows: RowQueue<'a, A, Joined<'e>>,
    gathered: Gathered,
    /// Outer rows whose key is null.
    nulls: u64,
    /// How many outer rows were looked up.
    looked_up: usize,
    wanted: Vec<Wanted>,
    missing: Vec<PageId>,
    /// Rows whose pages were asked for.
    coming: Vec<Hit>,
}

impl<'a, 'e, A: ReadAhead> Work<'a, 'e, A> {
    fn new(
        access: &'a A,
        tree: &'a BTree,
        join: &'a Join<'a>,
        emit: Option<Emit<'e>>,
    ) -> Result<Work<'a, 'e, A>, StorageError> {
        let joined = Joined { column: join.column, rows: 0, sum: 0, emit };
        Ok(Work {
            access,
            tree,
            join,
            probe: Probe::new(access, tree, join.pages_at_once)?,
            rows: RowQueue::new(access, tree.table(), LOOK_AHEAD, joined),
            gathered: Gathered::default(),
            nulls: 0,
            looked_up: 0,
            wanted: Vec::new(),
            missing: Vec::new(),
            coming: Vec::new(),
        })
    }

    /// Whether there are outer rows that were not looked up yet.
    fn has_more(&self) -> bool {
        self.looked_up < self.join.outer.len()
    }

    /// Looks up the keys of the next outer rows, at most `count`, all at once.
    fn look_up_next(&mut self, count: usize, hits: &mut Vec<Hit>) -> Result<(), StorageError> {
        let from = self.looked_up;
        let keys = &self.join.outer[from..from.saturating_add(count).min(self.join.outer.len())];
        self.wanted.clear();
        let numbered = keys.iter().zip(from as u32..);
        self.wanted.extend(numbered.filter_map(|(key, number)| Some(Wanted::new(number, (*key)?))));
        self.nulls += (keys.len() - self.wanted.len()) as u64;
        self.looked_up += keys.len();
        self.probe.look_up_many(&self.wanted, hits)
    }

    fn page(&self, hit: &Hit) -> PageId {
        PageId { segment: self.tree.table(), number: hit.0.page() }
    }

    /// Asks for the pages of these rows that are not cached, and hands the rows on, in this order; the last of them not
    /// before the next call, so that they have time to come.
    ///
    /// So many rows at a time that their pages and those of the rows before are no more than are asked for at once.
    fn fetch(&mut self, mut hits: &[Hit]) -> Result<(), StorageError> {
        while !hits.is_empty() {
            let (now, later) = hits.split_at(self.find_missing(hits));
            self.gathered.ask(self.access, &self.missing)?;
            self.hand_on_coming(self.kept())?;
            self.coming.extend(now);
            hits = later;
        }
        Ok(())
    }

    /// Rows that stay in the queue while more are to come, so that it can look ahead at them.
    fn kept(&self) -> usize {
        LOOK_AHEAD.min(self.join.pages_at_once / 4)
    }

    /// Gathers the pages of the next rows that are not cached, and returns of how many rows.
    fn find_missing(&mut self, hits: &[Hit]) -> usize {
        self.missing.clear();
        let most = ((self.join.pages_at_once - self.kept()) / 2).max(1);
        let (mut pages, mut last) = (0, None);
        let beyond = hits.iter().position(|hit| {
            let page = self.page(hit);
            if last == Some(page) {
                return false;
            }
            last = Some(page);
            pages += 1;
            if pages <= most && !self.access.is_cached(page) {
                self.missing.push(page);
            }
            pages > most
        });
        beyond.unwrap_or(hits.len())
    }

    /// Hands on the rows that were asked for last, and all before them.
    fn finish(&mut self) -> Result<(), StorageError> {
        self.hand_on_coming(0)?;
        self.rows.work_off(0)
    }

    /// Hands on the rows that were asked for last, but for `kept` that are looked ahead at.
    fn hand_on_coming(&mut self, kept: usize) -> Result<(), StorageError> {
        self.rows.extend(self.coming.iter().copied());
        let mut left = self.coming.len() + kept;
        self.coming.clear();
        while left > kept {
            left = left.saturating_sub(ROWS_BETWEEN_LOOKS).max(kept);
            self.rows.work_off(left)?;
            self.access.advance()?;
        }
        Ok(())
    }

    /// Hands the rows on.
    fn hand_on(&mut self, hits: &[Hit]) -> Result<(), StorageError> {
        self.rows.extend(hits.iter().copied());
        self.rows.work_off(0)
    }

    fn result(self, blocks: u64) -> JoinResult {
        let index_blocks = self.probe.blocks;
        let index_requests = self.probe.gathered.requests_for(index_blocks);
        JoinResult {
            rows: self.rows.sink.rows,
            unmatched: self.probe.unmatched + self.nulls,
            sum: self.rows.sink.sum,
            index_gets: self.probe.gets,
            table_gets: self.rows.gets,
            pinned_revisits: self.probe.revisits + self.rows.revisits,
            requests: self.gathered.requests_for(blocks - index_blocks) + index_requests,
            blocks,
            index_requests,
            index_blocks,
        }
    }
}

/// Takes the pairs.
struct Joined<'e> {
    column: u8,
    rows: u64,
    sum: i64,
    emit: Option<Emit<'e>>,
}

impl RowSink for Joined<'_> {
    /// The number of the outer row.
    type Tag = u32;

    #[inline]
    fn take(&mut self, rows: &[Spot<'_>], outer: &[u32]) {
        self.rows += rows.len() as u64;
        for (spot, outer) in rows.iter().zip(outer) {
            let row = spot.row();
            let value = row.column(self.column).flatten().and_then(number::decode);
            self.sum = self.sum.wrapping_add(value.unwrap_or(0));
            if let Some(emit) = &mut self.emit {
                emit(*outer, row);
            }
        }
    }
}
