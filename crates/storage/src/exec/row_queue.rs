//! Rows on their way from an index to a sink, page by page and several side by side.
//!
//! The next row may lie anywhere, so each one costs as many loads from memory as lie on the way to it, one after the
//! other: the page's word, the page's head, the row's entry in the directory, the row. But the addresses to come are
//! known. So the queue works at three places at once. Farthest ahead it asks for the lines of the page's head; nearer
//! it gets the page and asks for the lines of the row; then it hands the rows on, a group at a time.
//!
//! A row in the page of the row before is a *revisit* of a page that is still pinned: no get.

use std::collections::VecDeque;

use crate::btree::key::Place;
use crate::error::StorageError;
use crate::page::PageView;
use crate::page::access::PageAccess;
use crate::page::id::{PageId, SegmentId};
use crate::page::walk::Spot;

/// How many rows ahead of the walk a page is asked for, by default.
pub const LOOK_AHEAD: usize = 32;

/// Rows that are handed on side by side, and pages that are got before: this many may be pinned at once, and as many
/// again. With 16 a row took 35 ns in the order of the table, with eight 29.
const GROUP: usize = 8;

/// Rows that were walked and are still in the queue, before it is cut.
const WALKED_MAX: usize = 4096;

/// What is done with the rows.
pub(super) trait RowSink {
    /// What comes with a row.
    type Tag: Copy;

    /// Takes the next rows, in the order of the queue, each with what came with it.
    fn take(&mut self, rows: &[Spot<'_>], tags: &[Self::Tag]);
}

/// Rows on their way from the index to the sink.
pub(super) struct RowQueue<'a, A: PageAccess + 'a, S: RowSink> {
    access: &'a A,
    table: SegmentId,
    look_ahead: usize,
    /// What takes the rows.
    pub(super) sink: S,
    /// Gets of pages of the table.
    pub(super) gets: u64,
    /// Rows in the page of the row before, which was still held.
    pub(super) revisits: u64,
    /// The rows; before `got` their pages are held or let go already, before `announced` asked for.
    waiting: Vec<(Place, S::Tag)>,
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
    ready: VecDeque<Ready<S::Tag>>,
}

/// A row whose page is held.
#[derive(Clone, Copy)]
struct Ready<T> {
    /// Which of the gets gave its page.
    get: usize,
    /// Where in the page it begins.
    start: u16,
    /// What came with it.
    tag: T,
}

impl<'a, A: PageAccess, S: RowSink> RowQueue<'a, A, S> {
    /// For how many rows ahead the pages are asked for is said by `look_ahead`; 0: each page is met cold.
    pub(super) fn new(access: &'a A, table: SegmentId, look_ahead: usize, sink: S) -> RowQueue<'a, A, S> {
        RowQueue {
            access,
            table,
            look_ahead,
            sink,
            gets: 0,
            revisits: 0,
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

    /// More rows, behind those that wait.
    #[inline]
    pub(super) fn extend(&mut self, rows: impl IntoIterator<Item = (Place, S::Tag)>) {
        self.waiting.extend(rows);
    }

    /// Hands rows on until at most `kept` are left that were not got yet: as long as more are to come, those are
    /// looked ahead at.
    ///
    /// At most 17 pages are held at a time; when the pool has fewer, the queue goes on with those. Errors as the gets,
    /// and for an address that leads to no row.
    pub(super) fn work_off(&mut self, kept: usize) -> Result<(), StorageError> {
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
            // Without looking ahead, less was announced than was got.
            self.announced = self.announced.saturating_sub(self.got);
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
        for (place, _) in &self.waiting[self.announced.min(end)..end] {
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
            let (place, tag) = self.waiting[self.got];
            if self.page_held == Some(place.page()) {
                self.access.pinned_revisit();
                self.revisits += 1;
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
                self.gets += 1;
            }
            let page = self.held.back().map(|page| Spot::of(PageView::verified(page), place.slot()));
            let Some(spot) = page.flatten() else { return Err(no_row(place, self.table)) };
            let ready = Ready { get: self.released + self.held.len() - 1, start: spot.start(), tag };
            self.ready.push_back(ready);
            self.got += 1;
        }
        Ok(false)
    }

    /// Hands on the rows that were got first.
    #[inline]
    fn walk_group(&mut self) {
        let count = self.ready.len().min(GROUP);
        let Some(first) = self.ready.front() else { return };
        let spot = |ready: &Ready<S::Tag>| Spot::at(&self.held[ready.get - self.released], ready.start);
        let (mut spots, mut tags) = ([spot(first); GROUP], [first.tag; GROUP]);
        for ((spot_of, tag), ready) in spots.iter_mut().zip(&mut tags).zip(&self.ready) {
            (*spot_of, *tag) = (spot(ready), ready.tag);
        }
        self.sink.take(&spots[..count], &tags[..count]);
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
