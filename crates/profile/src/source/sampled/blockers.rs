//! Who waits for whom: the time of waits for locks, charged to the session that holds what is waited for.
//!
//! Who blocks is asked seldom, because the question stops the server's lock manager for a moment. In between the answer
//! holds as long as the session goes on waiting; what it waited before the first answer is charged when that comes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use foldhash::fast::RandomState;
use measure::sorting;

use super::held::Weight;
use super::names::NO_STATEMENT;
use super::sample::{LOCK, Sample, State};
use crate::event::{Context, EventIndex, StatementIndex, Ticks};
use crate::tables::sampled::BlockerRow;

/// Most pairs of a session that waits and one that it waits for, by statement and event.
const EDGES_MAX: usize = 1 << 12;

/// Most levels of the tree: sessions that wait for sessions that wait.
const LEVELS_MAX: usize = 16;

/// The process that holds the locks of a prepared transaction: none.
const PREPARED: &str = "a prepared transaction";

/// Waits of a session for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    blocker: u32,
    waiter: u32,
    statement: StatementIndex,
    event: EventIndex,
}

/// Their samples and their time.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    samples: u64,
    time: Ticks,
}

impl Sums {
    fn add(&mut self, other: Sums) {
        self.samples += other.samples;
        self.time += other.time;
    }
}

/// A session as the tree names it.
#[derive(Clone, Debug)]
struct Person {
    label: String,
    state: State,
    statement: StatementIndex,
}

/// All waits for locks so far.
#[derive(Clone, Debug, Default)]
pub(in crate::source) struct Blockers {
    /// By session that waits: whom it waits for, as far as was asked.
    known: HashMap<u32, u32, RandomState>,
    /// By session that waits: what it waited since it was asked last.
    pending: HashMap<u32, Vec<(StatementIndex, EventIndex, Sums)>, RandomState>,
    edges: BTreeMap<Edge, Sums>,
    people: HashMap<u32, Person, RandomState>,
    /// Waits that ended before it was asked who blocks.
    unknown: Sums,
}

impl Blockers {
    /// Adds a sample of a session at work.
    pub(super) fn add(&mut self, sample: &Sample, (statement, event): (StatementIndex, EventIndex), weight: Weight) {
        let pid = sample.backend.pid;
        if !sample.event.as_deref().is_some_and(|event| event.starts_with(LOCK)) {
            return;
        }
        let sums = Sums { samples: weight.looks, time: weight.time };
        match self.known.get(&pid).copied() {
            Some(blocker) => self.charge(Edge { blocker, waiter: pid, statement, event }, sums),
            None => {
                let pending = self.pending.entry(pid).or_default();
                match pending.last_mut().filter(|last| (last.0, last.1) == (statement, event)) {
                    Some((_, _, known)) => known.add(sums),
                    None => pending.push((statement, event, sums)),
                }
            }
        }
    }

    /// Whether a session waits for a lock, as far as was seen.
    pub(in crate::source) fn waits(&self, pid: u32) -> bool {
        self.known.contains_key(&pid) || self.pending.contains_key(&pid)
    }

    /// Notes what a session does: it may be one that blocks. One that waits for no lock waits for no session.
    pub(super) fn see(&mut self, sample: &Sample, statement: StatementIndex) {
        let pid = sample.backend.pid;
        let waits = sample.event.as_deref().is_some_and(|event| event.starts_with(LOCK));
        if !waits {
            self.known.remove(&pid);
            for (_, _, sums) in self.pending.remove(&pid).into_iter().flatten() {
                self.unknown.add(sums);
            }
        }
        if let Some(person) = self.people.get_mut(&pid) {
            (person.state, person.statement) = (sample.state, statement);
        }
    }

    /// Notes that a session that waits for no lock goes on with its pause.
    pub(super) fn see_resting(&mut self, sample: &Sample) {
        if self.people.is_empty() {
            return;
        }
        if let Some(person) = self.people.get_mut(&sample.backend.pid) {
            (person.state, person.statement) = (sample.state, NO_STATEMENT);
        }
    }

    fn charge(&mut self, edge: Edge, sums: Sums) {
        match self.edges.len() < EDGES_MAX || self.edges.contains_key(&edge) {
            true => self.edges.entry(edge).or_default().add(sums),
            false => self.unknown.add(sums),
        }
    }

    /// Takes an answer: sessions that wait, each with those that it waits for. `samples` are of the same moment.
    pub(super) fn learn(&mut self, answer: &[(u32, Vec<u32>)], samples: &[(&Sample, StatementIndex)]) {
        self.known.clear();
        for (waiter, blockers) in answer {
            let Some(blocker) = blockers.first().copied() else { continue };
            self.known.insert(*waiter, blocker);
            for pid in [*waiter, blocker] {
                if self.people.len() < 2 * EDGES_MAX {
                    self.people.entry(pid).or_insert_with(|| person(pid, samples));
                }
            }
            for (statement, event, sums) in self.pending.remove(waiter).into_iter().flatten() {
                self.charge(Edge { blocker, waiter: *waiter, statement, event }, sums);
            }
        }
    }

