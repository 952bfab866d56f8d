//! What is known of one session from look to look: the execution, or the idle time, that it is in.

use std::sync::Arc;

use super::held::{Totals, Weight};
use super::names::{RUN_QUEUE_EVENT, STOLEN_EVENT};
use super::sample::{Backend, ProcessorTime, State};
use crate::event::{
    Call, CallKind, Context, Cost, EventIndex, Observer, Placement, Root, ScopeIndex, Segment, SessionIndex,
    StatementIndex, Ticks, Wait,
};

/// Most parts of pauses that are held, each of a recorded second: of all sessions together, and of one of them. Beyond
/// it, what the pause comes to so far decides what its parts are.
const PARTS_MAX: usize = 1 << 20;
const PARTS_OF_SESSION_MAX: usize = 1 << 10;

/// Parts that each session may hold, however many sessions there are: a pause of this many seconds is known as one.
const PARTS_OF_SESSION_MIN: usize = 1 << 4;

/// Parts that each of this many sessions may hold.
pub(super) fn room_for_parts(sessions: usize) -> usize {
    (PARTS_MAX / sessions.max(1)).clamp(PARTS_OF_SESSION_MIN, PARTS_OF_SESSION_MAX)
}

/// One session.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) index: SessionIndex,
    pub(super) scope: ScopeIndex,
    pub(super) backend: Arc<Backend>,
    /// From when on it was sampled.
    first: Ticks,
    /// The look in which it was seen last.
    pub(super) look: u64,
    /// The sum of its samples.
    pub(super) spent: Ticks,
    /// Looks that saw it, and those that saw it at work.
    looks: u64,
    working: u64,
    open: Option<Open>,
}

/// What tells one execution, or one pause, from the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Doing {
    pub(super) state: State,
    pub(super) statement: StatementIndex,
    pub(super) query_start: Option<i64>,
}

/// An execution, or a pause, that goes on.
#[derive(Clone, Debug)]
struct Open {
    doing: Doing,
    elapsed: Ticks,
    cpu: Ticks,
    waits: Ticks,
    wait: Option<OpenWait>,
    queue: Option<OpenWait>,
    stolen: Option<OpenWait>,
    /// The parts of a pause in the seconds before, each with its end: how long it is in all decides what they are.
    parts: Vec<(OpenWait, Ticks)>,
    /// The time of all parts so far.
    paused: Ticks,
}

/// A wait that goes on, or is added up.
#[derive(Clone, Copy, Debug)]
struct OpenWait {
    event: EventIndex,
    elapsed: Ticks,
    samples: u64,
    /// Sum of the squared weights, in ticks²; 0 of a wait that was seen from its beginning to its end.
    squares: f64,
    /// Whether samples met it: a sample that was recorded may stand for no time, by rounding, and is no whole wait.
    is_sampled: bool,
}

/// That time, and what it was spent on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spent {
    pub(super) weight: Weight,
    /// `None` on a processor, or ready to run.
    pub(super) event: Option<EventIndex>,
    pub(super) processor: Option<ProcessorTime>,
    /// Whether it is all of it, and not what a sample stands for.
    pub(super) is_whole: bool,
}

/// What hears of a session.
pub(super) struct Hearing<'a> {
    pub(super) context: &'a Context,
    pub(super) observer: &'a mut dyn Observer,
    /// Calls so far.
    pub(super) calls: &'a mut u64,
    pub(super) now: Ticks,
}

impl OpenWait {
    fn new(event: EventIndex) -> OpenWait {
        OpenWait { event, elapsed: Ticks::ZERO, samples: 0, squares: 0.0, is_sampled: false }
    }

    /// Adds looks of the same weight each, or a wait that was seen as a whole.
    fn add(&mut self, weight: Weight, is_whole: bool) {
        if is_whole {
            self.elapsed += weight.time;
            self.samples += weight.looks;
        } else {
            self.add_looks(Totals::of(weight));
        }
    }

    fn add_looks(&mut self, Totals { time, looks, squares }: Totals) {
        self.is_sampled = true;
        self.elapsed += time;
        self.samples += looks;
        self.squares += squares;
    }
}

impl Spent {
    /// Time ready to run, and time that was stolen: what the scheduler counted divides the sample's own time.
    pub(super) fn queued_and_stolen(&self) -> (Ticks, Ticks) {
        self.processor.map_or((Ticks::ZERO, Ticks::ZERO), |processor| processor.parts(self.weight.time))
    }
}

