//! The sums of one statement in one session under one scope: what the tables of sessions, statements and scopes are
//! made of.
//!
//! Calls and waits come by the ten million. Each is added in one place, and not in every table: a row is added to the
//! tables when the trace has ended, or when the rows would take too much memory.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::event::{Call, EventIndex, ScopeIndex, SessionIndex, StatementIndex, Wait};
use crate::tables::sorted_list::SortedList;
use crate::tables::{CallSums, EventSums};

/// Most rows that are kept, of about 800 bytes each: 13 MiB.
pub(super) const ROWS: usize = 1 << 14;

/// Kinds of calls that most statements have: they are parsed, executed, fetched and closed.
const CALLS: usize = 4;

/// Whose work it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) statement: StatementIndex,
    pub(super) session: SessionIndex,
    pub(super) scope: ScopeIndex,
}

impl Key {
    #[inline]
    pub(super) fn of_call(call: &Call) -> Key {
        Key { statement: call.statement, session: call.session, scope: call.scope }
    }

    #[inline]
    pub(super) fn of_wait(wait: &Wait) -> Key {
        Key { statement: wait.statement, session: wait.session, scope: wait.scope }
    }
}

/// The name of a call, and whether the call is a recursive one, in one number. There are fewer than 2^10 names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CallName(u16);

impl CallName {
    #[inline]
    fn of(call: &Call) -> CallName {
        CallName(2 * call.name + u16::from(call.depth > 0))
    }

    pub(super) fn name(self) -> u16 {
        self.0 / 2
    }

    pub(super) fn is_recursive(self) -> bool {
        self.0 % 2 == 1
    }
}

/// What a statement did in one session under one scope.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) key: Key,
    pub(super) calls: SortedList<CallName, CallSums>,
    pub(super) waits: SortedList<EventIndex, EventSums>,
}

impl Work {
    #[inline]
    pub(super) fn add_call(&mut self, call: &Call) {
        self.calls.entry_or_default(CallName::of(call)).add(call);
    }

    #[inline]
    pub(super) fn add_wait(&mut self, wait: &Wait, blocks: u64, bucket: usize) {
        self.waits.entry_or_default(wait.event).add_to_bucket(wait, blocks, bucket);
    }
}

/// All rows since they were last added to the tables.
///
/// A source of more statements than there is room for fills all rows again and again: their memory stays.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    list: Vec<Work>,
    /// How many hold something; those behind are empty.
    used: usize,
    places: HashMap<Key, u32, RandomState>,
    /// By statement, the place that was looked for last: a statement seldom changes its session.
    recent: Vec<u32>,
}

impl Rows {
    /// The row of this place.
    #[inline]
    pub(super) fn row(&mut self, place: usize) -> &mut Work {
        &mut self.list[place]
    }

    /// Where the row of a key stands, if it was the last one of its statement.
    #[inline]
    pub(super) fn recent(&self, key: Key) -> Option<usize> {
        let place = *self.recent.get(key.statement.0 as usize)? as usize;
        self.list[..self.used].get(place).filter(|row| row.key == key).map(|_| place)
    }

    /// Where the row of a key stands, which is made where there is none; `None` where there is no room for it.
    #[inline(never)]
    pub(super) fn search(&mut self, key: Key) -> Option<usize> {
        let place = match self.places.get(&key) {
            Some(place) => *place,
            None if self.used >= ROWS => return None,
            None => self.make(key),
        };
        let statement = key.statement.0 as usize;
        if self.recent.len() <= statement {
            self.recent.resize(statement + 1, 0);
        }
        self.recent[statement] = place;
        Some(place as usize)
    }

    fn make(&mut self, key: Key) -> u32 {
        let place = self.used as u32;
        match self.list.get_mut(self.used) {
            Some(empty) => empty.key = key,
            None => {
                let calls = SortedList::with_room(CALLS);
                self.list.push(Work { key, calls, waits: SortedList::default() });
            }
        }
        self.used += 1;
        self.places.insert(key, place);
        place
    }

    /// Takes all rows out; [`Rows::put_back`] gives their memory to the next ones.
    pub(super) fn take(&mut self) -> Vec<Work> {
        self.places.clear();
        self.recent.clear();
        self.list.truncate(self.used);
        self.used = 0;
        std::mem::take(&mut self.list)
    }

    /// Keeps the memory of rows that were taken out.
    pub(super) fn put_back(&mut self, mut rows: Vec<Work>) {
        for row in &mut rows {
            row.calls.clear();
            row.waits.clear();
        }
        self.list = rows;
    }
}
