//! The observer that fills the tables of a profile.
//!
//! Calls and waits come by the ten million, so that sums are kept in lists by index and become maps only at the end.
//! Numbers arrive within the budget of the accounting: plain addition does not overflow.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;

use crate::event::{
    Accounted, Binds, Call, Child, Context, EventIndex, Failure, Merge, Observer, Placement, PlanLine, Problem,
    ProblemKind, Root, ScopeIndex, Segment, SessionIndex, StatementIndex, Ticks, Transaction, Wait, merge_fields,
};
use crate::observe::plans::{Block, Plans};
use crate::tables::histogram::HISTOGRAM_BUCKETS;
use crate::tables::sorted_list::SortedList;
use crate::tables::{
    BlockSums, CallSums, CallerSums, EventSums, Profile, ScopeSums, SessionProfile, StatementProfile, ThinkTime,
    Transactions,
};

/// A wait for the client this long is think time, unless the user says otherwise: people, not programs.
pub const THINK_TIME: Ticks = Ticks::from_micros(1_000_000);

/// Most (event, file) pairs that are kept apart: no database has more files, but a damaged trace can seem to.
const FILES: usize = 1 << 17;

/// Executions of a statement whose bind values are kept, where any are.
const BINDS: usize = 5;

/// Most pairs of a statement and its caller that are kept; the tree of calls of what comes later is not known.
const CALLERS: usize = 1 << 17;

/// Blocks of one wait above this are no count of blocks.
const BLOCKS_GREATEST: i64 = 1 << 32;

/// Sums of a session, by index.
#[derive(Clone, Debug, Default)]
struct SessionSums {
    /// By twice the index of the name, plus one for recursive calls.
    calls: Vec<CallSums>,
    /// By the places that `event_places` gives: a session waits for a few of all events.
    events: Vec<(EventIndex, EventSums)>,
    /// By the index of the event, one more than its place; 0 where it has none.
    event_places: Vec<u16>,
    think_time: BTreeMap<EventIndex, ThinkTime>,
    transactions: Transactions,
    interval: Ticks,
    segments: u64,
    roots: u64,
    orphans: u64,
    roots_elapsed: Ticks,
}

/// Sums of a statement. There can be as many statements as calls, so that it is kept small.
#[derive(Clone, Debug, Default)]
struct StatementSums {
    calls: SortedList<u16, CallSums>,
    waits: SortedList<EventIndex, EventSums>,
    plans: Option<Box<Plans>>,
    errors: BTreeMap<i64, u64>,
    think_time: Option<Box<ThinkTime>>,
    goal: u8,
    binds: Vec<Vec<String>>,
}

impl StatementSums {
    /// The profile of a statement with the executions whose plan found no room; `None` where nothing is known of it.
    fn finish(self, place: usize, context: &Context) -> Option<(StatementProfile, u64)> {
        let is_known =
            self.plans.is_some() || !self.errors.is_empty() || !self.calls.is_empty() || !self.waits.is_empty();
        let (plans, left_out) = self.plans.map(|plans| plans.finish()).unwrap_or_default();
        let mut profile = StatementProfile {
            statement: StatementIndex(place as u32),
            calls: self.calls,
            waits: self.waits,
            goal: self.goal,
            binds: self.binds,
            errors: self.errors,
            plans,
            think_time: self.think_time.map(|think_time| *think_time).unwrap_or_default(),
            ..StatementProfile::default()
        };
        for sums in profile.calls.values() {
            profile.own.merge(&sums.own);
            profile.inclusive.merge(&sums.inclusive);
        }
        profile.inside = profile.waits.values().map(|sums| sums.inside).sum();
        profile.between = profile.waits.values().map(|sums| sums.between).sum();
        let is_idle = |event: &EventIndex| context.event(*event).is_some_and(|event| event.class.is_idle());
        profile.idle = profile.waits.iter().filter(|(event, _)| is_idle(event)).map(|(_, sums)| sums.total).sum();
        is_known.then_some((profile, left_out))
    }
}

/// Fills the tables of a profile.
#[derive(Clone, Debug, Default)]
pub struct Collector {
    sessions: Vec<SessionSums>,
    statements: Vec<StatementSums>,
    scopes: Vec<ScopeSums>,
    files: Vec<((EventIndex, i64), BlockSums)>,
    file_places: HashMap<(EventIndex, i64), usize, RandomState>,
    /// Where the last wait for a block was added: files come in runs.
    last_file: usize,
    /// A wait for the client this long is think time.
    think_time: Ticks,
    errors: BTreeMap<i64, u64>,
    /// The lines of a plan that are being read.
    block: Block,
    files_shared: u64,
    blocks_refused: u64,
    /// Calls of a statement that another one made, by both.
    callers: Vec<((StatementIndex, StatementIndex), CallerSums)>,
    caller_places: HashMap<(StatementIndex, StatementIndex), usize, RandomState>,
    /// Where the last one was added: a call makes many of a kind.
    last_caller: usize,
    /// Sums of the squared errors of estimated waits, in ticks².
    variances: BTreeMap<EventIndex, f64>,
}

