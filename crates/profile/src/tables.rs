//! The tables of a profile: sums of calls and waits by session, event, scope, statement and plan line.
//!
//! Plain data that any source can fill. Times are exact [`Ticks`], so that
//! `interval = cpu + waits + unaccounted_within + unaccounted_between` holds to the last tick, for each session and
//! for the whole. Nothing here knows a trace file; nothing here renders.

pub mod active_over_time;
pub mod activity;
pub mod class_sums;
pub mod folding;
pub(crate) mod growing;
pub mod histogram;
pub mod read_tiers;
pub(crate) mod renamed;
pub mod sampled;
pub mod session_statement;
pub mod sorted_list;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event::{
    CallKind, Context, Cost, EventIndex, Merge, PlanFigures, Problem, ScopeIndex, SessionIndex, StatementIndex,
    StatementKind, Ticks, Unread, merge_fields, merged,
};
use crate::tables::active_over_time::ActiveOverTime;
pub use crate::tables::histogram::BlockSums;
use crate::tables::histogram::Histogram;
use crate::tables::sampled::Sampled;
use crate::tables::session_statement::SessionStatement;
use crate::tables::sorted_list::SortedList;

/// A profile: the whole, its sessions, its statements.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// What the indexes below mean.
    pub context: Context,
    /// Everything together. Its interval is the sum of the sessions' intervals: sessions overlap, and only that sum
    /// is what the sum of their response times can be held against.
    pub whole: SessionProfile,
    /// One a session that has at least one call or wait, in the order of their first lines.
    pub sessions: Vec<SessionProfile>,
    /// How many sessions with less time the last of these stands for; 0 where each stands for itself.
    pub sessions_folded: u64,
    /// What each statement did in each session, by session; empty where one session is all.
    pub session_statements: Vec<SessionStatement>,
    /// One a statement that has at least one call, wait or plan line, in the order of their first lines.
    pub statements: Vec<StatementProfile>,
    /// Sums by module, action, service, client and container.
    pub scopes: BTreeMap<ScopeIndex, ScopeSums>,
    /// Blocks moved by (event, file number), for events whose parameters name a file.
    pub files: BTreeMap<(EventIndex, i64), BlockSums>,
    /// Standard errors of the total times of events whose waits are estimates.
    pub estimated: BTreeMap<EventIndex, Ticks>,
    /// Calls that failed, by error number; those of too many numbers under `None`.
    pub errors: BTreeMap<Option<i64>, u64>,
    /// Calls of a statement that calls of another one made: (caller, called).
    pub callers: BTreeMap<(StatementIndex, StatementIndex), CallerSums>,
    /// Wall clock at the begin of the interval, in microseconds since 1970 as if it were UTC; `None` without any stamp.
    pub first_clock: Option<i64>,
    /// Wall clock at its end.
    pub last_clock: Option<i64>,
    /// Lines that no record was made of, by kind.
    pub unread: Vec<Unread>,
    /// Decisions and omissions of the accounting, by kind.
    pub problems: Vec<Problem>,
    /// How it was sampled; `None` where each call and each wait was recorded.
    pub sampled: Option<Box<Sampled>>,
    /// The sessions at work over time, or why that is not known.
    pub active: ActiveOverTime,
}

impl Profile {
    /// How many sessions there are, those included that share a row.
    pub fn session_count(&self) -> u64 {
        let rows = self.sessions.len() as u64;
        if self.sessions_folded > 0 { rows - 1 + self.sessions_folded } else { rows }
    }

    /// Forgets the texts of statements, with the literals in them.
    pub fn hide_texts(&mut self) {
        let has_text = |kind: StatementKind| matches!(kind, StatementKind::Declared | StatementKind::ParseError);
        let statements = self.context.statements.iter_mut();
        statements.filter(|known| has_text(known.kind)).for_each(|known| known.text.clear());
    }
}

