//! The sessions of an exact watch: which are watched, what was seen of each, and from when to when that is known.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use profile::source::sampled::{CLIENT, State};
use sys::watchpoint::Store;

use super::intervals::{Interval, intervals, without};
use super::watching::Watching;
use crate::memory::{Change, Place};

/// Which sessions are watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// Those of all clients, new ones too.
    All,
    /// The processes with these numbers.
    Processes(Vec<u32>),
}

/// Part of a session's time that the watch may take; one from which it takes more is left alone.
pub(super) const SHARE_MAX: f64 = 0.2;

/// A session is watched this long before its share is judged.
const JUDGED_AFTER: Duration = Duration::from_millis(300);

/// All sessions that are or were watched.
pub(super) struct Sessions {
    chosen: Chosen,
    /// What one store takes from its process.
    store: Duration,
    watched: Vec<Watched>,
    /// The numbers of their watches by process and start: a process may have the number of one that has ended. `None`
    /// of a session that could not be watched.
    numbers: HashMap<(u32, i64), Option<u32>>,
    /// Changes that are kept.
    pub(super) changes: u64,
    lost: Lost,
    /// Sessions that could not be watched, or were left alone, and why.
    left: Vec<(u32, String)>,
}

/// A session that is watched.
struct Watched {
    place: Place,
    /// By the clock of the stores.
    begun: u64,
    end: Option<End>,
    changes: Vec<Change>,
}

/// How a watch over a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It cost too much.
    LeftAlone { at: u64 },
    /// The session has ended, which was noticed a moment later.
    Gone { noticed: u64 },
}

/// The times in which changes were lost.
#[derive(Default)]
struct Lost {
    count: u64,
    /// When none were known to be lost last.
    checked: u64,
    /// Since when some are, and what sessions do has not been read anew.
    since: Option<u64>,
    times: Vec<(u64, u64)>,
}

/// What was seen of all sessions.
pub(super) struct Seen {
    pub(super) intervals: Vec<Interval>,
    /// The times in which changes were lost, in their order.
    pub(super) lost_times: Vec<(u64, u64)>,
    /// What the watch came to, as far as the sessions show it.
    pub(super) watching: Watching,
}

impl Watched {
    /// Until when it is known what the session did: not before the watch began, which takes a change a moment earlier.
    fn until(&self, now: u64) -> u64 {
        let until = match self.end {
            None => now,
            Some(End::LeftAlone { at }) => at,
            Some(End::Gone { noticed }) => match self.changes.last() {
                // Its client said goodbye, or was gone: it shows no more.
                Some(last) if last.wait == 0 && last.state != Some(State::Active) => last.at,
                _ => noticed,
            },
        };
        until.max(self.begun)
    }

    fn share(&self, store: Duration, now: u64) -> (f64, Duration) {
        let time = Duration::from_nanos(self.until(now).saturating_sub(self.begun));
        // The watch takes changes a moment before its beginning is noted: they are of no time that is known.
        let before = self.changes.iter().take_while(|change| change.at < self.begun).count();
        let lost = (self.changes.len() - before) as f64 * store.as_secs_f64();
        let share = if time.is_zero() { 0.0 } else { (lost / time.as_secs_f64()).min(1.0) };
        (share, time)
    }
}

impl Sessions {
    /// None yet. `store` is what one takes from its process, `now` by the clock of the stores.
    pub(super) fn new(chosen: Chosen, store: Duration, now: u64) -> Sessions {
        Sessions {
            chosen,
            store,
            watched: Vec::new(),
            numbers: HashMap::new(),
            changes: 0,
            lost: Lost { checked: now, ..Lost::default() },
            left: Vec::new(),
        }
    }

    /// Takes where all sessions show themselves, read at a moment. Gives those that are to be watched, and the numbers
    /// of the watches over those that have ended.
    pub(super) fn look(&mut self, places: Vec<Place>, at: u64) -> (Vec<Place>, Vec<u32>) {
        let there: HashSet<(u32, i64)> = places.iter().map(Place::key).collect();
        let mut over = Vec::new();
        for (number, one) in (0..).zip(&mut self.watched) {
            if one.end.is_none() && !there.contains(&one.place.key()) {
                one.end = Some(End::Gone { noticed: at });
                over.push(number);
            }
        }
        if let Some(since) = self.lost.since.take() {
            self.lost.times.push((since, at));
            places.iter().for_each(|place| self.begin_anew(place, at));
        }
        let is_chosen = |place: &Place| match &self.chosen {
            Chosen::All => place.backend.kind == CLIENT,
            Chosen::Processes(numbers) => numbers.contains(&place.backend.pid),
        };
        let is_new = |place: &Place| is_chosen(place) && !self.numbers.contains_key(&place.key());
        (places.into_iter().filter(is_new).collect(), over)
    }

