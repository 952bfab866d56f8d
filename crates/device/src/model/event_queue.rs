//! The events of a model in the order of time; events of the same time keep the order in which they were entered.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use measure::Nanos;

/// Events that are still to come.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    entered: u64,
}

#[derive(Clone, Debug)]
struct Entry<T> {
    at: Nanos,
    number: u64,
    event: T,
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

impl<T> Default for EventQueue<T> {
    fn default() -> Self {
        EventQueue { heap: BinaryHeap::new(), entered: 0 }
    }
}

impl<T> EventQueue<T> {
    pub(crate) fn enter(&mut self, at: Nanos, event: T) {
        self.heap.push(Reverse(Entry { at, number: self.entered, event }));
        self.entered += 1;
    }

    /// When the next event is due.
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    /// The next event, if it is due by `now`.
    pub(crate) fn due(&mut self, now: Nanos) -> Option<(Nanos, T)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }
}

/// Serves one request at a time, first come, first served: a channel, a link.
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