impl Collector {
    /// Nothing collected yet. Waits for the client from `think_time` on are think time.
    pub fn new(think_time: Ticks) -> Collector {
        Collector { think_time, ..Collector::default() }
    }

    /// The profile, with what the accounting knows.
    pub fn finish(mut self, accounted: Accounted) -> Profile {
        self.close_block();
        let mut problems = accounted.problems;
        let unplaced = |kind, count| Problem { kind, count, first_file: 0, first_offset: 0 };
        problems.extend((self.files_shared > 0).then(|| unplaced(ProblemKind::FilesShared, self.files_shared)));
        problems.extend((self.blocks_refused > 0).then(|| unplaced(ProblemKind::BlocksRefused, self.blocks_refused)));
        let finished = self.sessions.into_iter().enumerate().filter_map(|(place, sums)| sums.finish(place));
        let mut sessions: Vec<SessionProfile> = finished.collect();
        for session in &mut sessions {
            let holes = session.session.and_then(|index| accounted.holes.get(&index)).copied().unwrap_or_default();
            // Time that calls and waits took cannot be unrecorded, however the clocks stand.
            session.unrecorded = holes.min(session.unaccounted_between).max(Ticks::ZERO);
        }
        let mut whole = SessionProfile::default();
        sessions.iter().for_each(|session| whole.merge(session));
        let mut statements = Vec::with_capacity(self.statements.len());
        let mut plans_left_out = 0;
        for (place, sums) in self.statements.into_iter().enumerate() {
            if let Some((profile, left_out)) = sums.finish(place, &accounted.context) {
                plans_left_out += left_out;
                statements.push(profile);
            }
        }
        problems.extend((plans_left_out > 0).then(|| unplaced(ProblemKind::PlansLeftOut, plans_left_out)));
        let scopes = self.scopes.into_iter().enumerate().filter(|(_, sums)| *sums != ScopeSums::default());
        Profile {
            whole,
            sessions,
            statements,
            scopes: scopes.map(|(place, sums)| (ScopeIndex(place as u32), sums)).collect(),
            files: self.files.into_iter().collect(),
            estimated: self
                .variances
                .into_iter()
                .map(|(event, squares)| (event, Ticks(squares.sqrt() as i64)))
                .collect(),
            errors: self.errors,
            callers: self.callers.into_iter().collect(),
            first_clock: accounted.clocks.map(|(first, _)| first),
            last_clock: accounted.clocks.map(|(_, last)| last),
            unread: accounted.unread,
            problems,
            context: accounted.context,
        }
    }

    fn session(&mut self, index: SessionIndex) -> &mut SessionSums {
        entry(&mut self.sessions, index.0 as usize)
    }

    fn statement(&mut self, index: StatementIndex) -> &mut StatementSums {
        entry(&mut self.statements, index.0 as usize)
    }

    /// Blocks that a wait moved, by the parameter that has their number.
    fn blocks(&mut self, place: Option<u8>, wait: &Wait) -> u64 {
        match place.and_then(|place| wait.parameters.get(usize::from(place))) {
            None => 0,
            Some(blocks @ 0..=BLOCKS_GREATEST) => blocks.unsigned_abs(),
            Some(_) => {
                self.blocks_refused += 1;
                0
            }
        }
    }

    fn add_file(&mut self, wait: &Wait, file: i64, blocks: u64) {
        let key = (wait.event, file);
        if self.files.get(self.last_file).is_none_or(|(last, _)| *last != key) {
            let place = self.file_places.get(&key).copied().unwrap_or(self.files.len());
            if place >= FILES {
                self.files_shared += 1;
                return;
            }
            if place == self.files.len() {
                self.files.push((key, BlockSums::default()));
                self.file_places.insert(key, place);
            }
            self.last_file = place;
        }
        self.files[self.last_file].1.merge(&BlockSums { count: 1, total: wait.elapsed, blocks });
    }

    /// Adds the block of plan lines that is open to the plans of its statement.
    fn close_block(&mut self) {
        if let Some(statement) = self.block.statement() {
            entry(&mut self.statements, statement.0 as usize).plans.get_or_insert_default().close(&mut self.block);
        }
    }

