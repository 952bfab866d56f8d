//! How executions spread among themselves: the time of each execution of each statement, and of each execution of the
//! client by class and event.
//!
//! What is written before the end of a call belongs to the call: recursive calls and waits wait for the client's call
//! that they are a part of. A parse belongs to the execution after it, a fetch and a wait for the client to the one
//! before.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use foldhash::fast::RandomState;
use measure::sorting;
use measure::wait_class::Class;

use super::sample::Sample;
use crate::event::{
    Call, CallKind, Context, EventIndex, Observer, Placement, SessionIndex, StatementIndex, Ticks, Wait,
};
use crate::tables::growing::entry;

/// Plan hashes of one statement that are kept; a damaged source could have one a call.
const HASHES: usize = 64;

/// What a time is summed up by; an event's name stands for it, because releases spell its parameters differently.
pub(super) type Key = (Class, Option<u32>);

/// An execution that goes on, and what belongs to the next one.
#[derive(Clone, Copy, Debug, Default)]
struct OpenExecution {
    current: Option<Ticks>,
    next: Ticks,
    /// Idle waits inside the call that is not complete.
    idle: Ticks,
}

/// The execution of a session's client that goes on, by class and event.
#[derive(Clone, Debug, Default)]
struct Window {
    is_open: bool,
    /// Times of the execution.
    current: Times,
    /// Times of calls and waits whose client call is not complete.
    pending: Times,
}

#[derive(Clone, Debug, Default)]
struct Times {
    response: Ticks,
    by_key: Vec<(Key, Ticks)>,
}

impl Times {
    fn add(&mut self, key: Key, time: Ticks) {
        match self.by_key.iter_mut().find(|(known, _)| *known == key) {
            Some((_, sum)) => *sum += time,
            None => self.by_key.push((key, time)),
        }
    }

    fn take(&mut self, other: &mut Times) {
        self.response += std::mem::take(&mut other.response);
        other.by_key.drain(..).for_each(|(key, time)| self.add(key, time));
    }
}

/// Listens to calls and waits.
#[derive(Clone, Debug, Default)]
pub struct Executions {
    think_time: Ticks,
    open: HashMap<(SessionIndex, StatementIndex), OpenExecution, RandomState>,
    statements: Vec<Sample>,
    hashes: HashMap<StatementIndex, BTreeSet<u64>, RandomState>,
    windows: Vec<Window>,
    /// By the index of an event, the index of the first event of its name.
    names: Vec<u32>,
    keys: BTreeMap<Key, Sample>,
    /// The client's executions by their response time.
    pub(super) response: Sample,
    count: u64,
}

impl Executions {
    /// Nothing heard yet. Waits for the client from `think_time` on are no part of an execution.
    pub fn new(think_time: Ticks) -> Executions {
        Executions { think_time, ..Executions::default() }
    }

    /// Ends the executions that go on.
    pub(super) fn finish(&mut self) {
        let mut open: Vec<_> = std::mem::take(&mut self.open).into_iter().collect();
        // The last digits of a mean depend on the order of its values, and that of a hash is another one in each run.
        sorting::by_key(&mut open, |(whose, _)| *whose);
        for ((_, statement), open) in open {
            open.current.into_iter().for_each(|time| entry(&mut self.statements, statement.0 as usize).add(time));
        }
        for mut window in std::mem::take(&mut self.windows) {
            self.close(&mut window);
        }
    }

    /// The executions of a statement.
    pub(super) fn of_statement(&self, statement: StatementIndex) -> Sample {
        self.statements.get(statement.0 as usize).copied().unwrap_or_default()
    }

