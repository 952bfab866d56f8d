//! From looks to calls, waits and segments: the accounting of samples.
//!
//! A sample stands for the time since the look before, however long that was. Consecutive samples of one session in one
//! execution are a call, and those of one event in it a wait, both ended with the second; a pause of the client is a
//! wait between calls. So the time of a session adds up: its segment is the sum of its samples.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use measure::sorting;
use measure::wait_class::Class;

use super::background::{self, Background};
use super::blockers::Blockers;
use super::charging::{Charged, ReadSink};
use super::held::{Held, Totals, Weight};
use super::load::Load;
use super::names::{IDLE_EVENT, IN_TRANSACTION_EVENT, NO_STATEMENT, Names, RUN_QUEUE_EVENT};
use super::reads::Reads;
use super::sample::{CLIENT, Sample, State};
use super::session::{Doing, Hearing, Seen, Spent, room_for_parts};
use super::traced::TracedRead;
use crate::event::{EventIndex, Observer, StatementIndex, Ticks};
use crate::tables::active_over_time::{ActiveOverTime, NoTimeline};
use crate::tables::activity::Activity;
use crate::tables::read_tiers::Reader;

/// Two-sided factor of an error that holds 19 of 20 times.
const NINETEEN_OF_TWENTY: f64 = 1.96;

/// Most time that is lost in all, some 292 years: a recorder's clock that was not set leaps by half a century, and may
/// do so at each start.
const LOST_MAX: Ticks = Ticks(1 << 60);

/// What was made of all looks so far.
#[derive(Clone, Debug, Default)]
pub struct Accounting {
    pub(in crate::source) names: Names,
    /// Boxed: each look takes them out and puts them back.
    sessions: HashMap<u32, Box<Seen>, RandomState>,
    pub(super) looks: u64,
    /// Sessions that the present look has met.
    met: usize,
    /// By the place of a sample in a look: the pause of its session that goes on, and is added up when it ends.
    held: Vec<Option<Held>>,
    /// What all looks so far stood for.
    totals: Totals,
    /// Whether waits have their true lengths.
    pub(super) is_exact: bool,
    /// The clock of the samples, from the wall clock at the first look.
    begun: Ticks,
    now: Ticks,
    /// What the last look stood for.
    since: Ticks,
    /// When that ended which the last look did not meet any more.
    ended: Ticks,
    /// The latest that the wall clock showed at a look, where it was recorded.
    last_clock: Option<i64>,
    calls: u64,
    /// The variance of the time at work of sessions that have ended, in ticks².
    variance: f64,
    pub(super) samples: u64,
    pub(super) on_processor: u64,
    pub(super) lost: Ticks,
    pub(super) load: Load,
    pub(super) activity: Activity,
    pub(super) background: Background,
    pub(in crate::source) blockers: Blockers,
    /// Most sessions in a look that may not be seen, that do not report, and all sessions of clients.
    pub(super) hidden: u64,
    pub(super) disabled: u64,
    pub(super) sessions_max: u64,
    /// Time of sessions that waited for their clients within a transaction.
    pub(super) idle_in_transaction: Ticks,
}

/// What was recorded of a process in a second: what it did, and how much of the time.
pub(in crate::source) struct Part<'a> {
    pub(in crate::source) sample: &'a Sample,
    pub(in crate::source) statement: StatementIndex,
    pub(in crate::source) time: Ticks,
    pub(in crate::source) looks: u64,
}

/// What a look has counted so far.
#[derive(Default)]
struct Counted {
    /// Time of sessions at work.
    working: Ticks,
    clients: u64,
    hidden: u64,
    disabled: u64,
}

impl Counted {
    /// Counts a process that a look has met.
    fn process(&mut self, state: State, is_client: bool) {
        match state {
            State::Hidden => self.hidden += 1,
            State::Disabled => self.disabled += 1,
            State::Active | State::Idle | State::IdleInTransaction => self.clients += u64::from(is_client),
            State::Background => {}
        }
    }
}

impl Accounting {
    /// Nothing seen yet; the wall clock in microseconds since 1970.
    pub fn new(wall_clock: i64) -> Accounting {
        let begun = Ticks::from_micros(wall_clock);
        Accounting { begun, now: begun, ended: begun, ..Accounting::default() }
    }

    /// Begins at this time of the wall clock, ahead of all looks.
    pub(super) fn begin_at(&mut self, wall_clock: i64) {
        let begun = Ticks::from_micros(wall_clock);
        (self.begun, self.now, self.ended) = (begun, begun, begun);
    }

