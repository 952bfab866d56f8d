//! What every operator of a nested loop works with: look-ups, rows on their way, and the pages that they miss.

use super::join::{Emit, Join, JoinResult};
use crate::btree::BTree;
use crate::btree::probe::{Gathered, Hit, Probe, Wanted};
use crate::error::StorageError;
use crate::exec::row_queue::{LOOK_AHEAD, RowQueue, RowSink};
use crate::page::access::ReadAhead;
use crate::page::id::PageId;
use crate::page::number;
use crate::page::walk::Spot;

/// Rows that are handed on before the reads under way are looked after: often enough that the device is not left idle,
/// and seldom enough that a look at nothing costs nothing.
const ROWS_BETWEEN_LOOKS: usize = 32;

/// What every operator works with.
pub(super) struct Work<'a, 'e, A: ReadAhead + 'a> {
    pub(super) access: &'a A,
    tree: &'a BTree,
    pub(super) join: &'a Join<'a>,
    pub(super) probe: Probe<'a, A>,
    rows: RowQueue<'a, A, Joined<'e>>,
    gathered: Gathered,
    /// Outer rows whose key is null.
    pub(super) nulls: u64,
    /// How many outer rows were looked up.
    looked_up: usize,
    wanted: Vec<Wanted>,
    missing: Vec<PageId>,
    /// Rows whose pages were asked for.
    coming: Vec<Hit>,
}

impl<'a, 'e, A: ReadAhead> Work<'a, 'e, A> {
    pub(super) fn new(
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

    /// [`StorageError::Stopped`] where the user asked to stop.
    pub(super) fn unless_stopped(&self) -> Result<(), StorageError> {
        StorageError::unless_stopped(self.join.stop)
    }

    /// Whether there are outer rows that were not looked up yet.
    pub(super) fn has_more(&self) -> bool {
        self.looked_up < self.join.outer.len()
    }

    /// Looks up the keys of the next outer rows, at most `count`, all at once.
    pub(super) fn look_up_next(&mut self, count: usize, hits: &mut Vec<Hit>) -> Result<(), StorageError> {
        self.unless_stopped()?;
        let from = self.looked_up;
        let keys = &self.join.outer[from..from.saturating_add(count).min(self.join.outer.len())];
        self.wanted.clear();
        let numbered = keys.iter().zip(from as u32..);
        self.wanted.extend(numbered.filter_map(|(key, number)| Some(Wanted::new(number, (*key)?))));
        self.nulls += (keys.len() - self.wanted.len()) as u64;
        self.looked_up += keys.len();
        self.probe.look_up_many(&self.wanted, hits)
    }

    pub(super) fn page(&self, hit: &Hit) -> PageId {
        PageId { segment: self.tree.table(), number: hit.0.page() }
    }

    /// Asks for the pages of these rows that are not cached, and hands the rows on, in this order; the last of them not
    /// before the next call, so that they have time to come.
    ///
    /// Takes as many rows at a time as keep their pages, and those of the rows before, within one prefetch request.
    pub(super) fn fetch(&mut self, mut hits: &[Hit]) -> Result<(), StorageError> {
        while !hits.is_empty() {
            self.unless_stopped()?;
            let (now, later) = hits.split_at(self.find_missing(hits));
            self.gathered.ask(self.access, &self.missing)?;
            self.hand_on_coming(self.kept())?;
            self.coming.extend(now);
            hits = later;
        }
        Ok(())
    }

    /// Brings the pages of these rows that are not cached in one request, waits for all of them, and hands the rows on.
    /// As many rows at a time as in [`fetch`](Work::fetch).
    pub(super) fn fetch_awaited(&mut self, mut hits: &[Hit]) -> Result<(), StorageError> {
        while !hits.is_empty() {
            self.unless_stopped()?;
            let (now, later) = hits.split_at(self.find_missing(hits));
            self.gathered.load(self.access, &self.missing, usize::MAX)?;
            self.hand_on(now)?;
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
    pub(super) fn finish(&mut self) -> Result<(), StorageError> {
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
    pub(super) fn hand_on(&mut self, hits: &[Hit]) -> Result<(), StorageError> {
        self.rows.extend(hits.iter().copied());
        self.rows.work_off(0)
    }

    pub(super) fn result(self, blocks: u64) -> JoinResult {
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