impl Seen {
    pub(super) fn new((index, scope): (SessionIndex, ScopeIndex), backend: Arc<Backend>, first: Ticks) -> Seen {
        Seen { index, scope, backend, first, look: 0, spent: Ticks::ZERO, looks: 0, working: 0, open: None }
    }

    /// The statement of the execution with this beginning, where it goes on.
    pub(super) fn statement_since(&self, query_start: Option<i64>) -> Option<StatementIndex> {
        let open = self.open.as_ref().filter(|open| open.doing.query_start == query_start)?;
        (open.doing.state != State::Idle).then_some(open.doing.statement)
    }

    /// Until when it was seen: what it did adds up to its time, also where it was seen for a part of a recorded second.
    pub(super) fn last(&self) -> Ticks {
        self.first + self.spent
    }

    /// Adds what a sample says.
    pub(super) fn add(&mut self, doing: Doing, spent: &Spent, hearing: &mut Hearing<'_>) {
        let Weight { time, looks } = spent.weight;
        // What is seen as a whole has no error by sampling.
        let sampled = if spent.is_whole { 0 } else { looks };
        self.looks += sampled;
        self.working += if doing.state == State::Active { sampled } else { 0 };
        if self.open.as_ref().is_none_or(|open| open.doing != doing) {
            self.close_open(hearing);
        }
        let (index, scope) = (self.index, self.scope);
        let open = self.open.get_or_insert_with(|| Open::new(doing));
        open.elapsed += time;
        let Some(event) = spent.event else {
            open.end_wait((index, scope), hearing);
            let (queued, stolen) = spent.queued_and_stolen();
            open.cpu += time - queued - stolen;
            for (part, wait, event) in
                [(queued, &mut open.queue, RUN_QUEUE_EVENT), (stolen, &mut open.stolen, STOLEN_EVENT)]
            {
                if part > Ticks::ZERO {
                    let weight = Weight { time: part, looks };
                    wait.get_or_insert_with(|| OpenWait::new(event)).add(weight, spent.is_whole);
                }
            }
            return;
        };
        if open.wait.as_ref().is_none_or(|wait| wait.event != event) {
            open.end_wait((index, scope), hearing);
        }
        open.wait.get_or_insert_with(|| OpenWait::new(event)).add(spent.weight, spent.is_whole);
        if spent.is_whole {
            // It is over, and the next one is another, also where it is for the same.
            hearing.now += time;
            open.end_wait((index, scope), hearing);
        }
    }

    /// Adds to the pause that goes on; `false` where another thing does.
    pub(super) fn rest(&mut self, event: EventIndex, looks: Totals) -> bool {
        let Some(open) = self.open.as_mut().filter(|open| open.doing.state == State::Idle) else { return false };
        let Some(wait) = open.wait.as_mut().filter(|wait| wait.event == event) else { return false };
        wait.add_looks(looks);
        open.elapsed += looks.time;
        self.looks += looks.looks;
        true
    }

    /// Ends the execution, or the pause, that goes on.
    pub(super) fn close_open(&mut self, hearing: &mut Hearing<'_>) {
        if let Some(open) = self.open.take() {
            open.close((self.index, self.scope), hearing);
        }
    }

    /// Ends what goes on together with its second: it goes on in the next one. Of a pause within a transaction only a
    /// part ends, and is held where there is `room` for as many.
    pub(super) fn end_second(&mut self, room: usize, hearing: &mut Hearing<'_>) {
        let Some(mut open) = self.open.take() else { return };
        if open.doing.state == State::IdleInTransaction {
            open.hold(room, (self.index, self.scope), hearing);
            self.open = Some(open);
        } else {
            self.open = Some(Open::new(open.doing));
            open.close((self.index, self.scope), hearing);
        }
    }

    /// Moves the ends of the parts that are held, because the clock of the samples shows another time than it did.
    pub(super) fn move_held(&mut self, by: Ticks) {
        self.open.iter_mut().flat_map(|open| &mut open.parts).for_each(|(_, end)| *end += by);
    }