    /// Takes down what a session does now, where changes of it may have been lost.
    fn begin_anew(&mut self, place: &Place, at: u64) {
        let number = self.numbers.get(&place.key()).copied().flatten();
        if let Some(one) = number.and_then(|number| self.watched.get_mut(number as usize)) {
            one.changes.push(Change { at, ..place.at_begin });
        }
    }

    /// The number that the next watch will have.
    pub(super) fn next_number(&self) -> u32 {
        self.watched.len() as u32
    }

    /// Takes a session that is watched from a moment on.
    pub(super) fn begin(&mut self, place: Place, begun: u64) {
        self.numbers.insert(place.key(), Some(self.next_number()));
        self.watched.push(Watched { place, begun, end: None, changes: Vec::new() });
    }

    /// Takes a session that cannot be watched; without a reason where it has ended meanwhile.
    pub(super) fn refuse(&mut self, place: &Place, why: Option<String>) {
        self.numbers.insert(place.key(), None);
        self.left.extend(why.map(|why| (place.backend.pid, why)));
    }

    /// Takes a change.
    pub(super) fn take(&mut self, Store { at, watch, parts }: Store) {
        let Some(one) = self.watched.get_mut(watch as usize) else { return };
        if !matches!(one.end, Some(End::LeftAlone { .. })) {
            one.changes.push(one.place.change(at, parts));
            self.changes += 1;
        }
    }

    /// Takes how many changes were lost so far, after all others were taken.
    pub(super) fn lose(&mut self, count: u64, now: u64) {
        if count > self.lost.count {
            self.lost.since.get_or_insert(self.lost.checked);
            self.lost.count = count;
        }
        self.lost.checked = now;
    }

    /// The numbers of the watches that cost their sessions too much, which are over now.
    pub(super) fn judge(&mut self, now: u64) -> Vec<u32> {
        let mut over = Vec::new();
        for (number, one) in (0..).zip(&mut self.watched) {
            let (share, time) = one.share(self.store, now);
            if one.end.is_none() && time >= JUDGED_AFTER && share > SHARE_MAX {
                one.end = Some(End::LeftAlone { at: now });
                let why = format!("its waits come so fast that the watch took {:.0} % of its time", 100.0 * share);
                self.left.push((one.place.backend.pid, why));
                over.push(number);
            }
        }
        over
    }

    /// Whether no session is watched.
    pub(super) fn is_empty(&self) -> bool {
        self.watched.is_empty()
    }

    /// Why no session could be watched.
    pub(super) fn refusal(&self) -> String {
        match self.left.first() {
            Some((process, why)) => format!("session {process} cannot be watched: {why}"),
            None => "there is no such session, or none of a client".into(),
        }
    }

    /// What was seen of all sessions until now, the intervals in the order of their ends.
    pub(super) fn finish(mut self, now: u64) -> Seen {
        self.lost.times.extend(self.lost.since.map(|since| (since, now)));
        let shares = self.watched.iter().map(|one| one.share(self.store, now).0);
        let share_max = shares.fold(0.0, f64::max);
        let gone = self.watched.iter().filter(|one| matches!(one.end, Some(End::Gone { .. }))).count();
        let (sessions, lost_times) = (self.watched.len(), joined(self.lost.times));
        let mut all: Vec<Interval> = Vec::new();
        for mut one in self.watched {
            // What was read anew may stand behind changes that were taken later.
            one.changes.sort_by_key(|change| change.at);
            let found = intervals(&one.changes, (one.begun, one.until(now)), &one.place);
            all.extend(without(found, &lost_times));
        }
        all.sort_by_key(|interval| interval.ended);
        let watching = Watching {
            sessions,
            gone,
            changes: self.changes,
            lost: self.lost.count,
            store: self.store,
            share_max,
            left: self.left,
            is_of_chosen: matches!(self.chosen, Chosen::Processes(_)),
            ..Watching::default()
        };
        Seen { intervals: all, lost_times, watching }
    }
}

impl Seen {
    /// Leaves out what was seen before a moment: the sessions come to be watched one after the other, and the time of
    /// all begins behind the last of those that there are.
    pub(super) fn cut(&mut self, begun: u64) {
        self.intervals.retain(|one| one.ended > begun);
        self.intervals.iter_mut().for_each(|one| one.begun = one.begun.max(begun));
        self.lost_times.retain(|(_, end)| *end > begun);
        self.lost_times.iter_mut().for_each(|(begin, _)| *begin = (*begin).max(begun));
    }
}

