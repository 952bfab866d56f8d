//! The translation word: where a page is, what holds it, and whether it may leave, in one atomic 64-bit integer.
//!
//! Each page of a segment has one. All changes of the right to touch bytes of a frame are changes of a word, so the
//! protocol is this file and no other; it moves no bytes and knows no frames beyond their number. It is checked in
//! every interleaving by loom (`tests/all/pool_loom.rs`).
//!
//! A word is in one of four states, and each allows only these steps:
//!
//! | state | flags | steps |
//! | --- | --- | --- |
//! | absent | none | `claim` → loading |
//! | loading | `LOADING` | by the claimer alone: `publish` → shared or exclusive, `abandon` → absent |
//! | shared | `RESIDENT`, any pins | `pin`, `unpin`; without pins `lock` → exclusive, `evict`, `discard` → absent |
//! | exclusive | `RESIDENT`, `EXCLUSIVE`, no pins | by the locker alone: `unlock` → shared |
//!
//! So a frame's bytes are written only by a claimer (before the word names the frame to anyone) or by the locker (when
//! there are no pins and none can be added), and a frame changes its page only after `evict` saw no pins.
//!
//! A pin is a compare-and-exchange rather than a blind addition: a page that is absent, loading or exclusive is then
//! never written to by a thread that fails to pin it, which leaves the claimer and the locker alone with the word, and
//! the reference bit is set by the same instruction. Alone on a page both cost the same; of two threads hammering one
//! page the compare-and-exchange has to be repeated now and then.
//!
//! Orderings: a thread that gives rights away (`publish`, `unpin`, `unlock`, `abandon`) stores with `Release`, a thread
//! that gains them (`pin`, `claim`, `lock`, `evict`, `discard`) exchanges with `Acquire`. An eviction after several
//! `unpin`s sees all of them, because each is a read-modify-write and so continues the release sequence of the one
//! before.

use super::atomic::{AtomicU64, Ordering};

/// The frame's number while resident; the mark of the eviction while absent or loading.
const PAYLOAD: u64 = 0xFFFF_FFFF;
/// One pin.
const PIN: u64 = 1 << 32;
/// All the bits of the pin count. A pin beyond the count is refused rather than carried into the flags: guards can be
/// leaked by safe code, so no number of threads bounds it.
const PINS: u64 = 0xFFFF * PIN;
/// The page was used since it was read, or since replacement last passed by.
const REFERENCED: u64 = 1 << 48;
/// The page was read ahead and no get has asked for it yet.
const AHEAD: u64 = 1 << 49;
/// The page differs from the disk's and so must not leave.
const DIRTY: u64 = 1 << 50;
/// One writer holds the page.
const EXCLUSIVE: u64 = 1 << 51;
/// One claimer is bringing the page.
const LOADING: u64 = 1 << 52;
/// The payload is the number of the frame that holds the page.
const RESIDENT: u64 = 1 << 53;

/// What an access says about the future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A page asked for by its address: asked for twice, it deserves to stay.
    Random,
    /// One of very many, asked for because it is next: it deserves nothing.
    Scan,
}

/// What a word says to a thread that could not pin or lock the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not in the pool.
    Absent,
    /// On its way into the pool.
    Loading,
    /// In the pool, and perhaps held.
    Resident,
}

/// In which state a loaded page becomes visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Publication {
    /// With one pin, which belongs to the claimer.
    Pinned,
    /// Without pins, for a later reader.
    Ahead,
    /// In the claimer's hands alone, and dirty from the start: a page that no disk holds.
    Exclusive,
}

/// What became of an attempt to evict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The page is absent now and its frame belongs to the evictor.
    Evicted,
    /// It was used since the last attempt; the next one will not find that again unless it is used again.
    Referenced,
    /// It is held now.
    Held,
    /// It can never be evicted.
    Dirty,
}

/// The word of one page.
#[derive(Debug)]
#[repr(transparent)]
pub(super) struct Word(AtomicU64);

impl Word {
    /// The word of a page that was never in the pool.
    pub(super) fn absent() -> Word {
        Word(AtomicU64::new(0))
    }

    /// Pins the page for reading and returns its frame; `None` unless it is resident and not exclusive.
    #[inline]
    pub(super) fn pin(&self, purpose: Purpose) -> Option<u32> {
        let mut seen = self.0.load(Ordering::Relaxed);
        while seen & (RESIDENT | EXCLUSIVE) == RESIDENT && seen & PINS != PINS {
            let pinned = with_pin(seen, purpose);
            match self.0.compare_exchange_weak(seen, pinned, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(frame_of(seen)),
                Err(now) => seen = now,
            }
        }
        None
    }