    fn add_think_time(&mut self, wait: &Wait) {
        let one = ThinkTime { count: 1, total: wait.elapsed };
        self.session(wait.session).think_time.entry(wait.event).or_default().merge(&one);
        self.statement(wait.statement).think_time.get_or_insert_default().merge(&one);
    }
}

/// The element at this place of a list that grows on demand.
fn entry<T: Default>(list: &mut Vec<T>, place: usize) -> &mut T {
    if place >= list.len() {
        list.resize_with(place + 1, T::default);
    }
    &mut list[place]
}

impl Observer for Collector {
    fn call(&mut self, _context: &Context, call: &Call) {
        let place = 2 * usize::from(call.name) + usize::from(call.depth > 0);
        entry(&mut self.session(call.session).calls, place).add(call);
        let statement = self.statement(call.statement);
        statement.calls.entry_or_default(call.name).add(call);
        if call.goal > 0 {
            statement.goal = call.goal;
        }
        let scope = entry(&mut self.scopes, call.scope.0 as usize);
        scope.calls += 1;
        scope.own.merge(&call.own);
    }

    fn wait(&mut self, context: &Context, wait: &Wait) {
        let event = context.event(wait.event);
        let blocks = self.blocks(event.and_then(|event| event.blocks), wait);
        let bucket = bucket_of(wait.elapsed);
        self.session(wait.session).event(wait.event).add_to_bucket(wait, blocks, bucket);
        let statement = self.statement(wait.statement);
        statement.waits.entry_or_default(wait.event).add_to_bucket(wait, blocks, bucket);
        let scope = entry(&mut self.scopes, wait.scope.0 as usize);
        scope.waits += wait.count();
        match wait.placement {
            Placement::Inside(_) => scope.inside += wait.elapsed,
            Placement::Between => scope.between += wait.elapsed,
        }
        let file = event.and_then(|event| event.file);
        if let Some(file) = file.and_then(|place| wait.parameters.get(usize::from(place))) {
            self.add_file(wait, *file, blocks);
        }
        if event.is_some_and(|event| event.is_client) && wait.elapsed >= self.think_time {
            self.add_think_time(wait);
        }
        if wait.elapsed_error != Ticks::ZERO {
            *self.variances.entry(wait.event).or_default() += (wait.elapsed_error.0 as f64).powi(2);
        }
    }

    fn root(&mut self, _context: &Context, root: &Root) {
        let session = self.session(root.session);
        session.roots += root.calls;
        session.orphans += if root.depth > 0 { root.calls } else { 0 };
        session.roots_elapsed += root.inclusive.elapsed;
    }

    fn child(&mut self, _context: &Context, child: &Child) {
        let key = (child.parent, child.statement);
        if self.callers.get(self.last_caller).is_none_or(|(last, _)| *last != key) {
            let place = self.caller_places.get(&key).copied().unwrap_or(self.callers.len());
            if place >= CALLERS {
                return;
            }
            if place == self.callers.len() {
                self.callers.push((key, CallerSums::default()));
                self.caller_places.insert(key, place);
            }
            self.last_caller = place;
        }
        self.callers[self.last_caller].1.merge(&CallerSums { calls: child.calls, elapsed: child.elapsed });
    }

    fn binds(&mut self, _context: &Context, binds: &Binds) {
        let kept = &mut self.statement(binds.statement).binds;
        if kept.len() < BINDS {
            kept.push(binds.values.clone());
        }
    }

    fn plan_line(&mut self, _context: &Context, line: &PlanLine) {
        if self.block.ends_before(line) {
            self.close_block();
        }
        self.block.add(line);
    }

    fn failure(&mut self, _context: &Context, failure: &Failure) {
        *self.errors.entry(failure.code).or_default() += 1;
        *self.statement(failure.statement).errors.entry(failure.code).or_default() += 1;
    }

    fn transaction(&mut self, _context: &Context, transaction: &Transaction) {
        let transactions = &mut self.session(transaction.session).transactions;
        match (transaction.is_read_only, transaction.is_rollback) {
            (true, _) => transactions.read_only += 1,
            (false, true) => transactions.rollbacks += 1,
            (false, false) => transactions.commits += 1,
        }
    }

    fn segment(&mut self, _context: &Context, segment: &Segment) {
        let session = self.session(segment.session);
        session.interval += segment.last - segment.first;
        session.segments += 1;
    }
}

impl SessionSums {
    /// The sums of an event.
    #[inline]
    fn event(&mut self, index: EventIndex) -> &mut EventSums {
        let place = entry(&mut self.event_places, index.0 as usize);
        if *place == 0 {
            self.events.push((index, EventSums::default()));
            // There are fewer events than 2^16: the registry sees to it.
            *place = u16::try_from(self.events.len()).unwrap_or(u16::MAX);
        }
        &mut self.events[usize::from(*place) - 1].1
    }

