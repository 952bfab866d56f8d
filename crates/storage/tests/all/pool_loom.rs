//! The protocol of the translation word, in every interleaving that the memory model of Rust allows.
//!
//! The word is compiled into this test unchanged, over loom's atomics, so nothing else is built for it. A cell that
//! loom watches stands beside the frame's bytes, so that two threads that touch them without an order between them are
//! a failure and not luck.

mod atomic {
    pub(super) use loom::sync::atomic::{AtomicU64, Ordering};
}
#[expect(dead_code, reason = "each model uses a part of the protocol")]
#[path = "../../src/pool/word.rs"]
mod word;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use word::{Publication, Purpose, State, Verdict, Word};

const FRAME: u32 = 5;

/// A word and the one frame that it may name.
struct Page {
    word: Word,
    /// Tells loom who touches the bytes, and holds nothing: so the model needs no pointers.
    watched: UnsafeCell<()>,
    /// An atomic that loom does not know of: it orders nothing in the model.
    bytes: std::sync::atomic::AtomicU64,
    loads: AtomicUsize,
}

impl Page {
    fn absent() -> Arc<Page> {
        Arc::new(Page {
            word: Word::absent(),
            watched: UnsafeCell::new(()),
            bytes: 0.into(),
            loads: AtomicUsize::new(0),
        })
    }

    fn resident(value: u64) -> Arc<Page> {
        let page = Page::absent();
        assert!(page.word.claim().is_some());
        page.write(value);
        page.word.publish(FRAME, Publication::Ahead);
        page
    }

    fn read(&self) -> u64 {
        self.watched.with(|_| self.bytes.load(Ordering::Relaxed))
    }

    fn write(&self, value: u64) {
        self.watched.with_mut(|_| self.bytes.store(value, Ordering::Relaxed));
    }

    /// As a session gets a page: pin it, or load it, or wait for the thread that loads it. Returns the bytes it saw.
    fn get(&self, on_disk: u64) -> u64 {
        loop {
            if self.word.pin(Purpose::Random) == Some(FRAME) {
                break;
            }
            if self.word.state() == State::Absent && self.word.claim().is_some() {
                self.loads.fetch_add(1, Ordering::Relaxed);
                self.write(on_disk);
                self.word.publish(FRAME, Publication::Pinned);
                break;
            }
            thread::yield_now();
        }
        let seen = self.read();
        self.word.unpin();
        seen
    }

    /// As replacement takes a frame: the thread that evicts a page may overwrite the frame at once.
    fn evict_and_overwrite(&self) -> Verdict {
        let verdict = self.word.evict(1);
        if verdict == Verdict::Evicted {
            self.write(99);
        }
        verdict
    }
}

/// Runs the threads' parts beside each other on one page.
fn beside<const N: usize>(page: &Arc<Page>, parts: [fn(&Page); N]) {
    let threads = parts.map(|part| {
        let page = Arc::clone(page);
        thread::spawn(move || part(&page))
    });
    for thread in threads {
        thread.join().unwrap();
    }
}

fn read_if_resident(page: &Page) {
    if page.word.pin(Purpose::Random).is_some() {
        assert_eq!(page.read(), 7);
        page.word.unpin();
    }
}

fn evict(page: &Page) {
    page.evict_and_overwrite();
}

fn add_one(page: &Page) {
    while page.word.lock().is_none() {
        thread::yield_now();
    }
    page.write(page.read() + 1);
    page.word.unlock();
}

#[test]
fn a_frame_is_not_reused_under_a_reader() {
    loom::model(|| beside(&Page::resident(7), [read_if_resident, evict]));
}

#[test]
fn a_frame_is_not_reused_under_either_of_two_readers() {
    loom::model(|| {
        let page = Page::resident(7);
        let other = Arc::clone(&page);
        let thread = thread::spawn(move || read_if_resident(&other));
        let third = Arc::clone(&page);
        let evictor = thread::spawn(move || evict(&third));
        read_if_resident(&page);
        thread.join().unwrap();
        evictor.join().unwrap();
    });
}

#[test]
fn two_evictors_do_not_both_get_the_frame() {
    loom::model(|| beside(&Page::resident(7), [evict, evict]));
}

#[test]
fn a_missing_page_is_loaded_by_one_of_its_readers() {
    fn get(page: &Page) {
        assert_eq!(page.get(7), 7);
    }
    loom::model(|| {
        let page = Page::absent();
        beside(&page, [get, get]);
        assert_eq!(page.loads.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_page_that_could_not_be_loaded_is_tried_by_the_next_reader() {
    fn fail_or_read(page: &Page) {
        if page.word.claim().is_some() {
            page.write(13);
            page.word.abandon();
        }
    }
    fn get(page: &Page) {
        assert_eq!(page.get(7), 7);
    }
    loom::model(|| beside(&Page::absent(), [fail_or_read, get]));
}

#[test]
fn a_page_that_is_evicted_while_readers_ask_for_it_is_read_again() {
    fn get(page: &Page) {
        assert_eq!(page.get(7), 7);
    }
    /// Leaves the frame as it is: the model has only this one, and the reader is to get it back.
    fn make_absent(page: &Page) {
        page.word.evict(1);
    }
    loom::model(|| beside(&Page::resident(7), [get, make_absent]));
}

#[test]
fn writers_and_readers_take_turns() {
    fn read(page: &Page) {
        if page.word.pin(Purpose::Random).is_some() {
            assert!((7..=8).contains(&page.read()));
            page.word.unpin();
        }
    }
    loom::model(|| {
        let page = Page::resident(7);
        beside(&page, [add_one, read]);
        assert_eq!(page.get(0), 8);
    });
}

#[test]
fn two_writers_lose_no_change() {
    loom::model(|| {
        let page = Page::resident(7);
        beside(&page, [add_one, add_one]);
        assert_eq!(page.get(0), 9);
    });
}

#[test]
fn a_changed_page_is_never_evicted() {
    fn change_if_resident(page: &Page) {
        if page.word.lock().is_some() {
            page.write(8);
            page.word.unlock();
            assert_eq!(page.word.evict(1), Verdict::Dirty);
        }
    }
    loom::model(|| {
        let page = Page::resident(7);
        beside(&page, [change_if_resident, evict]);
        match page.word.state() {
            State::Resident => assert_eq!(page.get(0), 8),
            state => assert_eq!(state, State::Absent),
        }
    });
}

#[test]
fn a_discarded_page_is_nobodys() {
    fn discard(page: &Page) {
        if let Ok(Some(_)) = page.word.discard() {
            page.write(99);
        }
    }
    loom::model(|| beside(&Page::resident(7), [read_if_resident, discard]));
}
