//! Settling what waits: waits by the next call of their cursor, calls by their parent, both at the end.

use crate::event::{
    CallKind, Context, Observer, Placement, ProblemKind, Root, Segment, SessionIndex, StatementIndex, Ticks,
};
use crate::source::oracle::account::state::Accounting;
use crate::source::oracle::cursor::{PendingWait, UNDECIDED};
use crate::source::oracle::recursion::Waiting;

/// How far a wait may reach over the edges of its call: the two take their times one after the other.
const TOLERANCE: Ticks = Ticks::from_micros(5);

/// The command type of a query: a long wait list of one was most probably gathered by a fetch.
const SELECT: i64 = 3;

/// The call that waits are held against.
#[derive(Clone, Copy, Debug)]
pub(super) struct Within {
    pub(super) kind: CallKind,
    pub(super) depth: u16,
    pub(super) statement: StatementIndex,
    pub(super) plan_hash: u64,
    /// Start and end; `None` where the call has no time.
    pub(super) span: Option<(Ticks, Ticks)>,
}

impl Within {
    /// Whether a wait lies within the call's time.
    fn holds(&self, PendingWait { wait, .. }: &PendingWait) -> bool {
        let (Some((start, end)), Some(wait_end)) = (self.span, wait.end) else {
            return false;
        };
        wait_end <= end + TOLERANCE && wait_end - wait.elapsed >= start - TOLERANCE
    }

    /// Whether a wait of its cursor lies inside: by time, or by the event's name where the wait has none.
    fn takes(&self, wait: &PendingWait) -> bool {
        if wait.wait.end.is_some() { self.holds(wait) } else { !wait.is_between_by_name }
    }
}

impl Accounting {
    /// Places the waits that a call settles; the time of those inside it.
    pub(super) fn settle_waits<O: Observer + ?Sized>(
        &mut self,
        place: usize,
        cursor: Option<usize>,
        within: &Within,
        observer: &mut O,
    ) -> Ticks {
        if let Some(at) = cursor
            && self.sessions[place].cursors.all[at].undecided.is_some()
        {
            self.settle_undecided(place, at, Some(within));
        }
        let Accounting { context, sessions, pending_waits, heard, .. } = self;
        let (session, heard) = (&mut sessions[place], *heard);
        let is_lob = within.kind == CallKind::Lob;
        let mut inside = Ticks::ZERO;
        *pending_waits -= session.loose.len();
        for wait in &mut session.loose {
            // Of the calls without a cursor only operations on large objects wait inside.
            let call = (is_lob && within.holds(wait)).then_some(within);
            inside += hand_on((context, heard), wait, call, observer);
        }
        session.loose.clear();
        if let Some(place) = cursor {
            let cursor = &mut session.cursors.all[place];
            inside += std::mem::take(&mut cursor.placed);
            *pending_waits -= cursor.pending.len();
            for wait in &mut cursor.pending {
                let call = within.takes(wait).then_some(within);
                inside += hand_on((context, heard), wait, call, observer);
            }
            cursor.pending.clear();
            session.cursors.give_back(place);
        } else if is_lob && let Some(cursor) = session.cursors.last() {
            // The line of a large object's operation names no cursor, but its waits name the one that is open.
            let before = cursor.pending.len();
            cursor.pending.retain_mut(|wait| {
                let is_inside = within.holds(wait);
                if is_inside {
                    inside += hand_on((context, heard), wait, Some(within), observer);
                }
                !is_inside
            });
            *pending_waits -= before - cursor.pending.len();
        }
        inside
    }

    /// Gives waits that came ahead of all other lines of their cursor a statement: where they do not lie within the
    /// call that settles them, that of a cursor which is not declared. A declaration behind them is that of its own
    /// parse, and does not say whose they were.
    #[cold]
    fn settle_undecided(&mut self, place: usize, at: usize, within: Option<&Within>) {
        let cursor = &self.sessions[place].cursors.all[at];
        let (Some(number), is_declared) = (cursor.undecided, cursor.statement != UNDECIDED) else { return };
        let is_left =
            |wait: &PendingWait| wait.wait.statement == UNDECIDED && !within.is_some_and(|within| within.takes(wait));
        let first = cursor.pending.iter().find(|wait| is_left(wait)).map(|wait| wait.wait.offset);
        let statement = first.map(|offset| self.undeclared(place, number, offset));
        let cursor = &mut self.sessions[place].cursors.all[at];
        if let Some(statement) = statement {
            let left = cursor.pending.iter_mut().filter(|wait| is_left(wait));
            left.for_each(|wait| wait.wait.statement = statement);
            cursor.statement = if is_declared { cursor.statement } else { statement };
        }
        if is_declared || statement.is_some() {
            cursor.undecided = None;
        }
    }

    /// The same of all cursors of a session.
    fn settle_all_undecided(&mut self, place: usize) {
        for at in 0..self.sessions[place].cursors.all.len() {
            self.settle_undecided(place, at, None);
        }
    }

