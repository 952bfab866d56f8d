//! The sums of sessions, with bounded memory: where there are many, those with least time share one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use measure::schema::profile::OTHER_SESSIONS;
use measure::sorting;

use crate::event::{
    Accounted, EventIndex, Merge, Segment, Session, SessionIndex, StatementIndex, Ticks, Transaction, Wait, merged,
};
use crate::observe::work::CallName;
use crate::tables::growing::entry;
use crate::tables::session_statement::{OTHER_STATEMENTS, SessionStatement, SessionStatementSums};
use crate::tables::sorted_list::SortedList;
use crate::tables::{CallSums, EventSums, SessionProfile, ThinkTime, Transactions};

/// Most sessions with sums of their own, of about 4 KiB each, while a source is read: at more than this, half of them
/// are folded.
const SESSIONS: usize = 1 << 9;

/// Most statements of sessions, of about 120 bytes each, while a source is read: at more than this, each session keeps
/// these few with most time. It takes no new one from then on, so that what is said of one is all of it.
const STATEMENTS: usize = 3 << 13;
const STATEMENTS_KEPT: usize = 16;

/// Most rows that the sessions have in the tables of a run document, of about 2 KiB each, before those with least time
/// share one.
const ROWS: usize = 3 << 10;

/// Sessions that have rows of their own however many those are.
const SESSIONS_SHOWN_MIN: usize = 16;

/// Rows that the statements of a session have in a run document of many sessions.
const STATEMENT_ROWS: usize = 10;

/// What stands for these sessions while a source is read: no session has this number.
const OTHERS_INDEX: SessionIndex = SessionIndex(u32::MAX);

/// Sums of a session, by index.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionSums {
    pub(super) calls: SortedList<CallName, CallSums>,
    pub(super) events: SortedList<EventIndex, EventSums>,
    think_time: BTreeMap<EventIndex, ThinkTime>,
    transactions: Transactions,
    interval: Ticks,
    unrecorded: Ticks,
    segments: u64,
    pub(super) roots: u64,
    pub(super) orphans: u64,
    pub(super) roots_elapsed: Ticks,
}

merged! {
    SessionSums: calls, events, think_time, transactions, interval, unrecorded, segments, roots, orphans, roots_elapsed;
}

/// The sums of all sessions.
#[derive(Clone, Debug, Default)]
pub(super) struct Sessions {
    all: Vec<SessionSums>,
    /// By index, whether a session is one of the others.
    is_folded: Vec<bool>,
    others: SessionSums,
    /// By index, whether a session has a segment of time.
    has_segment: Vec<bool>,
    statements: HashMap<(SessionIndex, StatementIndex), SessionStatementSums, RandomState>,
    /// By index, whether a session takes no new statement.
    is_closed: Vec<bool>,
    others_are_closed: bool,
    folded: u64,
}

/// What the sessions came to.
#[derive(Debug, Default)]
pub(super) struct Finished {
    pub(super) sessions: Vec<SessionProfile>,
    pub(super) statements: Vec<SessionStatement>,
    /// Sessions that share one.
    pub(super) folded: u64,
}

impl Sessions {
    /// The sums of a session.
    #[inline]
    pub(super) fn sums(&mut self, index: SessionIndex) -> &mut SessionSums {
        if is_marked(&self.is_folded, index) {
            return &mut self.others;
        }
        entry(&mut self.all, index.0 as usize)
    }

    /// Adds to the sums of a statement in a session.
    pub(super) fn add_statement(&mut self, key: (SessionIndex, StatementIndex), sums: &SessionStatementSums) {
        let is_folded = is_marked(&self.is_folded, key.0);
        let key = if is_folded { (OTHERS_INDEX, key.1) } else { key };
        let is_taken = !self.is_closed(key.0) || self.statements.contains_key(&key);
        let key = if is_taken { key } else { (key.0, OTHER_STATEMENTS) };
        self.statements.entry(key).or_default().merge(sums);
    }

