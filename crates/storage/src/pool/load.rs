//! Bringing pages into the pool: one, a range in one request, or many scattered ones at once.
//!
//! Bytes are read into the I/O method's buffer, verified there, and copied into a frame. The copy takes 0.3 to 0.6 µs
//! where the read takes some 80; for it an unverified byte never stands in a frame, a bad page costs no frame and no
//! eviction, and the kernel never writes to memory that anything but the method owns.
//!
//! Whoever loads a page has claimed its word. A claimer waits for the device and for nobody else, so threads that wait
//! for a claimer always wake up.

use std::io;

use sys::read::{Completion, ReadMethod, ReadRequest, Wait, best_method, method};

use super::frames::{OwnFrame, PageBytes};
use super::segment::{DataFile, Reader};
use super::word::{Publication, Purpose, Word};
use super::{Admission, Pool, PoolSettings, Session};
use crate::error::StorageError;
use crate::page_id::{PAGE_SIZE, PageId};

/// The right and the duty to bring one page. Dropped without `publish`, it makes the page absent again and wakes those
/// who wait, so that no way out of a function leaves a page loading for ever.
pub(super) struct Claim<'pool> {
    pool: &'pool Pool,
    word: &'pool Word,
    page: PageId,
    mark: u32,
}

impl<'pool> Claim<'pool> {
    /// `None` when the page is not absent.
    pub(super) fn of(pool: &'pool Pool, page: PageId) -> Result<Option<Claim<'pool>>, StorageError> {
        let word = pool.word(page)?;
        Ok(word.claim().map(|mark| Claim { pool, word, page, mark }))
    }

    /// Shows the page, whose bytes stand in `frame`.
    pub(super) fn publish(self, frame: OwnFrame, publication: Publication) -> &'pool Word {
        self.word.publish(frame.number(), publication);
        self.pool.rooms.wake(self.page);
        let word = self.word;
        std::mem::forget(self);
        word
    }

    /// Verifies the bytes that were read for this page and puts them into a frame, whose number it returns.
    fn accept(
        self,
        file: &DataFile,
        bytes: &PageBytes,
        purpose: Purpose,
        publication: Publication,
    ) -> Result<u32, StorageError> {
        file.verify(bytes, self.page)?;
        let mut frame = self.pool.take_frame(Admission { page: self.page, mark: self.mark, purpose })?;
        self.pool.frames.fill(&mut frame, bytes);
        let number = frame.number();
        self.publish(frame, publication);
        Ok(number)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.word.abandon();
        self.pool.rooms.wake(self.page);
    }
}

impl<'pool> Session<'pool> {
    /// Reads one page for which the caller has the claim, and tells its frame.
    pub(super) fn load_one(
        &self,
        claim: Claim<'pool>,
        purpose: Purpose,
        publication: Publication,
    ) -> Result<u32, StorageError> {
        let file = self.pool.segment(claim.page.segment)?.file(claim.page)?;
        let reader = self.read_run(file, claim.page, 1)?;
        let (bytes, _) = reader.data(0).as_chunks::<PAGE_SIZE>();
        claim.accept(file, &bytes[0], purpose, publication)
    }

    /// Brings the pages `first..first + pages` that are not in the pool, for a scan that is about to come to them, and
    /// tells how many blocks were read.
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
    /// `blocks_per_gather` blocks; so who wants neighbours merged sorts the pages.
    ///
    /// The pages are not pinned and count as no get; asking for more than [`Pool::pages_ahead`] at once may push out
    /// the first by the last. Errors as [`get`](Session::get), the first one that occurs, after all reads in flight
    /// have ended.
    pub fn load_many(&self, pages: &[PageId]) -> Result<(), StorageError> {
        for of_one_segment in pages.chunk_by(|one, other| one.segment == other.segment) {
            self.load_scattered(of_one_segment)?;
        }
        Ok(())
    }

    /// Reads the claimed run in one request.
    fn load_run(&self, file: &DataFile, run: &mut Vec<Claim<'pool>>) -> Result<u32, StorageError> {
        let Some(first) = run.first() else { return Ok(0) };
        let blocks = run.len();
        let reader = match self.read_run(file, first.page, blocks) {
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
        let mut reader = file.reader(|file| {
            let row = method(best_method(1)).expect("the best method is one of the table");
            file.open(row, 1, slot_bytes)
        })?;
        self.gate.read(&mut *reader, request(first, blocks, 0));
        let mut done = Vec::with_capacity(1);
        while done.is_empty() {
            reader.reap(Wait { at_least: 1, timeout: None }, &mut done).map_err(|error| failed(file, first, error))?;
        }
        for completion in done {
            whole(file, first, completion.result, blocks * PAGE_SIZE)?;
        }
        Ok(reader)
    }

    fn load_scattered(&self, pages: &[PageId]) -> Result<(), StorageError> {
        let Some(first) = pages.first() else { return Ok(()) };
        let file = self.pool.segment(first.segment)?.file(*first)?;
        let place = usize::from(first.segment.0);
        let mut methods = self.batch_methods.borrow_mut();
        if methods.len() <= place {
            methods.resize_with(place + 1, || None);
        }
        let mut method = match methods[place].take() {
            Some(method) => method,
            None => {
                let PoolSettings { io_method, read_depth, blocks_per_gather, .. } = self.pool.settings;
                file.open(io_method, read_depth, blocks_per_gather * PAGE_SIZE)?
            }
        };
        let outcome = Batch::new(self, file, method.as_mut()).run(pages)?;
        // Only a method that has nothing in flight is used again; a broken one was dropped by the `?` above,
        // which waits for what it had in flight.
        methods[place] = Some(method);
        outcome
    }
}

/// Scattered reads of one file under way.
struct Batch<'batch, 'pool> {
    session: &'batch Session<'pool>,
    file: &'batch DataFile,
    method: &'batch mut dyn ReadMethod,
    /// The claims of each slot, neighbours in order; none of a slot that is not in flight.
    claims: Vec<Vec<Claim<'pool>>>,
    idle: Vec<usize>,
}

impl<'batch, 'pool> Batch<'batch, 'pool> {
    fn new(session: &'batch Session<'pool>, file: &'batch DataFile, method: &'batch mut dyn ReadMethod) -> Self {
        let depth = method.depth();
        let claims = (0..depth).map(|_| Vec::new()).collect();
        Batch { session, file, method, claims, idle: (0..depth).rev().collect() }
    }