/// Where the time of a session, or of all sessions, went.
#[derive(Clone, Debug, Default)]
pub struct SessionProfile {
    /// Which session; `None` for the whole.
    pub session: Option<SessionIndex>,
    /// From the start of its first timed line to the end of its last one, without the holes in between.
    pub interval: Ticks,
    /// Calls without a traced parent plus waits between calls.
    pub response_time: Ticks,
    /// CPU time of all calls, each counted once.
    pub cpu: Ticks,
    /// Time of all waits.
    pub waits: Ticks,
    /// Elapsed time of calls that is neither CPU nor a wait; below zero where CPU was burned inside a timed wait.
    pub unaccounted_within: Ticks,
    /// Interval less response time.
    pub unaccounted_between: Ticks,
    /// The part of it that lies between one file of the session and the next, where nothing was recorded.
    pub unrecorded: Ticks,
    /// Whether there is any wait at all: without one, the unaccounted time holds the waits.
    pub waits_are_traced: bool,
    /// Calls without a traced parent: depth 0, or a parent that was not traced.
    pub roots: u64,
    /// Those of them with a depth above 0.
    pub orphans: u64,
    /// How often its clock was interrupted; the interval leaves these holes out.
    pub interruptions: u64,
    /// Sums by (index into [`Context::call_names`], whether recursive).
    pub calls: BTreeMap<(u16, bool), CallSums>,
    /// Sums by event.
    pub events: BTreeMap<EventIndex, EventSums>,
    /// Its waits for the client that are think time, by event: releases spell one event differently.
    pub think_time: BTreeMap<EventIndex, ThinkTime>,
    /// Its transactions that ended.
    pub transactions: Transactions,
}

impl SessionProfile {
    /// Elapsed time of the calls without a traced parent: the response time without the waits between calls.
    pub fn in_calls(&self) -> Ticks {
        self.response_time - self.events.values().map(|sums| sums.between).sum()
    }
}

/// Sums over calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallSums {
    /// How many.
    pub calls: u64,
    /// Rows, own.
    pub rows: u64,
    /// Misses of the library cache, own.
    pub misses: u64,
    /// Without recursive children.
    pub own: Cost,
    /// The recursive children's; most calls have none.
    pub children: Option<Box<Cost>>,
}

impl CallSums {
    /// Those of no call.
    const NONE: CallSums = CallSums { calls: 0, rows: 0, misses: 0, own: Cost::NONE, children: None };

    /// Adds cost of recursive children.
    pub(crate) fn add_children(&mut self, children: &Cost) {
        self.children.get_or_insert_default().merge(children);
    }

    /// With recursive children; not to be summed over depths.
    pub fn inclusive(&self) -> Cost {
        let mut inclusive = self.own;
        if let Some(children) = &self.children {
            inclusive.merge(children);
        }
        inclusive
    }
}

impl Merge for CallSums {
    fn merge(&mut self, other: &CallSums) {
        merge_fields!(self, other: calls, rows, misses, own);
        if let Some(children) = &other.children {
            self.add_children(children);
        }
    }
}

/// Sums over calls that one statement made of another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallerSums {
    /// How many.
    pub calls: u64,
    /// Their time, with the calls that they made.
    pub elapsed: Ticks,
}

/// Sums over the waits for one event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventSums {
    /// How many.
    pub count: u64,
    /// Their time.
    pub total: Ticks,
    /// The shortest; zero where the source has sums alone.
    pub min: Ticks,
    /// The longest; zero where the source has sums alone.
    pub max: Ticks,
    /// Waits inside calls.
    pub inside_count: u64,
    /// Their time.
    pub inside: Ticks,
    /// Waits between calls.
    pub between_count: u64,
    /// Their time.
    pub between: Ticks,
    /// Blocks moved, where the event has such a parameter.
    pub blocks: u64,
    /// Them by length, as far as they are no sums.
    pub histogram: Histogram,
}

/// Sums of one combination of module, action, service, client and container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScopeSums {
    /// Calls.
    pub calls: u64,
    /// Their own work and time.
    pub own: Cost,
    /// Waits.
    pub waits: u64,
    /// Time of the waits inside calls, which is part of [`ScopeSums::own`].
    pub inside: Ticks,
    /// Time of the waits between calls. Response time is own elapsed time plus this.
    pub between: Ticks,
    /// Time of the waits for the client that are think time.
    pub think_time: Ticks,
    /// Time of the other idle waits.
    pub idle: Ticks,
}

/// Waits for the client that are long: people think, while programs and the network take little time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThinkTime {
    /// How many.
    pub count: u64,
    /// Their time.
    pub total: Ticks,
}

