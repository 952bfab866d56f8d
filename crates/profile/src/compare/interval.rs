//! A part of a trace: the calls and waits that ended in an interval of the wall clock, and for which conditions hold.
//!
//! The parts of a trace add up to the whole. What a call made and waited for goes where the client's call
//! ended, and the time of a session is cut where the last such call or wait before the border ended: none is in two.
//! Calls whose own caller is not traced go where they ended themselves.
//!
//! Where conditions are given, the time of a session is the CPU time of calls and the waits for which they hold, and no
//! more: nothing is unaccounted for. All calls of the interval still count, so that a time has its executions. Samples
//! still stand for the time in which they were taken; the server's own account is of all its work, and closes no part.

use super::executions::Executions;
use super::side::Side;
use crate::event::{
    Accounted, Call, Child, Context, Cost, Failure, Observer, Placement, PlanLine, Problem, ProblemKind, Root, Segment,
    SessionIndex, Ticks, Transaction, Wait,
};
use crate::ingest::Ingested;
use crate::observe::collector::Collector;
use crate::observe::skew::Filter;
use crate::source::period::{Period, WallClock};
use crate::tables::growing::entry;

/// Most calls, waits and lines of plans of a session that wait for the end of the client's call; a call that made more
/// is divided by their own ends.
const HELD_MAX: usize = 1 << 16;

/// Problems that the tables count for themselves: those of the whole are not those of a part.
const OF_TABLES: [ProblemKind; 4] =
    [ProblemKind::FilesShared, ProblemKind::BlocksRefused, ProblemKind::PlansLeftOut, ProblemKind::SessionsFolded];

/// How long before the client's call began a call has ended that is none of its children: a log may have its times in
/// whole seconds.
const AHEAD_MIN: Ticks = Ticks::from_micros(1_100_000);

/// From when to when by the wall clock; the end is not part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// From this time on; from the beginning without one.
    pub since: Option<WallClock>,
    /// Before this time; to the end without one.
    pub until: Option<WallClock>,
}

impl Interval {
    /// What a period says of a trace; the sentence why it says nothing.
    pub fn of_period(period: &Period) -> Result<Interval, String> {
        let [since, until] = period.times()?;
        Ok(Interval { since, until })
    }

    /// `a.trc from 2026-11-22 09:00:00 to 2026-11-22 10:00:00`.
    fn of(&self, name: &str) -> String {
        let part = |word: &str, time: Option<WallClock>| {
            time.map_or(String::new(), |time| format!(" {word} {}", time.to_string().replacen('T', " ", 1)))
        };
        let word = if self.since.is_some() { "to" } else { "until" };
        format!("{name}{}{}", part("from", self.since), part(word, self.until))
    }

    fn place(&self, micros: i64) -> Place {
        if self.since.is_some_and(|since| micros < since.micros()) {
            Place::Before
        } else if self.until.is_some_and(|until| micros >= until.micros()) {
            Place::After
        } else {
            Place::In
        }
    }
}

/// Where a time lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Also as long as no time is known.
    #[default]
    Before,
    In,
    After,
}

/// Hears a whole trace, and keeps what ended in an interval.
#[derive(Default)]
pub struct Cut {
    interval: Interval,
    filter: Option<Filter>,
    think_time: Ticks,
    collector: Collector,
    executions: Executions,
    sessions: Vec<CutSession>,
    /// The session of the last thing: lines of plans name none.
    latest: SessionIndex,
    kept: u64,
    /// The calls and waits among them for which the conditions hold.
    accepted: u64,
    unstamped: u64,
}

/// What a session's calls and waits wait for, and where its time is cut.
#[derive(Default)]
struct CutSession {
    held: Vec<Held>,
    place: Place,
    /// The last end before the interval, and the last one in it.
    before: Option<Ticks>,
    last: Option<Ticks>,
    passed: Passed,
}

/// Times for which the conditions hold; without conditions those of calls alone.
#[derive(Default)]
struct Passed {
    /// Of waits inside the call that comes next.
    inside: Ticks,
    /// Of calls since the last one without a caller, each without those that it made.
    since_root: Ticks,
    /// Of all.
    total: Ticks,
}

enum Held {
    Call(Box<Call>),
    Wait(Box<Wait>),
    Root(Root),
    PlanLine(Box<PlanLine>),
}

impl Held {
    /// When it ended, as far as that is known.
    fn end(&self) -> Option<Ticks> {
        match self {
            Held::Call(call) => call.end,
            Held::Wait(wait) => wait.end,
            Held::Root(_) | Held::PlanLine(_) => None,
        }
    }
}

