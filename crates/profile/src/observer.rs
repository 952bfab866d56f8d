//! What the accounting hands on: calls and waits that know whose they are.
//!
//! Every table, curve and export of a profile is an observer. The accounting emits each call and each wait exactly
//! once, in an order that depends on the trace alone.

use std::ops::{AddAssign, SubAssign};

use crate::oracle::record::CallKind;
use crate::ticks::Ticks;

/// Index of a session in [`Context::sessions`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionIndex(pub u32);

/// Index of a statement in [`Context::statements`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StatementIndex(pub u32);

/// Index of an event in [`Context::events`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventIndex(pub u32);

/// Index of a combination of module, action, service, client and container in [`Context::scopes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeIndex(pub u32);

/// Work and time of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// CPU time; `None` where the source does not know it (a log of plans).
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

impl AddAssign for Cost {
    /// CPU stays unknown only where both sides do not know it.
    fn add_assign(&mut self, other: Cost) {
        self.cpu = match (self.cpu, other.cpu) {
            (Some(own), Some(more)) => Some(own + more),
            (own, more) => own.or(more),
        };
        self.elapsed += other.elapsed;
        self.physical_reads += other.physical_reads;
        self.consistent_gets += other.consistent_gets;
        self.current_gets += other.current_gets;
    }
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
#[derive(Clone, Debug)]
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
    /// Index into [`Context::call_names`] of the name that tables show: `PARSE`, `LOBREAD`, ...
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
    /// Waits inside the call and not inside a child: their time.
    pub waits: Ticks,
    /// Where its line stands in the file.
    pub offset: u64,
}

/// Where a wait belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Inside the call of this number, or of this kind where several were merged.
    Inside(CallKind),
    /// Between calls.
    Between,
}

/// A wait that knows whose it is.
#[derive(Clone, Debug)]
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
    /// When it ended; `None` where the source does not say.
    pub end: Option<Ticks>,
    /// Inside a call or between calls.
    pub placement: Placement,
    /// Recursion depth of the call it is inside; 0 between calls.
    pub depth: u16,
    /// Parameters in the order of [`Event::parameters`].
    pub parameters: [i64; 3],
    /// The object, where the line has one.
    pub object: Option<i64>,
    /// Where its line stands in the file.
    pub offset: u64,
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

/// A line of an executed plan.
#[derive(Clone, Debug)]
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
    /// Children included: gets, reads, writes, starts, time; `None` before 10g.
    pub figures: Option<PlanLineFigures>,
}

/// Figures of a plan line, children included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanLineFigures {
    /// Gets.
    pub gets: u64,
    /// Blocks read.
    pub physical_reads: u64,
    /// Blocks written.
    pub physical_writes: u64,
    /// How often it was started.
    pub starts: Option<u64>,
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

/// A stretch of a session's time without an interruption of its clock. A session has one or more.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Whose.
    pub session: SessionIndex,
    /// Start of the first timed line: its end less its elapsed time.
    pub first: Ticks,
    /// End of the last timed line.
    pub last: Ticks,
}

/// Whoever listens to the accounting.
pub trait Observer {
    /// What comes next is of this file, as a person would name it.
    fn begin_file(&mut self, _name: &str) {}
    /// A call is complete, with its children taken off.
    fn call(&mut self, _context: &Context, _call: &Call) {}
    /// A wait has its place.
    fn wait(&mut self, _context: &Context, _wait: &Wait) {}
    /// A call has no traced parent.
    fn root(&mut self, _context: &Context, _root: &Root) {}
    /// A plan line was written.
    fn plan_line(&mut self, _context: &Context, _line: &PlanLine) {}
    /// A call failed.
    fn failure(&mut self, _context: &Context, _failure: &Failure) {}
    /// A transaction ended.
    fn transaction(&mut self, _context: &Context, _transaction: &Transaction) {}
    /// A stretch of a session's time is complete.
    fn segment(&mut self, _context: &Context, _segment: &Segment) {}
}

