//! From changes of what a session waits for to what it did in between.

use std::sync::Arc;

use profile::source::sampled::{Backend, Sample, State};

use crate::memory::{Change, Place};

/// What a session did from one change to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) begun: u64,
    pub(crate) ended: u64,
    pub(crate) wait: u32,
    pub(crate) query_id: Option<i64>,
    state: State,
    query_start: Option<i64>,
    backend: Arc<Backend>,
}

impl Interval {
    /// As a sample that stands for all of it.
    pub(crate) fn sample(&self, event: Option<Arc<str>>, text: Option<Arc<str>>) -> Sample {
        Sample {
            backend: Arc::clone(&self.backend),
            state: self.state,
            event,
            query_id: self.query_id,
            query_start: self.query_start,
            text,
            processor: None,
        }
    }

    /// Whether what a session does from this moment on is the same as this.
    fn is_followed_by(&self, state: State, begun: u64) -> bool {
        self.state == state && self.ended == begun
    }

    /// The number of the session's process.
    pub(crate) fn process(&self) -> u32 {
        self.backend.pid
    }

    /// Whether the session was at work.
    pub(crate) fn is_active(&self) -> bool {
        self.state == State::Active
    }
}

/// The intervals of a session that was watched between two moments.
///
/// A session shows that it works a moment after its wait for the client is over, and its statement's identifier later
/// still, when the text is parsed. So an interval without a wait is work, of the statement that shows when it ends; and
/// what came before an identifier was there is of the statement with the same beginning that has one. Where the
/// session shows at its end that it is idle, it shows also since when: what comes after is the sending of the answer,
/// which is idle time to the server and to samples. A statement that came in without a wait for it begins when it says.
pub(crate) fn intervals(changes: &[Change], (begun, ended): (u64, u64), place: &Place) -> Vec<Interval> {
    let mut found: Vec<Interval> = Vec::with_capacity(changes.len() + 1);
    // What the session did before its first change is what that change ended.
    let (mut since, mut before) = (begun, place.at_begin);
    let last = changes.last().copied().unwrap_or(place.at_begin);
    for change in changes.iter().copied().chain([Change { at: ended, ..last }]) {
        let at = change.at.clamp(since, ended);
        let mut add = |(begun, ended): (u64, u64), state: State, of: Option<Change>| {
            let same = found.last_mut().filter(|last| state != State::Active && last.is_followed_by(state, begun));
            if let Some(last) = same {
                // One pause, also where a signal breaks it.
                last.ended = ended;
            } else if ended > begun {
                let (query_id, query_start) = (of.and_then(|of| of.query_id), of.and_then(|of| of.query_start));
                let backend = Arc::clone(&place.backend);
                found.push(Interval { begun, ended, wait: before.wait, query_id, state, query_start, backend });
            }
        };
        if place.is_client(before.wait) && before.state != Some(State::Active) {
            let (state, of) = pause(before);
            add((since, at), state, of);
        } else if before.wait != 0 {
            add((since, at), State::Active, Some(before));
        } else {
            let rested = rest((since, at), (before, change), place);
            let next = next_statement((since, rested), (before, change), place);
            add((since, next), State::Active, Some(before));
            add((next, rested), State::Active, Some(change));
            let (state, of) = pause(change);
            add((rested, at), state, of);
        }
        (since, before) = (at, change);
    }
    name_beginnings(&mut found);
    found
}

/// What a session does that waits for its client, and of which change the statement is: within a transaction a pause is
/// of the statement before it.
fn pause(change: Change) -> (State, Option<Change>) {
    match change.state {
        Some(State::IdleInTransaction) => (State::IdleInTransaction, Some(change)),
        _ => (State::Idle, None),
    }
}

