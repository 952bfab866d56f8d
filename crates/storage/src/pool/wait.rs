//! Waiting for a page that somebody else is reading or changing.

use std::hint;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::word::{State, Word};
use crate::error::StorageError;
use crate::page_id::PageId;

/// Places to wait at. Two pages that share one wake each other's waiters in vain, which is rare and harmless.
const ROOMS: usize = 64;

/// How long somebody waits for a page that another thread holds. Pages are held for microseconds; what lasts longer
/// than this is a thread that waits for itself.
const HELD_TIME_MAX: Duration = Duration::from_secs(2);

/// Looks before the processor is given away: about a microsecond, longer than an undisturbed holder needs.
const LOOKS_BEFORE_YIELD: u32 = 64;

/// Where threads sleep while a page is on its way from the disk.
#[derive(Debug)]
pub(super) struct Rooms(Vec<Room>);

#[derive(Debug, Default)]
struct Room {
    /// How many sleep here. Telling nobody costs a system call, and every page that is read ahead has nobody to tell.
    door: Mutex<usize>,
    arrived: Condvar,
}

impl Rooms {
    /// Empty ones.
    pub(super) fn new() -> Rooms {
        Rooms((0..ROOMS).map(|_| Room::default()).collect())
    }

    /// Sleeps until `word` is not loading. Whoever loads never waits for anybody while doing so, so this ends.
    pub(super) fn wait_while_loading(&self, page: PageId, word: &Word) {
        let room = self.room(page);
        let mut door = lock(&room.door);
        // The loader changes the word first and passes the door afterwards: a change after this look wakes us.
        while word.state() == State::Loading {
            *door += 1;
            door = room.arrived.wait(door).unwrap_or_else(PoisonError::into_inner);
            *door -= 1;
        }
    }

    /// Wakes those who wait for `page`, whose word is not loading any more.
    pub(super) fn wake(&self, page: PageId) {
        let room = self.room(page);
        let sleepers = *lock(&room.door);
        if sleepers > 0 {
            room.arrived.notify_all();
        }
    }

    fn room(&self, page: PageId) -> &Room {
        &self.0[page.number as usize % ROOMS]
    }
}

fn lock(door: &Mutex<usize>) -> MutexGuard<'_, usize> {
    door.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The patience of one request for a page that others hold.
#[derive(Debug, Default)]
pub(super) struct Patience {
    looks: u32,
    deadline: Option<Instant>,
}

impl Patience {
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
