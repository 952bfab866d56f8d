//! Sessions: a thread's way into the pool, with counters of its own.

use std::cell::RefCell;
use std::sync::Arc;

use super::ahead::Ahead;
use super::buffer_pool::Pool;
use super::claim::Claim;
use super::gate::{Gate, GateCounts};
use super::pinned::{Pinned, PinnedMut};
use super::replacement::Admission;
use super::wait::Backoff;
use super::word::{Publication, Purpose, State, Word};
use crate::error::StorageError;
use crate::page::id::PageId;

/// Lines that [`Session::prefetch`] fetches: a page's header and the beginning of its row directory.
const LINES_AHEAD: usize = 2;

/// A thread's way into a pool. It may move to another thread but is used by one at a time.
pub struct Session<'pool> {
    pub(super) pool: &'pool Pool,
    pub(super) gate: Arc<Gate>,
    /// Reads of many pages, by segment. An io_uring belongs to the thread that uses it first: a session that has called
    /// `load_many` or `ask_ahead` stays on its thread.
    pub(super) ahead: RefCell<Vec<Option<Ahead<'pool>>>>,
}

impl Pool {
    /// A way in for one thread.
    pub fn session(&self) -> Session<'_> {
        Session::new(self)
    }
}

impl<'pool> Session<'pool> {
    fn new(pool: &'pool Pool) -> Session<'pool> {
        Session { pool, gate: pool.gates.open(), ahead: RefCell::new(Vec::new()) }
    }

    /// A page to read, pinned: one get. It is read from its file when it is not in the pool.
    ///
    /// Errors when the page cannot be read or is not what it should be ([`StorageError::BadPage`], again at every
    /// attempt), when every frame is pinned or dirty ([`StorageError::PoolExhausted`]), or when another thread does not
    /// stop changing the page ([`StorageError::PageBusy`]). After any of them nothing is held and the pool is usable.
    #[inline]
    pub fn get(&self, page: PageId) -> Result<Pinned<'pool>, StorageError> {
        self.get_for(page, Purpose::Random)
    }

    /// As [`get`](Session::get), for a page that is asked for because a scan has come to it: being used by scans does
    /// not keep a page in the pool.
    #[inline]
    pub fn get_scan(&self, page: PageId) -> Result<Pinned<'pool>, StorageError> {
        self.get_for(page, Purpose::Scan)
    }

    /// A page to change, for this caller alone: one get. It is dirty from now on: it stays in the pool until its
    /// segment is discarded, and no disk ever sees the change.
    ///
    /// Waits while others hold the page; [`StorageError::PageBusy`] when they do not let go, which is sure when the
    /// caller itself is among them. Other errors are those of [`get`](Session::get).
    pub fn get_mut(&self, page: PageId) -> Result<PinnedMut<'pool>, StorageError> {
        self.gate.get();
        let word = self.pool.word(page)?;
        let mut backoff = Backoff::default();
        loop {
            if let Some(frame) = word.lock() {
                return Ok(PinnedMut::new(word, self.pool.frames.address(frame)));
            }
            match word.state() {
                State::Resident => backoff.wait(page)?,
                State::Loading => self.wait_while_loading(page, word)?,
                State::Absent => {
                    if let Some(claim) = Claim::of(self.pool, page)? {
                        self.load_one(claim, Purpose::Random, Publication::Ahead)?;
                    }
                }
            }
        }
    }

    /// A new page of zeros in a segment that lives in memory, for this caller alone. It counts as no get.
    ///
    /// Errors when the page exists, when its segment is a file's, or when no frame can be had.
    pub fn create(&self, page: PageId) -> Result<PinnedMut<'pool>, StorageError> {
        let segment = self.pool.segment(page.segment)?;
        if segment.file(page).is_ok() {
            return Err(StorageError::Parameters(format!("{page} belongs to a file and cannot be made in memory")));
        }
        let Some(claim) = Claim::of(self.pool, page)? else {
            return Err(StorageError::Parameters(format!("{page} exists already")));
        };
        let mut frame = self.pool.take_frame(Admission { page, mark: 0, purpose: Purpose::Random })?;
        self.pool.frames.clear(&mut frame);
        let address = self.pool.frames.address(frame.number());
        Ok(PinnedMut::new(claim.publish(frame, Publication::Exclusive), address))
    }

    /// Asks the processor to fetch the first lines of a page that is in the pool, without waiting for them: no pin, no
    /// get. Does nothing for a page that is elsewhere.
    #[inline]
    pub fn prefetch(&self, page: PageId) {
        self.prefetch_lines(page, LINES_AHEAD);
    }

    /// As [`prefetch`](Session::prefetch), for the first `lines` cache lines of 64 bytes.
    #[inline]
    pub fn prefetch_lines(&self, page: PageId, lines: usize) {
        if let Ok(word) = self.pool.word(page)
            && let Some(frame) = word.frame_hint()
        {
            self.pool.frames.prefetch(frame, lines);
        }
    }

    /// Whether a page is in the pool now. No pin, no get.
    #[inline]
    pub fn is_cached(&self, page: PageId) -> bool {
        self.pool.word(page).is_ok_and(|word| word.state() == State::Resident)
    }

    /// Hears that a page was used again while its pin is still held.
    #[inline]
    pub fn pinned_revisit(&self) {
        self.gate.pinned_revisit();
    }

    /// What passed the gate in this session.
    pub fn counts(&self) -> GateCounts {
        self.gate.counts()
    }

    #[inline]
    fn get_for(&self, page: PageId, purpose: Purpose) -> Result<Pinned<'pool>, StorageError> {
        self.gate.get();
        let word = self.pool.word(page)?;
        match word.pin(purpose) {
            Some(frame) => Ok(self.pinned(word, frame)),
            None => self.get_unready(page, word, purpose),
        }
    }

    /// The rest of a get whose page was not there for the taking.
    #[cold]
    fn get_unready(&self, page: PageId, word: &'pool Word, purpose: Purpose) -> Result<Pinned<'pool>, StorageError> {
        let mut backoff = Backoff::default();
        loop {
            if let Some(frame) = word.pin(purpose) {
                return Ok(self.pinned(word, frame));
            }
            match word.state() {
                // A writer has it, or it was published between the two looks.
                State::Resident => backoff.wait(page)?,
                State::Loading => self.wait_while_loading(page, word)?,
                State::Absent => {
                    if let Some(claim) = Claim::of(self.pool, page)? {
                        let frame = self.load_one(claim, purpose, Publication::Pinned)?;
                        return Ok(self.pinned(word, frame));
                    }
                }
            }
        }
    }

    /// Waits for a page that this session or another one is reading, or for a read before it.
    fn wait_while_loading(&self, page: PageId, word: &Word) -> Result<(), StorageError> {
        if !self.wait_for_own(page.segment)? {
            self.pool.waiters.wait_while_loading(page, word);
        }
        Ok(())
    }

    #[inline]
    fn pinned(&self, word: &'pool Word, frame: u32) -> Pinned<'pool> {
        Pinned::new(word, self.pool.frames.address(frame))
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.pool.gates.close(&self.gate);
    }
}
