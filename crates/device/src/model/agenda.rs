//! What is going to happen in a model, in the order of time; what happens at the same moment keeps its order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use measure::Nanos;

/// Things that will happen.
#[derive(Clone, Debug)]
pub(crate) struct Agenda<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    entered: u64,
}

#[derive(Clone, Debug)]
struct Entry<T> {
    at: Nanos,
    number: u64,
    what: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Agenda { heap: BinaryHeap::new(), entered: 0 }
    }
}

impl<T> Agenda<T> {
    pub(crate) fn enter(&mut self, at: Nanos, what: T) {
        self.heap.push(Reverse(Entry { at, number: self.entered, what }));
        self.entered += 1;
    }

    /// When the next thing happens.
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    /// The next thing, if it happens by `now`.
    pub(crate) fn due(&mut self, now: Nanos) -> Option<(Nanos, T)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.what))
    }
}

/// Something that serves one at a time, in the order in which they come: a channel, a link.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Server {
    free: Nanos,
}

impl Server {
    /// Serves for `time` from `now` on, or when it is free; returns the end.
    pub(crate) fn serve(&mut self, now: Nanos, time: Nanos) -> Nanos {
        self.free = self.free.max(now) + time;
        self.free
    }
}