/// Several observers in turn, each seeing everything.
impl Observer for Vec<Box<dyn Observer + '_>> {
    fn begin_file(&mut self, name: &str) {
        self.iter_mut().for_each(|observer| observer.begin_file(name));
    }
    fn call(&mut self, context: &Context, call: &Call) {
        self.iter_mut().for_each(|observer| observer.call(context, call));
    }
    fn wait(&mut self, context: &Context, wait: &Wait) {
        self.iter_mut().for_each(|observer| observer.wait(context, wait));
    }
    fn root(&mut self, context: &Context, root: &Root) {
        self.iter_mut().for_each(|observer| observer.root(context, root));
    }
    fn plan_line(&mut self, context: &Context, line: &PlanLine) {
        self.iter_mut().for_each(|observer| observer.plan_line(context, line));
    }
    fn failure(&mut self, context: &Context, failure: &Failure) {
        self.iter_mut().for_each(|observer| observer.failure(context, failure));
    }
    fn transaction(&mut self, context: &Context, transaction: &Transaction) {
        self.iter_mut().for_each(|observer| observer.transaction(context, transaction));
    }
    fn segment(&mut self, context: &Context, segment: &Segment) {
        self.iter_mut().for_each(|observer| observer.segment(context, segment));
    }
}

/// Both, one after the other.
impl<A: Observer + ?Sized, B: Observer + ?Sized> Observer for (&mut A, &mut B) {
    fn begin_file(&mut self, name: &str) {
        self.0.begin_file(name);
        self.1.begin_file(name);
    }
    fn call(&mut self, context: &Context, call: &Call) {
        self.0.call(context, call);
        self.1.call(context, call);
    }
    fn wait(&mut self, context: &Context, wait: &Wait) {
        self.0.wait(context, wait);
        self.1.wait(context, wait);
    }
    fn root(&mut self, context: &Context, root: &Root) {
        self.0.root(context, root);
        self.1.root(context, root);
    }
    fn plan_line(&mut self, context: &Context, line: &PlanLine) {
        self.0.plan_line(context, line);
        self.1.plan_line(context, line);
    }
    fn failure(&mut self, context: &Context, failure: &Failure) {
        self.0.failure(context, failure);
        self.1.failure(context, failure);
    }
    fn transaction(&mut self, context: &Context, transaction: &Transaction) {
        self.0.transaction(context, transaction);
        self.1.transaction(context, transaction);
    }
    fn segment(&mut self, context: &Context, segment: &Segment) {
        self.0.segment(context, segment);
        self.1.segment(context, segment);
    }
}

/// What stands behind a statement's row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StatementKind {
    /// A statement that the source declares, with its text.
    #[default]
    Declared,
    /// A cursor that was opened before the source began, or whose declaration is lost.
    UnknownCursor,
    /// Calls and waits that belong to no cursor: logon, commits sent by the client, waits between calls.
    NoCursor,
    /// Operations on large objects, which name no cursor.
    LargeObjects,
    /// Calls of PL/SQL on the client's side.
    ClientCalls,
    /// A text that could not be parsed.
    ParseError,
}

/// A statement as the source declares it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statement {
    /// The identifier that a person would search for: the sqlid, else the hash as a number, else what the source has.
    pub id: String,
    /// The text, shortened where it is longer than a limit.
    pub text: String,
    /// Bytes of the whole text.
    pub text_bytes: u64,
    /// Command type, 0 where not known.
    pub command: i64,
    /// Depth at its first declaration.
    pub depth: u16,
    /// Parsing schema, 0 where not known.
    pub user: i64,
    /// What stands behind it.
    pub kind: StatementKind,
}

/// A session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// Such as `190.17`; empty where no line names it.
    pub id: String,
}

/// What the calls and waits between two marks share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scope {
    /// Module.
    pub module: String,
    /// Action.
    pub action: String,
    /// Service.
    pub service: String,
    /// Client identifier.
    pub client: String,
    /// Container (pluggable database).
    pub container: String,
}

/// An event that is waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Event {
    /// Such as `db file sequential read`.
    pub name: String,
    /// Names of the parameters.
    pub parameters: Vec<String>,
}

/// Everything that calls and waits name by index.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Sessions in the order of their first line.
    pub sessions: Vec<Session>,
    /// Statements in the order of their first line.
    pub statements: Vec<Statement>,
    /// Events in the order of their first line.
    pub events: Vec<Event>,
    /// Scopes in the order of their first line.
    pub scopes: Vec<Scope>,
    /// Names of calls.
    pub call_names: Vec<String>,
}
