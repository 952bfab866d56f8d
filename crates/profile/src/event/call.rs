//! Calls, waits and what else a source emits. Each knows its session and its statement.

use std::ops::SubAssign;

use super::context::{EventIndex, ScopeIndex, SessionIndex, StatementIndex};
use super::ticks::Ticks;

measure::words! {
    /// The kinds of database calls.
    #[repr(u8)]
    pub enum CallKind ("call") {
        /// Parsing a statement
        Parse = "PARSE",
        /// Executing it
        Exec = "EXEC",
        /// Fetching rows
        Fetch = "FETCH",
        /// Closing the cursor
        Close = "CLOSE",
        /// Giving back the temporary space of a result
        Unmap = "UNMAP",
        /// Giving back the temporary space of a sort
        SortUnmap = "SORT UNMAP",
        /// An operation on a large object; its name is in the context's call names
        Lob = "LOB",
        /// A call of client-side PL/SQL
        Rpc = "RPC EXEC",
    }
}

/// The first kind, for calls of which nothing is known yet.
impl Default for CallKind {
    fn default() -> CallKind {
        CallKind::Parse
    }
}

/// Work and time of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// CPU time; `None` where the source does not know it (a log of plans). A sum is unknown where all its parts are.
    pub cpu: Option<Ticks>,
    /// Elapsed time.
    pub elapsed: Ticks,
    /// Blocks read from disk; signed because a self value can come out below zero in a damaged trace.
    pub physical_reads: i64,
    /// Blocks got in consistent mode.
    pub consistent_gets: i64,
    /// Blocks got in current mode.
    pub current_gets: i64,
}

impl Cost {
    /// That of no call.
    pub(crate) const NONE: Cost =
        Cost { cpu: None, elapsed: Ticks::ZERO, physical_reads: 0, consistent_gets: 0, current_gets: 0 };
}

impl SubAssign for Cost {
    fn sub_assign(&mut self, other: Cost) {
        self.cpu = match (self.cpu, other.cpu) {
            (Some(own), Some(less)) => Some(own - less),
            (own, _) => own,
        };
        self.elapsed -= other.elapsed;
        self.physical_reads -= other.physical_reads;
        self.consistent_gets -= other.consistent_gets;
        self.current_gets -= other.current_gets;
    }
}

/// A database call with its children taken off.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// Number of the call in the order of emission, from 0.
    pub number: u64,
    /// Whose.
    pub session: SessionIndex,
    /// Of which statement.
    pub statement: StatementIndex,
    /// Module, action, service at its end.
    pub scope: ScopeIndex,
    /// Which kind.
    pub kind: CallKind,
    /// Index into the context's call names of the name that tables show: `PARSE`, `LOBREAD`, ...
    pub name: u16,
    /// Recursion depth.
    pub depth: u16,
    /// When it ended; `None` where the source does not say.
    pub end: Option<Ticks>,
    /// With its recursive children.
    pub inclusive: Cost,
    /// Without them.
    pub own: Cost,
    /// Misses of the library cache.
    pub misses: u64,
    /// Rows.
    pub rows: u64,
    /// Hash of the plan, 0 where not known.
    pub plan_hash: u64,
    /// The goal of the optimizer; 0 where not known.
    pub goal: u8,
    /// Waits inside the call and not inside a child: their time.
    pub waits: Ticks,
    /// Where its line stands in the file.
    pub offset: u64,
}

/// Where a wait belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// Inside the call of this number, or of this kind where several were merged.
    Inside(CallKind),
    /// Between calls.
    #[default]
    Between,
}

/// A wait that knows whose it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wait {
    /// Whose.
    pub session: SessionIndex,
    /// Of which statement.
    pub statement: StatementIndex,
    /// Module, action, service.
    pub scope: ScopeIndex,
    /// For what.
    pub event: EventIndex,
    /// How long.
    pub elapsed: Ticks,
    /// How long the pause of the client is of which this is a part; zero where this is all of it.
    pub pause: Ticks,
    /// Standard error of `elapsed`: zero where the source measured it, above zero where it estimated it, such as from
    /// samples.
    pub elapsed_error: Ticks,
    /// How many waits it is the sum of, where the source has sums alone; `None` for a single wait.
    pub sum_of: Option<u64>,
    /// When it ended; `None` where the source does not say.
    pub end: Option<Ticks>,
    /// Inside a call or between calls.
    pub placement: Placement,
    /// Recursion depth of the call it is inside; 0 between calls.
    pub depth: u16,
    /// Parameters in the order of the event's parameters.
    pub parameters: [i64; 3],
    /// The object, where the line has one.
    pub object: Option<i64>,
    /// Hash of the plan of the call that it is inside, or that came before it; 0 where not known.
    pub plan_hash: u64,
    /// How many files before the one that was begun last its line stands: above 0 where a trace goes on in another
    /// file, whose call gave the wait its place.
    pub files_back: u32,
    /// Where its line stands in that file.
    pub offset: u64,
}

