//! Waiting for a page that another thread is reading or changing.

use std::hint;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::word::{State, Word};
use crate::error::StorageError;
use crate::page::id::PageId;

/// Entries of the table. Two pages that share one wake each other's waiters in vain, which is rare and harmless.
const ENTRIES: usize = 64;

/// How long a thread waits for a page that another thread holds. Pages are held for microseconds; what lasts longer
/// than this is a thread that waits for itself.
const HELD_TIME_MAX: Duration = Duration::from_secs(2);

/// Looks before the processor is given away: about a microsecond, longer than an undisturbed holder needs.
const LOOKS_BEFORE_YIELD: u32 = 64;

/// The wait table: where threads sleep while a page is on its way from the disk.
#[derive(Debug)]
pub(super) struct WaitTable(Vec<Parked>);

#[derive(Debug, Default)]
struct Parked {
    /// How many threads sleep here. A wake-up costs a system call, and a page that is read ahead has no waiters.
    sleepers: Mutex<usize>,
    arrived: Condvar,
}

impl WaitTable {
    /// A table without waiters.
    pub(super) fn new() -> WaitTable {
        WaitTable((0..ENTRIES).map(|_| Parked::default()).collect())
    }

    /// Sleeps until `word` is not loading. A loader waits for no other thread while it loads, so this ends.
    pub(super) fn wait_while_loading(&self, page: PageId, word: &Word) {
        let parked = self.parked(page);
        let mut sleepers = lock(&parked.sleepers);
        // The loader changes the word first and takes this lock afterwards: a change after this look wakes us.
        while word.state() == State::Loading {
            *sleepers += 1;
            sleepers = parked.arrived.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
            *sleepers -= 1;
        }
    }

    /// Wakes the threads that wait for `page`, whose word is not loading any more.
    pub(super) fn wake(&self, page: PageId) {
        let parked = self.parked(page);
        let sleepers = *lock(&parked.sleepers);
        if sleepers > 0 {
            parked.arrived.notify_all();
        }
    }

    fn parked(&self, page: PageId) -> &Parked {
        &self.0[page.number as usize % ENTRIES]
    }
}

fn lock(sleepers: &Mutex<usize>) -> MutexGuard<'_, usize> {
    sleepers.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The backoff of one request for a page that other threads hold.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    looks: u32,
    deadline: Option<Instant>,
}

impl Backoff {
    /// Lets a little time pass; an error when it has all passed.
    pub(super) fn wait(&mut self, page: PageId) -> Result<(), StorageError> {
        self.looks += 1;
        if self.looks <= LOOKS_BEFORE_YIELD {
            hint::spin_loop();
            return Ok(());
        }
        let now = Instant::now();
        if now > *self.deadline.get_or_insert(now + HELD_TIME_MAX) {
            return Err(StorageError::PageBusy { page, seconds: HELD_TIME_MAX.as_secs() });
        }
        thread::yield_now();
        Ok(())
    }
}
