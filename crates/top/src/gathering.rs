//! A second under way: looks are added up until it is over.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use measure::sorting;
use measure::wait_class::Class;
use profile::source::sampled::Sample;

use crate::second::{Blocked, Chain, Second, SessionSums, StatementKey, StatementSums, Unseen};

/// Most rows of a second that are kept: an hour of them takes 30 MB.
const STATEMENTS_MAX: usize = 24;
const SESSIONS_MAX: usize = 48;
const EVENTS_MAX: usize = 24;
const BLOCKED_MAX: usize = 64;

/// Sums so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gathering {
    pub(crate) time: Duration,
    pub(crate) lost: Duration,
    looks: u64,
    classes: HashMap<Class, Duration>,
    events: HashMap<Arc<str>, Duration>,
    statements: HashMap<StatementKey, HashMap<Class, Duration>>,
    sessions: HashMap<u32, SessionSums>,
    blocked: HashMap<(u32, Option<Chain>), Blocked>,
    unseen: Option<Unseen>,
}

/// What a sample of a session says.
pub(crate) struct Said<'a> {
    pub(crate) sample: &'a Sample,
    pub(crate) class: Class,
    /// The event's name, or that it waits for none.
    pub(crate) event: Arc<str>,
    pub(crate) statement: Option<StatementKey>,
}

impl Gathering {
    /// A look that stands for this time.
    pub(crate) fn begin_look(&mut self, time: Duration) {
        self.time += time;
        self.looks += 1;
    }

    /// A session at work in this look.
    pub(crate) fn add(&mut self, time: Duration, said: Said<'_>) {
        *self.classes.entry(said.class).or_default() += time;
        if let Some(statement) = said.statement {
            *self.statements.entry(statement).or_default().entry(said.class).or_default() += time;
        }
        self.see(time, said.sample, said.statement);
        *self.events.entry(said.event).or_default() += time;
    }

    /// A session in this look, at work or not.
    pub(crate) fn see(&mut self, time: Duration, sample: &Sample, statement: Option<StatementKey>) {
        let sums = self.sessions.entry(sample.backend.pid).or_insert_with(|| SessionSums {
            backend: Arc::clone(&sample.backend),
            time: Duration::ZERO,
            state: sample.state,
            event: None,
            statement,
        });
        if sums.backend.start != sample.backend.start {
            (sums.backend, sums.time) = (Arc::clone(&sample.backend), Duration::ZERO);
        }
        sums.time += time;
        (sums.state, sums.event, sums.statement) = (sample.state, sample.event.clone(), statement);
    }

    /// Whether this process did anything so far.
    pub(crate) fn has_seen(&self, pid: u32) -> bool {
        self.sessions.contains_key(&pid)
    }

    /// How many sessions this look did not see. The least of a second counts: looks at memory see sessions that the
    /// server hides from the looks between them.
    pub(crate) fn miss(&mut self, unseen: Unseen) {
        let least =
            |known: Unseen| Unseen { hidden: known.hidden.min(unseen.hidden), silent: known.silent.min(unseen.silent) };
        self.unseen = Some(self.unseen.map_or(unseen, least));
    }

    /// A session that waits for the lock of another in this look.
    pub(crate) fn block(&mut self, time: Duration, said: &Said<'_>, chain: Option<Chain>) {
        let waiter = &said.sample.backend;
        let sums = self.blocked.entry((waiter.pid, chain)).or_insert_with(|| Blocked {
            waiter: Arc::clone(waiter),
            chain,
            event: Arc::clone(&said.event),
            statement: said.statement,
            time: Duration::ZERO,
        });
        sums.time += time;
    }

    /// The second that is over at this moment, in microseconds since 1970.
    pub(crate) fn finish(&mut self, ended: i64) -> Second {
        let done = std::mem::take(self);
        let blocked = most(values(done.blocked), |sums| sums.time, BLOCKED_MAX);
        Second {
            ended,
            time: done.time,
            lost: done.lost,
            looks: done.looks,
            classes: most(pairs(done.classes), |(_, time)| *time, usize::MAX),
            events: most(pairs(done.events), |(_, time)| *time, EVENTS_MAX),
            statements: longest(done.statements, STATEMENTS_MAX),
            sessions: busiest(done.sessions, &blocked),
            blocked,
            reads: None,
            hits: None,
            unseen: done.unseen.unwrap_or_default(),
        }
    }
}

/// The sessions that worked most, and those at the top of these waits: one that keeps a transaction open works for no
/// time, however many sessions wait for it.
fn busiest(sessions: HashMap<u32, SessionSums>, blocked: &[Blocked]) -> Vec<SessionSums> {
    let tops: HashSet<u32> = blocked.iter().filter_map(Blocked::top).collect();
    let mut busiest = most(values(sessions), |sums| sums.time, usize::MAX);
    let others = busiest.split_off(busiest.len().min(SESSIONS_MAX));
    busiest.extend(others.into_iter().filter(|one| tops.contains(&one.backend.pid)));
    busiest
}

/// The statements that took most time, at most this many.
pub(crate) fn longest(
    statements: HashMap<StatementKey, HashMap<Class, Duration>>,
    at_most: usize,
) -> Vec<StatementSums> {
    let sums = pairs(statements).into_iter().map(|(key, classes)| {
        let classes = most(pairs(classes), |(_, time)| *time, usize::MAX);
        StatementSums { key, time: classes.iter().map(|(_, time)| *time).sum(), classes }
    });
    most(sums.collect(), |sums| sums.time, at_most)
}

/// Sums in the order of their keys: those that are equal then keep their places from one second to the next.
pub(crate) fn pairs<K: Ord, V>(sums: HashMap<K, V>) -> Vec<(K, V)> {
    sorting::map(sums).into_iter().collect()
}

/// The same without the keys.
pub(crate) fn values<K: Ord, V>(sums: HashMap<K, V>) -> Vec<V> {
    sorting::map(sums).into_values().collect()
}

/// Those that took most time, at most this many; those of the same time stay in their order.
pub(crate) fn most<T>(mut all: Vec<T>, time: impl Fn(&T) -> Duration, at_most: usize) -> Vec<T> {
    sorting::by_key(&mut all, |one| std::cmp::Reverse(time(one)));
    all.truncate(at_most);
    all
}

/// Adds to the sum of a key.
pub(crate) fn add<K: Eq + Hash + Clone>(sums: &mut HashMap<K, Duration>, key: &K, time: Duration) {
    match sums.get_mut(key) {
        Some(sum) => *sum += time,
        None => drop(sums.insert(key.clone(), time)),
    }
}
