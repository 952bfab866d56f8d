//! What the source of logs holds between two entries, for all sessions and for each. The files that take a part of an
//! entry work on it, and it imports none of them.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::execution::Inner;
use super::repeated::Executions;
use crate::event::{Context, Observer, Scope, Segment, SessionIndex, Ticks};
use crate::source::postgres_log::figures::Figures;
use crate::source::postgres_log::findings::LogSummary;
use crate::source::session_clock::SessionClock;
use crate::source::unread::UnreadLines;

/// Greatest sum of any figure over all logs: what is beyond is damage, and would overflow the sums of a profile.
pub(super) const SUM_MAX: i64 = 1 << 60;

/// Reads logs, one after the other, and emits their executions to an observer.
#[derive(Debug, Default)]
pub struct LogSource {
    pub(super) context: Context,
    pub(super) sessions: HashMap<String, u32>,
    pub(super) statements: HashMap<String, u32>,
    pub(super) scopes: HashMap<Scope, u32>,
    pub(super) states: Vec<SessionState>,
    /// The sessions that run a `CALL` or `DO` whose beginning is in the log, and when that entry was written.
    pub(super) running: HashMap<String, Option<Ticks>>,
    /// Inner statements of all sessions that wait for their callers.
    pub(super) waiting: usize,
    /// Executions of statements and of sessions that have none of their own.
    pub(super) shared_statements: u64,
    pub(super) shared_sessions: u64,
    pub(super) summary: LogSummary,
    /// The lines of the log that is being read that are not read.
    pub(super) unread: UnreadLines,
    /// Whether statements whose texts differ in their literals alone are kept apart.
    pub(super) keeps_literals: bool,
    /// The statements whose executions have different texts, and so one without literals.
    pub(super) without_literals: HashSet<u32>,
    pub(super) calls: u64,
    /// The executions of several logs, where there are several.
    pub(super) known: Option<Executions>,
    /// Wall clock of the earliest begin and the latest end of the executions.
    pub(super) clocks: Option<(i64, i64)>,
    /// Amounts of all figures so far, to refuse a log that would overflow the sums of observers.
    pub(super) amounts: Figures,
    /// The time of all segments so far, and how many more would have overflowed it.
    pub(super) interval: Ticks,
    pub(super) segments_left_out: u64,
}

/// What is known of a session so far.
#[derive(Debug, Default)]
pub(super) struct SessionState {
    pub(super) clock: SessionClock,
    /// Inner statements whose caller has not come, by depth.
    pub(super) waiting: BTreeMap<u16, Vec<Inner>>,
    /// What those executions took together that ran in no other one and have no time.
    pub(super) untimed: Ticks,
}

impl SessionState {
    /// Ends its last segment, which has no extent where all its executions are without a time.
    pub(super) fn end(&mut self) -> Option<(Ticks, Ticks)> {
        self.clock.end().or((self.untimed > Ticks::ZERO).then_some((Ticks::ZERO, Ticks::ZERO)))
    }
}

impl LogSource {
    /// The `CALL` or `DO` of a session that began and is not known to be over.
    pub(super) fn running_call(&self, session: &str) -> Option<Inner> {
        self.running.get(session).map(|start| Inner::of_begun_call(*start))
    }

    /// Emits a part of a session's time, unless the sum over all sessions could overflow with it: a clock that was not
    /// set leaps by half a century in each of them.
    pub(super) fn emit_segment(&mut self, segment: &Segment, observer: &mut dyn Observer) {
        let sum = self.interval.0.saturating_add((segment.last - segment.first + segment.untimed).0);
        if sum >= SUM_MAX {
            self.segments_left_out += 1;
            return;
        }
        self.interval = Ticks(sum);
        observer.segment(&self.context, segment);
    }
}

/// What a session did between two logged plans, no log of plans says: all of the segment is unrecorded.
pub(super) fn segment(session: SessionIndex, first: Ticks, last: Ticks) -> Segment {
    Segment { session, first, last, unrecorded: vec![(first, last)], untimed: Ticks::ZERO }
}
