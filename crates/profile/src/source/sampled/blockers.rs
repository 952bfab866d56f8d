//! Who waits for whom: the time of waits for locks, charged to the session that holds what is waited for.
//!
//! Who blocks is asked seldom, because the question stops the server's lock manager for a moment. In between the answer
//! holds as long as the session goes on waiting; what it waited before the first answer is charged when that comes.
//!
//! Each wait is charged below the session at the top of its chain at that time. Chains change: a session that waited is
//! later one that blocks, and what waits for it then is not charged to the session that it waited for.

use std::collections::{BTreeMap, HashMap};
use std::iter;

use foldhash::fast::RandomState;
use measure::sorting;

use super::held::Weight;
use super::names::NO_STATEMENT;
use super::sample::{LOCK, Sample, State};
use crate::event::{Context, EventIndex, StatementIndex, Ticks};
use crate::tables::sampled::BlockerRow;

/// Most pairs of a session that waits and one that it waits for, by the top of their chain, statement and event. Where
/// sessions queue for a row, each answer brings further pairs: the one at the top is a different one each time.
const EDGES_MAX: usize = 1 << 16;

/// Most sessions whose names are kept.
const PEOPLE_MAX: usize = 1 << 13;

/// The first of the numbers of our own: no process has one as high.
const OWN_NUMBERS: u32 = 1 << 31;

/// Most levels of the tree: sessions that wait for sessions that wait. Further ones stand in the last level.
const LEVELS_MAX: usize = 16;

/// The process that holds the locks of a prepared transaction: none.
const PREPARED: &str = "a prepared transaction";

/// Waits of a session for another, by the numbers of their backends in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    /// The session at the top of the chain at that time: it blocks and waits for none.
    top: u32,
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

/// The waits below one session, and their sums.
#[derive(Default)]
struct Below {
    all: Sums,
    edges: Vec<(Edge, Sums)>,
}

/// A session as the tree names it.
#[derive(Clone, Debug)]
struct Person {
    /// When its backend was started, 0 where that is not known.
    start: i64,
    label: String,
    state: State,
    statement: StatementIndex,
}