    /// Ends the session here: emits what is open, and its time. Gives the variance of the time at work by sampling, in
    /// ticks².
    pub(super) fn close(mut self, hearing: &mut Hearing<'_>) -> f64 {
        let last = self.last();
        self.close_open(hearing);
        let segment = Segment { session: self.index, first: self.first, last, ..Segment::default() };
        hearing.observer.segment(hearing.context, &segment);
        self.variance(last)
    }

    /// Each sample finds the session at work or not: the variance of their sum.
    fn variance(&self, last: Ticks) -> f64 {
        let looks = self.looks.max(1) as f64;
        let part = self.working as f64 / looks;
        let each = (last - self.first).0 as f64 / looks;
        looks * part * (1.0 - part) * each * each
    }
}

impl Open {
    fn new(doing: Doing) -> Open {
        let none = Ticks::ZERO;
        let (wait, queue, stolen, parts) = (None, None, None, Vec::new());
        Open { doing, elapsed: none, cpu: none, waits: none, wait, queue, stolen, parts, paused: none }
    }

    fn end_wait(&mut self, whose: (SessionIndex, ScopeIndex), hearing: &mut Hearing<'_>) {
        if let Some(wait) = self.wait.take() {
            self.emit((&wait, hearing.now), whose, hearing);
        }
    }

    /// Ends the part of a pause that lies in a second, and keeps it until the pause is over.
    fn hold(&mut self, room: usize, whose: (SessionIndex, ScopeIndex), hearing: &mut Hearing<'_>) {
        let Some(wait) = self.wait.take() else { return };
        self.paused += wait.elapsed;
        self.parts.push((wait, hearing.now));
        if self.parts.len() >= room {
            self.emit_parts(whose, hearing);
        }
    }

    fn emit_parts(&mut self, whose: (SessionIndex, ScopeIndex), hearing: &mut Hearing<'_>) {
        for (wait, end) in std::mem::take(&mut self.parts) {
            self.emit((&wait, end), whose, hearing);
        }
    }

    fn emit(&mut self, (wait, end): (&OpenWait, Ticks), whose: (SessionIndex, ScopeIndex), hearing: &mut Hearing<'_>) {
        let is_inside = self.doing.state == State::Active;
        if is_inside {
            self.waits += wait.elapsed;
        }
        let emitted = Wait {
            session: whose.0,
            statement: self.doing.statement,
            scope: whose.1,
            event: wait.event,
            elapsed: wait.elapsed,
            pause: self.paused,
            elapsed_error: Ticks(wait.squares.sqrt() as i64),
            // How many waits samples met is not known, nor how long each was.
            sum_of: wait.is_sampled.then_some(wait.samples),
            end: Some(end),
            placement: if is_inside { Placement::Inside(CallKind::Exec) } else { Placement::Between },
            ..Wait::default()
        };
        hearing.observer.wait(hearing.context, &emitted);
    }

    /// Emits what it came to: of an execution a call with its waits, of a pause its wait alone.
    fn close(mut self, whose: (SessionIndex, ScopeIndex), hearing: &mut Hearing<'_>) {
        if self.doing.state == State::IdleInTransaction {
            self.paused += self.wait.map_or(Ticks::ZERO, |wait| wait.elapsed);
        }
        self.emit_parts(whose, hearing);
        self.end_wait(whose, hearing);
        for wait in [self.queue.take(), self.stolen.take()].into_iter().flatten() {
            self.emit((&wait, hearing.now), whose, hearing);
        }
        // Nothing of it may lie behind the end of a second.
        if self.doing.state != State::Active || self.elapsed == Ticks::ZERO {
            return;
        }
        let cost = Cost { cpu: Some(self.cpu), elapsed: self.elapsed, ..Cost::default() };
        let call = Call {
            number: *hearing.calls,
            session: whose.0,
            statement: self.doing.statement,
            scope: whose.1,
            kind: CallKind::Exec,
            end: Some(hearing.now),
            inclusive: cost,
            own: cost,
            waits: self.waits,
            ..Call::default()
        };
        *hearing.calls += 1;
        hearing.observer.call(hearing.context, &call);
        hearing.observer.root(hearing.context, &Root { session: whose.0, inclusive: cost, depth: 0, calls: 1 });
    }
}

#[cfg(test)]
mod tests {
    use super::super::names::IN_TRANSACTION_EVENT;
    use super::super::sample::CLIENT;
    use super::*;