    /// Takes a look at all processes, which stands for the time `since` the look before. The first one, and one after a
    /// time that was lost, stands for none: it is where the next one begins.
    ///
    /// `rest` says of each sample whether its process has gone on to do nothing since the look before, whose sample
    /// stood in the same place. Where it is shorter, processes may have done anything.
    pub fn look(&mut self, since: Ticks, samples: &[Sample], rest: &[bool], observer: &mut dyn Observer) {
        if since <= Ticks::ZERO {
            return;
        }
        let is_same_second = self.second_of(self.now) == self.second_of(self.now + since);
        // Before anything is added to a session whose sample stands in another place now.
        self.settle(|at| is_same_second && at < samples.len() && rest.get(at) == Some(&true));
        self.ended = self.now;
        if !is_same_second {
            self.end_second(&mut *observer);
        }
        self.looks += 1;
        self.met = 0;
        self.now += since;
        self.since = since;
        self.totals.add(since);
        self.held.resize(samples.len(), None);
        let (mut counted, weight) = (Counted::default(), Weight { time: since, looks: 1 });
        for (at, sample) in samples.iter().enumerate() {
            if let Some(held) = self.held[at] {
                counted.clients += u64::from(held.session.is_some());
                self.met += usize::from(held.session.is_some());
                continue;
            }
            if sample.state == State::Idle && self.rests(sample, weight) {
                counted.clients += 1;
            } else {
                counted.process(sample.state, sample.backend.kind == CLIENT);
                self.take((sample, None), weight, (&mut counted, &mut *observer));
            }
            if at < rest.len() {
                self.held[at] = self.begin_to_hold(sample);
            }
        }
        self.end_look(&counted, observer);
    }

    /// The pause that a sample may begin, from this look on.
    fn begin_to_hold(&self, sample: &Sample) -> Option<Held> {
        let since = self.totals;
        match sample.state {
            State::Idle if sample.backend.kind == CLIENT => Some(Held { session: Some(sample.backend.pid), since }),
            State::Background if background::does_nothing(sample) => Some(Held { session: None, since }),
            _ => None,
        }
    }

    /// Adds up the pauses that have ended: those of all places but where `goes_on`.
    fn settle(&mut self, goes_on: impl Fn(usize) -> bool) {
        for (at, place) in self.held.iter_mut().enumerate() {
            if goes_on(at) {
                continue;
            }
            let Some(Held { session: Some(session), since }) = place.take() else { continue };
            let passed = self.totals.since(since);
            if let Some(seen) = self.sessions.get_mut(&session).filter(|_| passed.looks > 0) {
                seen.rest(IDLE_EVENT, passed);
                seen.spent += passed.time;
            }
        }
    }