/// Times in their order, those that overlap as one.
fn joined(times: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (begin, end) in times {
        match joined.last_mut().filter(|last| begin <= last.1) {
            Some(last) => last.1 = last.1.max(end),
            None => joined.push((begin, end)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use profile::source::sampled::Backend;

    use super::*;

    const MILLI: u64 = 1_000_000;
    const STORE: Duration = Duration::from_micros(10);
    const CLIENT_READ: u64 = 0x0600_0000;
    const READ: u64 = 0x0a00_0011;

    /// Numbers of states in version 15.
    const IDLE: u64 = 1;
    const ACTIVE: u64 = 2;

    fn place(pid: u32, start: i64, state: State) -> Place {
        let backend = Backend { pid, start, kind: CLIENT.into(), ..Backend::default() };
        let at_begin = Change { wait: CLIENT_READ as u32, state: Some(state), ..Place::sample().at_begin };
        Place { backend: Arc::new(backend), at_begin, ..Place::sample() }
    }

    fn store(watch: u32, at: u64, (wait, state): (u64, u64)) -> Store {
        Store { at, watch, parts: [wait, state, 0, 0, 0] }
    }

    /// Sessions with these places, watched from the beginning on.
    fn watching(places: &[Place]) -> Sessions {
        let mut sessions = Sessions::new(Chosen::All, STORE, 0);
        let (new, over) = sessions.look(places.to_vec(), 0);
        assert!(over.is_empty());
        new.into_iter().for_each(|place| sessions.begin(place, 0));
        sessions
    }

    fn working(seen: &Seen) -> u64 {
        let active = seen.intervals.iter().filter(|one| one.is_active());
        active.map(|one| one.ended - one.begun).sum()
    }

    #[test]
    fn a_session_that_ends_as_its_watch_begins_did_nothing() {
        let mut sessions = Sessions::new(Chosen::All, STORE, 0);
        let (new, _) = sessions.look(vec![place(7, 1, State::Idle)], 0);
        new.into_iter().for_each(|place| sessions.begin(place, 5 * MILLI));
        // Its last change came before the clock was read.
        sessions.take(store(0, 4 * MILLI, (0, IDLE)));
        sessions.look(Vec::new(), 6 * MILLI);
        let Seen { intervals, watching, .. } = sessions.finish(9 * MILLI);
        assert_eq!((watching.sessions, watching.gone, intervals.len()), (1, 1, 0));
        assert_eq!(watching.share_max, 0.0, "of no time nothing was taken");
    }

    #[test]
    fn a_session_that_lives_for_a_moment_loses_no_more_than_its_time() {
        let mut sessions = Sessions::new(Chosen::All, STORE, 0);
        let (new, _) = sessions.look(vec![place(7, 1, State::Idle)], 0);
        new.into_iter().for_each(|place| sessions.begin(place, 5 * MILLI));
        // One change before the clock was read, and two within two µs.
        [4_999_000, 5_001_000, 5_002_000].into_iter().for_each(|at| sessions.take(store(0, at, (0, IDLE))));
        sessions.look(Vec::new(), 6 * MILLI);
        assert_eq!(sessions.finish(9 * MILLI).watching.share_max, 1.0);
    }

    #[test]
    fn a_session_that_said_goodbye_does_not_work_to_the_end_of_the_watch() {
        let mut sessions = watching(&[place(7, 1, State::Idle), place(8, 1, State::Idle)]);
        sessions.take(store(0, 10 * MILLI, (0, IDLE)));
        sessions.take(store(0, 12 * MILLI, (READ, ACTIVE)));
        sessions.take(store(0, 20 * MILLI, (CLIENT_READ, IDLE)));
        sessions.take(store(0, 30 * MILLI, (0, IDLE)));
        let (new, over) = sessions.look(vec![place(8, 1, State::Idle)], 45 * MILLI);
        assert_eq!((new.len(), over), (0, vec![0]));
        let seen = sessions.finish(5_000 * MILLI);
        assert_eq!((working(&seen), seen.watching.gone, seen.watching.sessions), (10 * MILLI, 1, 2));
        let last = seen.intervals.iter().filter(|one| one.wait == CLIENT_READ as u32).map(|one| one.ended).max();
        assert_eq!(last, Some(5_000 * MILLI), "the other one is idle to the end");
    }

    #[test]
    fn a_session_that_was_killed_at_work_ends_when_that_is_noticed() {
        let mut sessions = watching(&[place(7, 1, State::Idle)]);
        sessions.take(store(0, 10 * MILLI, (0, IDLE)));
        sessions.take(store(0, 12 * MILLI, (READ, ACTIVE)));
        sessions.take(store(0, 20 * MILLI, (0, ACTIVE)));
        sessions.look(Vec::new(), 45 * MILLI);
        assert_eq!(working(&sessions.finish(5_000 * MILLI)), 35 * MILLI);
    }

    #[test]
    fn a_number_that_is_used_again_is_another_session() {
        let mut sessions = watching(&[place(7, 1, State::Idle)]);
        let (new, over) = sessions.look(vec![place(7, 2, State::Idle)], 50 * MILLI);
        assert_eq!((new.len(), over), (1, vec![0]));
        new.into_iter().for_each(|place| sessions.begin(place, 50 * MILLI));
        // The change that the first one made last is taken later.
        sessions.take(store(0, 40 * MILLI, (0, IDLE)));
        sessions.take(store(1, 60 * MILLI, (0, IDLE)));
        sessions.take(store(1, 70 * MILLI, (CLIENT_READ, IDLE)));
        let (new, over) = sessions.look(vec![place(7, 2, State::Idle)], 80 * MILLI);
        assert_eq!((new.len(), over.len()), (0, 0));
        let seen = sessions.finish(100 * MILLI);
        assert_eq!((working(&seen), seen.watching.sessions, seen.watching.gone), (10 * MILLI, 2, 1));
    }

    #[test]
    fn a_session_that_the_watch_takes_a_fifth_of_the_time_from_is_left_alone_and_others_are_not() {
        let mut sessions = watching(&[place(7, 1, State::Active), place(8, 1, State::Active)]);
        // 10 µs of each 40 and 60.
        let fast = |at: u64| store(0, at * 40_000, ([0, READ][at as usize % 2], ACTIVE));
        let slow = |at: u64| store(1, at * 60_000, ([0, READ][at as usize % 2], ACTIVE));
        (1..2_500).for_each(|at| sessions.take(fast(at)));
        assert!(sessions.judge(100 * MILLI).is_empty(), "it is not judged before its time");
        (2_500..10_000).for_each(|at| sessions.take(fast(at)));
        (1..6_600).for_each(|at| sessions.take(slow(at)));
        assert_eq!(sessions.judge(400 * MILLI), [0]);
        sessions.take(fast(10_001));
        assert!(sessions.judge(401 * MILLI).is_empty(), "once");
        let Watching { left, share_max, changes, .. } = sessions.finish(1_000 * MILLI).watching;
        assert_eq!(left.len(), 1);
        assert!(left[0].0 == 7 && left[0].1.contains("25 % of its time"), "{left:?}");
        assert!((0.24..0.26).contains(&share_max) && changes == 9_999 + 6_599, "{changes}");
    }

    #[test]
    fn what_was_seen_while_other_sessions_were_still_to_be_watched_is_of_no_time_of_the_profile() {
        let mut sessions = watching(&[place(7, 1, State::Active)]);
        sessions.take(store(0, 2 * MILLI, (READ, ACTIVE)));
        sessions.lose(3, 4 * MILLI);
        sessions.look(vec![place(7, 1, State::Active)], 6 * MILLI);
        let mut seen = sessions.finish(40 * MILLI);
        seen.cut(5 * MILLI);
        assert_eq!(seen.lost_times, [(5 * MILLI, 6 * MILLI)]);
        let known: u64 = seen.intervals.iter().map(|one| one.ended - one.begun).sum();
        assert_eq!((known, seen.intervals.iter().map(|one| one.begun).min()), (34 * MILLI, Some(6 * MILLI)));
        seen.cut(10 * MILLI);
        let known: u64 = seen.intervals.iter().map(|one| one.ended - one.begun).sum();
        assert_eq!((known, seen.lost_times.len()), (30 * MILLI, 0));
    }

    #[test]
    fn what_lost_changes_spoil_is_left_out_until_the_sessions_are_read_anew() {
        let mut sessions = watching(&[place(7, 1, State::Idle), place(8, 1, State::Idle)]);
        sessions.lose(0, 5 * MILLI);
        sessions.take(store(0, 8 * MILLI, (0, IDLE)));
        sessions.lose(3, 10 * MILLI);
        // The first one works when it is looked at, and the second one never did.
        let busy =
            Place { at_begin: Change { wait: 0, ..place(7, 1, State::Active).at_begin }, ..place(7, 1, State::Idle) };
        sessions.look(vec![busy, place(8, 1, State::Idle)], 11 * MILLI);
        sessions.take(store(0, 31 * MILLI, (CLIENT_READ, IDLE)));
        sessions.lose(3, 32 * MILLI);
        let seen = sessions.finish(40 * MILLI);
        assert_eq!((seen.watching.lost, &seen.lost_times[..]), (3, &[(5 * MILLI, 11 * MILLI)][..]));
        assert_eq!(working(&seen), 20 * MILLI);
        let known: u64 = seen.intervals.iter().map(|one| one.ended - one.begun).sum();
        assert_eq!(known, 2 * (40 - 6) * MILLI);
    }
}