    fn is_closed(&self, session: SessionIndex) -> bool {
        if session == OTHERS_INDEX { self.others_are_closed } else { is_marked(&self.is_closed, session) }
    }

    /// Keeps the statements of each session that have most time.
    fn fold_statements(&mut self) {
        let mut ranked: Vec<((SessionIndex, Reverse<Ticks>), StatementIndex)> = Vec::new();
        for ((session, statement), sums) in &self.statements {
            ranked.push(((*session, Reverse(sums.response_time())), *statement));
        }
        ranked.sort_unstable();
        for of_session in ranked.chunk_by(|((one, _), _), ((other, _), _)| one == other) {
            let least = of_session.iter().filter(|(_, statement)| *statement != OTHER_STATEMENTS);
            for ((session, _), statement) in least.skip(STATEMENTS_KEPT) {
                match *session {
                    OTHERS_INDEX => self.others_are_closed = true,
                    session => *entry(&mut self.is_closed, session.0 as usize) = true,
                }
                if let Some(sums) = self.statements.remove(&(*session, *statement)) {
                    self.statements.entry((*session, OTHER_STATEMENTS)).or_default().merge(&sums);
                }
            }
        }
        self.statements.shrink_to_fit();
    }

    /// Adds think time to its session.
    pub(super) fn add_think_time(&mut self, wait: &Wait, one: &ThinkTime) {
        self.sums(wait.session).think_time.entry(wait.event).or_default().merge(one);
    }

    /// Adds a segment of a session's time.
    pub(super) fn add_segment(&mut self, segment: &Segment) {
        *entry(&mut self.has_segment, segment.session.0 as usize) = true;
        let sums = self.sums(segment.session);
        sums.interval += segment.last - segment.first + segment.untimed;
        sums.unrecorded += segment.unrecorded_time();
        sums.segments += 1;
    }

    /// Counts the end of a transaction.
    pub(super) fn end_transaction(&mut self, transaction: &Transaction) {
        let transactions = &mut self.sums(transaction.session).transactions;
        match (transaction.is_read_only, transaction.is_rollback) {
            (true, _) => transactions.read_only += 1,
            (false, true) => transactions.rollbacks += 1,
            (false, false) => transactions.commits += 1,
        }
    }

    /// Folds what is least where there are too many sessions, or too many statements of them.
    pub(super) fn make_room(&mut self) {
        let mut ranked: Vec<(Ticks, usize)> = self.all.iter().map(SessionSums::time).zip(0..).collect();
        ranked.retain(|(_, place)| !self.all[*place].is_empty());
        if ranked.len() > SESSIONS {
            // Of equals the later one is folded.
            sorting::by_key(&mut ranked, |(time, place)| (Reverse(*time), *place));
            ranked.split_off(SESSIONS / 2).into_iter().for_each(|(_, place)| self.fold(place));
            // Statements of sessions that are not folded stay: one that takes no new statement would lose those it has.
            let is_folded = &self.is_folded;
            let moved: Vec<_> = self.statements.extract_if(|(session, _), _| is_marked(is_folded, *session)).collect();
            moved.iter().for_each(|(key, sums)| self.add_statement(*key, sums));
        }
        if self.statements.len() > STATEMENTS {
            self.fold_statements();
        }
    }

    fn fold(&mut self, place: usize) {
        self.others.merge(&std::mem::take(&mut self.all[place]));
        *entry(&mut self.is_folded, place) = true;
        self.folded += 1;
    }

    /// The profiles of the sessions that have a call or a wait, in the order of their first lines.
    pub(super) fn finish(self, accounted: &mut Accounted) -> Finished {
        let folded = || (0..).zip(&self.is_folded).filter(|(_, is_folded)| **is_folded).map(|(place, _)| place);
        let has_segment = |place: &u32| is_marked(&self.has_segment, SessionIndex(*place));
        let others = self.others.finish(OTHERS_INDEX, folded().filter(has_segment).count());
        let own = (0..).zip(self.all).filter_map(|(place, sums)| sums.finish(SessionIndex(place), 1));
        let mut finished = Finished { sessions: own.collect(), statements: Vec::new(), folded: self.folded };
        if finished.sessions.len() + usize::from(others.is_some()) > 1 {
            let one = |((session, statement), sums)| SessionStatement { session, statement, sums };
            finished.statements.extend(self.statements.into_iter().map(one));
        }
        finished.share(others);
        finished.name_others(accounted);
        sorting::by_key(&mut finished.statements, |one| (one.session, one.statement));
        finished
    }
}