/// From when on a session was idle that waited for nothing between two changes; the second moment where it was not.
fn rest((since, at): (u64, u64), (before, change): (Change, Change), place: &Place) -> u64 {
    let is_idle = |change: Change| matches!(change.state, Some(State::Idle | State::IdleInTransaction));
    match change.state_start.map(|micros| place.moment(micros)) {
        Some(idle) if is_idle(change) && (since..=at).contains(&idle) => idle,
        // It was idle all the time, as one that looks after a signal.
        Some(idle) if is_idle(change) && is_idle(before) && idle < since => since,
        // Also where the clock was set meanwhile.
        _ => at,
    }
}

/// When a further statement began within work that began with another one; the first moment where none did.
fn next_statement((since, rested): (u64, u64), (before, change): (Change, Change), place: &Place) -> u64 {
    let is_next = before.state == Some(State::Active) && before.query_id.is_some();
    let begun = change.query_start.filter(|_| is_next && change.query_start != before.query_start);
    begun.map_or(since, |micros| place.moment(micros)).clamp(since, rested)
}

/// Leaves out what is not known because changes were lost in these times, which are in their order. At their ends
/// sessions are read anew.
pub(crate) fn without(intervals: Vec<Interval>, lost: &[(u64, u64)]) -> Vec<Interval> {
    let mut known = Vec::with_capacity(intervals.len());
    for mut rest in intervals {
        for (begin, end) in lost.iter().copied() {
            if end <= rest.begun || begin >= rest.ended {
                continue;
            }
            if begin > rest.begun {
                known.push(Interval { ended: begin, ..rest.clone() });
            }
            rest.begun = end.min(rest.ended);
        }
        known.extend((rest.ended > rest.begun).then_some(rest));
    }
    known
}