impl Cut {
    /// Nothing heard yet. Waits for the client from `think_time` on are think time.
    pub fn new(interval: Interval, filter: Option<Filter>, think_time: Ticks) -> Cut {
        Cut {
            interval,
            filter,
            think_time,
            collector: Collector::new(think_time),
            executions: Executions::new(think_time),
            ..Cut::default()
        }
    }

    /// The interval of what was ingested, as one side of a comparison; or the sentence why it has nothing.
    pub fn finish(self, file: &str, mut ingested: Ingested) -> Result<Side, String> {
        let (name, when) = (self.interval.of(file), self.interval.of(""));
        if self.kept == 0 {
            let on = if self.interval.since.is_some() && self.interval.until.is_none() { " on" } else { "" };
            return Err(match self.unstamped {
                0 => format!("there is no call and no wait{when}{on} in {file}: `readpath profile` shows its times"),
                _ => format!("no stamp of the wall clock in the trace tells which calls and waits belong to {name}"),
            });
        }
        let mut whole = std::mem::take(&mut ingested.profile);
        let unplaced = Problem::without_place(ProblemKind::PlacedByNeighbour, self.unstamped);
        let problems = whole.problems.into_iter().filter(|problem| !OF_TABLES.contains(&problem.kind));
        let accounted = Accounted {
            context: whole.context,
            problems: problems.chain(unplaced).collect(),
            unread: whole.unread,
            clocks: whole.first_clock.zip(whole.last_clock),
        };
        ingested.profile = self.collector.finish(accounted);
        // Conditions that no wait meets leave none, though they are traced.
        ingested.profile.whole.waits_are_traced |= self.filter.is_some() && whole.whole.waits_are_traced;
        whole.sampled.iter_mut().for_each(|sampled| sampled.db_time_of_server = None);
        ingested.profile.sampled = whole.sampled;
        let accepted = self.filter.is_some().then_some(self.accepted);
        Ok(Side { name, ingested, executions: self.executions, accepted })
    }

    fn session(&mut self, session: SessionIndex) -> &mut CutSession {
        entry(&mut self.sessions, session.0 as usize)
    }

    /// Where a time lies; `None` where no stamp says what the time was.
    fn place_of(&self, context: &Context, time: Option<Ticks>) -> Option<Place> {
        if self.interval == Interval::default() {
            return Some(Place::In);
        }
        let (time, (wall, at)) = time.zip(context.clock)?;
        Some(self.interval.place(wall + (time - at).0.div_euclid(Ticks::PER_MICROSECOND)))
    }

    /// Where something of a session goes that ended at this time; what has no time goes where the session's last went.
    fn decide(&mut self, context: &Context, session: SessionIndex, end: Option<Ticks>) -> Place {
        let place = self.place_of(context, end);
        self.unstamped += u64::from(place.is_none());
        let known = self.session(session);
        let place = place.unwrap_or(known.place);
        known.place = place;
        match place {
            Place::Before => known.before = known.before.max(end),
            Place::In => known.last = known.last.max(end),
            Place::After => {}
        }
        self.latest = session;
        place
    }

    fn hold(&mut self, context: &Context, session: SessionIndex, held: Held) {
        self.latest = session;
        let known = self.session(session);
        known.held.push(held);
        if known.held.len() >= HELD_MAX {
            self.release_by_time(context, session);
        }
    }

    /// Hands on what waited for the end of the client's call, where that end is not known: by the ends of the calls and
    /// waits themselves.
    fn release_by_time(&mut self, context: &Context, session: SessionIndex) {
        let all = std::mem::take(&mut self.session(session).held);
        self.hand_on_by_time(context, session, all);
    }

    /// The same of what had ended before the client's call began: its own caller is not traced.
    fn release_before(&mut self, context: &Context, call: &Call) {
        let Some(begin) = call.end.map(|end| end - call.inclusive.elapsed - AHEAD_MIN) else { return };
        let held = &mut self.session(call.session).held;
        let Some(last) = held.iter().rposition(|one| one.end().is_some_and(|end| end < begin)) else { return };
        let plan_lines = held[last + 1..].iter().take_while(|one| matches!(one, Held::PlanLine(_))).count();
        let inside = held.split_off(last + 1 + plan_lines);
        let before = std::mem::replace(held, inside);
        self.hand_on_by_time(context, call.session, before);
    }

