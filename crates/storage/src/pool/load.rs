//! Bringing pages into the pool: one, a range in one request, or many scattered ones at once.
//!
//! Bytes are read into the I/O method's buffer, verified there, and copied into a frame. The copy takes 0.3 to 0.6 µs
//! where the read takes some 80; for it an unverified byte never stands in a frame, and a bad page costs no frame and
//! no eviction. Where many reads are in flight the processor is what limits them: there single pages are read into
//! frames of their own (`flights.rs`), out of reach until they are verified.
//!
//! A thread that loads a page has claimed its word. A claimer waits for the device alone, so threads that wait
//! for a claimer always wake up; `ahead.rs` keeps that for reads that are under way while their session works.

use sys::read::{Wait, best_method};

use super::ahead::{Ahead, Until};
use super::claim::{Claim, failed, request, whole};
use super::segment::{DataFile, Reader};
use super::session::Session;
use super::word::{Publication, Purpose};
use crate::error::StorageError;
use crate::page::id::{PAGE_SIZE, PageId, SegmentId};

impl<'pool> Session<'pool> {
    /// Reads one page for which the caller has the claim, and returns its frame.
    pub(super) fn load_one(
        &self,
        claim: Claim<'pool>,
        purpose: Purpose,
        publication: Publication,
    ) -> Result<u32, StorageError> {
        let file = self.pool.segment(claim.page().segment)?.file(claim.page())?;
        let reader = self.read_run(file, claim.page(), 1)?;
        let (bytes, _) = reader.data(0).as_chunks::<PAGE_SIZE>();
        claim.accept(file, &bytes[0], purpose, publication)
    }

    /// Brings the pages `first..first + pages` that are not in the pool, for a scan that is about to come to them, and
    /// returns how many blocks were read.
    ///
    /// A run of absent pages is one physical read of as many blocks (at most `blocks_per_read`); a page that is in the
    /// pool, or on its way there, ends a run, as it does in other databases. The pages are not pinned and count as no
    /// get. Errors as [`get`](Session::get); the pages before the one with the error are in the pool then.
    pub fn prefetch_range(&self, first: PageId, pages: u32) -> Result<u32, StorageError> {
        if pages == 0 {
            return Ok(0);
        }
        let last = PageId { number: first.number.saturating_add(pages - 1), ..first };
        self.pool.word(last)?;
        let file = self.pool.segment(first.segment)?.file(first)?;
        let mut run = Vec::with_capacity(self.pool.settings.blocks_per_read);
        let mut blocks = 0;
        for number in first.number..=last.number {
            let claim = Claim::of(self.pool, PageId { number, ..first })?;
            let ends_the_run = claim.is_none();
            run.extend(claim);
            if ends_the_run || run.len() == self.pool.settings.blocks_per_read {
                blocks += self.load_run(file, &mut run)?;
            }
        }
        Ok(blocks + self.load_run(file, &mut run)?)
    }

    /// Brings the pages that are not in the pool, wherever they lie, with up to `read_depth` reads in flight, in no
    /// certain order. A page with its neighbours that are asked for right behind it is one physical read, of at most
    /// `blocks_per_gather` blocks; sort the pages to have neighbours merged.
    ///
    /// The pages are not pinned and count as no get; asking for more than
    /// [`Pool::pages_ahead`](super::Pool::pages_ahead) at once may push out the first by the last. Errors as
    /// [`get`](Session::get), the first one that occurs, after all reads in flight have ended.
    pub fn load_many(&self, pages: &[PageId]) -> Result<(), StorageError> {
        for of_one_segment in pages.chunk_by(|one, other| one.segment == other.segment) {
            self.with_ahead(of_one_segment[0], |ahead| {
                let claimed = ahead.claim(of_one_segment).map(|_| ());
                ahead.finish(&self.gate).map(|finished| finished.and(claimed))
            })?;
        }
        Ok(())
    }

    /// Reads the claimed run in one request.
    fn load_run(&self, file: &DataFile, run: &mut Vec<Claim<'pool>>) -> Result<u32, StorageError> {
        let Some(first) = run.first() else { return Ok(0) };
        let blocks = run.len();
        let reader = match self.read_run(file, first.page(), blocks) {
            Ok(reader) => reader,
            Err(error) => {
                run.clear();
                return Err(error);
            }
        };
        let (pages, _) = reader.data(0).as_chunks::<PAGE_SIZE>();
        for (claim, bytes) in run.drain(..).zip(pages) {
            claim.accept(file, bytes, Purpose::Scan, Publication::Ahead)?;
        }
        Ok(blocks as u32)
    }