/// Transactions that ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transactions {
    /// Committed, with changes.
    pub commits: u64,
    /// Rolled back, with changes.
    pub rollbacks: u64,
    /// Ended without a change, either way.
    pub read_only: u64,
}

/// Where the time of a statement went.
#[derive(Clone, Debug, Default)]
pub struct StatementProfile {
    /// Which statement.
    pub statement: StatementIndex,
    /// Sums by name of call: index into [`Context::call_names`].
    pub calls: SortedList<u16, CallSums>,
    /// Work and time of its calls without recursive children.
    pub own: Cost,
    /// With them; the difference to `own` is the recursive children's. Not to be summed over statements.
    pub inclusive: Cost,
    /// Its waits by event.
    pub waits: SortedList<EventIndex, EventSums>,
    /// Time of the waits inside its own calls, which is part of `own.elapsed`.
    pub inside: Ticks,
    /// Time of the waits between calls that came after its own. Its response time is `own.elapsed` plus this.
    pub between: Ticks,
    /// Its waits for the client that are think time.
    pub think_time: ThinkTime,
    /// Its further waits with nothing to do, such as sleeps.
    pub idle: Ticks,
    /// The goal of the optimizer at its last call: 1 to 4, 0 where not known.
    pub goal: u8,
    /// Calls that failed, by error number; those of too many numbers under `None`.
    pub errors: BTreeMap<Option<i64>, u64>,
    /// Bind values of its first executions, where they were asked for.
    pub binds: Vec<Vec<String>>,
    /// Its plans, in the order of their first lines.
    pub plans: Vec<Plan>,
    /// Further statements that were added to it because their texts differ in literals alone.
    pub folded: u64,
}

merged! {
    CallerSums: calls, elapsed;
    ThinkTime: count, total;
    SessionProfile: interval, response_time, cpu, waits, unaccounted_within, unaccounted_between, unrecorded,
        waits_are_traced, roots, orphans, interruptions, calls, events, think_time, transactions;
    Transactions: commits, rollbacks, read_only;
    ScopeSums: calls, own, waits, inside, between, think_time, idle;
    // The plans stay where they are.
    StatementProfile: calls, own, inclusive, waits, inside, between, think_time, idle, errors,
        folded;
}

impl StatementProfile {
    /// Time that the statement answers for itself: its calls without recursive children, and the waits after them.
    pub fn response_time(&self) -> Ticks {
        self.own.elapsed + self.between
    }

    /// Its calls of a kind.
    pub fn calls_of(&self, context: &Context, kind: CallKind) -> &CallSums {
        call_index(context, kind).and_then(|name| self.calls.get(name)).unwrap_or(&CallSums::NONE)
    }

    /// Consistent and current gets, without recursive children.
    pub fn logical_reads(&self) -> i64 {
        self.own.consistent_gets.saturating_add(self.own.current_gets)
    }
}

/// The index of the name of a kind of calls; `None` where the source has none.
fn call_index(context: &Context, kind: CallKind) -> Option<u16> {
    let is_its = |name: &String| name == kind.name();
    // In a trace it stands at the kind's own number.
    let own = kind as u16;
    if context.call_names.get(usize::from(own)).is_some_and(is_its) {
        return Some(own);
    }
    context.call_names.iter().position(is_its).and_then(|place| u16::try_from(place).ok())
}

/// A plan as it was executed: lines in the order of the trace, executions of the same shape added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Hash of the plan; 0 where not known.
    pub plan_hash: u64,
    /// Blocks of lines that were added up.
    pub blocks: u64,
    /// Its lines.
    pub lines: Vec<PlanRow>,
}

/// A line of a plan, summed over executions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanRow {
    /// Line number within the plan, from 1.
    pub id: u32,
    /// The parent's line number, 0 for the root.
    pub parent: u32,
    /// Distance from the root, from 0.
    pub level: u32,
    /// The operation.
    pub operation: Arc<str>,
    /// The object; 0 for none.
    pub object: i64,
    /// Rows that came out.
    pub rows: u64,
    /// Rows that the optimizer expected of a start, summed over the executions that were added up.
    pub estimated: Option<u64>,
    /// How often it was started, where the source knows it.
    pub starts: Option<u64>,
    /// Figures with children included, see [`Plan::own`]; `None` where the source has none.
    pub inclusive: Option<PlanFigures>,
}