/// Gives what came before an identifier was there that of the same execution.
fn name_beginnings(intervals: &mut [Interval]) {
    let mut later: Option<(Option<i64>, i64)> = None;
    for interval in intervals.iter_mut().rev().filter(|interval| interval.state == State::Active) {
        match (interval.query_id, later) {
            (Some(id), _) => later = Some((interval.query_start, id)),
            (None, Some((start, id))) if start == interval.query_start => interval.query_id = Some(id),
            (None, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT_READ: u32 = 0x0600_0000;
    const READ: u32 = 0x0a00_0011;

    fn place(wait: u32, state: State) -> Place {
        let at_begin = Change { wait, state: Some(state), ..Place::sample().at_begin };
        Place { at_begin, ..Place::sample() }
    }

    fn change(at: u64, wait: u32, state: State, (start, id): (i64, i64)) -> Change {
        let known = |value: i64| (value != 0).then_some(value);
        let (query_start, query_id) = (known(start), known(id));
        Change { at, wait, state: Some(state), state_start: None, query_start, query_id }
    }

    fn told(intervals: &[Interval]) -> Vec<(u64, u32, State, Option<i64>)> {
        intervals.iter().map(|one| (one.ended - one.begun, one.wait, one.state, one.query_id)).collect()
    }

    #[test]
    fn the_time_between_two_requests_is_work_and_waits_of_its_statement() {
        let changes = [
            // The request comes: the entry still shows the statement before.
            change(100, 0, State::Idle, (1, 7)),
            // A read while the text is parsed: no identifier yet.
            change(110, READ, State::Active, (2, 0)),
            change(130, 0, State::Active, (2, 0)),
            change(160, READ, State::Active, (2, 8)),
            change(200, 0, State::Active, (2, 8)),
            change(230, CLIENT_READ, State::IdleInTransaction, (2, 8)),
            change(250, 0, State::IdleInTransaction, (2, 8)),
        ];
        let found = intervals(&changes, (0, 300), &place(CLIENT_READ, State::Idle));
        let (work, eight) = (State::Active, Some(8));
        assert_eq!(
            told(&found),
            [
                (100, CLIENT_READ, State::Idle, None),
                (10, 0, work, eight),
                (20, READ, work, eight),
                (30, 0, work, eight),
                (40, READ, work, eight),
                (30, 0, work, eight),
                (20, CLIENT_READ, State::IdleInTransaction, eight),
                // Not over yet: what its entry showed last.
                (50, 0, work, eight),
            ]
        );
        assert_eq!(found.iter().map(|one| one.ended - one.begun).sum::<u64>(), 300, "no time is missing");
    }

    #[test]
    fn a_session_that_changes_nothing_did_one_thing() {
        let found = intervals(&[], (5, 95), &place(CLIENT_READ, State::Idle));
        assert_eq!(told(&found), [(90, CLIENT_READ, State::Idle, None)]);
    }

    #[test]
    fn an_execution_without_an_identifier_does_not_take_that_of_the_next() {
        let changes = [
            change(10, CLIENT_READ, State::Idle, (1, 0)),
            change(20, 0, State::Idle, (1, 0)),
            change(30, CLIENT_READ, State::Idle, (2, 9)),
        ];
        let found = intervals(&changes, (0, 30), &place(0, State::Active));
        assert_eq!(told(&found)[0], (10, 0, State::Active, None));
        assert_eq!(told(&found)[2], (10, 0, State::Active, Some(9)));
    }

    #[test]
    fn what_follows_the_end_of_a_statement_is_idle_and_no_work() {
        let idle = |at, wait, since| Change { state_start: Some(since), ..change(at, wait, State::Idle, (1, 7)) };
        let changes = [
            change(100_000, 0, State::Idle, (1, 7)),
            change(130_000, READ, State::Active, (2, 8)),
            change(150_000, 0, State::Active, (2, 8)),
            // It ended at 160 µs, and its process lost its processor as it sent the answer.
            idle(900_000, CLIENT_READ, 160),
            // A signal wakes it, and it goes on waiting.
            idle(950_000, 0, 160),
            idle(990_000, CLIENT_READ, 160),
        ];
        let found = intervals(&changes, (0, 1_000_000), &place(CLIENT_READ, State::Idle));
        let work: u64 = found.iter().filter(|one| one.is_active()).map(|one| one.ended - one.begun).sum();
        assert_eq!(work, 60_000, "{found:?}");
        assert_eq!(found.iter().map(|one| one.ended - one.begun).sum::<u64>(), 1_000_000, "no time is missing");
        // A clock that was set says nothing.
        let set = [change(10_000, 0, State::Active, (1, 7)), idle(90_000, CLIENT_READ, 5_000_000)];
        let found = intervals(&set, (10_000, 90_000), &place(0, State::Active));
        assert_eq!(told(&found), [(80_000, 0, State::Active, Some(7))]);
    }

    #[test]
    fn a_statement_that_came_while_the_answer_was_sent_takes_no_time_of_the_one_before() {
        let changes = [change(10_000, 0, State::Active, (1, 7)), change(90_000, READ, State::Active, (60, 8))];
        let found = intervals(&changes, (0, 90_000), &place(READ, State::Active));
        let work = State::Active;
        assert_eq!(told(&found)[1..], [(50_000, 0, work, Some(7)), (30_000, 0, work, Some(8))]);
    }

    #[test]
    fn what_a_session_did_where_changes_were_lost_is_left_out_and_not_guessed() {
        let changes = [
            change(100, READ, State::Active, (1, 7)),
            change(200, 0, State::Active, (1, 7)),
            change(300, READ, State::Active, (1, 7)),
            change(400, 0, State::Active, (1, 7)),
        ];
        let found = intervals(&changes, (0, 500), &place(0, State::Active));
        let told = |lost: &[(u64, u64)]| -> Vec<(u64, u64)> {
            without(found.clone(), lost).iter().map(|one| (one.begun, one.ended)).collect()
        };
        assert_eq!(told(&[]).len(), 5);
        assert_eq!(told(&[(150, 320)]), [(0, 100), (100, 150), (320, 400), (400, 500)]);
        assert_eq!(told(&[(0, 100), (210, 220), (230, 240)])[1..4], [(200, 210), (220, 230), (240, 300)]);
        assert_eq!(told(&[(0, 600)]), []);
    }
}
