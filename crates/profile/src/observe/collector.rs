//! The observer that fills the tables of a profile.
//!
//! Calls and waits come by the ten million, so that each is added in one place, and the tables are made of these sums.
//! Numbers arrive within the budget of the accounting: plain addition does not overflow.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use measure::sorting;
use measure::wait_class::Class;

use crate::event::{
    Accounted, Binds, Call, Child, Context, EventIndex, Failure, Merge, Observer, Placement, PlanLine, Problem,
    ProblemKind, Root, ScopeIndex, Segment, StatementIndex, Ticks, Transaction, Wait, merge_fields,
};
use crate::observe::activity::ActivityByClock;
use crate::observe::plans::{Block, Plans};
use crate::observe::sessions::Sessions;
use crate::observe::work::{CallName, Key, Rows, Work};
use crate::tables::growing::entry;
use crate::tables::histogram::HISTOGRAM_BUCKETS;
use crate::tables::session_statement::SessionStatementSums;
use crate::tables::sorted_list::SortedList;
use crate::tables::{
    BlockSums, CallSums, CallerSums, EventSums, Profile, ScopeSums, SessionProfile, StatementProfile, ThinkTime,
};

/// A wait for the client this long is think time, unless the user says otherwise: people, not programs.
pub const THINK_TIME: Ticks = Ticks::from_micros(1_000_000);

/// Most (event, file) pairs that are kept apart: few databases have more files, but a damaged trace can seem to.
const FILES: usize = 1 << 12;

/// Error numbers that are counted one by one, of all calls and of those of a statement: a damaged trace could have
/// another one in each line.
const ERRORS: usize = 1 << 12;
const ERRORS_OF_STATEMENT: usize = 1 << 6;

/// Executions of a statement whose bind values are kept, where any are.
const BINDS: usize = 5;

/// Most pairs of a statement and its caller that are kept; the tree of calls of what comes later is not known.
const CALLERS: usize = 1 << 15;

/// Rows that are added to the tables before it is looked whether these have too many sessions.
const ROWS_BETWEEN_FOLDS: usize = 1 << 11;

/// Blocks of one wait above this are no count of blocks.
const BLOCKS_GREATEST: i64 = 1 << 32;

/// Sums of a statement. There can be as many statements as calls, so that it is kept small.
#[derive(Clone, Debug, Default)]
struct StatementSums {
    calls: SortedList<u16, CallSums>,
    waits: SortedList<EventIndex, EventSums>,
    plans: Option<Box<Plans>>,
    errors: BTreeMap<Option<i64>, u64>,
    think_time: Option<Box<ThinkTime>>,
    binds: Vec<Vec<String>>,
}