    /// The profile of a session; `None` where it has neither a call nor a wait.
    fn finish(self, place: usize) -> Option<SessionProfile> {
        let mut profile = SessionProfile {
            session: Some(SessionIndex(place as u32)),
            interval: self.interval,
            roots: self.roots,
            orphans: self.orphans,
            interruptions: self.segments.saturating_sub(1),
            think_time: self.think_time,
            transactions: self.transactions,
            ..SessionProfile::default()
        };
        for (place, sums) in self.calls.into_iter().enumerate().filter(|(_, sums)| sums.calls > 0) {
            profile.calls.insert(((place / 2) as u16, place % 2 == 1), sums);
            profile.cpu += sums.own.cpu.unwrap_or_default();
        }
        let mut between = Ticks::ZERO;
        for (event, sums) in self.events {
            profile.waits += sums.total;
            between += sums.between;
            profile.events.insert(event, sums);
        }
        profile.waits_are_traced = !profile.events.is_empty();
        profile.response_time = self.roots_elapsed + between;
        profile.unaccounted_within = profile.response_time - profile.cpu - profile.waits;
        profile.unaccounted_between = profile.interval - profile.response_time;
        let is_empty = profile.calls.is_empty() && profile.events.is_empty();
        (!is_empty).then_some(profile)
    }
}

impl CallSums {
    /// Adds a call.
    pub fn add(&mut self, call: &Call) {
        self.calls += 1;
        self.rows += call.rows;
        self.misses += call.misses;
        self.own.merge(&call.own);
        self.inclusive.merge(&call.inclusive);
    }
}

impl EventSums {
    /// Adds a wait whose bucket of the histogram is known.
    fn add_to_bucket(&mut self, wait: &Wait, blocks: u64, bucket: usize) {
        let elapsed = wait.elapsed;
        // How long each wait of a sum was is not known.
        if wait.sum_of.is_none() {
            self.min = if self.count == 0 { elapsed } else { self.min.min(elapsed) };
            self.max = if self.count == 0 { elapsed } else { self.max.max(elapsed) };
            self.histogram.add(bucket, &BlockSums { count: 1, total: elapsed, blocks });
        }
        self.count += wait.count();
        self.total += elapsed;
        self.blocks += blocks;
        match wait.placement {
            Placement::Inside(_) => {
                self.inside_count += wait.count();
                self.inside += elapsed;
            }
            Placement::Between => {
                self.between_count += wait.count();
                self.between += elapsed;
            }
        }
    }
}

impl Merge for EventSums {
    fn merge(&mut self, other: &EventSums) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = if self.count == 0 { other.max } else { self.max.max(other.max) };
        merge_fields!(self, other: count, total, blocks, inside_count, inside, between_count, between, histogram);
    }
}

/// The bucket of a wait: 0 below 1 µs, else one more than the power of two of its whole microseconds.
pub fn bucket_of(elapsed: Ticks) -> usize {
    let micros = u64::try_from(elapsed.0 / Ticks::PER_MICROSECOND).unwrap_or(0);
    (u64::BITS - micros.leading_zeros()) as usize % HISTOGRAM_BUCKETS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::tests::{context, wait};
    use crate::tables::class_sums::class_sums;
    use measure::wait_class::Class;

    #[test]
    fn a_client_that_is_silent_is_think_time_whatever_its_database_calls_the_wait() {
        for client in ["SQL*Net message from client", "Client:ClientRead"] {
            let context = context(&[(client, &[])]);
            let mut collector = Collector::new(THINK_TIME);
            for micros in [2_000_000, 300] {
                let between = Wait { placement: Placement::Between, ..wait(0, micros, [0; 3]) };
                collector.wait(&context, &between);
            }
            let profile = collector.finish(Accounted { context, ..Accounted::default() });
            let classes = class_sums(&profile.whole, &profile.context);
            assert_eq!(classes[&Class::ThinkTime].total, Ticks::from_micros(2_000_000), "{client}");
            assert_eq!(classes[&Class::Network].total, Ticks::from_micros(300), "{client}");
        }
    }

    #[test]
    fn the_lower_edge_of_a_bucket_is_included() {
        let micros = |value| bucket_of(Ticks::from_micros(value));
        assert_eq!([0, 1, 2, 3, 4, 7, 8, 1023, 1024].map(micros), [0, 1, 2, 2, 3, 3, 4, 10, 11]);
        assert_eq!(bucket_of(Ticks(124)), 0);
        assert_eq!(bucket_of(Ticks(-1)), 0);
        assert_eq!(bucket_of(Ticks(i64::MAX)), 57);
    }
}