    /// Gives back one pin. The caller must hold it.
    #[inline]
    pub(super) fn unpin(&self) {
        let before = self.0.fetch_sub(PIN, Ordering::Release);
        debug_assert!(before & PINS != 0, "a pin was given back twice");
    }

    /// The frame of a resident page, without a right to look at it: good for a prefetch.
    #[inline]
    pub(super) fn frame_hint(&self) -> Option<u32> {
        let seen = self.0.load(Ordering::Relaxed);
        (seen & RESIDENT != 0).then_some(frame_of(seen))
    }

    /// What the page is up to at this moment.
    pub(super) fn state(&self) -> State {
        match self.0.load(Ordering::Relaxed) {
            seen if seen & RESIDENT != 0 => State::Resident,
            seen if seen & LOADING != 0 => State::Loading,
            _ => State::Absent,
        }
    }

    /// Gives the caller an absent page to bring, and returns the mark of its last eviction (0: none).
    /// `None` when it is not absent.
    pub(super) fn claim(&self) -> Option<u32> {
        let seen = self.0.load(Ordering::Relaxed);
        let is_absent = seen & (RESIDENT | LOADING) == 0;
        // A failed exchange means that another thread has claimed it: there is no other way out of this state.
        (is_absent && self.0.compare_exchange(seen, seen | LOADING, Ordering::Acquire, Ordering::Relaxed).is_ok())
            .then_some(seen as u32)
    }

    /// Shows the page, whose bytes stand in `frame`, to everyone. The caller must have claimed it.
    pub(super) fn publish(&self, frame: u32, publication: Publication) {
        let flags = match publication {
            Publication::Pinned => PIN,
            Publication::Ahead => AHEAD,
            Publication::Exclusive => EXCLUSIVE | DIRTY,
        };
        self.0.store(RESIDENT | flags | u64::from(frame), Ordering::Release);
    }

    /// Makes a claimed page absent again. The caller must have claimed it.
    pub(super) fn abandon(&self) {
        self.0.store(0, Ordering::Release);
    }

    /// Takes the page for writing, marks it dirty and returns its frame; `None` unless it is resident and not
    /// held.
    pub(super) fn lock(&self) -> Option<u32> {
        let seen = self.0.load(Ordering::Relaxed);
        let is_free = seen & (RESIDENT | EXCLUSIVE | PINS) == RESIDENT;
        let locked = (seen | EXCLUSIVE | DIRTY) & !AHEAD;
        (is_free && self.0.compare_exchange(seen, locked, Ordering::Acquire, Ordering::Relaxed).is_ok())
            .then_some(frame_of(seen))
    }

    /// Ends the writing. The caller must hold the lock.
    pub(super) fn unlock(&self) {
        // Only its locker changes an exclusive word, so a load and a store are as good as one instruction.
        let seen = self.0.load(Ordering::Relaxed);
        self.0.store(seen & !EXCLUSIVE, Ordering::Release);
    }

    /// Makes the page absent if it is not held, is clean and was not used since the last attempt; an absent page
    /// remembers `mark`.
    pub(super) fn evict(&self, mark: u32) -> Verdict {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            let (next, verdict) = match seen {
                _ if seen & DIRTY != 0 => return Verdict::Dirty,
                _ if seen & (RESIDENT | EXCLUSIVE | PINS) != RESIDENT => return Verdict::Held,
                _ if seen & REFERENCED != 0 => (seen & !REFERENCED, Verdict::Referenced),
                _ => (u64::from(mark), Verdict::Evicted),
            };
            match self.0.compare_exchange_weak(seen, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return verdict,
                Err(now) => seen = now,
            }
        }
    }

    /// Makes the page absent, dirty or not, and returns the frame that is the caller's now; an error when the page is
    /// held, `None` when it was absent.
    pub(super) fn discard(&self) -> Result<Option<u32>, Held> {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            match seen {
                _ if seen & (RESIDENT | LOADING) == 0 => return Ok(None),
                _ if seen & (LOADING | EXCLUSIVE | PINS) != 0 => return Err(Held),
                _ => {}
            }
            match self.0.compare_exchange_weak(seen, 0, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(Some(frame_of(seen))),
                Err(now) => seen = now,
            }
        }
    }
}

/// The page is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held;

#[inline]
fn frame_of(word: u64) -> u32 {
    (word & PAYLOAD) as u32
}

/// The word with one pin more. The first use of a page that was read ahead is the use it was read for, so it does not
/// count as a second one.
#[inline]
fn with_pin(seen: u64, purpose: Purpose) -> u64 {
    match purpose {
        Purpose::Random if seen & AHEAD == 0 => (seen + PIN) | REFERENCED,
        _ => (seen + PIN) & !AHEAD,
    }
}