/// Whether the place of a session is noted.
fn is_marked(list: &[bool], session: SessionIndex) -> bool {
    list.get(session.0 as usize) == Some(&true)
}

impl SessionSums {
    /// Whether it has neither a call nor a wait so far. It has no row then, and is none of those that share one.
    fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.events.is_empty()
    }

    /// Its response time.
    fn time(&self) -> Ticks {
        self.roots_elapsed + self.events.values().map(|sums| sums.between).sum()
    }

    /// The profile of a session, or of several; `None` where there is neither a call nor a wait.
    fn finish(self, index: SessionIndex, sessions: usize) -> Option<SessionProfile> {
        if self.is_empty() {
            return None;
        }
        let mut profile = SessionProfile {
            session: Some(index),
            response_time: self.time(),
            interval: self.interval,
            roots: self.roots,
            orphans: self.orphans,
            interruptions: self.segments.saturating_sub(sessions as u64),
            think_time: self.think_time,
            transactions: self.transactions,
            waits_are_traced: !self.events.is_empty(),
            ..SessionProfile::default()
        };
        for (name, sums) in self.calls.into_entries() {
            profile.cpu += sums.own.cpu.unwrap_or_default();
            profile.calls.insert((name.name(), name.is_recursive()), sums);
        }
        for (event, sums) in self.events.into_entries() {
            profile.waits += sums.total;
            profile.events.insert(event, sums);
        }
        profile.unaccounted_within = profile.response_time - profile.cpu - profile.waits;
        profile.unaccounted_between = profile.interval - profile.response_time;
        // Time that calls and waits took cannot be unrecorded, however the clocks stand.
        profile.unrecorded = self.unrecorded.min(profile.unaccounted_between).max(Ticks::ZERO);
        Some(profile)
    }
}

impl Finished {
    /// Lets the sessions with least time share one, as far as their rows would make the run document too large.
    fn share(&mut self, others: Option<SessionProfile>) {
        let mut ranked: Vec<usize> = (0..self.sessions.len()).collect();
        sorting::by_key(&mut ranked, |place| Reverse(self.sessions[*place].response_time));
        let mut rows = 0;
        let is_kept = |(rank, place): &(usize, usize)| {
            rows += rows_of(&self.sessions[*place]);
            rows <= ROWS || *rank < SESSIONS_SHOWN_MIN
        };
        let mut is_shared = vec![true; self.sessions.len()];
        let kept = ranked.into_iter().enumerate().take_while(is_kept);
        kept.for_each(|(_, place)| is_shared[place] = false);
        let mut shared = others;
        let mut left = is_shared.iter();
        self.sessions.retain(|session| {
            let is_shared = left.next() == Some(&true);
            if is_shared {
                self.folded += 1;
                shared.get_or_insert_default().merge(session);
            }
            !is_shared
        });
        if let Some(mut others) = shared {
            others.session = Some(OTHERS_INDEX);
            self.sessions.push(others);
            self.fold_statements();
        }
    }

    /// Adds up the statements of the sessions that are not there.
    fn fold_statements(&mut self) {
        let mut is_there: Vec<SessionIndex> = self.sessions.iter().filter_map(|session| session.session).collect();
        sorting::ascending(&mut is_there);
        let mut all: HashMap<(SessionIndex, StatementIndex), SessionStatementSums, RandomState> = HashMap::default();
        for one in std::mem::take(&mut self.statements) {
            let session = if is_there.binary_search(&one.session).is_ok() { one.session } else { OTHERS_INDEX };
            all.entry((session, one.statement)).or_default().merge(&one.sums);
        }
        let one = |((session, statement), sums)| SessionStatement { session, statement, sums };
        self.statements.extend(all.into_iter().map(one));
    }