    /// Makes a cursor that only waits have named so far known as one that is not declared.
    #[cold]
    pub(super) fn decide_undeclared(&mut self, place: usize, (at, number): (usize, u64), offset: u64) -> usize {
        self.settle_undecided(place, at, None);
        if self.sessions[place].cursors.all[at].statement == UNDECIDED {
            // Its waits have gone to an operation on a large object.
            let statement = self.undeclared(place, number, offset);
            let cursor = &mut self.sessions[place].cursors.all[at];
            (cursor.statement, cursor.undecided) = (statement, None);
        }
        at
    }

    /// Places all waits of a session that still wait for a call by their event's name.
    pub(super) fn settle_by_name<O: Observer + ?Sized>(&mut self, place: usize, offset: u64, observer: &mut O) {
        self.settle_all_undecided(place);
        let Accounting { context, sessions, pending_waits, heard, .. } = self;
        let (session, heard) = (&mut sessions[place], *heard);
        let mut placed = 0;
        *pending_waits -= session.loose.len();
        for mut wait in session.loose.drain(..) {
            hand_on((context, heard), &mut wait, None, observer);
        }
        for cursor in &mut session.cursors.all {
            placed += cursor.pending.len();
            *pending_waits -= cursor.pending.len();
            for mut wait in std::mem::take(&mut cursor.pending) {
                let statement = context.statement(wait.wait.statement);
                let is_query = statement.is_some_and(|statement| statement.command == SELECT);
                let within = Within {
                    kind: if is_query { CallKind::Fetch } else { CallKind::Exec },
                    depth: statement.map_or(0, |statement| statement.depth),
                    statement: wait.wait.statement,
                    plan_hash: wait.wait.plan_hash,
                    span: None,
                };
                let call = (!wait.is_between_by_name).then_some(&within);
                cursor.placed += hand_on((context, heard), &mut wait, call, observer);
            }
        }
        if placed > 0 {
            self.problem(ProblemKind::PlacedByName, placed as u64, offset);
        }
    }

    /// Settles everything of a session up to the end of this segment of its time: no later call can be the parent, or
    /// hold the waits.
    pub(super) fn settle_session<O: Observer + ?Sized>(
        &mut self,
        place: usize,
        segment: Option<(Ticks, Ticks)>,
        observer: &mut O,
    ) {
        self.settle_all_undecided(place);
        let Accounting { context, sessions, pending_waits, budget, wall_clock, clocks, heard, .. } = self;
        let (session, heard) = (&mut sessions[place], *heard);
        let index = session.index;
        *pending_waits -= session.loose.len();
        for mut wait in session.loose.drain(..) {
            hand_on((context, heard), &mut wait, None, observer);
        }
        for cursor in &mut session.cursors.all {
            *pending_waits -= cursor.pending.len();
            for mut wait in cursor.pending.drain(..) {
                hand_on((context, heard), &mut wait, None, observer);
            }
        }
        for waiting in session.recursion.drain() {
            observer.root(context, &root_of(index, &waiting));
        }
        let unrecorded = std::mem::take(&mut session.holes);
        for (first, last) in session.clock.take_left() {
            if budget.interval(last - first) {
                observer.segment(context, &Segment { session: index, first, last, ..Segment::default() });
            }
        }
        if let Some((first, last)) = segment {
            if let Some((begin, end)) = wall_clock.ends_of(first, last) {
                let (earliest, latest) = clocks.unwrap_or((begin, end));
                *clocks = Some((earliest.min(begin), latest.max(end)));
            }
            if budget.interval(last - first) {
                observer.segment(context, &Segment { session: index, first, last, unrecorded, ..Segment::default() });
            } else if first <= last {
                self.problem(ProblemKind::TimeTooLarge, 1, 0);
            }
        }
    }

    /// Settles all sessions, and forgets them.
    pub(super) fn settle_sessions<O: Observer + ?Sized>(&mut self, observer: &mut O) {
        // What waits, and what is odd about it, is of the last file that had a line.
        let files = std::mem::replace(&mut self.files, self.last_begun);
        for place in 0..self.sessions.len() {
            let segment = self.sessions[place].clock.end();
            self.settle_session(place, segment, observer);
        }
        self.files = files;
        self.sessions.clear();
        self.cursors = 0;
        self.by_key.clear();
        self.by_process.clear();
        self.current = None;
        self.previous = None;
        self.wall_clock.restart();
        self.context.clock = None;
    }
}

/// A call, or a fold of calls, without a traced parent.
pub(super) fn root_of(session: SessionIndex, waiting: &Waiting) -> Root {
    Root { session, inclusive: waiting.inclusive, depth: waiting.depth, calls: waiting.calls }
}

/// Hands a wait on: inside this call, or between calls, and in which of the files that observers have heard of. Its
/// time if it lies inside.
#[inline]
fn hand_on<O: Observer + ?Sized>(
    (context, heard): (&Context, u32),
    PendingWait { wait, file, .. }: &mut PendingWait,
    call: Option<&Within>,
    observer: &mut O,
) -> Ticks {
    if let Some(call) = call {
        (wait.statement, wait.placement, wait.depth) = (call.statement, Placement::Inside(call.kind), call.depth);
        wait.plan_hash = call.plan_hash;
    }
    wait.files_back = heard.saturating_sub(*file);
    observer.wait(context, wait);
    call.map_or(Ticks::ZERO, |_| wait.elapsed)
}