/// All waits for locks so far.
#[derive(Clone, Debug, Default)]
pub(in crate::source) struct Blockers {
    /// By session that waits: whom it waits for, as far as was asked.
    known: HashMap<u32, u32, RandomState>,
    /// By session that waits: the top of its chain, as far as that was followed.
    tops: HashMap<u32, u32, RandomState>,
    /// By session that waits: what it waited since it was asked last.
    pending: HashMap<u32, Vec<(StatementIndex, EventIndex, Sums)>, RandomState>,
    edges: BTreeMap<Edge, Sums>,
    /// By process number, the number of the backend that has it now, where another one had it before.
    numbers: HashMap<u32, u32, RandomState>,
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
            Some(blocker) => {
                let top = self.top(pid);
                self.charge(self.edge([top, blocker, pid], (statement, event)), sums);
            }
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
            if self.known.remove(&pid).is_some() {
                // It is the top of the chains of those that wait for it now.
                self.tops.clear();
            }
            for (_, _, sums) in self.pending.remove(&pid).into_iter().flatten() {
                self.unknown.add(sums);
            }
        }
        self.note(sample, statement);
    }

    /// Notes what a session does for its line in the tree alone: one that goes on with its pause waits for no lock.
    pub(super) fn note(&mut self, sample: &Sample, statement: StatementIndex) {
        if self.people.is_empty() {
            return;
        }
        let number = self.number(sample.backend.pid);
        if let Some(person) = self.people.get_mut(&number) {
            (person.state, person.statement) = (sample.state, statement);
        }
    }

    /// Notes the backend of a process. Where another one had its number before, that one has ended: this one has a line
    /// of its own.
    pub(super) fn meet(&mut self, sample: &Sample) {
        let (pid, start) = (sample.backend.pid, sample.backend.start);
        let (number, count) = (self.number(pid), self.people.len());
        let known = self.people.get_mut(&number).filter(|known| start != 0 && known.start != start);
        let Some(known) = known else { return };
        if known.start == 0 {
            // An answer named it before a sample did.
            (known.start, known.label) = (start, sample.backend.label());
            return;
        }
        if count >= PEOPLE_MAX {
            return;
        }
        // None is ever forgotten, so that each has another number.
        let number = OWN_NUMBERS + count as u32;
        self.numbers.insert(pid, number);
        let label = sample.backend.label();
        self.people.insert(number, Person { start, label, state: sample.state, statement: NO_STATEMENT });
        self.known.retain(|waiter, blocker| *waiter != pid && *blocker != pid);
        self.tops.clear();
        for (_, _, sums) in self.pending.remove(&pid).into_iter().flatten() {
            self.unknown.add(sums);
        }
    }

    /// The number under which the backend of a process stands in the tree: that of the process, unless another backend
    /// had it before.
    fn number(&self, pid: u32) -> u32 {
        self.numbers.get(&pid).copied().unwrap_or(pid)
    }

    /// The waits of a process, with the top of its chain and the process that it waits for before it.
    fn edge(&self, processes: [u32; 3], (statement, event): (StatementIndex, EventIndex)) -> Edge {
        let [top, blocker, waiter] = processes.map(|pid| self.number(pid));
        Edge { top, blocker, waiter, statement, event }
    }

    /// The session at the top of the chain of one that waits; in a circle, the one with the lowest number.
    fn top(&mut self, waiter: u32) -> u32 {
        let (mut chain, mut at) = (Vec::new(), waiter);
        let top = loop {
            if let Some(top) = self.tops.get(&at).copied() {
                break top;
            }
            let Some(next) = self.known.get(&at).copied() else { break at };
            // A chain is as long only where it leads into a circle.
            if chain.len() > self.known.len() {
                break self.lowest_of_circle(at);
            }
            chain.push(at);
            at = next;
        };
        self.tops.extend(chain.into_iter().map(|session| (session, top)));
        top
    }

    fn lowest_of_circle(&self, member: u32) -> u32 {
        let (mut lowest, mut next) = (member, self.known.get(&member).copied());
        while let Some(session) = next.filter(|session| *session != member) {
            lowest = lowest.min(session);
            next = self.known.get(&session).copied();
        }
        lowest
    }

    /// Charges a wait. Where there is no room for it, it joins the waits below its blocker: the one at the top is lost,
    /// and not the one that held the lock.
    fn charge(&mut self, edge: Edge, sums: Sums) {
        let below_blocker = Edge { top: edge.blocker, ..edge };
        let has_room = self.edges.len() < EDGES_MAX;
        let found = [edge, below_blocker].into_iter().find(|edge| has_room || self.edges.contains_key(edge));
        match found {
            Some(edge) => self.edges.entry(edge).or_default().add(sums),
            None => self.unknown.add(sums),
        }
    }

    /// Takes an answer: sessions that wait, each with those that it waits for. `samples` are of the last look before it
    /// came.
    pub(super) fn learn(&mut self, answer: &[(u32, Vec<u32>)], samples: &[(&Sample, StatementIndex)]) {
        self.known.clear();
        self.tops.clear();
        for (waiter, blockers) in answer {
            let Some(blocker) = blockers.first().copied() else { continue };
            self.known.insert(*waiter, blocker);
            for pid in [*waiter, blocker] {
                let number = self.number(pid);
                if self.people.len() < PEOPLE_MAX {
                    self.people.entry(number).or_insert_with(|| person(pid, samples));
                }
            }
        }
        // All chains are known now.
        for waiter in answer.iter().map(|(waiter, _)| *waiter) {
            let Some(blocker) = self.known.get(&waiter).copied() else { continue };
            let top = self.top(waiter);
            for (statement, event, sums) in self.pending.remove(&waiter).into_iter().flatten() {
                self.charge(self.edge([top, blocker, waiter], (statement, event)), sums);
            }
        }
    }

    /// The tree: each session that blocked others while it waited for none, with those that waited for it below, by
    /// time.
    pub(super) fn rows(&self, context: &Context) -> Vec<BlockerRow> {
        let mut tops: BTreeMap<u32, Below> = BTreeMap::new();
        for (edge, sums) in &self.edges {
            let below = tops.entry(edge.top).or_default();
            below.all.add(*sums);
            below.edges.push((*edge, *sums));
        }
        let mut ranked: Vec<(u32, Below)> = tops.into_iter().collect();
        sorting::by_key(&mut ranked, |(top, below)| (std::cmp::Reverse(below.all.time), *top));
        let mut tree = Tree { blockers: self, context, waiters: HashMap::default(), rows: Vec::new() };
        for (top, mut below) in ranked {
            sorting::by_key(&mut below.edges, |(_, sums)| std::cmp::Reverse(sums.time));
            tree.root(top, below);
        }
        tree.rows
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
    Person { start: found.map_or(0, |(sample, _)| sample.backend.start), label, state, statement }
}

