//! The events of a model in the order of time; events of the same time keep the order in which they were entered.

use std::collections::{BTreeMap, HashMap};

use measure::Nanos;

/// Events that are still to come, each under its time and how many were entered before it.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue<T> {
    events: BTreeMap<(Nanos, u64), T>,
    entered: u64,
}

impl<T> Default for EventQueue<T> {
    fn default() -> Self {
        EventQueue { events: BTreeMap::new(), entered: 0 }
    }
}

impl<T> EventQueue<T> {
    pub(crate) fn enter(&mut self, at: Nanos, event: T) {
        self.events.insert((at, self.entered), event);
        self.entered += 1;
    }

    /// When the next event is due.
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.events.first_key_value().map(|((at, _), _)| *at)
    }

    /// The next event, if it is due by `now`.
    pub(crate) fn due(&mut self, now: Nanos) -> Option<(Nanos, T)> {
        if self.next()? > now {
            return None;
        }
        self.events.pop_first().map(|((at, _), event)| (at, event))
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

/// Notes that a part of a request has come, where `left` has how many parts of each are to come; whether it was the
/// last one.
pub(crate) fn is_last_part(left: &mut HashMap<u64, u32>, id: u64) -> bool {
    let rest = left.remove(&id).map_or(0, |parts| parts.saturating_sub(1));
    if rest > 0 {
        left.insert(id, rest);
    }
    rest == 0
}
