//! What is known of one session from look to look: the execution, or the idle time, that it is in.

use std::sync::Arc;

use super::held::{Totals, Weight};
use super::names::{RUN_QUEUE_EVENT, STOLEN_EVENT};
use super::sample::{Backend, ProcessorTime, State};
use crate::event::{
    Call, CallKind, Context, Cost, EventIndex, Observer, Placement, Root, ScopeIndex, Segment, SessionIndex,
    StatementIndex, Ticks, Wait,
};

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
}

/// A wait that goes on, or is added up.
#[derive(Clone, Copy, Debug)]
struct OpenWait {
    event: EventIndex,
    elapsed: Ticks,
    samples: u64,
    /// Sum of the squared weights, in ticks²; 0 of a wait that was seen from its beginning to its end.
    squares: f64,
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
        OpenWait { event, elapsed: Ticks::ZERO, samples: 0, squares: 0.0 }
    }

    /// Adds looks of the same weight each, or a wait that was seen as a whole.
    fn add(&mut self, weight: Weight, is_whole: bool) {
        let Totals { squares, .. } = Totals::of(weight);
        self.add_looks(Totals {
            time: weight.time,
            looks: weight.looks,
            squares: if is_whole { 0.0 } else { squares },
        });
    }

    fn add_looks(&mut self, Totals { time, looks, squares }: Totals) {
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
            // The next one is another, also where it is for the same.
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

    /// Ends the session here: emits what is open, and its time. Gives the variance of the time at work by sampling, in
    /// ticks².
    pub(super) fn close(mut self, hearing: &mut Hearing<'_>) -> f64 {
        let last = self.last();
        self.close_open(hearing);
        let (session, first, unrecorded) = (self.index, self.first, Vec::new());
        let segment = Segment { session, first, last, unrecorded, untimed: Ticks::ZERO };
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
        Open { doing, elapsed: none, cpu: none, waits: none, wait: None, queue: None, stolen: None }
    }

    fn end_wait(&mut self, whose: (SessionIndex, ScopeIndex), hearing: &mut Hearing<'_>) {
        if let Some(wait) = self.wait.take() {
            self.emit(&wait, whose, hearing);
        }
    }

    fn emit(&mut self, wait: &OpenWait, whose: (SessionIndex, ScopeIndex), hearing: &mut Hearing<'_>) {
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
            elapsed_error: Ticks(wait.squares.sqrt() as i64),
            // How many waits samples met is not known, nor how long each was.
            sum_of: (wait.squares > 0.0).then_some(wait.samples),
            end: Some(hearing.now),
            placement: if is_inside { Placement::Inside(CallKind::Exec) } else { Placement::Between },
            ..Wait::default()
        };
        hearing.observer.wait(hearing.context, &emitted);
    }

    /// Emits what it came to: of an execution a call with its waits, of a pause its wait alone.
    fn close(mut self, whose: (SessionIndex, ScopeIndex), hearing: &mut Hearing<'_>) {
        self.end_wait(whose, hearing);
        for wait in [self.queue.take(), self.stolen.take()].into_iter().flatten() {
            self.emit(&wait, whose, hearing);
        }
        if self.doing.state != State::Active {
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
