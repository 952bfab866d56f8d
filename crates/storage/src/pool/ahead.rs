//! Reads of scattered pages that are under way while their session does something else.
//!
//! A page that is asked for is claimed at once, and read as soon as a slot of the method is free. Its bytes come into
//! the pool when the session looks after its reads: whenever it waits for a page, and in `Session::advance`.

use std::collections::VecDeque;

use sys::read::Wait;

use super::buffer_pool::Pool;
use super::claim::{Claim, failed, request, whole};
use super::flights::{Flights, Landed};
use super::gate::Gate;
use super::segment::DataFile;
use super::settings::PoolSettings;
use super::word::{Publication, Purpose};
use crate::error::StorageError;
use crate::page::id::{PAGE_SIZE, PageId};

/// The part of the reads in flight that is waited for at once: a quarter, so that three quarters are still under way
/// when the slots of the first are filled again.
const READS_A_WAKE_UP: usize = 4;

/// How long to wait for reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// Not at all.
    None,
    /// Until some have ended, if any are under way.
    ForSome,
}

/// A session's reads of one segment.
pub(super) struct Ahead<'pool> {
    pool: &'pool Pool,
    file: &'pool DataFile,
    /// The session's own, because an io_uring belongs to the thread that uses it first.
    reads: Flights<'pool>,
    /// Pages for which there was no slot yet.
    waiting: VecDeque<Claim<'pool>>,
    /// The claims of each slot, neighbours in order; none of a slot that is not in flight.
    flights: Vec<Vec<Claim<'pool>>>,
    idle: Vec<usize>,
    landed: Vec<Landed>,
}

impl<'pool> Ahead<'pool> {
    /// Opens the method. `page` is one of those that will be read.
    pub(super) fn open(pool: &'pool Pool, page: PageId) -> Result<Ahead<'pool>, StorageError> {
        let file = pool.segment(page.segment)?.file(page)?;
        let PoolSettings { io_method, read_depth, blocks_per_gather, .. } = pool.settings;
        let method = file.open(io_method, read_depth, blocks_per_gather * PAGE_SIZE)?;
        let reads = Flights::new(pool, method);
        let depth = reads.depth();
        Ok(Ahead {
            pool,
            file,
            reads,
            waiting: VecDeque::new(),
            flights: (0..depth).map(|_| Vec::new()).collect(),
            idle: (0..depth).rev().collect(),
            landed: Vec::with_capacity(depth),
        })
    }

    /// Claims those of the pages that are absent, all of this segment, and returns how many these are. Pages that are
    /// in the pool, or on their way there, are passed over.
    pub(super) fn claim(&mut self, pages: &[PageId]) -> Result<u64, StorageError> {
        let before = self.waiting.len();
        for page in pages {
            self.waiting.extend(Claim::of(self.pool, *page)?);
        }
        Ok((self.waiting.len() - before) as u64)
    }

    /// Whether nothing is asked for that has not come.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.idle.len() == self.flights.len()
    }

    /// Forgets the pages that were not read yet: they are absent again.
    pub(super) fn forget_waiting(&mut self) {
        self.waiting.clear();
    }

    /// Hands reads over, waits as `until` says, and brings what they read.
    ///
    /// The outer error is the method's own, and reads may still be in flight: what is left is not to be used again. The
    /// inner one is a page's, the first that occurred.
    pub(super) fn reap(&mut self, gate: &Gate, until: Until) -> Result<Result<(), StorageError>, StorageError> {
        self.queue(gate);
        let Some(in_flight) = self.flights.iter().flatten().next().map(Claim::page) else { return Ok(Ok(())) };
        let wait = Wait { at_least: self.worth_waiting_for(until), timeout: None };
        self.reads.reap(wait, &mut self.landed).map_err(|error| failed(self.file, in_flight, error))?;
        let mut outcome = Ok(());
        let mut landed = std::mem::take(&mut self.landed);
        for landed in landed.drain(..) {
            outcome = outcome.and(self.take_in(landed));
        }
        self.landed = landed;
        self.queue(gate);
        Ok(outcome)
    }

    /// Waits for all that is in flight, and reads what waits unless a page has failed. Errors as [`Ahead::reap`].
    pub(super) fn finish(&mut self, gate: &Gate) -> Result<Result<(), StorageError>, StorageError> {
        let mut outcome = Ok(());
        while !self.is_idle() {
            if outcome.is_err() {
                self.forget_waiting();
            }
            outcome = outcome.and(self.reap(gate, Until::ForSome)?);
        }
        Ok(outcome)
    }

    /// One wake-up, a system call and a change of threads, brings in several reads, and the rest keeps the device busy.
    fn worth_waiting_for(&self, until: Until) -> usize {
        let in_flight = self.flights.len() - self.idle.len();
        match until {
            Until::None => 0,
            Until::ForSome => (in_flight / READS_A_WAKE_UP).max(1),
        }
    }

    /// Queues reads until every slot is in flight or no page waits.
    fn queue(&mut self, gate: &Gate) {
        while let (Some(first), Some(slot)) = (self.waiting.front().map(Claim::page), self.idle.last().copied()) {
            let run = &mut self.flights[slot];
            let is_next = |claim: &Claim<'_>, place: usize| {
                claim.page().segment == first.segment
                    && Some(claim.page().number) == first.number.checked_add(place as u32)
            };
            while run.len() < self.pool.settings.blocks_per_gather
                && let Some(claim) = self.waiting.pop_front_if(|claim| is_next(claim, run.len()))
            {
                run.push(claim);
            }
            let request = request(first, run.len(), slot);
            // Where no frame is free now, the slot holds the page until one is, or until a get finds that none will be.
            let frame = match &run[..] {
                [only] if self.reads.reads_into_frames() => only.take_frame(Purpose::Random).ok(),
                _ => None,
            };
            match frame {
                Some(frame) => self.reads.queue_into(gate, request, frame),
                None => self.reads.queue(gate, request),
            }
            self.idle.pop();
        }
    }

    fn take_in(&mut self, Landed { slot, result, frame }: Landed) -> Result<(), StorageError> {
        let mut run = std::mem::take(&mut self.flights[slot]).into_iter();
        let first = run.as_slice().first().expect("a slot in flight has its claims").page();
        self.idle.push(slot);
        let whole = whole(self.file, first, result, run.len() * PAGE_SIZE);
        if let Some(frame) = frame {
            let claim = run.next().expect("it has one claim");
            return claim.accept_frame(self.file, frame, whole);
        }
        whole?;
        let (pages, _) = self.reads.data(slot).as_chunks::<PAGE_SIZE>();
        for (claim, bytes) in run.zip(pages) {
            claim.accept(self.file, bytes, Purpose::Random, Publication::Ahead)?;
        }
        Ok(())
    }
}