    /// The hashes of its plans that its calls name.
    pub(super) fn hashes(&self, statement: StatementIndex) -> impl Iterator<Item = u64> + '_ {
        self.hashes.get(&statement).into_iter().flatten().copied()
    }

    /// The client's executions by the time of a class, or of an event in it. An execution without it took none.
    ///
    /// Nothing is known of the time between calls: no line says which execution it belongs to.
    pub(super) fn of_class(&self, context: &Context, class: Class, event: Option<&str>) -> Sample {
        if matches!(class, Class::UnaccountedBetween | Class::Unrecorded) {
            return Sample::default();
        }
        let first = event.map(|name| context.events.iter().position(|known| known.name == name));
        let key = match first {
            None => Some((class, None)),
            Some(place) => place.map(|place| (class, Some(place as u32))),
        };
        let mut sample = key.and_then(|key| self.keys.get(&key)).copied().unwrap_or_default();
        sample.fill(self.count);
        sample
    }

    fn close(&mut self, window: &mut Window) {
        let times = std::mem::take(&mut window.current);
        if !std::mem::replace(&mut window.is_open, false) {
            return;
        }
        self.count += 1;
        self.response.add(times.response);
        times.by_key.into_iter().for_each(|(key, time)| self.keys.entry(key).or_default().add(time));
    }

    fn window(&mut self, session: SessionIndex) -> &mut Window {
        entry(&mut self.windows, session.0 as usize)
    }

    /// The first event of the same name.
    fn name(&mut self, context: &Context, event: EventIndex) -> u32 {
        while self.names.len() <= event.0 as usize {
            let next = EventIndex(self.names.len() as u32);
            let name = context.event_name(next);
            let first = context.events.iter().position(|known| known.name == name);
            self.names.push(first.map_or(next.0, |place| place as u32));
        }
        self.names[event.0 as usize]
    }

    /// The client's call is complete: with it, what waited for it.
    fn add_client_call(&mut self, call: &Call) {
        let mut window = std::mem::take(self.window(call.session));
        if call.kind == CallKind::Exec {
            self.close(&mut window);
            window.is_open = true;
        }
        window.pending.response += call.inclusive.elapsed;
        if call.kind != CallKind::Parse {
            let Window { current, pending, .. } = &mut window;
            current.take(pending);
        }
        *self.window(call.session) = window;
    }

    fn add_statement_call(&mut self, call: &Call) {
        let open = self.open.entry((call.session, call.statement)).or_default();
        let time = call.own.elapsed - std::mem::take(&mut open.idle);
        match (call.kind, &mut open.current) {
            (CallKind::Exec, current) => {
                let ended = current.replace(time + std::mem::take(&mut open.next));
                ended.into_iter().for_each(|time| entry(&mut self.statements, call.statement.0 as usize).add(time));
            }
            (CallKind::Parse, _) => open.next += time,
            (_, Some(current)) => *current += time,
            // Its execution was before the trace.
            (_, None) => {}
        }
        if call.plan_hash != 0 {
            let hashes = self.hashes.entry(call.statement).or_default();
            if hashes.len() < HASHES {
                hashes.insert(call.plan_hash);
            }
        }
    }
}

impl Observer for Executions {
    fn call(&mut self, _context: &Context, call: &Call) {
        self.add_statement_call(call);
        let class = if call.kind == CallKind::Parse { Class::CpuParse } else { Class::Cpu };
        let pending = &mut self.window(call.session).pending;
        if let Some(cpu) = call.own.cpu {
            pending.add((class, None), cpu);
        }
        // What is left of the call's own time when CPU and the waits inside it are taken off.
        let within = call.own.elapsed - call.own.cpu.unwrap_or_default() - call.waits;
        pending.add((Class::UnaccountedWithin, None), within);
        if call.depth == 0 {
            self.add_client_call(call);
        }
    }

    fn wait(&mut self, context: &Context, wait: &Wait) {
        let event = context.event(wait.event);
        let class = match event {
            Some(event) if event.is_client && wait.whole_pause() >= self.think_time => Class::ThinkTime,
            Some(event) if event.is_client => Class::Network,
            Some(event) => event.class,
            None => Class::Other,
        };
        let name = self.name(context, wait.event);
        let is_between = wait.placement == Placement::Between;
        let window = self.window(wait.session);
        let times = if is_between { &mut window.current } else { &mut window.pending };
        times.add((class, None), wait.elapsed);
        times.add((class, Some(name)), wait.elapsed);
        // An idle wait inside a call is in the call's time and no part of the response.
        match (class.is_idle(), is_between) {
            (true, false) => times.response -= wait.elapsed,
            (false, true) => times.response += wait.elapsed,
            _ => return,
        }
        let open = self.open.entry((wait.session, wait.statement)).or_default();
        match (is_between, &mut open.current) {
            (false, _) => open.idle += wait.elapsed,
            (true, Some(current)) => *current += wait.elapsed,
            (true, None) => open.next += wait.elapsed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::tests::{context, fetch};

    #[test]
    fn sessions_that_end_within_an_execution_give_the_same_digits_in_each_run() {
        let context = context(&[]);
        let mut random = measure::random::SplitMix64::new(5);
        let times: Vec<i64> = (0..500).map(|_| 1 + random.below(1_000_000_000) as i64).collect();
        let mut expected = Sample::default();
        times.iter().for_each(|micros| expected.add(Ticks::from_micros(*micros)));
        for run in 0..3 {
            let mut executions = Executions::new(Ticks::from_micros(1_000_000));
            for (session, micros) in (0..).map(SessionIndex).zip(&times) {
                executions.call(&context, &Call { session, kind: CallKind::Exec, ..fetch(0, *micros, 1, 1) });
            }
            executions.finish();
            assert_eq!(executions.of_statement(StatementIndex(0)), expected, "run {run}");
        }
    }
}
