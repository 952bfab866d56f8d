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

    /// Whether the session was at work.
    pub(crate) fn is_active(&self) -> bool {
        self.state == State::Active
    }
}

/// The intervals of a session that was watched between two moments.
///
/// A session shows that it works a moment after its wait for the client is over, and its statement's identifier later
/// still, when the text is parsed. So an interval without a wait is work, of the statement that shows when it ends; and
/// what came before an identifier was there is of the statement with the same beginning that has one.
pub(crate) fn intervals(changes: &[Change], (begun, ended): (u64, u64), place: &Place) -> Vec<Interval> {
    let mut found: Vec<Interval> = Vec::with_capacity(changes.len() + 1);
    // What the session did before its first change is what that change ended.
    let (mut since, mut before) = (begun, place.at_begin);
    let last = changes.last().copied().unwrap_or(place.at_begin);
    for change in changes.iter().copied().chain([Change { at: ended, ..last }]) {
        let at = change.at.clamp(since, ended);
        let is_pause = place.is_client(before.wait) && before.state != Some(State::Active);
        let (state, of) = match is_pause {
            // Within a transaction a pause is of the statement before it.
            true if before.state == Some(State::IdleInTransaction) => (State::IdleInTransaction, Some(before)),
            true => (State::Idle, None),
            false => (State::Active, Some(if before.wait == 0 { change } else { before })),
        };
        if at > since {
            found.push(Interval {
                begun: since,
                ended: at,
                wait: before.wait,
                query_id: of.and_then(|of| of.query_id),
                state,
                query_start: of.and_then(|of| of.query_start),
                backend: Arc::clone(&place.backend),
            });
        }
        (since, before) = (at, change);
    }
    name_beginnings(&mut found);
    found
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
        let at_begin = Change { at: 0, wait, state: Some(state), query_start: None, query_id: None };
        Place { at_begin, ..Place::sample() }
    }

    fn change(at: u64, wait: u32, state: State, (start, id): (i64, i64)) -> Change {
        let known = |value: i64| (value != 0).then_some(value);
        Change { at, wait, state: Some(state), query_start: known(start), query_id: known(id) }
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
}