/// The lines of the tree so far.
struct Tree<'a> {
    blockers: &'a Blockers,
    context: &'a Context,
    /// By session below the one at the top that is listed: those that waited for it, by time, until they are listed.
    waiters: HashMap<u32, Vec<(Edge, Sums)>, RandomState>,
    rows: Vec<BlockerRow>,
}

impl Tree<'_> {
    fn root(&mut self, pid: u32, Below { all, edges }: Below) {
        let person = self.blockers.people.get(&pid);
        let statement = person.map_or(StatementIndex(0), |person| person.statement);
        self.rows.push(self.row((0, 0), pid, (statement, String::new()), all));
        let root = self.rows.len();
        let blockers: Vec<u32> = edges.iter().map(|(edge, _)| edge.blocker).collect();
        for (edge, sums) in edges {
            self.waiters.entry(edge.blocker).or_default().push((edge, sums));
        }
        // A session whose own wait no sample met has no line: those that waited for it stand below the top.
        iter::once(pid).chain(blockers).for_each(|blocker| self.below(blocker, root));
    }

    /// The sessions that waited for this one, by time; the ones below each stand under its first line. No call for each
    /// level: as many sessions may wait for one another as a server has.
    fn below(&mut self, blocker: u32, root: usize) {
        let waiters = self.waiters.remove(&blocker).unwrap_or_default();
        let mut open = vec![(waiters.into_iter(), root, 1)];
        while let Some((waiters, parent, level)) = open.last_mut() {
            let (parent, level) = (*parent, *level);
            let Some((edge, sums)) = waiters.next() else {
                open.pop();
                continue;
            };
            let event = self.context.event_name(edge.event).to_string();
            self.rows.push(self.row((parent, level), edge.waiter, (edge.statement, event), sums));
            if let Some(waiters) = self.waiters.remove(&edge.waiter) {
                let (parent, level) = if level < LEVELS_MAX { (self.rows.len(), level + 1) } else { (parent, level) };
                open.push((waiters.into_iter(), parent, level));
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use measure::random::SplitMix64;

    use super::super::sample::{Backend, CLIENT};
    use super::*;

    const LOOK: Sums = Sums { samples: 1, time: Ticks::from_micros(1_000) };

    fn waiting(pid: u32) -> Sample {
        Sample {
            backend: Arc::new(Backend { pid, kind: CLIENT.into(), ..Backend::default() }),
            state: State::Active,
            event: Some("Lock:tuple".into()),
            query_id: None,
            query_start: None,
            text: None,
            processor: None,
        }
    }

    #[test]
    fn the_waits_of_sessions_that_queue_for_a_row_are_all_charged() {
        let (mut blockers, mut random) = (Blockers::default(), SplitMix64::new(7));
        let mut queue: Vec<u32> = (1..=30).collect();
        for _ in 0..200 {
            for place in 1..queue.len() {
                queue.swap(place, random.below(place as u64 + 1) as usize);
            }
            // Each waits for the one before it, and the first for none.
            let answer: Vec<(u32, Vec<u32>)> = queue.windows(2).map(|pair| (pair[1], vec![pair[0]])).collect();
            blockers.learn(&answer, &[]);
            for pid in &queue[1..] {
                let weight = Weight { looks: LOOK.samples, time: LOOK.time };
                blockers.add(&waiting(*pid), (StatementIndex(1), EventIndex(1)), weight);
            }
        }
        assert_eq!(blockers.unknown(), Ticks::ZERO);
        assert_eq!(blockers.edges.values().map(|sums| sums.samples).sum::<u64>(), 200 * 29);
    }

    #[test]
    fn a_process_that_an_answer_names_before_a_sample_is_not_taken_for_the_next_one_of_its_number() {
        let sample = |start: i64, user: &str| {
            let backend = Backend { start, user: user.into(), ..(*waiting(7).backend).clone() };
            Sample { backend: Arc::new(backend), event: None, ..waiting(7) }
        };
        let mut blockers = Blockers::default();
        let block = |blockers: &mut Blockers| {
            blockers.learn(&[(8, vec![7])], &[]);
            let weight = Weight { looks: LOOK.samples, time: LOOK.time };
            blockers.add(&waiting(8), (StatementIndex(1), EventIndex(1)), weight);
        };
        block(&mut blockers);
        for (start, user) in [(50, "ada"), (50, "ada"), (99, "bob")] {
            blockers.meet(&sample(start, user));
            block(&mut blockers);
        }
        let rows = blockers.rows(&Context::default());
        let tops = rows.iter().filter(|row| row.level == 0).map(|row| (row.process.as_str(), row.samples));
        assert_eq!(tops.collect::<Vec<_>>(), [("7 ada", 3), ("7 bob", 1)]);
    }

    #[test]
    fn a_queue_of_any_length_is_listed_and_takes_no_stack() {
        let mut blockers = Blockers::default();
        let waiters = 1..=60_000_u32;
        // Each waits for the one before it.
        let answer: Vec<(u32, Vec<u32>)> = waiters.clone().map(|pid| (pid, vec![pid - 1])).collect();
        blockers.learn(&answer, &[]);
        let weight = Weight { looks: LOOK.samples, time: LOOK.time };
        waiters.for_each(|pid| blockers.add(&waiting(pid), (StatementIndex(1), EventIndex(1)), weight));
        let rows = blockers.rows(&Context::default());
        assert_eq!(rows.len(), 1 + 60_000);
        let levels: Vec<usize> = rows.iter().map(|row| row.level).collect();
        assert!(levels.is_sorted() && levels.last() == Some(&LEVELS_MAX), "{:?}", levels.last());
    }

    #[test]
    fn a_pair_that_finds_no_room_below_the_top_of_its_chain_joins_the_waits_below_its_blocker() {
        let mut blockers = Blockers::default();
        let edge =
            |top, blocker, waiter| Edge { top, blocker, waiter, statement: StatementIndex(1), event: EventIndex(1) };
        blockers.charge(edge(1, 1, 2), LOOK);
        (0..EDGES_MAX as u32 - 1).for_each(|top| blockers.charge(edge(10 + top, 3, 4), LOOK));
        assert_eq!((blockers.edges.len(), blockers.unknown()), (EDGES_MAX, Ticks::ZERO));
        blockers.charge(edge(9, 1, 2), LOOK);
        assert_eq!((blockers.edges[&edge(1, 1, 2)].samples, blockers.unknown()), (2, Ticks::ZERO));
        blockers.charge(edge(9, 3, 2), LOOK);
        assert_eq!(blockers.unknown(), LOOK.time);
    }
}