    fn hand_on_by_time(&mut self, context: &Context, session: SessionIndex, all: Vec<Held>) {
        // A wait whose own end is not known, as those of a log, goes with the call that it is inside: the next one.
        let (mut ends, mut of_call) = (Vec::with_capacity(all.len()), None);
        for held in all.iter().rev() {
            if let Held::Call(call) = held {
                of_call = call.end;
            }
            ends.push(held.end().or(of_call));
        }
        for (held, end) in all.into_iter().zip(ends.into_iter().rev()) {
            let place = match &held {
                Held::Call(_) | Held::Wait(_) => self.decide(context, session, end),
                Held::Root(_) | Held::PlanLine(_) => self.session(session).place,
            };
            self.hand_on(context, held, place);
        }
    }

    fn hand_on(&mut self, context: &Context, held: Held, place: Place) {
        if place != Place::In {
            return;
        }
        self.kept += u64::from(!matches!(held, Held::PlanLine(_)));
        let Some(mut held) = self.passing(context, held) else { return };
        if self.filter.is_none() {
            self.divide_roots(&mut held);
        }
        let mut both = (&mut self.collector, &mut self.executions);
        match held {
            Held::Call(call) => both.call(context, &call),
            Held::Wait(wait) => both.wait(context, &wait),
            Held::Root(root) => both.root(context, &root),
            Held::PlanLine(line) => both.plan_line(context, &line),
        }
    }

    /// Gives a call without a caller the time of the calls that were handed on since the last such one: those that it
    /// made may be in another part, and that it has no caller may turn out long after it.
    fn divide_roots(&mut self, held: &mut Held) {
        match held {
            Held::Call(call) => self.session(call.session).passed.since_root += call.own.elapsed,
            Held::Root(root) => {
                root.inclusive.elapsed = std::mem::take(&mut self.session(root.session).passed.since_root);
            }
            Held::Wait(_) | Held::PlanLine(_) => {}
        }
    }

    /// The time for which the conditions hold; `None` where nothing is left of a wait. Calls without any count still.
    fn passing(&mut self, context: &Context, held: Held) -> Option<Held> {
        let Some(filter) = &self.filter else { return Some(held) };
        match held {
            Held::Wait(wait) => {
                let is_passing = filter.accepts_wait(context, &wait, self.think_time);
                self.accepted += u64::from(is_passing);
                let passed = &mut self.session(wait.session).passed;
                let time = if is_passing { wait.elapsed } else { Ticks::ZERO };
                passed.total += time;
                passed.inside += if wait.placement == Placement::Between { Ticks::ZERO } else { time };
                is_passing.then_some(Held::Wait(wait))
            }
            Held::Call(mut call) => {
                let is_passing = filter.accepts_call(context, &call);
                self.accepted += u64::from(is_passing);
                let cpu = call.own.cpu.map(|cpu| if is_passing { cpu } else { Ticks::ZERO });
                let passed = &mut self.session(call.session).passed;
                passed.total += cpu.unwrap_or_default();
                call.waits = std::mem::take(&mut passed.inside);
                (call.own.cpu, call.own.elapsed) = (cpu, cpu.unwrap_or_default() + call.waits);
                passed.since_root += call.own.elapsed;
                let with_children = if call.depth == 0 { passed.since_root } else { call.own.elapsed };
                (call.inclusive.cpu, call.inclusive.elapsed) = (cpu, with_children);
                Some(Held::Call(call))
            }
            Held::Root(mut root) => {
                if root.depth > 0 {
                    // What they took is handed on with the client's call, or at the end.
                    return None;
                }
                root.inclusive.elapsed = std::mem::take(&mut self.session(root.session).passed.since_root);
                Some(Held::Root(root))
            }
            line @ Held::PlanLine(_) => Some(line),
        }
    }

    /// The time of a session for which the conditions hold, as a segment, and what it had without a call of the client.
    fn end_passed(&mut self, context: &Context, segment: &Segment) {
        let Passed { inside, since_root, total } = std::mem::take(&mut self.session(segment.session).passed);
        if since_root + inside > Ticks::ZERO {
            let inclusive = Cost { elapsed: since_root + inside, ..Cost::default() };
            self.collector.root(context, &Root { session: segment.session, inclusive, depth: 1, calls: 1 });
        }
        self.collector.segment(context, &Segment { session: segment.session, last: total, ..Segment::default() });
    }
}

impl Observer for Cut {
    fn begin_file(&mut self, name: &str) {
        self.collector.begin_file(name);
    }

    fn call(&mut self, context: &Context, call: &Call) {
        if call.depth > 0 {
            return self.hold(context, call.session, Held::Call(Box::new(call.clone())));
        }
        self.release_before(context, call);
        let place = self.decide(context, call.session, call.end);
        for held in std::mem::take(&mut self.session(call.session).held) {
            self.hand_on(context, held, place);
        }
        self.hand_on(context, Held::Call(Box::new(call.clone())), place);
    }

