//! The cursors of a session, and the waits that wait for their next call.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::event::{StatementIndex, Ticks, Wait};

/// The statement of a cursor that no line but waits has named, and of these waits: a parse writes its waits ahead of
/// the declaration.
pub(crate) const UNDECIDED: StatementIndex = StatementIndex(u32::MAX);

/// A wait that does not know yet whether it lies inside a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingWait {
    /// Placed between calls. Its statement is its cursor's at that time: a cursor can be declared anew before its next
    /// call.
    pub(crate) wait: Wait,
    /// How many files observers had heard of when its line was read.
    pub(crate) file: u32,
    /// Whether its event is one that happens between calls, by its name.
    pub(crate) is_between_by_name: bool,
}

/// A cursor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cursor {
    pub(crate) statement: StatementIndex,
    /// Hash of the plan of its last call; 0 where not known.
    pub(crate) plan_hash: u64,
    /// Waits since its last call, see [`Cursors::push`].
    pub(crate) pending: Vec<PendingWait>,
    /// Time of waits that were placed inside its next call ahead of it.
    pub(crate) placed: Ticks,
    /// Its number, as long as it may have waits whose statement is [`UNDECIDED`].
    pub(crate) undecided: Option<u64>,
}

/// The cursors of a session by number.
///
/// A cursor's number is free for another statement after it was closed, but late lines still use it: a cursor is
/// bound anew where it is declared, and never dropped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cursors {
    by_number: HashMap<u64, usize, RandomState>,
    /// In the order of their first line.
    pub(crate) all: Vec<Cursor>,
    /// The last one looked for: nine lines of ten repeat it.
    last: Option<(u64, usize)>,
    shared: Option<usize>,
    /// Room for waits that no cursor needs now: there are tens of thousands of cursors, and waits of a few.
    spare: Vec<Vec<PendingWait>>,
}

/// Most spare lists that are kept, and the greatest capacity of one, in waits.
const SPARE_ROOMS: usize = 64;
const SPARE_WAITS: usize = 1 << 10;

impl Cursors {
    /// Lets a wait wait for the next call of the cursor that stands at `place`.
    #[inline]
    pub(crate) fn push(&mut self, place: usize, wait: PendingWait) {
        let pending = &mut self.all[place].pending;
        if pending.capacity() == 0
            && let Some(room) = self.spare.pop()
        {
            *pending = room;
        }
        pending.push(wait);
    }

    /// Takes back the room of a cursor whose waits have all been placed.
    #[inline]
    pub(crate) fn give_back(&mut self, place: usize) {
        let room = std::mem::take(&mut self.all[place].pending);
        debug_assert!(room.is_empty());
        if room.capacity() > 0 && room.capacity() <= SPARE_WAITS && self.spare.len() < SPARE_ROOMS {
            self.spare.push(room);
        }
    }

    /// Where the cursor of this number stands in [`Cursors::all`].
    pub(crate) fn find(&mut self, number: u64) -> Option<usize> {
        match self.last {
            Some((last, place)) if last == number => Some(place),
            _ => {
                let place = *self.by_number.get(&number)?;
                self.last = Some((number, place));
                Some(place)
            }
        }
    }

    /// The cursor that was looked for last.
    pub(crate) fn last(&mut self) -> Option<&mut Cursor> {
        self.last.and_then(|(_, place)| self.all.get_mut(place))
    }

    /// Binds a number to a statement, whatever it was bound to.
    pub(crate) fn bind(&mut self, number: u64, statement: StatementIndex) -> usize {
        let place = match self.find(number) {
            Some(place) => place,
            None => {
                let place = self.make(statement);
                self.by_number.insert(number, place);
                self.last = Some((number, place));
                place
            }
        };
        self.all[place].statement = statement;
        self.all[place].plan_hash = 0;
        place
    }

    /// The one cursor of all numbers for which there is no room.
    pub(crate) fn shared(&mut self, statement: StatementIndex) -> usize {
        self.last = None;
        match self.shared {
            Some(place) => place,
            None => {
                let place = self.make(statement);
                *self.shared.insert(place)
            }
        }
    }

    fn make(&mut self, statement: StatementIndex) -> usize {
        self.all.push(Cursor { statement, ..Cursor::default() });
        self.all.len() - 1
    }
}