    /// The tree: each session that blocks and waits for none, with those that wait for it below, by time.
    pub(super) fn rows(&self, context: &Context) -> Vec<BlockerRow> {
        let mut tree = Tree { blockers: self, context, rows: Vec::new() };
        let mut ranked: Vec<(Sums, u32)> = self.roots().into_iter().map(|root| (self.below(root).0, root)).collect();
        sorting::by_key(&mut ranked, |(sums, root)| (std::cmp::Reverse(sums.time), *root));
        for (sums, root) in ranked {
            tree.root(root, sums);
        }
        tree.rows
    }

    /// The sessions with which the tree begins: all that wait for none, and one of each circle that is not below them.
    fn roots(&self) -> Vec<u32> {
        let waiters = sorting::set(self.edges.keys().map(|edge| edge.waiter));
        let blockers = sorting::set(self.edges.keys().map(|edge| edge.blocker));
        let mut roots: Vec<u32> = blockers.difference(&waiters).copied().collect();
        let mut reached = BTreeSet::new();
        roots.iter().for_each(|root| reached.extend(self.below(*root).1));
        for blocker in blockers {
            if !reached.contains(&blocker) {
                // Each waited for another at some time: the tree begins with any of them.
                let below = self.below(blocker).1;
                roots.retain(|root| !below.contains(root));
                roots.push(blocker);
                reached.extend(below);
            }
        }
        roots
    }

    /// The time of all that waits for a session, directly or not, and who they are, itself among them.
    fn below(&self, root: u32) -> (Sums, BTreeSet<u32>) {
        let (mut sums, mut seen, mut next) = (Sums::default(), BTreeSet::from([root]), vec![root]);
        while let Some(blocker) = next.pop() {
            for (edge, more) in self.edges.iter().filter(|(edge, _)| edge.blocker == blocker) {
                sums.add(*more);
                if seen.insert(edge.waiter) {
                    next.push(edge.waiter);
                }
            }
        }
        (sums, seen)
    }

    /// Time of waits for locks of which it is not known who held them.
    pub(super) fn unknown(&self) -> Ticks {
        let pending = self.pending.values().flatten().map(|(_, _, sums)| sums.time);
        self.unknown.time + pending.sum::<Ticks>()
    }
}

fn person(pid: u32, samples: &[(&Sample, StatementIndex)]) -> Person {
    let found = samples.iter().find(|(sample, _)| sample.backend.pid == pid);
    let label = match (pid, found) {
        (0, _) => PREPARED.into(),
        (_, Some((sample, _))) => sample.backend.label(),
        (pid, None) => pid.to_string(),
    };
    let (state, statement) = found.map_or((State::Hidden, StatementIndex(0)), |(sample, of)| (sample.state, *of));
    Person { label, state, statement }
}

/// The lines of the tree so far.
struct Tree<'a> {
    blockers: &'a Blockers,
    context: &'a Context,
    rows: Vec<BlockerRow>,
}

impl Tree<'_> {
    fn root(&mut self, pid: u32, sums: Sums) {
        let person = self.blockers.people.get(&pid);
        let statement = person.map_or(StatementIndex(0), |person| person.statement);
        self.rows.push(self.row((0, 0), pid, (statement, String::new()), sums));
        let root = self.rows.len();
        self.waiters(pid, root, 1, &mut BTreeSet::from([pid]));
    }

    /// The sessions that wait for this one, by time; the ones below each stand under its first line.
    fn waiters(&mut self, blocker: u32, parent: usize, level: usize, above: &mut BTreeSet<u32>) {
        let mut edges: Vec<(&Edge, &Sums)> =
            self.blockers.edges.iter().filter(|(edge, _)| edge.blocker == blocker).collect();
        sorting::by_key(&mut edges, |(_, sums)| std::cmp::Reverse(sums.time));
        for (edge, sums) in edges {
            let event = self.context.event_name(edge.event).to_string();
            self.rows.push(self.row((parent, level), edge.waiter, (edge.statement, event), *sums));
            if level < LEVELS_MAX && above.insert(edge.waiter) {
                let here = self.rows.len();
                self.waiters(edge.waiter, here, level + 1, above);
            }
        }
    }

    fn row(
        &self,
        (parent, level): (usize, usize),
        pid: u32,
        (statement, event): (StatementIndex, String),
        sums: Sums,
    ) -> BlockerRow {
        let person = self.blockers.people.get(&pid);
        let process = person.map_or_else(|| pid.to_string(), |person| person.label.clone());
        let state = person.map_or("", |person| person.state.name()).to_string();
        BlockerRow { parent, level, process, state, statement, event, samples: sums.samples, time: sums.time }
    }
}