    const SECOND: i64 = Ticks::from_micros(1_000_000).0;

    /// The waits, in their order.
    #[derive(Default)]
    struct Waits(Vec<Wait>);

    impl Observer for Waits {
        fn wait(&mut self, _context: &Context, wait: &Wait) {
            self.0.push(*wait);
        }
    }

    #[test]
    fn a_recorded_sample_that_stands_for_no_time_by_rounding_is_no_wait_of_a_known_length() {
        let emitted = |is_whole: bool| {
            let mut seen = Seen::new((SessionIndex(0), ScopeIndex(0)), Arc::new(Backend::default()), Ticks::ZERO);
            let doing = Doing { state: State::Active, statement: StatementIndex(0), query_start: None };
            let weight = Weight { time: Ticks::ZERO, looks: 1 };
            let spent = Spent { weight, event: Some(IN_TRANSACTION_EVENT), processor: None, is_whole };
            let (context, mut waits, mut calls) = (Context::default(), Waits::default(), 0);
            let mut hearing =
                Hearing { context: &context, observer: &mut waits, calls: &mut calls, now: Ticks(SECOND) };
            seen.add(doing, &spent, &mut hearing);
            seen.close(&mut hearing);
            waits.0.iter().map(|wait| wait.sum_of).collect::<Vec<_>>()
        };
        assert_eq!((emitted(false), emitted(true)), (vec![Some(1)], vec![None]));
    }

    #[test]
    fn a_wait_that_was_seen_as_a_whole_ends_when_it_is_over_and_not_when_it_begins() {
        let mut seen = Seen::new((SessionIndex(0), ScopeIndex(0)), Arc::new(Backend::default()), Ticks::ZERO);
        let doing = Doing { state: State::Active, statement: StatementIndex(0), query_start: None };
        let weight = Weight { time: Ticks(3 * SECOND), looks: 1 };
        let spent = Spent { weight, event: Some(IN_TRANSACTION_EVENT), processor: None, is_whole: true };
        let (context, mut waits, mut calls, now) = (Context::default(), Waits::default(), 0, Ticks(SECOND));
        seen.add(doing, &spent, &mut Hearing { context: &context, observer: &mut waits, calls: &mut calls, now });
        assert_eq!(waits.0.iter().map(|wait| wait.end).collect::<Vec<_>>(), [Some(Ticks(4 * SECOND))]);
    }

    #[test]
    fn pauses_of_many_sessions_fill_no_memory_and_each_part_is_known_as_one_of_a_pause() {
        for sessions in [0, 1, 1_000, 10_000, 60_000] {
            assert!(sessions * room_for_parts(sessions) <= PARTS_MAX, "{sessions} sessions");
        }
        let (kind, user, database) = (CLIENT.into(), "shop".into(), "db".into());
        let backend = Backend { pid: 1, start: 1, kind, user, database, application: String::new() };
        let mut seen = Seen::new((SessionIndex(0), ScopeIndex(0)), Arc::new(backend), Ticks::ZERO);
        let doing = Doing { state: State::IdleInTransaction, statement: StatementIndex(0), query_start: None };
        // Each part is shorter than a second, from which on a pause is think time.
        let weight = Weight { time: Ticks::from_micros(990_000), looks: 33 };
        let spent = Spent { weight, event: Some(IN_TRANSACTION_EVENT), processor: None, is_whole: false };
        let (context, room) = (Context::default(), room_for_parts(1 << 20));
        let (mut waits, mut calls) = (Waits::default(), 0);
        for second in 1..=100 {
            let now = Ticks(second * SECOND);
            let mut hearing = Hearing { context: &context, observer: &mut waits, calls: &mut calls, now };
            seen.add(doing, &spent, &mut hearing);
            seen.end_second(room, &mut hearing);
            assert!(seen.open.as_ref().is_some_and(|open| open.parts.len() < room), "second {second}");
        }
        let now = Ticks(100 * SECOND);
        seen.close(&mut Hearing { context: &context, observer: &mut waits, calls: &mut calls, now });
        assert_eq!(waits.0.len(), 100);
        for (second, wait) in (1..).zip(&waits.0) {
            assert_eq!((wait.end, wait.elapsed), (Some(Ticks(second * SECOND)), weight.time));
            assert!(wait.whole_pause() >= Ticks(SECOND), "second {second}");
        }
    }
}