impl Wait {
    /// How many waits it stands for.
    pub fn count(&self) -> u64 {
        self.sum_of.unwrap_or(1)
    }

    /// How long the client paused, where it is a wait for the client: what decides whether it is think time.
    pub fn whole_pause(&self) -> Ticks {
        if self.pause == Ticks::ZERO { self.elapsed } else { self.elapsed.max(self.pause) }
    }
}

/// A root: a call without a traced parent. The sum of roots and of waits between calls is the response time.
#[derive(Clone, Copy, Debug)]
pub struct Root {
    /// Whose.
    pub session: SessionIndex,
    /// With its recursive children.
    pub inclusive: Cost,
    /// Recursion depth; above 0 its parent was not traced.
    pub depth: u16,
    /// How many calls this stands for: more than 1 where many were folded to bound the memory.
    pub calls: u64,
}

/// Calls of one statement that a call of another one made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Child {
    /// The statement of the call that made them.
    pub parent: StatementIndex,
    /// Theirs.
    pub statement: StatementIndex,
    /// How many.
    pub calls: u64,
    /// Their elapsed time, with the calls that they made.
    pub elapsed: Ticks,
}

/// Values of the bind variables of one execution, where the user asked for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binds {
    /// Of which statement.
    pub statement: StatementIndex,
    /// The values in the order of the variables; `NULL` where one has none.
    pub values: Vec<String>,
}

/// A line of an executed plan.
#[derive(Clone, Debug, Default)]
pub struct PlanLine {
    /// Of which statement.
    pub statement: StatementIndex,
    /// Hash of the plan where known.
    pub plan_hash: u64,
    /// Line number within the plan, from 1; 1 begins another execution's block.
    pub id: u32,
    /// The parent's line number, 0 for the root.
    pub parent: u32,
    /// The operation.
    pub operation: String,
    /// The object; 0 for none.
    pub object: i64,
    /// Rows that came out.
    pub rows: u64,
    /// Rows that the optimizer expected of a start, where the source knows it.
    pub estimated: Option<u64>,
    /// How often it was started, where the source knows it.
    pub starts: Option<u64>,
    /// Children included; `None` before 10g.
    pub figures: Option<PlanFigures>,
}

/// Figures of a plan line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanFigures {
    /// Gets.
    pub gets: i64,
    /// Blocks read.
    pub physical_reads: i64,
    /// Blocks written.
    pub physical_writes: i64,
    /// Elapsed time.
    pub time: Ticks,
    /// Time in reads, where the source knows it.
    pub read_time: Option<Ticks>,
}

/// A call that failed. Its own line was emitted before, as any call.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    /// Whose.
    pub session: SessionIndex,
    /// Of which statement.
    pub statement: StatementIndex,
    /// The number of the error, as in `ORA-00942`.
    pub code: i64,
    /// When; `None` where the source does not say.
    pub time: Option<Ticks>,
    /// Where its line stands in the file.
    pub offset: u64,
}

/// The end of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Transaction {
    /// Whose.
    pub session: SessionIndex,
    /// Whether it was rolled back.
    pub is_rollback: bool,
    /// Whether it changed nothing.
    pub is_read_only: bool,
    /// When; `None` where the source does not say.
    pub time: Option<Ticks>,
}

/// A segment of a session's time without an interruption of its clock. A session has one or more.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    /// Whose.
    pub session: SessionIndex,
    /// Start of the first timed line: its end less its elapsed time.
    pub first: Ticks,
    /// End of the last timed line.
    pub last: Ticks,
    /// Begin and end of the parts of it of which the source records nothing but calls and waits: between one file and
    /// the next, or all of it.
    pub unrecorded: Vec<(Ticks, Ticks)>,
    /// What executions took whose place in time is not known, in addition to the time from first to last.
    pub untimed: Ticks,
}

impl Segment {
    /// The part of it from `first` to `last`.
    pub fn part(&self, first: Ticks, last: Ticks) -> Segment {
        let clipped = self.unrecorded.iter().map(|(begin, end)| ((*begin).max(first), (*end).min(last)));
        let unrecorded = clipped.filter(|(begin, end)| begin < end).collect();
        Segment { session: self.session, first, last, unrecorded, untimed: Ticks::ZERO }
    }

    /// The time of which nothing is recorded.
    pub fn unrecorded_time(&self) -> Ticks {
        self.unrecorded.iter().map(|(begin, end)| *end - *begin).sum()
    }
}