    /// The outer error is the method's own, and reads may still be in flight; the inner one is a page's, and none are.
    fn run(mut self, pages: &[PageId]) -> Result<Result<(), StorageError>, StorageError> {
        let mut left = pages;
        let mut done = Vec::with_capacity(self.claims.len());
        let mut outcome = Ok(());
        loop {
            if outcome.is_ok() {
                outcome = self.queue_from(&mut left);
            }
            if self.idle.len() == self.claims.len() {
                return Ok(outcome);
            }
            let wait = Wait { at_least: 1, timeout: None };
            let in_flight = self.claims.iter().flatten().next().map_or(pages[0], |claim| claim.page);
            self.method.reap(wait, &mut done).map_err(|error| failed(self.file, in_flight, error))?;
            for completion in done.drain(..) {
                outcome = outcome.and(self.take_in(completion));
            }
        }
    }

    /// Queues reads until every slot is in flight or no page is left. Pages that are in the pool, or on their way
    /// there, are passed over.
    fn queue_from(&mut self, left: &mut &[PageId]) -> Result<(), StorageError> {
        while let Some(slot) = self.idle.last().copied()
            && let Some(first) = self.claim_run(slot, left)?
        {
            let blocks = self.claims[slot].len();
            self.session.gate.read(self.method, request(first, blocks, slot));
            self.idle.pop();
        }
        Ok(())
    }

    /// Claims the next page that is absent, and what of its neighbours is and comes right behind it. Tells the first.
    fn claim_run(&mut self, slot: usize, left: &mut &[PageId]) -> Result<Option<PageId>, StorageError> {
        let pool = self.session.pool;
        let run = &mut self.claims[slot];
        while let Some((page, rest)) = left.split_first() {
            let goes_on = run.last().is_none_or(|last| last.page.number.checked_add(1) == Some(page.number));
            if !goes_on || run.len() == pool.settings.blocks_per_gather {
                break;
            }
            match Claim::of(pool, *page) {
                Ok(Some(claim)) => run.push(claim),
                Ok(None) if run.is_empty() => (),
                Ok(None) => break,
                Err(error) => {
                    run.clear();
                    return Err(error);
                }
            }
            *left = rest;
        }
        Ok(run.first().map(|claim| claim.page))
    }

    fn take_in(&mut self, completion: Completion) -> Result<(), StorageError> {
        let slot = completion.slot;
        let run = std::mem::take(&mut self.claims[slot]);
        let first = run.first().expect("a slot in flight has its claims").page;
        self.idle.push(slot);
        whole(self.file, first, completion.result, run.len() * PAGE_SIZE)?;
        let (pages, _) = self.method.data(slot).as_chunks::<PAGE_SIZE>();
        for (claim, bytes) in run.into_iter().zip(pages) {
            claim.accept(self.file, bytes, Purpose::Random, Publication::Ahead)?;
        }
        Ok(())
    }
}

fn request(first: PageId, blocks: usize, slot: usize) -> ReadRequest {
    ReadRequest { offset: u64::from(first.number) * PAGE_SIZE as u64, length: blocks * PAGE_SIZE, slot }
}

/// A short read is an error: the file was cut while it was open. It names the first block that did not come.
fn whole(file: &DataFile, first: PageId, result: io::Result<usize>, wanted: usize) -> Result<(), StorageError> {
    let bytes = result.map_err(|error| failed(file, first, error))?;
    if bytes == wanted {
        return Ok(());
    }
    let page = PageId { number: first.number + (bytes / PAGE_SIZE) as u32, ..first };
    let reason = format!("a read of {wanted} bytes returned {bytes}: the file was cut short after it was opened");
    Err(StorageError::BadPage { file: file.path().into(), page, reason })
}

fn failed(file: &DataFile, first: PageId, error: io::Error) -> StorageError {
    StorageError::Read { file: file.path().into(), page: first, error }
}
