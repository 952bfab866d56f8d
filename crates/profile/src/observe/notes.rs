//! Notes of waits for blocks: what the instruments make of them is made beside the accounting.
//!
//! What becomes of such a wait depends on it and on those before it, and on no session or statement. So the thread that
//! accounts notes it and goes on, and whichever thread is free takes the notes in, in their order.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::event::block_wait::{BlockWait, Layout};
use crate::event::{Aside, Context, EventIndex, Ticks, Wait};
use crate::observe::hot_spots::HotSpots;
use crate::observe::miss_curve::MissCurve;
use crate::observe::readings::Readings;

/// Notes of a page: 80 KiB of them.
const PAGE: usize = 1 << 10;

/// Most pages that wait; beyond, the thread that accounts takes them in itself.
const PAGES: usize = 16;

/// A wait for a block, as its line has it.
#[derive(Clone, Copy, Debug)]
struct Note {
    event: EventIndex,
    layout: Layout,
    object: Option<i64>,
    elapsed: Ticks,
    parameters: [i64; 3],
}

/// What is made of the notes.
#[derive(Clone, Debug, Default)]
pub(super) struct Gauges {
    pub(super) readings: Readings,
    pub(super) curve: MissCurve,
    pub(super) hot_spots: HotSpots,
}

impl Gauges {
    fn take_in(&mut self, page: &mut Vec<Note>) {
        for note in page.drain(..) {
            let block_wait = BlockWait::in_layout(&note.layout, &note.parameters);
            self.hot_spots.add(note.event, note.object, note.elapsed, &block_wait);
            self.readings.add(&block_wait, note.elapsed);
            self.curve.add(&block_wait, note.elapsed);
        }
    }
}

/// What the thread that accounts shares with those that take notes in. Who locks both takes the gauges first.
#[derive(Debug, Default)]
struct Desk {
    gauges: Mutex<Gauges>,
    pages: Mutex<Pages>,
}

#[derive(Debug, Default)]
struct Pages {
    /// Full ones, in order.
    waiting: VecDeque<Vec<Note>>,
    empty: Vec<Vec<Note>>,
}

/// A lock is held by none that could leave half of something behind.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Desk {
    /// Takes in the pages that wait; whether there were any.
    fn take_in(&self, gauges: &mut Gauges) -> bool {
        let mut is_any = false;
        loop {
            let Some(mut page) = locked(&self.pages).waiting.pop_front() else { return is_any };
            gauges.take_in(&mut page);
            locked(&self.pages).empty.push(page);
            is_any = true;
        }
    }
}

impl Aside for Desk {
    fn work(&self) -> bool {
        self.gauges.try_lock().is_ok_and(|mut gauges| self.take_in(&mut gauges))
    }
}

/// The notes, and what was made of them.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The page that is being written.
    page: Mutex<Vec<Note>>,
    desk: Arc<Desk>,
}

impl Clone for Notes {
    fn clone(&self) -> Notes {
        let desk = Desk { gauges: Mutex::new(self.gauges().clone()), pages: Mutex::default() };
        Notes { page: Mutex::default(), desk: Arc::new(desk) }
    }
}

impl Notes {
    /// Notes a wait, if it is one for a block.
    #[inline]
    pub(super) fn add(&mut self, context: &Context, wait: &Wait) {
        let Some(layout) = context.event(wait.event).and_then(|event| event.layout) else { return };
        let page = self.page.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Wait { event, object, elapsed, parameters, .. } = *wait;
        page.push(Note { event, layout, object, elapsed, parameters });
        if page.len() >= PAGE {
            self.turn_page();
        }
    }

    #[inline(never)]
    fn turn_page(&mut self) {
        let page = self.page.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut pages = locked(&self.desk.pages);
        let next = pages.empty.pop().unwrap_or_else(|| Vec::with_capacity(PAGE));
        pages.waiting.push_back(mem::replace(page, next));
        let is_full = pages.waiting.len() >= PAGES;
        drop(pages);
        if is_full {
            self.desk.take_in(&mut locked(&self.desk.gauges));
        }
    }

    /// What is made of all notes so far.
    pub(super) fn gauges(&self) -> MutexGuard<'_, Gauges> {
        let mut gauges = locked(&self.desk.gauges);
        self.desk.take_in(&mut gauges);
        gauges.take_in(&mut locked(&self.page));
        gauges
    }

    /// The taking in, for threads that are free.
    pub(super) fn aside(&self) -> Arc<dyn Aside> {
        self.desk.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::block_wait::BlockWaitKind;
    use crate::observe::tests::{context, wait};

    #[test]
    fn notes_that_another_thread_takes_in_come_to_the_same_in_their_order() {
        let context = context(&[("db file sequential read", &["file#", "block#", "blocks"])]);
        let lines = || (0..200 * PAGE as i64).map(|line| wait(0, 10 + line % 7, [4, line * line % 9_973, 1]));
        let (mut alone, mut beside) = (Gauges::default(), Notes::default());
        lines().for_each(|wait| {
            let layout = context.event(wait.event).and_then(|event| event.layout).unwrap();
            let Wait { event, object, elapsed, parameters, .. } = wait;
            alone.take_in(&mut vec![Note { event, layout, object, elapsed, parameters }]);
        });
        let aside = beside.aside();
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    aside.work();
                }
            });
            lines().for_each(|wait| beside.add(&context, &wait));
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        let both = [&alone, &*beside.gauges()].map(|gauges| {
            let single = gauges.readings.accesses(BlockWaitKind::SingleBlock).unwrap();
            let hot = gauges.hot_spots.block(std::iter::once(EventIndex(0)));
            (single.latency.statistics(), hot, gauges.curve.rows())
        });
        assert_eq!(both[0], both[1]);
        assert_eq!(both[0].0.unwrap().n, 200 * PAGE as u64);
    }

    #[test]
    fn a_copy_has_all_that_was_noted_and_goes_its_own_way() {
        let context = context(&[("db file sequential read", &["file#", "block#", "blocks"])]);
        let mut notes = Notes::default();
        (0..5).for_each(|block| notes.add(&context, &wait(0, 10, [4, block, 1])));
        let copy = notes.clone();
        notes.add(&context, &wait(0, 10, [4, 9, 1]));
        assert_eq!((copy.gauges().curve.reads(), notes.gauges().curve.reads()), (5, 6));
    }
}