    /// One read of `blocks` blocks; their bytes are the returned reader's until it is dropped.
    fn read_run<'file>(
        &self,
        file: &'file DataFile,
        first: PageId,
        blocks: usize,
    ) -> Result<Reader<'file>, StorageError> {
        let slot_bytes = self.pool.settings.blocks_per_read * PAGE_SIZE;
        let mut reader = file.reader(|file| file.open(best_method(1), 1, slot_bytes))?;
        self.gate.read(&mut *reader, request(first, blocks, 0), None);
        let mut done = Vec::with_capacity(1);
        while done.is_empty() {
            reader.reap(Wait { at_least: 1, timeout: None }, &mut done).map_err(|error| failed(file, first, error))?;
        }
        for completion in done {
            whole(file, first, completion.result, blocks * PAGE_SIZE)?;
        }
        Ok(reader)
    }

    /// Asks for the pages that are not in the pool, wherever they lie, and goes on without them: returns how many were
    /// absent. They are read with up to `read_depth` reads in flight, in the order given, neighbours together as in
    /// [`load_many`](Session::load_many), while the session does something else.
    ///
    /// They come into the pool whenever the session waits for a page and in [`advance`](Session::advance); other
    /// sessions that want one of them wait until then. Call [`settle`](Session::settle) before the session is left
    /// idle. Errors as `load_many` for pages that cannot be asked for; a page that cannot be read is an error of the
    /// call that finds out.
    pub fn ask_ahead(&self, pages: &[PageId]) -> Result<u64, StorageError> {
        let mut absent = 0;
        for of_one_segment in pages.chunk_by(|one, other| one.segment == other.segment) {
            absent += self.with_ahead(of_one_segment[0], |ahead| {
                let claimed = ahead.claim(of_one_segment);
                let reaped = ahead.reap(&self.gate, Until::None)?;
                Ok(reaped.or_else(forgive_exhaustion).and(claimed))
            })?;
        }
        Ok(absent)
    }

    /// Brings in what of the pages asked for has come, and hands over the reads that waited for a slot. Does not wait.
    #[inline]
    pub fn advance(&self) -> Result<(), StorageError> {
        self.look_after(Until::None).map(|_| ())
    }

    /// Waits for all reads under way and forgets what else was asked for. A failed read is not reported: the page
    /// is absent, and a get of it returns the error.
    pub fn settle(&self) {
        for place in self.ahead.borrow_mut().iter_mut() {
            if let Some(ahead) = place {
                ahead.forget_waiting();
                if ahead.finish(&self.gate).is_err() {
                    *place = None;
                }
            }
        }
    }

    /// Waits for a read of the session's own, of this segment if there is one; `false` when none is under way.
    pub(super) fn wait_for_own(&self, segment: SegmentId) -> Result<bool, StorageError> {
        let is_under_way = |place: &Option<Ahead<'_>>| place.as_ref().is_some_and(|ahead| !ahead.is_idle());
        let wanted = usize::from(segment.0);
        let here = self.ahead.borrow().get(wanted).is_some_and(is_under_way);
        if !here {
            // A session that waits for others has no read of its own under way: two that wait for each other's reads
            // would wait for ever.
            return self.look_after(Until::ForSome);
        }
        self.reap_at(wanted, Until::ForSome)?;
        Ok(true)
    }

    /// Reaps every segment's reads; `false` when none is under way.
    fn look_after(&self, until: Until) -> Result<bool, StorageError> {
        let mut any = false;
        let places = self.ahead.borrow().len();
        for place in 0..places {
            if self.ahead.borrow()[place].as_ref().is_some_and(|ahead| !ahead.is_idle()) {
                any = true;
                self.reap_at(place, until)?;
            }
        }
        Ok(any)
    }

    fn reap_at(&self, place: usize, until: Until) -> Result<(), StorageError> {
        let mut all = self.ahead.borrow_mut();
        let Some(ahead) = all[place].as_mut() else { return Ok(()) };
        let reaped = ahead.reap(&self.gate, until);
        if reaped.is_err() {
            all[place] = None;
        }
        reaped?.or_else(forgive_exhaustion)
    }

    /// Works with the reads of a segment. After an outer error of `work` they are dropped, which waits for what is in
    /// flight; only a method that works is used again.
    fn with_ahead<T>(
        &self,
        page: PageId,
        work: impl FnOnce(&mut Ahead<'pool>) -> Result<Result<T, StorageError>, StorageError>,
    ) -> Result<T, StorageError> {
        let place = usize::from(page.segment.0);
        let mut all = self.ahead.borrow_mut();
        if all.len() <= place {
            all.resize_with(place + 1, || None);
        }
        let mut ahead = match all[place].take() {
            Some(ahead) => ahead,
            None => Ahead::open(self.pool, page)?,
        };
        let outcome = work(&mut ahead)?;
        all[place] = Some(ahead);
        outcome
    }
}

/// A page that came too early to find a frame is absent again: getting it is early enough to hear of that.
fn forgive_exhaustion(error: StorageError) -> Result<(), StorageError> {
    match error {
        StorageError::PoolExhausted { .. } => Ok(()),
        error => Err(error),
    }
}