    fn wait(&mut self, context: &Context, wait: &Wait) {
        let held = Held::Wait(Box::new(*wait));
        if wait.placement != Placement::Between {
            return self.hold(context, wait.session, held);
        }
        let place = self.decide(context, wait.session, wait.end);
        self.hand_on(context, held, place);
    }

    fn root(&mut self, context: &Context, root: &Root) {
        match root.depth {
            // It follows its call.
            0 => {
                let place = self.session(root.session).place;
                self.hand_on(context, Held::Root(*root), place);
            }
            _ => self.hold(context, root.session, Held::Root(*root)),
        }
    }

    /// It comes ahead of its caller, whose session the next call names.
    fn child(&mut self, context: &Context, child: &Child) {
        if self.session(self.latest).place == Place::In {
            self.collector.child(context, child);
        }
    }

    /// Where calls wait, it is of one of them: a line of a plan stands behind its call.
    fn plan_line(&mut self, context: &Context, line: &PlanLine) {
        let session = self.latest;
        let known = self.session(session);
        match (known.held.is_empty(), known.place) {
            (false, _) => self.hold(context, session, Held::PlanLine(Box::new(line.clone()))),
            (true, Place::In) => self.collector.plan_line(context, line),
            (true, Place::Before | Place::After) => {}
        }
    }

    fn failure(&mut self, context: &Context, failure: &Failure) {
        let place = self.place_of(context, failure.time);
        if place.unwrap_or(self.session(failure.session).place) == Place::In {
            self.collector.failure(context, failure);
        }
    }

    fn transaction(&mut self, context: &Context, transaction: &Transaction) {
        let place = self.place_of(context, transaction.time);
        if place.unwrap_or(self.session(transaction.session).place) == Place::In {
            self.collector.transaction(context, transaction);
        }
    }

    fn segment(&mut self, context: &Context, segment: &Segment) {
        self.release_by_time(context, segment.session);
        if self.filter.is_some() {
            return self.end_passed(context, segment);
        }
        let known = self.session(segment.session);
        let (before, last) = (known.before.take(), known.last.take());
        let since_root = std::mem::take(&mut known.passed.since_root);
        if since_root != Ticks::ZERO {
            // What has no caller was counted where that turned out.
            let inclusive = Cost { elapsed: since_root, ..Cost::default() };
            self.collector.root(context, &Root { session: segment.session, inclusive, depth: 1, calls: 0 });
        }
        let first = before.unwrap_or(segment.first).clamp(segment.first, segment.last);
        let Some(last) = last.map(|last| last.min(segment.last)).filter(|last| *last >= first) else { return };
        self.collector.segment(context, &segment.part(first, last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::sampled::Sampled;
    use crate::tables::{Profile, SessionProfile};

    #[test]
    fn a_part_of_samples_still_says_how_long_they_were_taken_and_is_closed_to_no_account() {
        let seconds = |seconds: i64| Ticks::from_micros(seconds * 1_000_000);
        let (time, account) = (seconds(60), Some(seconds(117)));
        let sampled = Sampled { time, db_time: seconds(100), db_time_of_server: account, ..Sampled::default() };
        let side = cut_of(Profile { sampled: Some(Box::new(sampled)), ..Profile::default() }, None);
        let sampled = side.ingested.profile.sampled.unwrap();
        assert_eq!((sampled.time, sampled.missed()), (time, None));
    }

    #[test]
    fn waits_that_no_condition_leaves_are_not_said_to_be_untraced() {
        let is_traced = |waits_are_traced: bool, filter: Option<Filter>| {
            let whole = SessionProfile { waits_are_traced, ..SessionProfile::default() };
            cut_of(Profile { whole, ..Profile::default() }, filter).ingested.profile.whole.waits_are_traced
        };
        let filter = Filter::parse(&["event=x"]).unwrap();
        assert!(is_traced(true, Some(filter.clone())) && !is_traced(false, Some(filter)));
        assert!(!is_traced(true, None), "tracing may have had no waits in this part of the time");
    }

    /// A cut without a wait of a profile.
    fn cut_of(profile: Profile, filter: Option<Filter>) -> Side {
        let mut cut = Cut::new(Interval::default(), filter, Ticks::from_micros(1_000_000));
        cut.kept = 1;
        cut.finish("recording", Ingested::of(profile)).unwrap()
    }
}