    /// Gives the others a name and a number of their own.
    fn name_others(&mut self, accounted: &mut Accounted) {
        let Some(others) = self.sessions.last_mut().filter(|last| last.session == Some(OTHERS_INDEX)) else { return };
        let index = SessionIndex(u32::try_from(accounted.context.sessions.len()).unwrap_or(u32::MAX));
        accounted.context.sessions.push(Session { id: OTHER_SESSIONS.into() });
        others.session = Some(index);
        let of_others = self.statements.iter_mut().filter(|one| one.session == OTHERS_INDEX);
        of_others.for_each(|one| one.session = index);
    }
}

/// How many rows a session has in a run document.
fn rows_of(session: &SessionProfile) -> usize {
    let of_event = |sums: &EventSums| 3 + sums.histogram.iter().count();
    1 + session.events.values().map(of_event).sum::<usize>() + session.calls.len() + STATEMENT_ROWS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Cost;

    #[test]
    fn a_session_that_takes_no_new_statement_keeps_those_that_it_has_when_others_are_folded() {
        let mut sessions = Sessions::default();
        let (busy, room) = (SessionIndex(0), u32::try_from(STATEMENTS).unwrap());
        for number in 0..=room {
            let own = Cost { elapsed: Ticks::from_micros(i64::from(number)), ..Cost::default() };
            let sums = SessionStatementSums { own, ..SessionStatementSums::default() };
            sessions.add_statement((busy, StatementIndex(number)), &sums);
        }
        sessions.make_room();
        let kept = |sessions: &Sessions| {
            let mut kept: Vec<StatementIndex> =
                sessions.statements.keys().filter(|(session, _)| *session == busy).map(|(_, one)| *one).collect();
            sorting::ascending(&mut kept);
            kept
        };
        let before = kept(&sessions);
        assert_eq!(before.len(), STATEMENTS_KEPT + 1, "those with most time, and all others as one");
        sessions.sums(busy).roots_elapsed = Ticks::from_micros(1);
        for session in (0..=u32::try_from(SESSIONS).unwrap()).map(SessionIndex) {
            let (first, last, unrecorded) = (Ticks::ZERO, Ticks::from_micros(9), Vec::new());
            sessions.add_segment(&Segment { session, first, last, unrecorded, untimed: Ticks::ZERO });
            sessions.sums(session).events.entry_or_default(EventIndex(0));
        }
        sessions.make_room();
        assert!(sessions.folded > 0 && !is_marked(&sessions.is_folded, busy));
        assert_eq!(kept(&sessions), before);
    }

    #[test]
    fn sessions_without_a_call_or_a_wait_are_none_of_those_that_share_a_row() {
        let finished = |silent: u32, waiting: u32| {
            let mut sessions = Sessions::default();
            for session in (0..silent + waiting).map(SessionIndex) {
                let (first, last, unrecorded) = (Ticks::ZERO, Ticks::from_micros(9), Vec::new());
                sessions.add_segment(&Segment { session, first, last, unrecorded, untimed: Ticks::ZERO });
                if session.0 >= silent {
                    sessions.sums(session).events.entry_or_default(EventIndex(0));
                }
            }
            sessions.make_room();
            let finished = sessions.finish(&mut Accounted::default());
            let interval: Ticks = finished.sessions.iter().map(|session| session.interval).sum();
            (finished.sessions.len() as u64 - u64::from(finished.folded > 0) + finished.folded, interval)
        };
        let many = u32::try_from(2 * SESSIONS).unwrap();
        let micros = |sessions: u32| Ticks::from_micros(9 * i64::from(sessions));
        assert_eq!(finished(many, 0), (0, Ticks::ZERO));
        assert_eq!(finished(many, 3), (3, micros(3)), "no time of sessions that have no row");
        assert_eq!(finished(7, many), (u64::from(many), micros(many)));
    }
}