impl StatementSums {
    /// The profile of a statement with the executions whose plan found no room; `None` where nothing is known of it.
    fn finish(self, place: usize, goal: u8, context: &Context) -> Option<(StatementProfile, u64)> {
        let is_known =
            self.plans.is_some() || !self.errors.is_empty() || !self.calls.is_empty() || !self.waits.is_empty();
        let (plans, left_out) = self.plans.map(|plans| plans.finish()).unwrap_or_default();
        let mut profile = StatementProfile {
            statement: StatementIndex(place as u32),
            calls: self.calls,
            waits: self.waits,
            goal,
            binds: self.binds,
            errors: self.errors,
            plans,
            think_time: self.think_time.map(|think_time| *think_time).unwrap_or_default(),
            ..StatementProfile::default()
        };
        for sums in profile.calls.values() {
            profile.own.merge(&sums.own);
            profile.inclusive.merge(&sums.inclusive());
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
    /// The sums of calls and waits that are not in the tables yet.
    rows: Rows,
    sessions: Sessions,
    statements: Vec<StatementSums>,
    /// The goals of the optimizer by statement, the last one of each.
    goals: Vec<u8>,
    scopes: Vec<ScopeSums>,
    files: Vec<((EventIndex, i64), BlockSums)>,
    file_places: HashMap<(EventIndex, i64), usize, RandomState>,
    /// Where the last wait for a block was added: files come in runs.
    last_file: usize,
    /// A wait for the client this long is think time.
    think_time: Ticks,
    errors: BTreeMap<Option<i64>, u64>,
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
    activity: ActivityByClock,
}

impl Collector {
    /// Nothing collected yet. Waits for the client from `think_time` on are think time.
    pub fn new(think_time: Ticks) -> Collector {
        Collector { think_time, ..Collector::default() }
    }

    /// The profile, with what the accounting knows.
    pub fn finish(mut self, mut accounted: Accounted) -> Profile {
        self.close_block();
        self.add_rows();
        drop(std::mem::take(&mut self.rows));
        let mut problems = std::mem::take(&mut accounted.problems);
        let sessions = std::mem::take(&mut self.sessions).finish(&mut accounted);
        let mut whole = SessionProfile::default();
        sessions.sessions.iter().for_each(|session| whole.merge(session));
        let (statements, plans_left_out) = self.finish_statements(&accounted.context);
        problems.extend(Problem::without_place(ProblemKind::FilesShared, self.files_shared));
        problems.extend(Problem::without_place(ProblemKind::BlocksRefused, self.blocks_refused));
        problems.extend(Problem::without_place(ProblemKind::PlansLeftOut, plans_left_out));
        problems.extend(Problem::without_place(ProblemKind::SessionsFolded, sessions.folded));
        let scopes = self.scopes.into_iter().enumerate().filter(|(_, sums)| *sums != ScopeSums::default());
        let error = |(event, squares): (EventIndex, f64)| (event, Ticks(squares.sqrt() as i64));
        Profile {
            whole,
            sessions: sessions.sessions,
            session_statements: sessions.statements,
            sessions_folded: sessions.folded,
            statements,
            scopes: sorting::map(scopes.map(|(place, sums)| (ScopeIndex(place as u32), sums))),
            files: sorting::map(self.files),
            estimated: sorting::map(self.variances.into_iter().map(error)),
            errors: self.errors,
            callers: sorting::map(self.callers),
            first_clock: accounted.clocks.map(|(first, _)| first),
            last_clock: accounted.clocks.map(|(_, last)| last),
            unread: accounted.unread,
            problems,
            context: accounted.context,
            sampled: None,
            active: self.activity.finish(),
        }
    }

    /// The profiles of the statements, and the executions whose plans found no room.
    fn finish_statements(&mut self, context: &Context) -> (Vec<StatementProfile>, u64) {
        let mut statements = Vec::with_capacity(self.statements.len());
        let mut plans_left_out = 0;
        for (place, sums) in std::mem::take(&mut self.statements).into_iter().enumerate() {
            let goal = self.goals.get(place).copied().unwrap_or_default();
            if let Some((profile, left_out)) = sums.finish(place, goal, context) {
                plans_left_out += left_out;
                statements.push(profile);
            }
        }
        (statements, plans_left_out)
    }

    /// The row of a statement in a session under a scope.
    #[inline]
    fn row(&mut self, key: Key) -> &mut Work {
        let place = match self.rows.recent(key) {
            Some(place) => place,
            None => self.make_row(key),
        };
        self.rows.row(place)
    }

    #[inline(never)]
    fn make_row(&mut self, key: Key) -> usize {
        if let Some(place) = self.rows.search(key) {
            return place;
        }
        self.add_rows();
        self.rows.search(key).unwrap_or_default()
    }

    /// Adds the rows to the tables.
    fn add_rows(&mut self) {
        let mut rows = self.rows.take();
        for (number, row) in rows.iter_mut().enumerate() {
            self.add_row(row);
            if number % ROWS_BETWEEN_FOLDS == 0 {
                self.sessions.make_room();
            }
        }
        self.sessions.make_room();
        self.rows.put_back(rows);
    }

    fn add_row(&mut self, Work { key, calls, waits }: &mut Work) {
        let mut in_session = SessionStatementSums::default();
        let session = self.sessions.sums(key.session);
        let statement = entry(&mut self.statements, key.statement.0 as usize);
        let scope = entry(&mut self.scopes, key.scope.0 as usize);
        for (name, sums) in &*calls {
            session.calls.entry_or_default(*name).merge(sums);
            scope.calls += sums.calls;
            scope.own.merge(&sums.own);
            in_session.calls += sums.calls;
            in_session.rows += sums.rows;
            in_session.own.merge(&sums.own);
        }
        for (event, sums) in &*waits {
            session.events.entry_or_default(*event).merge(sums);
            scope.waits += sums.count;
            scope.inside += sums.inside;
            scope.between += sums.between;
            in_session.between += sums.between;
        }
        if statement.calls.is_empty() && statement.waits.is_empty() {
            // Most statements have one row.
            (statement.calls, statement.waits) = (calls.take_as(CallName::name), waits.take_as(|event| event));
        } else {
            calls.iter().for_each(|(name, sums)| statement.calls.entry_or_default(name.name()).merge(sums));
            statement.waits.merge(waits);
        }
        self.sessions.add_statement((key.session, key.statement), &in_session);
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
        // As its class counts it: a pause that was sampled by its samples.
        let one = ThinkTime { count: wait.count(), total: wait.elapsed };
        self.sessions.add_think_time(wait, &one);
        self.statement(wait.statement).think_time.get_or_insert_default().merge(&one);
    }
}

impl Observer for Collector {
    fn begin_file(&mut self, _name: &str) {
        self.activity.begin_file();
    }

    fn call(&mut self, context: &Context, call: &Call) {
        self.activity.call(context, call);
        self.row(Key::of_call(call)).add_call(call);
        if call.goal > 0 {
            *entry(&mut self.goals, call.statement.0 as usize) = call.goal;
        }
    }

    fn wait(&mut self, context: &Context, wait: &Wait) {
        let event = context.event(wait.event);
        let blocks = self.blocks(event.and_then(|event| event.blocks), wait);
        self.row(Key::of_wait(wait)).add_wait(wait, blocks, bucket_of(wait.elapsed));
        let is_client = event.is_some_and(|event| event.is_client);
        let is_think_time = is_client && wait.whole_pause() >= self.think_time;
        let class = event.map_or(Class::Other, |event| event.class);
        self.activity.wait(context, wait, if is_think_time { Class::ThinkTime } else { class });
        if is_think_time {
            entry(&mut self.scopes, wait.scope.0 as usize).think_time += wait.elapsed;
        } else if !is_client && event.is_some_and(|event| event.class.is_idle()) {
            entry(&mut self.scopes, wait.scope.0 as usize).idle += wait.elapsed;
        }
        let file = event.and_then(|event| event.file);
        if let Some(file) = file.and_then(|place| wait.parameters.get(usize::from(place))) {
            self.add_file(wait, *file, blocks);
        }
        if is_think_time {
            self.add_think_time(wait);
        }
        if wait.elapsed_error != Ticks::ZERO {
            *self.variances.entry(wait.event).or_default() += (wait.elapsed_error.0 as f64).powi(2);
        }
    }

    fn root(&mut self, _context: &Context, root: &Root) {
        let session = self.sessions.sums(root.session);
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
        count_error(&mut self.errors, failure.code, ERRORS);
        count_error(&mut self.statement(failure.statement).errors, failure.code, ERRORS_OF_STATEMENT);
    }

    fn transaction(&mut self, _context: &Context, transaction: &Transaction) {
        self.sessions.end_transaction(transaction);
    }

    fn segment(&mut self, _context: &Context, segment: &Segment) {
        self.sessions.add_segment(segment);
    }
}

fn count_error(errors: &mut BTreeMap<Option<i64>, u64>, code: i64, room: usize) {
    let is_apart = errors.len() < room || errors.contains_key(&Some(code));
    *errors.entry(is_apart.then_some(code)).or_default() += 1;
}

impl CallSums {
    /// Adds a call.
    #[inline]
    pub fn add(&mut self, call: &Call) {
        self.calls += 1;
        self.rows += call.rows;
        self.misses += call.misses;
        self.own.merge(&call.own);
        if call.inclusive != call.own {
            self.add_children_of(call);
        }
    }

    #[inline(never)]
    fn add_children_of(&mut self, call: &Call) {
        let mut children = call.inclusive;
        children -= call.own;
        self.add_children(&children);
    }
}

impl EventSums {
    /// Adds a wait whose bucket of the histogram is known.
    #[inline]
    pub(super) fn add_to_bucket(&mut self, wait: &Wait, blocks: u64, bucket: usize) {
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
    use crate::event::SessionIndex;
    use crate::observe::tests::{context, fetch, wait};
    use crate::observe::work::ROWS;
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
    fn a_row_whose_memory_is_used_again_has_nothing_of_the_one_before() {
        let context = context(&[("db file sequential read", &[])]);
        let mut collector = Collector::new(THINK_TIME);
        let statements = 2 * ROWS as u32 + 77;
        for session in [0, 1].map(SessionIndex) {
            for number in 0..statements {
                collector.call(&context, &Call { session, ..fetch(number, 1, 0, u64::from(number)) });
                // 3 does not divide the rows: one that had a wait has none when it is used again.
                if (number + session.0).is_multiple_of(3) {
                    let statement = StatementIndex(number);
                    collector.wait(&context, &Wait { session, statement, ..wait(0, 10, [0; 3]) });
                }
            }
        }
        let profile = collector.finish(Accounted { context, ..Accounted::default() });
        assert_eq!(profile.statements.len(), statements as usize);
        for (number, statement) in (0..).zip(&profile.statements) {
            let calls: u64 = statement.calls.values().map(|sums| sums.calls).sum();
            let rows: u64 = statement.calls.values().map(|sums| sums.rows).sum();
            let waits: u64 = statement.waits.values().map(|sums| sums.count).sum();
            let expected = (0..2).filter(|session| (number + session) % 3 == 0).count() as u64;
            assert_eq!((calls, rows, waits), (2, 2 * number, expected), "statement {number}");
        }
    }

    #[test]
    fn another_error_number_in_each_line_fills_no_memory() {
        let context = context(&[]);
        let mut collector = Collector::new(THINK_TIME);
        let failures = 2 * ERRORS as i64;
        for code in (1..=failures).chain([1]) {
            let (session, statement) = (SessionIndex(0), StatementIndex(0));
            collector.failure(&context, &Failure { session, statement, code, time: None, offset: 0 });
        }
        let profile = collector.finish(Accounted { context, ..Accounted::default() });
        let statement = &profile.statements[0].errors;
        assert_eq!((profile.errors.len(), statement.len()), (ERRORS + 1, ERRORS_OF_STATEMENT + 1));
        for errors in [&profile.errors, statement] {
            assert_eq!((errors.values().sum::<u64>(), errors[&Some(1)]), (failures as u64 + 1, 2), "none is lost");
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
