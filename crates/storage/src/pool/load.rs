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
use super::{Admission, Pool, Session};
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

    /// Brings the pages that are not in the pool, wherever they lie, with up to `read_depth` reads in flight: one
    /// physical read of one block each, in no certain order.
    ///
    /// The pages are not pinned and count as no get; asking for more than a tenth of the pool at once may push out the
    /// first by the last. Errors as [`get`](Session::get), the first one that occurs, after all reads in flight have
    /// ended.
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
            reader.reap(Wait { at_least: 1, timeout: None }, &mut done).map_err(|error| failed(file, error))?;
        }
        for completion in done {
            whole(file, completion.result, blocks * PAGE_SIZE)?;
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
            None => file.open(self.pool.settings.io_method, self.pool.settings.read_depth, PAGE_SIZE)?,
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
    /// The claim of each slot in flight.
    claims: Vec<Option<Claim<'pool>>>,
    idle: Vec<usize>,
}

impl<'batch, 'pool> Batch<'batch, 'pool> {
    fn new(session: &'batch Session<'pool>, file: &'batch DataFile, method: &'batch mut dyn ReadMethod) -> Self {
        let depth = method.depth();
        let claims = (0..depth).map(|_| None).collect();
        Batch { session, file, method, claims, idle: (0..depth).rev().collect() }
    }

    /// The outer error is the method's own, and reads may still be in flight; the inner one is a page's, and none are.
    fn run(mut self, pages: &[PageId]) -> Result<Result<(), StorageError>, StorageError> {
        let mut left = pages.iter();
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
            self.method.reap(wait, &mut done).map_err(|error| failed(self.file, error))?;
            for completion in done.drain(..) {
                outcome = outcome.and(self.take_in(completion));
            }
        }
    }

    /// Queues reads until every slot is in flight or no page is left. Pages that are in the pool, or on their way
    /// there, are passed over.
    fn queue_from(&mut self, left: &mut std::slice::Iter<'_, PageId>) -> Result<(), StorageError> {
        while let Some(slot) = self.idle.last().copied()
            && let Some(page) = left.next()
        {
            if let Some(claim) = Claim::of(self.session.pool, *page)? {
                self.session.gate.read(self.method, request(*page, 1, slot));
                self.claims[slot] = Some(claim);
                self.idle.pop();
            }
        }
        Ok(())
    }

    fn take_in(&mut self, completion: Completion) -> Result<(), StorageError> {
        let slot = completion.slot;
        let claim = self.claims[slot].take().expect("a slot in flight has its claim");
        self.idle.push(slot);
        whole(self.file, completion.result, PAGE_SIZE)?;
        let (bytes, _) = self.method.data(slot).as_chunks::<PAGE_SIZE>();
        claim.accept(self.file, &bytes[0], Purpose::Random, Publication::Ahead).map(drop)
    }
}

fn request(first: PageId, blocks: usize, slot: usize) -> ReadRequest {
    ReadRequest { offset: u64::from(first.number) * PAGE_SIZE as u64, length: blocks * PAGE_SIZE, slot }
}

/// A short read is an error: the file was cut while it was open.
fn whole(file: &DataFile, result: io::Result<usize>, wanted: usize) -> Result<(), StorageError> {
    let bytes = result.map_err(|error| failed(file, error))?;
    if bytes == wanted {
        return Ok(());
    }
    let reason = format!("a read of {wanted} bytes returned {bytes}; the file was cut short after it was opened");
    Err(StorageError::BadFile { file: file.path().into(), reason })
}

fn failed(file: &DataFile, error: io::Error) -> StorageError {
    StorageError::Io { file: file.path().into(), doing: "reading pages", error }
}