    /// Takes what was recorded of the second that begins at this time of the wall clock, in microseconds since 1970, as
    /// sums of looks. The parts of a process stand together. All of them end within the second, so that each time
    /// stands where it was; a pause within a transaction is known by its length over all its seconds.
    pub(in crate::source) fn stretch(
        &mut self,
        second: i64,
        (time, looks): (Ticks, u64),
        parts: &[Part<'_>],
        observer: &mut dyn Observer,
    ) {
        if time <= Ticks::ZERO || looks == 0 {
            return;
        }
        self.settle(|_| false);
        self.looks += looks;
        self.met = 0;
        self.now += time;
        self.since = time;
        self.ended = self.last_within(second);
        let mut counted = Counted::default();
        let mut last = None;
        for part in parts {
            let backend = &part.sample.backend;
            let process = Some((backend.pid, backend.start));
            if process != last {
                counted.process(part.sample.state, backend.kind == CLIENT);
                last = process;
            }
            let weight = Weight { time: part.time, looks: part.looks };
            self.take((part.sample, Some(part.statement)), weight, (&mut counted, &mut *observer));
        }
        self.end_look(&counted, &mut *observer);
        self.load.end_second();
        self.end_second(observer);
    }

    /// Ends what goes on together with its second, so that each time stands in the second in which it was sampled.
    fn end_second(&mut self, observer: &mut dyn Observer) {
        let Accounting { names, calls, ended, sessions, .. } = self;
        let mut hearing = Hearing { context: &names.context, observer, calls, now: *ended };
        let mut open: Vec<&mut Seen> = sessions.values_mut().map(|seen| &mut **seen).collect();
        sorting::by_key(&mut open, |seen| seen.index);
        let room = room_for_parts(open.len());
        open.into_iter().for_each(|seen| seen.end_second(room, &mut hearing));
    }

    /// The last tick of the looks so far, as far as it lies within the second that begins at this time of the wall
    /// clock. The looks of a second stand for a little more or less time than the second, so that their sum ends beside
    /// it now and then.
    fn last_within(&self, second: i64) -> Ticks {
        let (wall_clock, at) = self.names.context.clock.unwrap_or_default();
        let begin = at + Ticks::from_micros(second - wall_clock);
        (self.now - Ticks(1)).clamp(begin, begin + Ticks::from_micros(1_000_000) - Ticks(1))
    }

    /// A sample of a process; `statement` is known of one that was recorded.
    fn take(
        &mut self,
        (sample, statement): (&Sample, Option<StatementIndex>),
        weight: Weight,
        (counted, observer): (&mut Counted, &mut dyn Observer),
    ) {
        match sample.state {
            State::Hidden | State::Disabled => {}
            State::Active | State::Idle | State::IdleInTransaction if sample.backend.kind == CLIENT => {
                counted.working += if sample.state == State::Active { weight.time } else { Ticks::ZERO };
                self.client((sample, statement), weight, observer);
            }
            _ => {
                self.blockers.meet(sample);
                self.background.add(sample, weight);
            }
        }
    }

    /// Takes down what a look has counted, and ends the sessions that it did not meet.
    fn end_look(&mut self, counted: &Counted, observer: &mut dyn Observer) {
        self.load.add(self.since, counted.working);
        let (from, to) = self.passed();
        self.activity.cover(from, to);
        self.hidden = self.hidden.max(counted.hidden);
        self.disabled = self.disabled.max(counted.disabled);
        self.sessions_max = self.sessions_max.max(counted.clients + counted.hidden + counted.disabled);
        if self.met != self.sessions.len() {
            let looks = self.looks;
            for session in self.held.iter().flatten().filter_map(|held| held.session) {
                self.sessions.entry(session).and_modify(|seen| seen.look = looks);
            }
            self.close(|seen| seen.look != looks, observer);
        }
    }

    /// Takes what one session did from `begun` to `ended`, by the clock of the looks, all of it: its waits are single
    /// ones with their true lengths. Intervals of one session come in their order.
    pub fn interval(&mut self, (begun, ended): (Ticks, Ticks), sample: &Sample, observer: &mut dyn Observer) {
        if ended <= begun || sample.backend.kind != CLIENT {
            return;
        }
        self.settle(|_| false);
        self.is_exact = true;
        self.looks += 1;
        (self.since, self.now, self.ended) = (ended - begun, ended, begun);
        match sample.state {
            State::Active | State::Idle | State::IdleInTransaction => {
                self.client((sample, None), Weight { time: ended - begun, looks: 1 }, observer);
            }
            _ => {}
        }
    }

    /// Takes a read that a session began while it did what this sample says.
    pub(super) fn read_within(&mut self, sample: Option<&Sample>, read: &TracedRead, reads: &mut Reads) {
        let owner = sample.and_then(|sample| self.statement_of(sample)).map_or(Reader::Unmet, Reader::Statement);
        reads.read(&Charged { owner, is_estimated: false, read });
        if let Some(sample) = sample {
            let event = self.event(sample);
            reads.within(event, read);
        }
    }

    /// The statement that a sample shows at work.
    pub(super) fn statement_of(&mut self, sample: &Sample) -> Option<StatementIndex> {
        (sample.state == State::Active).then(|| self.names.statement(sample, None))
    }

    /// Takes the number of sessions that were at work for a time.
    pub fn pass(&mut self, time: Ticks, active: u64, sessions: u64) {
        let of_sessions = Ticks(time.0.saturating_mul(active.min(1 << 20).cast_signed()));
        self.load.add(time, of_sessions);
        self.sessions_max = self.sessions_max.max(sessions);
    }

    /// A time in which nothing could be sampled: what was going on ends where it began.
    pub fn lose(&mut self, time: Ticks, observer: &mut dyn Observer) {
        self.settle(|_| false);
        self.close(|_| true, observer);
        let time = time.min(LOST_MAX - self.lost);
        self.now += time;
        self.lost += time;
    }

    /// Takes an answer to who blocks whom, with the samples of the last look before it came.
    pub fn blocking(&mut self, answer: &[(u32, Vec<u32>)], samples: &[Sample]) {
        let mut with_statements: Vec<(&Sample, StatementIndex)> = Vec::with_capacity(samples.len());
        for sample in samples {
            let known =
                self.sessions.get(&sample.backend.pid).and_then(|seen| seen.statement_since(sample.query_start));
            let has_one = matches!(sample.state, State::Active | State::IdleInTransaction);
            let statement = match known {
                Some(known) => known,
                None if has_one => self.names.statement(sample, None),
                None => NO_STATEMENT,
            };
            with_statements.push((sample, statement));
        }
        self.blockers.learn(answer, &with_statements);
    }

    /// The same of processes whose statements are known, because they were recorded.
    pub(in crate::source) fn blocking_recorded(&mut self, answer: &[(u32, Vec<u32>)], parts: &[Part<'_>]) {
        let samples: Vec<(&Sample, StatementIndex)> = parts.iter().map(|part| (part.sample, part.statement)).collect();
        self.blockers.learn(answer, &samples);
    }

    /// What the wall clock shows now: that of the samples goes its own way, so that no session's time changes with it.
    pub(in crate::source) fn set_clock(&mut self, wall_clock: i64) {
        let (before, at) = self.names.context.clock.unwrap_or_default();
        // What is held was spent in a second by the clock as it was.
        let drift = self.now - at - Ticks::from_micros(wall_clock - before);
        self.sessions.values_mut().for_each(|seen| seen.move_held(drift));
        self.names.context.clock = Some((wall_clock, self.now));
    }

    /// What the wall clock showed at a look. The looks stand for a little more or less time than passed, so that their
    /// sum ends near it.
    pub(in crate::source) fn set_last_clock(&mut self, wall_clock: i64) {
        self.last_clock = self.last_clock.max(Some(wall_clock));
    }

    /// Goes on at another time of the wall clock, after a time in which nothing was recorded.
    pub(in crate::source) fn go_on_at(&mut self, wall_clock: i64, lost: Ticks, observer: &mut dyn Observer) {
        self.lose(lost, observer);
        self.set_clock(wall_clock);
        self.begun = self.begun.min(Ticks::from_micros(wall_clock));
    }

    /// Whether the texts of all statements are wanted with the next look, and not only those that are new.
    pub fn takes_texts(&mut self) -> bool {
        std::mem::take(&mut self.names.wants_texts)
    }

    /// Ends what goes on.
    pub(in crate::source) fn end(&mut self, observer: &mut dyn Observer) {
        self.settle(|_| false);
        self.close(|_| true, observer);
    }

    /// From the first look to the last one, in microseconds since 1970.
    pub(super) fn clocks(&self) -> (i64, i64) {
        let (wall_clock, at) = self.names.context.clock.unwrap_or_default();
        let last = self.last_clock.unwrap_or_else(|| wall_clock + (self.now - at).micros() as i64);
        (self.begun.micros() as i64, last)
    }

    /// The sessions at work over time.
    pub(super) fn active_over_time(&self) -> ActiveOverTime {
        match self.activity.timeline() {
            Some(timeline) => ActiveOverTime::Known { timeline, is_wall_clock: true },
            None if self.activity.is_empty() => ActiveOverTime::Nothing,
            None => ActiveOverTime::Unknown(NoTimeline::TooShort),
        }
    }

    /// How far the time of sessions at work may be off, 19 of 20 times; to be asked after the end.
    pub(super) fn error(&self) -> Ticks {
        Ticks((NINETEEN_OF_TWENTY * self.variance.sqrt()) as i64)
    }

    fn client(
        &mut self,
        (sample, statement): (&Sample, Option<StatementIndex>),
        weight: Weight,
        observer: &mut dyn Observer,
    ) {
        let since = self.since;
        let mut seen = self.take_session(sample, since, observer);
        let doing = self.doing((sample, statement), &seen);
        let event = self.event(sample);
        if sample.state == State::Active {
            self.on_processor += if event.is_none() { weight.looks } else { 0 };
            self.blockers.add(sample, (doing.statement, event.unwrap_or(RUN_QUEUE_EVENT)), weight);
        }
        self.samples += if sample.state != State::Idle { weight.looks } else { 0 };
        if sample.state == State::IdleInTransaction {
            self.idle_in_transaction += weight.time;
        }
        self.blockers.see(sample, doing.statement);
        let is_whole = self.is_exact;
        let spent = Spent { weight, event, processor: sample.processor, is_whole };
        if sample.state == State::Active {
            self.add_active(&spent);
        }
        let Accounting { names, calls, ended, .. } = self;
        let mut hearing = Hearing { context: &names.context, observer, calls, now: *ended };
        seen.add(doing, &spent, &mut hearing);
        // Once for each session, whatever the number of its samples.
        self.met += usize::from(seen.look != self.looks);
        seen.look = self.looks;
        seen.spent += weight.time;
        self.sessions.insert(sample.backend.pid, seen);
    }

    /// What the last look stood for, by the wall clock.
    fn passed(&self) -> (Ticks, Ticks) {
        let now = self.by_wall_clock(self.now);
        (now - self.since, now)
    }

    /// A time of the looks by the wall clock.
    fn by_wall_clock(&self, at: Ticks) -> Ticks {
        let (wall_clock, own) = self.names.context.clock.unwrap_or_default();
        Ticks::from_micros(wall_clock) + (at - own)
    }

    /// The second of the wall clock in which a time of the looks lies.
    fn second_of(&self, at: Ticks) -> i64 {
        self.by_wall_clock(at).0.div_euclid(Ticks::from_micros(1_000_000).0)
    }

    /// Adds the time of a session at work to the step of time in which it passed.
    fn add_active(&mut self, spent: &Spent) {
        let passed = self.passed();
        let (first, (queued, stolen)) = match spent.event {
            Some(event) => {
                let class = self.names.context.event(event).map_or(Class::Other, |event| event.class);
                (class, (Ticks::ZERO, Ticks::ZERO))
            }
            None => (Class::Cpu, spent.queued_and_stolen()),
        };
        let left = spent.weight.time - queued - stolen;
        self.activity.add(passed, [(first, left), (Class::RunQueue, queued), (Class::Stolen, stolen)]);
    }

    /// Adds to the pause that a session goes on with; `false` where it does something else. Most sessions of most looks
    /// do nothing.
    fn rests(&mut self, sample: &Sample, weight: Weight) -> bool {
        let Some(seen) = self.sessions.get_mut(&sample.backend.pid) else { return false };
        let is_same = !self.is_exact && Arc::ptr_eq(&seen.backend, &sample.backend);
        if !is_same || self.blockers.waits(sample.backend.pid) || !seen.rest(IDLE_EVENT, Totals::of(weight)) {
            return false;
        }
        self.blockers.note(sample, NO_STATEMENT);
        self.met += usize::from(seen.look != self.looks);
        seen.look = self.looks;
        seen.spent += weight.time;
        true
    }

    /// The session of a sample, which is out of the list meanwhile: another one may have had its number.
    fn take_session(&mut self, sample: &Sample, since: Ticks, observer: &mut dyn Observer) -> Box<Seen> {
        let backend = &sample.backend;
        match self.sessions.remove(&backend.pid) {
            Some(mut seen) if seen.backend.start == backend.start => {
                if !Arc::ptr_eq(&seen.backend, backend) && seen.backend != *backend {
                    seen.scope = self.names.scope(backend);
                    seen.backend = Arc::clone(backend);
                }
                seen
            }
            other => {
                let begun = self.now - since;
                if let Some(other) = other {
                    self.close_one(*other, observer);
                }
                self.blockers.meet(sample);
                let named = (self.names.session(backend), self.names.scope(backend));
                Box::new(Seen::new(named, Arc::clone(backend), begun))
            }
        }
    }

    fn doing(&mut self, (sample, statement): (&Sample, Option<StatementIndex>), seen: &Seen) -> Doing {
        let (statement, query_start) = match statement {
            _ if sample.state == State::Idle => (NO_STATEMENT, None),
            Some(statement) => (statement, None),
            None => {
                let known = seen.statement_since(sample.query_start);
                (self.names.statement(sample, known), sample.query_start)
            }
        };
        Doing { state: sample.state, statement, query_start }
    }

    fn event(&mut self, sample: &Sample) -> Option<EventIndex> {
        match sample.state {
            State::Idle => Some(IDLE_EVENT),
            State::IdleInTransaction => Some(IN_TRANSACTION_EVENT),
            _ => sample.event.as_deref().map(|event| self.names.event(event)),
        }
    }

    fn close(&mut self, is_over: impl Fn(&Seen) -> bool, observer: &mut dyn Observer) {
        let mut over: Vec<Box<Seen>> =
            self.sessions.extract_if(|_, seen| is_over(seen)).map(|(_, seen)| seen).collect();
        // What comes out does not depend on the order of a hash.
        sorting::by_key(&mut over, |seen| seen.index);
        for seen in over {
            self.close_one(*seen, observer);
        }
    }

    fn close_one(&mut self, seen: Seen, observer: &mut dyn Observer) {
        let Accounting { names, calls, .. } = self;
        let mut hearing = Hearing { context: &names.context, observer, calls, now: seen.last() };
        self.variance += seen.close(&mut hearing);
    }
}
