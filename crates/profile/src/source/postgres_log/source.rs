//! From the entries of a server log to calls, waits and plan lines: the same stream that a trace gives.
//!
//! An execution with a plan is a call of kind Exec. Its reads are one wait per kind of I/O, because a log has sums and
//! no single reads. What a log cannot know stays unaccounted within calls: CPU, and waits other than for I/O.
//!
//! A function's statements are logged before the statement that called it, whose figures include theirs: an entry with
//! a context waits for the next shallower entry of its session, and is taken off it where it ran inside.

use std::borrow::Borrow;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, Hash};
use std::io::{self, Read};

use foldhash::fast::RandomState;
use measure::schema::profile::OTHER_SESSIONS;
use sys::file::awaited::unless_called_off;

use super::entry::{Entry, Lines};
use super::figures::{Figures, NodeFigures, figures};
use super::findings::{CUT, LogSummary, findings, of_several_texts};
use super::format::{LogFormat, detect};
use super::json::Fault;
use super::message::{PlanMessage, begun_statement, ended_statement, plan_message};
use super::order::by_first_stamp;
use super::plan::{Node, PlanDocument, read_plan};
use crate::event::{
    Accounted, Call, CallKind, Context, Cost, Event, EventIndex, Observer, Placement, PlanFigures, PlanLine, Problem,
    ProblemKind, Root, Scope, ScopeIndex, Segment, Session, SessionIndex, Statement, StatementIndex, Ticks, Unread,
    Wait,
};
use crate::input::bytes::Bytes;
use crate::input::{self, SharedContents, foreign};
use crate::observe::Listeners;
use crate::source::contract::{Finished, Input, Meter, Reading, Source, SourceFile, SourceRow};
use crate::source::session_clock::SessionClock;
use crate::source::unread::UnreadLines;
use crate::tables::folding::fold_text;

/// The row of the table of sources.
pub const ROW: SourceRow = SourceRow {
    noun: foreign::SERVER_LOGS.noun,
    kind: foreign::SERVER_LOGS,
    database: "PostgreSQL",
    name: Some("PostgreSQL server log"),
    recognises: |_, head| detect(head).is_some(),
    names: |_| false,
    shows: holds_plan,
    lacks: "it holds no plan in JSON, as auto_explain writes them",
    is_read_by_period: false,
    unexported: None,
    unused: &[
        ("time_scale", "times of a PostgreSQL log are in milliseconds"),
        ("think_time", "a PostgreSQL log does not show how long a session waited for its client"),
        ("since", "a server log is chosen by its name alone: --name"),
        ("until", "a server log is chosen by its name alone: --name"),
        ("from", "a server log is read as a whole, and compare takes a part of one"),
        ("to", "a server log is read as a whole, and compare takes a part of one"),
        ("workers", "one thread reads a PostgreSQL log"),
        ("binds", "values of parameters are not read from a PostgreSQL log"),
    ],
    open: |_| Box::new(LogSource::new()),
};

/// Bytes of a statement's text that are kept.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Bytes of a name, or of a session's identifier, from which on it has no row of its own. PostgreSQL cuts names at 63:
/// longer ones are damage, which could fill the memory.
const NAME_BYTES_MAX: usize = 1 << 10;

/// How much earlier than its caller an inner statement may seem to begin: entries are stamped to the millisecond, and a
/// while after the execution is over, when the plan has been written.
const NESTING_TOLERANCE: Ticks = Ticks::from_micros(10_000);
/// The same where a prefix has whole seconds.
const NESTING_TOLERANCE_SECONDS: Ticks = Ticks::from_micros(1_010_000);

/// An execution that took longer does not say when the period of the log begins: one damaged digit of a duration would
/// move that by years.
const BEGUN_BEFORE_MAX: Ticks = Ticks::from_micros(30 * 86_400 * 1_000_000);

/// Most statements, sessions and scopes that are kept apart; further ones share one.
const STATEMENTS_MAX: usize = 1 << 14;
const SESSIONS_MAX: usize = 1 << 16;
const SCOPES_MAX: usize = 1 << 12;

/// The names that these share.
const OTHER_STATEMENTS: &str = "other statements";
const OTHERS: &str = "others";

/// Executions that are known by their plans; the logs of a server that repeat later ones count them again.
const KNOWN_MAX: usize = 1_000_000;

/// Inner statements of all sessions that wait for their callers; with one more, all are given up as calls without a
/// parent.
const WAITING_MAX: usize = 1_000_000;

/// Kinds of I/O that a plan knows, by the names of PostgreSQL's own wait events. Reads of a scan from one end of a
/// table to the other are apart: the kernel or the server reads ahead of it, so that other practices make them fewer.
const EVENTS: [&str; 5] =
    ["IO:DataFileRead", "IO:DataFileWrite", "IO:BuffileRead", "IO:BuffileWrite", "IO:DataFileRead (sequential scan)"];

/// Their places of the two kinds of reads.
const READ: usize = 0;
const SCAN: usize = 4;

/// How lines of a context begin that hold the text of a statement. From 14 on, PL/pgSQL has names of its own for some.
const TEXTS: [&[u8]; 3] = [b"SQL statement \"", b"PL/pgSQL expression \"", b"PL/pgSQL assignment \""];

/// What plans are counted as whose figures cannot be true.
const BEYOND_BELIEF: &str = "plans with implausible figures";
/// What lines behind a plan are counted as: those of an entry whose beginning was not found.
const BEHIND_A_PLAN: &str = "text behind a plan";

/// Greatest sum of any figure over all logs: what is beyond is damage, and would overflow the sums of a profile.
const SUM_MAX: i64 = 1 << 60;

/// Reads logs, one after the other, and emits their executions to an observer.
#[derive(Debug, Default)]
pub struct LogSource {
    context: Context,
    sessions: HashMap<String, u32>,
    statements: HashMap<String, u32>,
    scopes: HashMap<Scope, u32>,
    states: Vec<SessionState>,
    /// The sessions that run a `CALL` or `DO` whose beginning is in the log, and when that entry was written.
    running: HashMap<String, Option<Ticks>>,
    /// Inner statements of all sessions that wait for their callers.
    waiting: usize,
    /// Executions of statements and of sessions that have none of their own.
    shared_statements: u64,
    shared_sessions: u64,
    summary: LogSummary,
    /// The lines of the log that is being read that are not read.
    unread: UnreadLines,
    /// Whether statements whose texts differ in their literals alone are kept apart.
    keeps_literals: bool,
    /// The statements whose executions have different texts, and so one without literals.
    without_literals: HashSet<u32>,
    calls: u64,
    /// The executions of several logs, where there are several.
    known: Option<HashMap<u64, Known>>,
    /// Wall clock of the earliest begin and the latest end of the executions.
    clocks: Option<(i64, i64)>,
    hasher: RandomState,
    /// Amounts of all figures so far, to refuse a log that would overflow the sums of observers.
    amounts: Figures,
}

/// How often an execution is in the logs of one format, and in the log of another one that is being read: a server
/// writes the same entries in all formats of its `log_destination`.
#[derive(Debug)]
struct Known {
    format: LogFormat,
    counted: u32,
    here: u32,
    /// How many of them a log of another format has too.
    repeated: u32,
}

/// What is known of a session so far.
#[derive(Debug, Default)]
struct SessionState {
    clock: SessionClock,
    /// Inner statements whose caller has not come, by depth.
    waiting: BTreeMap<u16, Vec<Inner>>,
    /// What those executions took together that ran in no other one and have no time.
    untimed: Ticks,
}

impl SessionState {
    /// Ends its last segment, which has no extent where all its executions are without a time.
    fn end(&mut self) -> Option<(Ticks, Ticks)> {
        self.clock.end().or((self.untimed > Ticks::ZERO).then_some((Ticks::ZERO, Ticks::ZERO)))
    }
}

/// An inner statement.
#[derive(Clone, Copy, Debug)]
struct Inner {
    depth: u16,
    /// The name of the function that the client's statement called, as a number; `None` where none is known.
    function: Option<u64>,
    /// Whether the client's statement is a `DO`.
    is_of_block: bool,
    start: Option<Ticks>,
    cost: Cost,
    /// By kind of I/O; below a Gather means of the processes.
    io: [Ticks; 5],
    io_blocks: [i64; 5],
}

/// An execution before its inner statements are taken off.
struct Execution<'a> {
    entry: &'a Entry,
    document: PlanDocument,
    figures: Vec<NodeFigures>,
    inner: Inner,
    session: SessionIndex,
    statement: StatementIndex,
    scope: ScopeIndex,
    end: Option<Ticks>,
    plan_hash: u64,
}

impl LogSource {
    /// A source that has read nothing.
    pub fn new() -> LogSource {
        let events = EVENTS.map(|name| Event::new(name, &["blocks".into()]));
        let context = Context { events: events.into(), call_names: vec!["EXEC".into()], ..Context::default() };
        // Entries are stamped by the wall clock itself.
        let context = Context { clock: Some((0, Ticks::ZERO)), ..context };
        LogSource { context, ..LogSource::default() }
    }

    /// What was found so far.
    pub fn summary(&self) -> &LogSummary {
        &self.summary
    }

    /// Reads one log to its end, and returns its format; `None`, and nothing is emitted, where it is no log and no
    /// plan.
    ///
    /// # Errors
    /// Where the input cannot be read; what came before has been emitted.
    pub fn read_log(&mut self, input: impl Read, observer: &mut dyn Observer) -> io::Result<Option<LogFormat>> {
        let outcome = self.read_files(input, None, observer);
        self.end_unread();
        outcome
    }

    /// The same of the files of an archive, of which an entry goes on in no other one.
    fn read_files(
        &mut self,
        input: impl Read,
        files: Option<&SharedContents>,
        observer: &mut dyn Observer,
    ) -> io::Result<Option<LogFormat>> {
        let mut lines = Lines::new(input);
        let Some(format) = detect(lines.head()?) else { return Ok(None) };
        let mut sink = |found: Result<&Entry, Unread>| {
            let read = found.and_then(|entry| self.entry(entry, format, observer).map_err(|kind| entry.unread(kind)));
            if let Err(unread) = read {
                self.unread.add(&unread);
            }
        };
        let mut assembler = format.assembler();
        let mut file = None;
        let outcome = loop {
            match lines.read_line() {
                Ok(Some(line)) => {
                    let number = files.and_then(|files| files.number_from(file, line.offset));
                    if std::mem::replace(&mut file, number) != number {
                        assembler.finish(&mut sink);
                    }
                    assembler.line(&line, &mut sink);
                }
                Ok(None) => break Ok(Some(format)),
                Err(error) => break Err(error),
            }
        };
        // What was read before a failure ends with an entry that may be whole.
        assembler.finish(&mut sink);
        outcome
    }

    /// Emits what waited for more to come, and returns what is known of the whole.
    pub fn end(mut self, observer: &mut dyn Observer) -> (Accounted, LogSummary) {
        self.end_unread();
        for index in 0..self.states.len() {
            let waiting = std::mem::take(&mut self.states[index].waiting);
            let session = SessionIndex(index as u32);
            waiting.values().flatten().for_each(|inner| self.root(session, inner, observer));
            if let Some((first, last)) = self.states[index].end() {
                // What passed between executions without a time is not known, and counts as nothing.
                let untimed = self.states[index].untimed;
                observer.segment(&self.context, &Segment { untimed, ..segment(session, first, last) });
            }
        }
        let accounted = Accounted {
            problems: self.problems(),
            context: self.context,
            unread: self.summary.unread.clone(),
            clocks: self.clocks,
        };
        (accounted, self.summary)
    }

    /// Ends the counting of lines that were not read of one log: adds them to those of all logs. Gives them by kind,
    /// and by the file of an archive.
    fn end_unread(&mut self) -> (Vec<Unread>, Vec<(String, Unread)>) {
        let (unread, within) = std::mem::take(&mut self.unread).finish(ROW.kind);
        unread.iter().for_each(|one| Unread::add(&mut self.summary.unread, one));
        (unread, within)
    }

    /// What found no room of its own.
    fn problems(&self) -> Vec<Problem> {
        let all = [
            (ProblemKind::SessionsShared, self.shared_sessions),
            (ProblemKind::StatementsShared, self.shared_statements),
        ];
        let problem = |(kind, count)| Problem { kind, count, first_file: 0, first_offset: 0 };
        all.into_iter().filter(|(_, count)| *count > 0).map(problem).collect()
    }

    /// Emits what an entry says; the kind of what is not read.
    fn entry(&mut self, entry: &Entry, format: LogFormat, observer: &mut dyn Observer) -> Result<(), &'static str> {
        let (duration, plan) = match plan_message(&entry.message) {
            _ if format == LogFormat::Plan => (None, entry.message.as_slice()),
            None => {
                self.end_without_plan(entry, observer);
                return Err("messages without a plan");
            }
            Some(PlanMessage { plan, .. }) if !plan.starts_with(b"{") => {
                return Err("plans in another format than JSON");
            }
            Some(PlanMessage { duration, plan }) => (Some(duration), plan),
        };
        if self.is_repeated(entry, (duration, plan), format) {
            return Err("plans that a log of another format holds too");
        }
        let mut document = read_plan(plan).map_err(|fault| match fault {
            Fault::Cut => CUT,
            Fault::Malformed => "plans that are no JSON or have no node",
            Fault::OutOfRange => BEYOND_BELIEF,
            Fault::TooDeep => "plans with more levels or nodes than are read",
        })?;
        let duration = duration.or(document.execution_time);
        let duration = duration.unwrap_or_else(|| figures(&document.nodes)[0].inclusive.time);
        if !self.is_believed(&document, duration) {
            return Err(BEYOND_BELIEF);
        }
        // EXPLAIN has no place for a session and a time.
        let is_explained = format == LogFormat::Plan;
        self.summary.explained += u64::from(is_explained);
        self.summary.without_session += u64::from(!is_explained && entry.session.is_empty());
        self.summary.without_time += u64::from(!is_explained && entry.time.is_none());
        let behind = std::mem::take(&mut document.behind);
        self.execution(entry, document, duration, observer);
        self.leave_out(entry, &behind);
        Ok(())
    }

    /// Gives up what waits in a session whose statement is over and has no plan: it failed, and the client often runs
    /// the same text again, or it is a `CALL` or `DO`.
    fn end_without_plan(&mut self, entry: &Entry, observer: &mut dyn Observer) {
        let at = entry.time.map(Ticks::from_micros);
        let running = self.running_call(&entry.session);
        let call = self.ended_call(entry, at);
        let is_over = entry.is_failure || call.is_some();
        // An entry without a session may be any session's.
        if !is_over || entry.session.is_empty() {
            return;
        }
        let Some(session) = self.sessions.get(&entry.session).copied() else { return };
        // A log of another format may tell of it long before, and a cursor of the client's may be open meanwhile.
        let is_before = |inner: &Inner| call.is_some_and(|call| !inner.began_within(&call));
        let is_later = |inner: &Inner| inner.span().zip(at).is_some_and(|((_, end), at)| end > at);
        let mut ended = Vec::new();
        self.states[session as usize].waiting.retain(|_, waiting| {
            // Statements of one depth follow one another: those of a call are the last ones.
            let first = waiting.iter().rposition(is_before).map_or(0, |last| last + 1);
            ended.extend(waiting.extract_if(first.., |inner| !is_later(inner)));
            !waiting.is_empty()
        });
        self.waiting -= ended.len();
        for inner in &ended {
            let is_of_running = running.is_some_and(|call| inner.began_within(&call));
            self.orphan(SessionIndex(session), inner, call.is_some() || is_of_running, observer);
        }
    }

    /// The `CALL` or `DO` of a session that began and is not known to be over.
    fn running_call(&self, session: &str) -> Option<Inner> {
        self.running.get(session).map(|start| Inner::of_begun_call(*start))
    }

    /// The client's `CALL` or `DO` that an entry without a plan shows to be over: the entry has its duration, or the
    /// log has its beginning and this is the session's next entry outside of functions. Notes one that begins, too.
    fn ended_call(&mut self, entry: &Entry, at: Option<Ticks>) -> Option<Inner> {
        let is_within = depth(&entry.context) > 0 && !entry.is_failure;
        if entry.session.is_empty() || is_within {
            return None;
        }
        let begun = self.running.remove(&entry.session);
        if entry.is_failure {
            return None;
        }
        let has_room = self.running.len() < SESSIONS_MAX && entry.session.len() <= NAME_BYTES_MAX;
        if has_room && begun_statement(&entry.message).is_some_and(is_call) {
            self.running.insert(entry.session.clone(), at);
        }
        match ended_statement(&entry.message).filter(|(_, text)| is_call(text)) {
            Some((duration, _)) => Some(Inner::of_call(at, duration)),
            None => begun.map(|start| Inner::of_begun_call(start.filter(|_| at.is_some()))),
        }
    }

    /// Counts what stands behind a plan that was read.
    fn leave_out(&mut self, entry: &Entry, behind: &str) {
        if behind.is_empty() {
            return;
        }
        // Bytes that are no UTF-8 became longer, and an entry may be one line of a log and several of a message.
        let bytes = entry.bytes.min(behind.len() as u64);
        let lines = entry.lines.min(behind.lines().count() as u64);
        self.summary.plan_bytes -= bytes;
        self.unread.add(&Unread { kind: BEHIND_A_PLAN, lines, bytes, first_offset: entry.offset });
    }

    /// Whether a log of another format held this execution: the same plan, to its last figure, in the same second of a
    /// quarter of an hour. A server may well run a statement twice in a second: it is repeated as often as the other
    /// log has it.
    fn is_repeated(&mut self, entry: &Entry, plan: (Option<Ticks>, &[u8]), format: LogFormat) -> bool {
        let (Some(known), Some(time)) = (&mut self.known, entry.time) else { return false };
        // One log may have the time in UTC and the other in a time zone: zones differ by quarters of an hour.
        let second = time.div_euclid(1_000_000).rem_euclid(15 * 60);
        let key = self.hasher.hash_one((second, plan));
        if known.len() >= KNOWN_MAX && !known.contains_key(&key) {
            return false;
        }
        let one = known.entry(key).or_insert(Known { format, counted: 0, here: 0, repeated: 0 });
        if one.format != format {
            (one.format, one.here) = (format, 0);
        }
        one.here += 1;
        let is_repeated = one.here <= one.counted;
        if is_repeated && one.here > one.repeated {
            one.repeated = one.here;
            self.summary.repeated += 1;
        }
        one.counted = one.counted.max(one.here);
        is_repeated
    }

    /// Whether the sums of all figures stay far from overflow with this plan's.
    fn is_believed(&mut self, document: &PlanDocument, duration: Ticks) -> bool {
        let mut sums = self.amounts;
        let mut of_execution = Figures { time: duration, ..Figures::default() };
        let mut is_believed = sums.add_amounts(&mut of_execution, SUM_MAX);
        for (node, figures) in document.nodes.iter().zip(&mut figures(&document.nodes)) {
            is_believed &= sums.add_amounts(&mut figures.own, SUM_MAX);
            is_believed &= node.rows.max(node.loops) < SUM_MAX as u64 >> 20;
        }
        if is_believed {
            self.amounts = sums;
        }
        is_believed
    }

    fn execution(&mut self, entry: &Entry, document: PlanDocument, duration: Ticks, observer: &mut dyn Observer) {
        self.summary.plans += 1;
        self.summary.plan_bytes += entry.bytes;
        let figures = figures(&document.nodes);
        let end = entry.time.map(Ticks::from_micros);
        if let Some(end) = end {
            // An entry is written when its execution is over.
            let begin = if duration <= BEGUN_BEFORE_MAX { end - duration } else { end };
            let [begin, end] = [begin, end].map(|at| at.0.div_euclid(Ticks::PER_MICROSECOND));
            let (first, last) = self.clocks.unwrap_or((begin, end));
            self.clocks = Some((first.min(begin), last.max(end)));
        }
        let total = figures.first().map(|node| node.inclusive).unwrap_or_default();
        let (io, io_blocks) = io_of(&document.nodes, &figures);
        let cost = Cost {
            cpu: None,
            elapsed: duration,
            physical_reads: total.blocks.read,
            consistent_gets: total.blocks.gets(),
            current_gets: 0,
        };
        let depth = depth(&entry.context);
        let (function, is_of_block) = (function_of_client(&entry.context), is_of_block(&entry.context));
        let inner = Inner { depth, function, is_of_block, start: end.map(|end| end - duration), cost, io, io_blocks };
        self.judge(&document.nodes, &figures, &inner);
        let plan_hash = plan_hash(&document.nodes);
        let execution = Execution {
            session: self.session(&entry.session),
            statement: self.statement(&document, depth),
            scope: self.scope(&entry.scope),
            entry,
            document,
            figures,
            inner,
            end,
            plan_hash,
        };
        self.emit(&execution, observer);
    }

    /// Notes what a reader of the figures has to know.
    fn judge(&mut self, nodes: &[Node], figures: &[NodeFigures], inner: &Inner) {
        let summary = &mut self.summary;
        let root = &nodes[0];
        if !root.is_measured {
            summary.unmeasured += 1;
            return;
        }
        summary.without_blocks += u64::from(!root.has_blocks);
        summary.without_node_times += u64::from(root.loop_time.is_none());
        summary.parallel += u64::from(figures.iter().any(|node| node.processes > 1));
        let is_below = |(node, figures): &(&Node, &NodeFigures)| {
            // Rounding to a microsecond leaves half a microsecond a loop, here and in its children.
            let rounding = node.loops.saturating_add(8).min(1 << 40) as i64 * Ticks::PER_MICROSECOND;
            figures.own.time.0 < -rounding
        };
        summary.nodes_below_zero += nodes.iter().zip(figures).filter(is_below).count() as u64;
        if !root.has_blocks {
            return;
        }
        if nodes.iter().any(|node| node.io.is_some()) {
            // Inner statements are in their caller's figures too, so only outer ones count. The blocks of parallel
            // processes are counted together, and their time is that of one.
            if inner.depth == 0 && figures.iter().all(|node| node.processes <= 1) {
                let time = inner.cost.elapsed.0.saturating_sub(inner.io[READ].0).saturating_sub(inner.io[SCAN].0);
                summary.time_without_reads = Ticks(summary.time_without_reads.0.saturating_add(time));
                summary.gets_of_timed = summary.gets_of_timed.saturating_add(inner.cost.consistent_gets);
            }
        } else {
            summary.without_io_times += u64::from(inner.cost.physical_reads > 0);
        }
    }

    fn emit(&mut self, execution: &Execution<'_>, observer: &mut dyn Observer) {
        let index = execution.session.0 as usize;
        let own = self.without_inner(execution, observer);
        self.extend_segment(execution, observer);
        let call = Call {
            number: self.calls,
            session: execution.session,
            statement: execution.statement,
            scope: execution.scope,
            kind: CallKind::Exec,
            name: 0,
            depth: execution.inner.depth,
            end: execution.end,
            inclusive: execution.inner.cost,
            own: own.cost,
            misses: 0,
            rows: execution.document.nodes[0].rows,
            goal: 0,
            plan_hash: execution.plan_hash,
            waits: own.io.into_iter().filter(|time| time.0 > 0).sum(),
            offset: execution.entry.offset,
        };
        self.calls += 1;
        for (event, (time, blocks)) in own.io.into_iter().zip(own.io_blocks).enumerate() {
            if time.0 > 0 {
                let wait = wait(execution, EventIndex(event as u32), time, blocks);
                observer.wait(&self.context, &wait);
            }
        }
        observer.call(&self.context, &call);
        if execution.document.nodes[0].is_measured {
            self.plan_lines(execution, observer);
        }
        if execution.inner.depth == 0 {
            self.emit_root(execution.session, &execution.inner, observer);
            return;
        }
        self.states[index].waiting.entry(execution.inner.depth).or_default().push(execution.inner);
        self.waiting += 1;
        if self.waiting > WAITING_MAX {
            self.give_up_waiting(observer);
        }
    }

    /// Gives up all inner statements that wait, of sessions that have ended too.
    fn give_up_waiting(&mut self, observer: &mut dyn Observer) {
        self.waiting = 0;
        for index in 0..self.states.len() {
            let waiting = std::mem::take(&mut self.states[index].waiting);
            waiting.values().flatten().for_each(|inner| self.root(SessionIndex(index as u32), inner, observer));
        }
    }

    /// An execution's figures without those of the statements that ran inside it, which are claimed. What waited and
    /// ran inside no statement of the client has no caller in the log: it is a `CALL` or `DO`, which no plan is written
    /// of, or failed.
    fn without_inner(&mut self, execution: &Execution<'_>, observer: &mut dyn Observer) -> Inner {
        let (session, outer) = (execution.session, &execution.inner);
        let mut own = *outer;
        let Some(deeper) = outer.depth.checked_add(1) else { return own };
        let claimed = self.states[session.0 as usize].waiting.split_off(&deeper);
        if claimed.is_empty() {
            return own;
        }
        // A statement in a function calls what stands further inside than the function that the client called.
        let is_of_client = outer.depth == 0;
        let names = if is_of_client { names_in(&execution.document.query) } else { HashSet::default() };
        let is_named = |inner: &Inner| inner.function.is_some_and(|function| names.contains(&function));
        let can_call = |inner: &Inner| !(is_of_client && inner.is_of_block);
        for (depth, mut waiting) in claimed {
            let mut claim = |inner: &Inner| {
                let fits = can_call(inner) && inner.cost.elapsed <= own.cost.elapsed;
                let is_inside = fits && (inner.began_within(outer) || is_named(inner));
                if is_inside {
                    own.take_off(inner);
                }
                is_inside
            };
            // Statements of one depth follow one another: those inside are the last ones.
            let first = waiting.iter().rposition(|inner| !claim(inner)).map_or(0, |last| last + 1);
            self.waiting -= waiting.len() - first;
            waiting.truncate(first);
            // What ran before this one in the same function waits for the caller of both.
            if outer.depth > 0 && !waiting.is_empty() {
                self.states[session.0 as usize].waiting.insert(depth, waiting);
            } else {
                self.waiting -= waiting.len();
                waiting.iter().for_each(|inner| self.root(session, inner, observer));
            }
        }
        let is_below = |time: &Ticks| time.0 < 0;
        self.summary.io_below_zero += own.io.iter().filter(|time| is_below(time)).count() as u64;
        own
    }

    /// Lengthens the session's segment; a clock that goes back begins another.
    fn extend_segment(&mut self, execution: &Execution<'_>, observer: &mut dyn Observer) {
        let (Some(start), Some(end)) = (execution.inner.start, execution.end) else { return };
        let (session, clock) = (execution.session, &mut self.states[execution.session.0 as usize].clock);
        let ended = if clock.moves_back(end) { clock.move_back(end) } else { None };
        clock.extend(start, end);
        if let Some((first, last)) = ended {
            observer.segment(&self.context, &segment(session, first, last));
        }
    }

    fn root(&mut self, session: SessionIndex, inner: &Inner, observer: &mut dyn Observer) {
        let call = self.running_call(&self.context.sessions[session.0 as usize].id);
        self.orphan(session, inner, call.is_some_and(|call| inner.began_within(&call)), observer);
    }

    /// An inner statement without a caller with a plan; `is_of_call` where a `CALL` or `DO` is known to have run it.
    fn orphan(&mut self, session: SessionIndex, inner: &Inner, is_of_call: bool, observer: &mut dyn Observer) {
        self.summary.orphans += 1;
        self.summary.orphans_of_calls += u64::from(is_of_call);
        self.emit_root(session, inner, observer);
    }

    fn emit_root(&mut self, session: SessionIndex, inner: &Inner, observer: &mut dyn Observer) {
        if inner.start.is_none() {
            self.states[session.0 as usize].untimed += inner.cost.elapsed;
        }
        observer.root(&self.context, &root(session, inner));
    }

    fn plan_lines(&self, execution: &Execution<'_>, observer: &mut dyn Observer) {
        for (index, (node, figures)) in execution.document.nodes.iter().zip(&execution.figures).enumerate() {
            let Figures { time, blocks, .. } = figures.inclusive;
            // Below zero only in a damaged plan.
            let figures = PlanFigures {
                gets: blocks.gets().max(0),
                physical_reads: blocks.read.max(0),
                physical_writes: blocks.written.max(0),
                time,
                read_time: node.io.map(|_| figures.inclusive.io.read),
            };
            let line = PlanLine {
                statement: execution.statement,
                plan_hash: execution.plan_hash,
                id: index as u32 + 1,
                parent: node.parent.map_or(0, |parent| parent as u32 + 1),
                operation: node.operation.clone(),
                object: 0,
                rows: node.rows,
                estimated: node.expected_rows,
                starts: Some(node.loops),
                figures: Some(figures),
            };
            observer.plan_line(&self.context, &line);
        }
    }

    fn session(&mut self, id: &str) -> SessionIndex {
        let LogSource { context, sessions, states, .. } = self;
        let is_shared = id.len() > NAME_BYTES_MAX || is_full(sessions, id, SESSIONS_MAX);
        self.shared_sessions += u64::from(is_shared);
        let id = if is_shared { OTHER_SESSIONS } else { id };
        SessionIndex(place(sessions, id, || {
            states.push(SessionState::default());
            push(&mut context.sessions, Session { id: id.into() })
        }))
    }

    fn scope(&mut self, scope: &Scope) -> ScopeIndex {
        let names = [&scope.client, &scope.container, &scope.module];
        let is_shared =
            names.iter().any(|name| name.len() > NAME_BYTES_MAX) || is_full(&self.scopes, scope, SCOPES_MAX);
        let others = is_shared.then(|| Scope { module: OTHERS.into(), ..Scope::default() });
        let scope = others.as_ref().unwrap_or(scope);
        ScopeIndex(place(&mut self.scopes, scope, || push(&mut self.context.scopes, scope.clone())))
    }

    /// Statements are one by the identifier that the server computed, else by their text with its literals folded; by
    /// their texts as they are where literals are kept.
    fn statement(&mut self, document: &PlanDocument, depth: u16) -> StatementIndex {
        // A log's own field has the identifier of what the session runs when it writes the entry: a SELECT of a
        // transaction is logged when its portal closes, which the next statement does.
        let id = match (document.query_id.filter(|id| *id != 0), self.keeps_literals) {
            (Some(id), false) => id.to_string(),
            (None, false) => format!("text-{:016x}", hash(fold_text(&document.query).as_bytes())),
            // The server's identifier still finds all of its statements.
            (Some(id), true) => format!("{id}-{:010x}", hash(document.query.as_bytes()) >> 24),
            (None, true) => format!("text-{:016x}", hash(document.query.as_bytes())),
        };
        let head = &document.query[..document.query.floor_char_boundary(TEXT_BYTES_MAX)];
        if is_full(&self.statements, &*id, STATEMENTS_MAX) {
            self.shared_statements += 1;
            return StatementIndex(place(&mut self.statements, OTHER_STATEMENTS, || {
                push(&mut self.context.statements, Statement { id: OTHER_STATEMENTS.into(), ..Statement::default() })
            }));
        }
        let number = place(&mut self.statements, &*id, || {
            let text_bytes = document.query.len() as u64;
            let statement = Statement { id: id.clone(), text: head.into(), text_bytes, depth, ..Statement::default() };
            push(&mut self.context.statements, statement)
        });
        self.leave_out_literals(number, head);
        StatementIndex(number)
    }

    /// Shows a statement without its literals where another execution has other ones: those of the first say nothing of
    /// it.
    fn leave_out_literals(&mut self, number: u32, text: &str) {
        let Some(known) = self.context.statements.get_mut(number as usize) else { return };
        if known.text != text && self.without_literals.insert(number) {
            known.text = fold_text(&known.text);
        }
    }
}

/// The number that something known by `key` has, which `add` gives where it is new.
fn place<K, Q>(known: &mut HashMap<K, u32>, key: &Q, add: impl FnOnce() -> u32) -> u32
where
    K: Borrow<Q> + Eq + Hash,
    Q: ToOwned<Owned = K> + Eq + Hash + ?Sized,
{
    match known.get(key) {
        Some(place) => *place,
        None => *known.entry(key.to_owned()).or_insert_with(add),
    }
}

/// Whether `key` is new where there is no room for another one besides the one that all further ones share.
fn is_full<K, Q>(known: &HashMap<K, u32>, key: &Q, most: usize) -> bool
where
    K: Borrow<Q> + Eq + Hash,
    Q: Eq + Hash + ?Sized,
{
    known.len() + 1 >= most && !known.contains_key(key)
}

/// Adds to a list; the place there.
fn push<T>(list: &mut Vec<T>, element: T) -> u32 {
    list.push(element);
    list.len() as u32 - 1
}

impl Inner {
    /// A `CALL` or `DO` that was over at this time, of which nothing else is known.
    fn of_call(end: Option<Ticks>, duration: Ticks) -> Inner {
        Inner {
            depth: 0,
            function: None,
            is_of_block: false,
            start: end.map(|end| end - duration),
            cost: Cost { elapsed: duration, ..Cost::default() },
            io: [Ticks::ZERO; 5],
            io_blocks: [0; 5],
        }
    }

    /// A `CALL` or `DO` that began at this time, of which nothing else is known.
    fn of_begun_call(start: Option<Ticks>) -> Inner {
        Inner { start, ..Inner::of_call(None, Ticks::ZERO) }
    }

    /// Whether it began after `outer` did, as far as their stamps tell. They do not where the server wrote the entry of
    /// `outer` late: a SELECT of a transaction is logged when its portal closes.
    fn began_within(&self, outer: &Inner) -> bool {
        let (Some((own_start, own_end)), Some((start, end))) = (self.span(), outer.span()) else { return true };
        let is_whole_second = |time: Ticks| time.0 % Ticks::from_micros(1_000_000).0 == 0;
        let seconds = is_whole_second(own_end) && is_whole_second(end);
        let tolerance = if seconds { NESTING_TOLERANCE_SECONDS } else { NESTING_TOLERANCE };
        own_start >= start - tolerance
    }

    /// Start and end.
    fn span(&self) -> Option<(Ticks, Ticks)> {
        self.start.map(|start| (start, start + self.cost.elapsed))
    }

    fn take_off(&mut self, inner: &Inner) {
        let less = |from: &mut i64, what: i64| *from = from.saturating_sub(what);
        // What a trigger reads after its statement is in no node of the statement's plan.
        let at_most = |from: &mut i64, what: i64| *from = from.saturating_sub(what).max(0);
        less(&mut self.cost.elapsed.0, inner.cost.elapsed.0);
        at_most(&mut self.cost.physical_reads, inner.cost.physical_reads);
        at_most(&mut self.cost.consistent_gets, inner.cost.consistent_gets);
        let time = of_caller(self.io.map(|time| time.0), inner.io.map(|time| time.0));
        self.io.iter_mut().zip(time).for_each(|(from, what)| less(&mut from.0, what));
        let blocks = of_caller(self.io_blocks, inner.io_blocks);
        self.io_blocks.iter_mut().zip(blocks).for_each(|(from, what)| at_most(from, what));
    }
}

/// What of an inner statement is in each kind of its caller. Reads go by the node that they stand on, and the caller
/// has those of a function on the node that called it: what its one kind of reads cannot hold is in its other.
fn of_caller(caller: [i64; 5], mut inner: [i64; 5]) -> [i64; 5] {
    let too_much = [READ, SCAN].map(|kind| inner[kind].saturating_sub(caller[kind].max(0)).max(0));
    inner[READ] = inner[READ].saturating_sub(too_much[0]).saturating_add(too_much[1]);
    inner[SCAN] = inner[SCAN].saturating_sub(too_much[1]).saturating_add(too_much[0]);
    inner
}

impl Source for LogSource {
    fn keep_literals(&mut self) {
        self.keeps_literals = true;
    }

    fn in_order(&mut self, inputs: Vec<Input>) -> Vec<Input> {
        self.known = (inputs.len() > 1).then(HashMap::new);
        by_first_stamp(inputs)
    }

    fn read(&mut self, input: Input, reading: &mut Reading<'_, '_>) -> Result<Vec<SourceFile>, input::Problem> {
        let (name, head_hash) = (input.given.name(), input.head_hash);
        let bytes = input.open()?;
        let contents = bytes.contents();
        reading.begin_file(&name);
        let plans = self.summary.plans;
        self.unread = UnreadLines::of(contents.clone());
        let mut metered = Metered { bytes, name: &name, read: 0, meter: &mut reading.meter };
        let outcome = self.read_files(&mut metered, contents.as_ref(), &mut reading.listeners);
        let bytes = metered.read;
        let (unread, within) = self.end_unread();
        let unread_within = within.into_iter().map(|(file, unread)| (format!("{name}/{file}"), unread)).collect();
        let timed_records = self.summary.plans - plans;
        let cut_short = match outcome {
            Err(error) if bytes == 0 => return Err(input::Problem::Unreadable { name, error }),
            outcome => outcome.err().map(|error| error.to_string()),
        };
        let read = SourceFile { name, bytes, timed_records, unread, cut_short, head_hash, ..SourceFile::default() };
        let contents = contents.map(|contents| contents.take()).unwrap_or_default();
        Ok(vec![SourceFile { contents, unread_within, ..read }])
    }

    fn finish(self: Box<Self>, listeners: &mut Listeners<'_>) -> Finished {
        let folded = of_several_texts(self.without_literals.len() as u64);
        let (accounted, summary) = self.end(listeners);
        Finished { accounted, findings: findings(&summary).into_iter().chain(folded).collect(), sampled: None }
    }
}

/// Whether a log holds a plan that can be read. It is read as far as the first one.
fn holds_plan(bytes: &mut dyn Read) -> bool {
    let is_found = Cell::new(false);
    let mut source = LogSource::new();
    // What cannot be read any further holds no other one.
    let _ = source.read_log(UpToPlan { bytes, is_found: &is_found }, &mut FirstPlan(&is_found));
    is_found.get()
}

/// Hears whether there is an execution.
struct FirstPlan<'a>(&'a Cell<bool>);

impl Observer for FirstPlan<'_> {
    fn call(&mut self, _: &Context, _: &Call) {
        self.0.set(true);
    }
}

/// A reader that ends where a plan was found.
struct UpToPlan<'a, R> {
    bytes: R,
    is_found: &'a Cell<bool>,
}

impl<R: Read> Read for UpToPlan<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_found.get() {
            return Ok(0);
        }
        unless_called_off()?;
        self.bytes.read(buffer)
    }
}

/// A reader that reports how far it is, and ends where the caller breaks it off.
struct Metered<'a, 'p> {
    bytes: Bytes,
    name: &'a str,
    read: u64,
    meter: &'a mut Meter<'p>,
}

impl Read for Metered<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        self.read += count as u64;
        Ok(if self.meter.read(self.name, self.read).is_break() { 0 } else { count })
    }
}

/// Times of I/O of an execution by kind, and the blocks that they were spent on. Both are means of the processes that
/// waited side by side, so that the time of a block is what a process waited for one.
fn io_of(nodes: &[Node], figures: &[NodeFigures]) -> ([Ticks; 5], [i64; 5]) {
    let (mut times, mut blocks) = ([0_i64; 5], [0_i64; 5]);
    for (node, figures) in nodes.iter().zip(figures) {
        let (io, own) = (figures.own.io, figures.own.blocks);
        let mut time = [io.read.0, io.write.0, io.temporary_read.0, io.temporary_write.0, 0];
        let mut block = [own.read, own.written, own.temporary_read, own.temporary_written, 0];
        if node.reads_in_order {
            time.swap(READ, SCAN);
            block.swap(READ, SCAN);
        }
        let processes = i64::try_from(figures.processes.max(1)).unwrap_or(i64::MAX);
        let add = |(sum, more): (&mut i64, i64)| *sum = sum.saturating_add(more / processes);
        times.iter_mut().zip(time).for_each(add);
        blocks.iter_mut().zip(block).for_each(add);
    }
    (times.map(Ticks), blocks)
}

/// Whether the text of a statement is a `CALL` or a `DO`: the server writes no plan of these.
fn is_call(text: &[u8]) -> bool {
    let word = from_first_word(text).split(|byte| !byte.is_ascii_alphabetic()).next().unwrap_or_default();
    [&b"CALL"[..], b"DO"].iter().any(|call| word.eq_ignore_ascii_case(call))
}

/// The text of a statement after the comments that some programs put in front of it.
fn from_first_word(mut text: &[u8]) -> &[u8] {
    loop {
        text = text.trim_ascii_start();
        let end = match text {
            [b'-', b'-', ..] => memchr::memchr(b'\n', text),
            [b'/', b'*', rest @ ..] => memchr::memmem::find(rest, b"*/").map(|at| at + 3),
            _ => return text,
        };
        let Some(end) = end else { return text };
        text = &text[end + 1..];
    }
}

/// In how many functions an entry was written: 0 for a statement of the client. A statement that no function called,
/// such as the check of a foreign key, is a level too. The statements of an SQL function have no line, so that one in
/// front of its line is such a check.
fn depth(context: &[u8]) -> u16 {
    let (mut depth, mut is_within, mut is_statement) = (0_usize, false, false);
    for line in levels(context) {
        is_within = true;
        if text_of(line).is_some() {
            depth += usize::from(is_statement);
            is_statement = true;
        } else if is_function(line) {
            depth += 1 + usize::from(is_statement && line.starts_with(b"SQL function"));
            is_statement = false;
        }
    }
    depth += usize::from(is_statement);
    // A context of another kind is one level.
    let depth = if is_within { depth.max(1) } else { 0 };
    u16::try_from(depth).unwrap_or(u16::MAX)
}

/// The lines of a context without further lines of a statement's text, up to its closing quote, and without the values
/// of the client's statement, which come last and may have several lines.
fn levels(context: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut is_open = false;
    let lines = context.split(|byte| *byte == b'\n').filter(move |line| {
        let is_further = is_open;
        let text = if is_further { Some(*line) } else { text_of(line) };
        is_open = text.is_some_and(|text| !text.ends_with(b"\""));
        !is_further && !line.is_empty()
    });
    lines.take_while(|line| !is_of_parameters(line))
}

/// What stands behind the quote in a line of a context that holds the text of a statement.
fn text_of(line: &[u8]) -> Option<&[u8]> {
    TEXTS.iter().find_map(|before| line.strip_prefix(*before))
}

/// Whether a line of a context is a function's, such as `PL/pgSQL function f() line 3 at PERFORM`; the quoted text of a
/// statement may have the word too. In all languages it has the name of the function's language and its parentheses.
fn is_function(line: &[u8]) -> bool {
    if text_of(line).is_some() {
        return false;
    }
    let is_language = |before: &[u8]| {
        let word = before.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
        word.starts_with(b"PL/") || word == b"SQL"
    };
    let at = memchr::memmem::find(line, b" function ");
    at.is_some_and(|at| is_language(&line[..at]))
        || line.starts_with(b"SQL function")
        || (memchr::memmem::find(line, b"PL/").is_some() && line.contains(&b'(') && !line.contains(&b'"'))
}

/// The name of the outermost function of a context, as a number: the client's statement called it. `None` where there
/// is none, and for the block of a `DO`, which has no name.
fn function_of_client(context: &[u8]) -> Option<u64> {
    let line = levels(context).filter(|line| is_function(line)).last()?;
    let name = match memchr::memchr(b'(', line) {
        Some(end) => {
            let before = line[..end].strip_suffix(b"\"").unwrap_or(&line[..end]);
            before.rsplit(|byte| !is_of_name(*byte)).next()?
        }
        None => line.split(|byte| *byte == b'"').nth(1)?,
    };
    (!name.is_empty()).then(|| hash(&name.to_ascii_lowercase()))
}

/// Whether the outermost line of a context is the block of a `DO`. No statement with a plan runs one.
fn is_of_block(context: &[u8]) -> bool {
    let name = b"inline_code_block";
    let Some(line) = levels(context).last().filter(|line| text_of(line).is_none()) else { return false };
    // A function of that name has parentheses.
    let of_plpgsql = memchr::memmem::find(line, name).is_some_and(|at| line.get(at + name.len()) != Some(&b'('));
    of_plpgsql || memchr::memmem::find(line, b"anonymous code block").is_some()
}

/// The words of a query's text that could be names of functions, as [`function_of_client`] numbers them.
fn names_in(query: &str) -> HashSet<u64, RandomState> {
    let words = query.as_bytes().split(|byte| !is_of_name(*byte)).filter(|word| !word.is_empty());
    words.map(|word| hash(&word.to_ascii_lowercase())).collect()
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Whether a line of a context has the values of a client's statement, such as `unnamed portal with parameters: $1 =
/// '7'`: it is in no function.
fn is_of_parameters(line: &[u8]) -> bool {
    let portals: [&[u8]; 3] = [b"unnamed portal ", b"portal \"", b"extended query "];
    portals.iter().any(|portal| line.starts_with(portal)) && memchr::memmem::find(line, b"with parameters:").is_some()
}

fn root(session: SessionIndex, inner: &Inner) -> Root {
    Root { session, inclusive: inner.cost, depth: inner.depth, calls: 1 }
}

/// What a session did between two logged plans, no log of plans says: all of the segment is unrecorded.
fn segment(session: SessionIndex, first: Ticks, last: Ticks) -> Segment {
    Segment { session, first, last, unrecorded: vec![(first, last)], untimed: Ticks::ZERO }
}

/// The waits of an execution for one kind of I/O: their sum, because a plan has no single one. Somewhere within the
/// execution; a log does not say when.
fn wait(execution: &Execution<'_>, event: EventIndex, elapsed: Ticks, blocks: i64) -> Wait {
    Wait {
        session: execution.session,
        statement: execution.statement,
        scope: execution.scope,
        event,
        elapsed,
        sum_of: Some(u64::try_from(blocks).unwrap_or(0).max(1)),
        placement: Placement::Inside(CallKind::Exec),
        depth: execution.inner.depth,
        parameters: [blocks, 0, 0],
        offset: execution.entry.offset,
        ..Wait::default()
    }
}

/// A number for the shape of a plan: operations, objects and how they hang together, without any figure.
fn plan_hash(nodes: &[Node]) -> u64 {
    let mut text = Vec::new();
    for node in nodes {
        text.extend_from_slice(&node.parent.map_or(0, |parent| parent as u64 + 1).to_le_bytes());
        text.extend_from_slice(node.operation.as_bytes());
    }
    hash(&text)
}

/// FNV-1a: the same in every version of this program, so that identifiers made from it can be compared.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::collector::{Collector, THINK_TIME};

    #[derive(Default)]
    struct Kept {
        calls: Vec<Call>,
        waits: Vec<Wait>,
        roots: Vec<Root>,
        lines: Vec<PlanLine>,
        segments: Vec<Segment>,
    }

    impl Observer for Kept {
        fn call(&mut self, _: &Context, call: &Call) {
            self.calls.push(call.clone());
        }
        fn wait(&mut self, _: &Context, wait: &Wait) {
            self.waits.push(*wait);
        }
        fn root(&mut self, _: &Context, root: &Root) {
            self.roots.push(*root);
        }
        fn plan_line(&mut self, _: &Context, line: &PlanLine) {
            self.lines.push(line.clone());
        }
        fn segment(&mut self, _: &Context, segment: &Segment) {
            self.segments.push(segment.clone());
        }
    }

    fn read(log: &str) -> (Kept, Context, LogSummary) {
        let (mut kept, mut source) = (Kept::default(), LogSource::new());
        assert!(source.read_log(log.as_bytes(), &mut kept).unwrap().is_some());
        let (accounted, summary) = source.end(&mut kept);
        (kept, accounted.context, summary)
    }

    fn entry(millis: u32, process: u32, duration: &str, query: &str, figures: &str) -> String {
        format!(
            "2026-11-21 10:45:{:02}.{:03} UTC [{process}] me@shop LOG:  duration: {duration} ms  plan:\n\t{{\n\t  \
             \"Query Text\": \"{query}\",\n\t  \"Plan\": {{\n\t    \"Node Type\": \"Seq Scan\", \"Relation Name\": \
             \"orders\", {figures}\n\t  }}\n\t}}\n",
            millis / 1000,
            millis % 1000
        )
    }

    const FIGURES: &str = "\"Actual Total Time\": 4.000, \"Actual Rows\": 10, \"Actual Loops\": 1, \
                           \"Shared Hit Blocks\": 90, \"Shared Read Blocks\": 10, \
                           \"I/O Read Time\": 3.500, \"I/O Write Time\": 0.000";

    #[test]
    fn an_execution_becomes_a_call_a_wait_and_plan_lines() {
        let (kept, context, summary) = read(&entry(500, 7, "4.250", "select 1", FIGURES));
        let call = &kept.calls[0];
        assert_eq!(call.own.elapsed, Ticks::from_micros(4250));
        assert_eq!((call.own.cpu, call.own.consistent_gets, call.own.physical_reads, call.rows), (None, 100, 10, 10));
        assert_eq!(kept.waits.len(), 1);
        assert_eq!(context.event_name(kept.waits[0].event), "IO:DataFileRead (sequential scan)");
        assert_eq!((kept.waits[0].elapsed, kept.waits[0].parameters[0]), (Ticks::from_micros(3500), 10));
        assert_eq!(kept.lines[0].operation, "Seq Scan on orders");
        assert_eq!(kept.segments[0].last - kept.segments[0].first, Ticks::from_micros(4250));
        assert_eq!((context.sessions[0].id.as_str(), context.scopes[0].container.as_str()), ("7", "shop"));
        assert_eq!(summary.micros_per_get_at_most(), Some(7.5));
    }

    #[test]
    fn the_reads_of_an_execution_are_a_sum_of_its_blocks_by_kind_of_node() {
        let (kept, context, _) = read(&entry(500, 7, "4.250", "select 1", FIGURES));
        assert_eq!(context.event_name(kept.waits[0].event), "IO:DataFileRead (sequential scan)");
        assert_eq!(context.event(kept.waits[0].event).unwrap().class.key(), "multi-block-reads");
        assert_eq!(kept.waits[0].sum_of, Some(10));
        let indexed = entry(500, 7, "4.250", "select 1", FIGURES).replace("Seq Scan", "Index Scan");
        let (kept, context, _) = read(&indexed);
        assert_eq!(context.event_name(kept.waits[0].event), "IO:DataFileRead");
        let mut collector = Collector::new(THINK_TIME);
        kept.waits.iter().for_each(|wait| collector.wait(&context, wait));
        let accounted = Accounted { context, ..Accounted::default() };
        let sums = &collector.finish(accounted).whole.events[&kept.waits[0].event];
        assert_eq!((sums.count, sums.histogram.iter().count()), (10, 0), "blocks, and no length of any");
    }

    #[test]
    fn statements_that_differ_in_literals_are_one_and_others_are_not() {
        let log: String =
            ["select 1", "select  2", "select x"].map(|query| entry(1, 7, "1.0", query, FIGURES)).concat();
        let (kept, context, _) = read(&log);
        assert_eq!(context.statements.len(), 2);
        assert_eq!(kept.calls[0].statement, kept.calls[1].statement);
    }

    #[test]
    fn a_statement_of_several_literals_shows_none_of_them_and_those_that_are_to_stay_apart_do() {
        let statements = |queries: [&str; 3], keeps_literals: bool| {
            let log: String = queries.map(|query| entry(1, 7, "1.0", query, FIGURES)).concat();
            let (mut kept, mut source) = (Kept::default(), LogSource::new());
            if keeps_literals {
                source.keep_literals();
            }
            source.read_log(log.as_bytes(), &mut kept).unwrap();
            let (accounted, _) = source.end(&mut kept);
            accounted.context.statements.into_iter().map(|known| (known.id, known.text)).collect::<Vec<_>>()
        };
        let texts = |queries, keeps_literals| {
            let found = statements(queries, keeps_literals).into_iter();
            found.map(|(_, text)| text).collect::<Vec<String>>()
        };
        let queries = ["select 1", "select  2", "select x"];
        assert_eq!(texts(queries, false), ["select ?", "select x"]);
        assert_eq!(texts(queries, true), queries);
        assert_eq!(texts(["select 1"; 3], false), ["select 1"], "the one that all executions have");
        // The server's identifier is that of all of them.
        let identifier = "\", \"Query Identifier\": 12, \"a\": \"";
        let numbered = ["select 1", "select 2", "select 1"].map(|query| query.to_string() + identifier);
        let numbered = [&*numbered[0], &*numbered[1], &*numbered[2]];
        assert_eq!(statements(numbered, false), [("12".to_string(), "select ?".to_string())]);
        let apart = statements(numbered, true);
        assert!(apart.len() == 2 && apart.iter().all(|(id, _)| id.starts_with("12-")), "{apart:?}");
    }

    #[test]
    fn lines_of_a_trace_in_an_archive_of_logs_are_counted_as_what_they_are_and_no_message_swallows_them() {
        let trace = "PARSING IN CURSOR #1 len=8\nselect 1\nEND OF STMT\nEXEC #1:c=1,e=2,dep=0,tim=3\n";
        let plain = "2026-11-21 10:45:00 UTC [7] ERROR:  no\n";
        let planned = entry(500, 7, "4.250", "select 1", FIGURES);
        let kinds = |log: &str| -> Vec<(String, &'static str, u64, u64)> {
            let files = [("a.log", log), ("b.trc", trace), ("c.log", planned.as_str())];
            let mut archive = tar::Builder::new(Vec::new());
            for (name, text) in files {
                let mut header = tar::Header::new_ustar();
                header.set_size(text.len() as u64);
                archive.append_data(&mut header, name, text.as_bytes()).unwrap();
            }
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("all.tar");
            std::fs::write(&path, archive.into_inner().unwrap()).unwrap();
            let progress = &mut |_: &str, _: u64| std::ops::ControlFlow::Continue(());
            let (mut collector, mut more) = (Collector::new(THINK_TIME), Kept::default());
            let mut reading = Reading::new((&mut collector, &mut more), progress);
            let input = Input { given: input::Given::File(path), bytes: None, head_hash: None };
            let read = LogSource::new().read(input, &mut reading).unwrap();
            let [file] = &read[..] else { panic!("one file") };
            assert_eq!(file.timed_records, 1 + u64::from(log.contains("plan:")), "of the logs around it");
            let lines: u64 = file.unread.iter().map(|unread| unread.lines).sum();
            assert_eq!(lines, file.unread_within.iter().map(|(_, unread)| unread.lines).sum::<u64>());
            let named = |name: &str| name.rsplit_once("all.tar/").unwrap().1.to_string();
            let within = file.unread_within.iter();
            within.map(|(name, one)| (named(name), one.kind, one.lines, one.first_offset)).collect()
        };
        let of_trace = ("b.trc".to_string(), "lines of traces", 4_u64, 0_u64);
        assert_eq!(kinds(&planned), std::slice::from_ref(&of_trace), "behind a plan");
        assert_eq!(kinds(plain), [("a.log".to_string(), "messages without a plan", 1, 0), of_trace]);
    }

    #[test]
    fn a_new_statement_and_a_new_session_in_every_entry_fill_no_memory() {
        let (mut source, mut kept) = (LogSource::new(), Kept::default());
        let entry = |number: usize| Entry {
            session: format!("{:x}", number / 2),
            scope: Scope { module: number.to_string(), ..Scope::default() },
            message: format!(
                "duration: 1.0 ms  plan:\n{{\"Query Text\": \"x\", \"Query Identifier\": {}, \"Plan\": \
                 {{\"Node Type\": \"Result\"}}}}",
                number + 1
            )
            .into(),
            ..Entry::default()
        };
        let entries = 2 * (SESSIONS_MAX + 5);
        for number in (0..entries).chain([0]) {
            source.entry(&entry(number), LogFormat::Csv, &mut kept).unwrap();
        }
        let (accounted, _) = source.end(&mut kept);
        let context = accounted.context;
        let most = (STATEMENTS_MAX, SESSIONS_MAX, SCOPES_MAX);
        assert_eq!((context.statements.len(), context.sessions.len(), context.scopes.len()), most);
        let problems: Vec<(ProblemKind, u64)> = accounted.problems.iter().map(|one| (one.kind, one.count)).collect();
        let shared = (entries - STATEMENTS_MAX + 1) as u64;
        assert_eq!(problems, [(ProblemKind::SessionsShared, 12), (ProblemKind::StatementsShared, shared)]);
        let [beyond, again] = [entries - 1, entries].map(|at| &kept.calls[at]);
        assert_eq!(context.statements[beyond.statement.0 as usize].id, OTHER_STATEMENTS);
        assert_eq!(context.sessions[beyond.session.0 as usize].id, OTHER_SESSIONS);
        let first = (StatementIndex(0), SessionIndex(0), ScopeIndex(0));
        assert_eq!((again.statement, again.session, again.scope), first, "it is still known");
    }

    #[test]
    fn names_without_end_fill_no_memory() {
        let (mut source, mut kept) = (LogSource::new(), Kept::default());
        for letter in ["a", "b"] {
            let name = letter.repeat(NAME_BYTES_MAX + 1);
            let scope = Scope { module: name.clone(), ..Scope::default() };
            let message = b"duration: 1.0 ms  plan:\n{\"Plan\": {\"Node Type\": \"Result\"}}".to_vec();
            let entry = Entry { session: name, scope, message, ..Entry::default() };
            source.entry(&entry, LogFormat::Csv, &mut kept).unwrap();
        }
        let (Accounted { context, .. }, _) = source.end(&mut kept);
        let sessions: Vec<&str> = context.sessions.iter().map(|session| session.id.as_str()).collect();
        let modules: Vec<&str> = context.scopes.iter().map(|scope| scope.module.as_str()).collect();
        assert_eq!((sessions, modules), (vec![OTHER_SESSIONS], vec![OTHERS]));
    }

    #[test]
    fn an_inner_statement_is_taken_off_its_caller_and_off_no_other() {
        let context = "2026-11-21 10:45:01.000 UTC [7] me@shop CONTEXT:  PL/pgSQL function f() line 3 at PERFORM\n";
        let inner = entry(1000, 7, "4.000", "select inner", FIGURES) + context;
        let other = entry(1001, 8, "5.000", "select other", FIGURES);
        let outer = entry(1002, 7, "9.000", "select f()", FIGURES);
        let (kept, _, summary) = read(&(inner.clone() + &other + &outer));
        let elapsed: Vec<Ticks> = kept.calls.iter().map(|call| call.own.elapsed).collect();
        assert_eq!(elapsed, [4000, 5000, 5000].map(Ticks::from_micros));
        assert_eq!((kept.roots.len(), summary.orphans, kept.waits.len()), (2, 0, 2));
        // A caller that is not logged leaves it a root.
        let late = entry(9000, 7, "9.000", "select g()", FIGURES);
        let (kept, _, summary) = read(&(inner + &late));
        assert_eq!((kept.roots.len(), summary.orphans), (2, 1));
        assert_eq!(kept.calls[1].own.elapsed, Ticks::from_micros(9000));
    }

    /// An entry within `f()`.
    fn inner(millis: u32, duration: &str, context: &str) -> String {
        entry(millis, 7, duration, "select inner", FIGURES)
            + &format!("2026-11-21 10:45:01.000 UTC [7] me@shop CONTEXT:  {context}\n")
    }

    const WITHIN_F: &str = "PL/pgSQL function f() line 3 at PERFORM";

    #[test]
    fn what_a_procedure_ran_is_taken_off_no_statement_that_is_shorter() {
        let other = entry(1006, 7, "0.050", "select 1", FIGURES);
        let (kept, _, summary) = read(&(inner(1005, "3.000", WITHIN_F) + &other));
        let elapsed: Vec<Ticks> = kept.calls.iter().map(|call| call.own.elapsed).collect();
        assert_eq!(elapsed, [3000, 50].map(Ticks::from_micros));
        assert_eq!((summary.orphans, kept.calls[1].own.consistent_gets), (1, 100));
        // Of two that would fit each, the second alone does.
        let outer = entry(1010, 7, "4.000", "select f()", FIGURES);
        let (kept, _, summary) = read(&(inner(1005, "3.000", WITHIN_F) + &inner(1009, "3.500", WITHIN_F) + &outer));
        assert_eq!((kept.calls[2].own.elapsed, summary.orphans), (Ticks::from_micros(500), 1));
        assert_eq!((kept.calls[2].own.consistent_gets, kept.calls[2].own.physical_reads), (0, 0));
    }

    #[test]
    fn what_a_block_ran_is_taken_off_no_statement_after_it() {
        let block = "PL/pgSQL function inline_code_block line 3 at SQL statement";
        for block in [block, "PL/Python anonymous code block"] {
            let context = format!("SQL statement \"select inner\"\n\t{block}");
            let other = entry(1009, 7, "8.000", "select 1", FIGURES);
            let (kept, _, summary) = read(&(inner(1000, "3.000", &context) + &other));
            assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(8000), 1), "{block}");
        }
        // Within the block, a statement has what its function ran.
        let log = inner(1000, "3.000", &format!("{WITHIN_F}\n\t{block}")) + &inner(1001, "8.000", block);
        let (kept, _, summary) = read(&log);
        assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(5000), 1));
    }

    #[test]
    fn what_a_failed_statement_ran_is_taken_off_no_later_one() {
        let failed = "2026-11-21 10:45:01.020 UTC [7] me@shop ERROR:  could not serialize access\n";
        let of_another = failed.replace("[7]", "[8]");
        let again = entry(2000, 7, "300.000", "select f()", FIGURES);
        for (error, own, orphans) in [(failed, 300_000, 1), (of_another.as_str(), 292_000, 0)] {
            let (kept, _, summary) = read(&(inner(1010, "8.000", WITHIN_F) + error + &again));
            assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(own), orphans), "{error}");
            assert_eq!(kept.roots.len() as u64, 1 + orphans);
        }
        let failed_in_csv = csv(1010, "8.0", "").replace("LOG,00000", "ERROR,40001").replace(" ms  plan:", "");
        let log = csv(1000, "8.0", "PL/pgSQL function outer() line 3 at PERFORM") + &failed_in_csv;
        let (kept, _, summary) = read(&(log + &csv(2000, "300.0", "")));
        assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(300_000), 1));
    }

    #[test]
    fn what_a_call_ran_is_taken_off_no_statement_behind_the_line_of_its_end() {
        let over = |text: &str| format!("2026-11-21 10:45:01.006 UTC [7] me@shop LOG:  duration: 4.100 ms  {text}\n");
        let next = entry(1025, 7, "17.000", "select 1", FIGURES);
        for (text, own, orphans) in [
            ("statement: CALL f()", 17_000, 1),
            ("execute <unnamed>: call f($1)", 17_000, 1),
            ("statement: SELECT f()", 14_000, 0),
        ] {
            let (kept, _, summary) = read(&(inner(1005, "3.000", WITHIN_F) + &over(text) + &next));
            assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(own), orphans), "{text}");
        }
        // What ran before the CALL is of a cursor that is open.
        let of_cursor = entry(1025, 7, "60.000", "select f()", FIGURES);
        let log = inner(980, "3.000", WITHIN_F) + &over("statement: CALL g()") + &of_cursor;
        let (kept, _, summary) = read(&log);
        assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(57_000), 0));
        // Where stamps have whole seconds, what ran in it may seem to end long before it began.
        let over = "2026-11-21 10:45:02.000 UTC [7] me@shop LOG:  duration: 500.000 ms  statement: CALL f()\n";
        let late = entry(2100, 7, "1500.000", "select 1", FIGURES);
        let (kept, _, summary) = read(&(inner(1000, "3.000", WITHIN_F) + over + &late));
        assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(1_500_000), 1));
    }

    #[test]
    fn what_a_call_ran_is_taken_off_no_statement_where_its_beginning_alone_is_logged() {
        let line = |millis: u32, text: &str| format!("2026-11-21 10:45:01.{millis:03} UTC [7] me@shop LOG:  {text}\n");
        let next = entry(1025, 7, "17.000", "select 1", FIGURES);
        for (begin, behind, own, orphans) in [
            ("statement: CALL f()", "statement: select 1", 17_000, 1),
            ("statement: CALL f()", "duration: 4.100 ms", 17_000, 1),
            ("execute <unnamed>: /* job 7 */ call f($1)", "execute <unnamed>: select 1", 17_000, 1),
            ("Anweisung: -- job\n\tDO 'x'", "Anweisung: select 1", 17_000, 1),
            ("statement: select f()", "duration: 4.100 ms", 14_000, 0),
            ("statement: select called()", "statement: select 1", 14_000, 0),
        ] {
            let log = line(1, begin) + &inner(1005, "3.000", WITHIN_F) + &line(6, behind) + &next;
            let (kept, _, summary) = read(&log);
            assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(own), orphans), "{begin}");
        }
        // What ran before the CALL is of a cursor that is open.
        let of_cursor = entry(1025, 7, "60.000", "select f()", FIGURES);
        let call = line(1, "statement: CALL g()") + &line(6, "statement: FETCH c");
        let (kept, _, summary) = read(&(inner(980, "3.000", WITHIN_F) + &call + &of_cursor));
        assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(57_000), 0));
        // What runs behind it is no part of it.
        let later = line(1, "statement: CALL g()") + &line(6, "statement: select f()");
        let outer = entry(1030, 7, "20.000", "select f()", FIGURES);
        let (kept, _, summary) = read(&(later + &inner(1020, "3.000", WITHIN_F) + &outer));
        assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(17_000), 0));
    }

    #[test]
    fn no_call_that_is_logged_without_a_plan_is_said_to_be_missing() {
        let line = |millis: u32, text: &str| format!("2026-11-21 10:45:01.{millis:03} UTC [7] me@shop LOG:  {text}\n");
        let (begin, ran) = (line(1, "statement: CALL f()"), inner(1005, "3.000", WITHIN_F));
        let end = line(6, "duration: 5.100 ms  statement: CALL f()");
        let failed = line(6, "x").replace("LOG", "ERROR");
        let next = entry(1525, 7, "17.000", "select 1", FIGURES);
        for (log, of_calls) in [
            (begin.clone() + &ran + &end, 1),
            (ran.clone() + &end, 1),
            (begin.clone() + &ran, 1),
            (begin.clone() + &ran + &failed, 1),
            (begin.clone() + &ran + &next, 1),
            (inner(980, "3.000", WITHIN_F) + &begin, 0),
            (ran.clone() + &failed, 0),
            (ran.clone() + &next, 0),
            (begin.replace("[7]", "[8]") + &ran, 0),
        ] {
            let (_, _, summary) = read(&log);
            assert_eq!((summary.orphans, summary.orphans_of_calls), (1, of_calls), "{log}");
        }
    }

    #[test]
    fn calls_that_begin_and_never_end_fill_no_memory() {
        let (mut source, mut kept) = (LogSource::new(), Kept::default());
        for number in 0..SESSIONS_MAX + 5 {
            let message = b"statement: CALL p()".to_vec();
            let entry = Entry { session: number.to_string(), message, ..Entry::default() };
            assert!(source.entry(&entry, LogFormat::Csv, &mut kept).is_err());
        }
        assert_eq!((source.running.len(), source.sessions.len()), (SESSIONS_MAX, 0));
    }

    #[test]
    fn a_statement_within_a_function_calls_nothing_by_the_name_of_that_one() {
        let within = |line: &str| format!("PL/pgSQL function total() line {line}");
        let deep = inner(1000, "4.000", &format!("PL/pgSQL function g() line 2 at PERFORM\n\t{}", within("3 at IF")));
        let body = entry(1500, 7, "9.000", "select count(*) as total", FIGURES)
            + &format!("2026-11-21 10:45:01.500 UTC [7] me@shop CONTEXT:  {}\n", within("4 at SQL statement"));
        let outer = entry(1510, 7, "600.000", "select total()", FIGURES);
        let (kept, _, summary) = read(&(deep + &body + &outer));
        let elapsed: Vec<Ticks> = kept.calls.iter().map(|call| call.own.elapsed).collect();
        assert_eq!(elapsed, [4000, 9000, 587_000].map(Ticks::from_micros));
        assert_eq!(summary.orphans, 0);
    }

    #[test]
    fn a_caller_that_is_logged_late_still_has_its_inner_statements() {
        for (query, own, orphans) in
            [("select f()", 1000, 0), ("select * from Shop.F ( 1 )", 1000, 0), ("select g()", 9000, 1)]
        {
            let outer = entry(1200, 7, "9.000", query, FIGURES);
            let (kept, _, summary) = read(&(inner(1010, "8.000", WITHIN_F) + &outer));
            assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(own), orphans), "{query}");
        }
    }

    #[test]
    fn the_name_of_the_function_that_the_client_called_is_found() {
        let names = names_in("Select F(1)");
        let is_found = |context: &str| function_of_client(context.as_bytes()).is_some_and(|name| names.contains(&name));
        for context in [
            WITHIN_F,
            "PL/pgSQL function g() line 3 at PERFORM\nPL/pgSQL function shop.f(integer) line 3 at RETURN",
            "PL/pgSQL function \"F\"(integer) line 3 at RETURN",
            "SQL function \"f\" statement 1",
            "PL/pgSQL-Funktion f(integer) Zeile 3 bei PERFORM",
        ] {
            assert!(is_found(context), "{context}");
        }
        assert!(!is_found("PL/pgSQL function inline_code_block line 3 at SQL statement"));
    }

    #[test]
    fn inner_statements_that_wait_take_bounded_memory_over_all_sessions() {
        let (mut source, mut kept) = (LogSource::new(), Kept::default());
        let log = inner(1000, "1.000", WITHIN_F);
        source.waiting = WAITING_MAX - 1;
        source.read_log(log.as_bytes(), &mut kept).unwrap();
        assert_eq!(kept.roots.len(), 0);
        source.read_log(log.replace("[7]", "[8]").as_bytes(), &mut kept).unwrap();
        assert_eq!((kept.roots.len(), source.waiting, source.summary().orphans), (2, 0, 2));
    }

    #[test]
    fn a_deeper_statement_waits_for_the_caller_that_it_shares_with_the_next_one() {
        let line = "PL/pgSQL function f() line 3 at PERFORM";
        let context = |lines: &str| format!("2026-11-21 10:45:01.000 UTC [7] me@shop CONTEXT:  {lines}\n");
        let deep = entry(1000, 7, "4.000", "select deep", FIGURES) + &context(&format!("{line}\n\t{line}"));
        let body = entry(1020, 7, "1.000", "select body", FIGURES) + &context(line);
        let outer = entry(1030, 7, "40.000", "select f()", FIGURES);
        let (kept, _, summary) = read(&(deep + &body + &outer));
        let elapsed: Vec<Ticks> = kept.calls.iter().map(|call| call.own.elapsed).collect();
        assert_eq!(elapsed, [4000, 1000, 35_000].map(Ticks::from_micros));
        assert_eq!((kept.roots.len(), summary.orphans), (1, 0));
    }

    #[test]
    fn the_text_of_a_statement_is_no_function() {
        let context = "SQL statement \"select 1 -- one function call\"\nPL/pgSQL function f() line 3 at PERFORM";
        assert_eq!(depth(context.as_bytes()), 1);
        assert_eq!(depth(b"SQL function \"f\" statement 1\nPL/Python function \"g\""), 2);
        let text = "SQL statement \"\n-- PL/SQL of 2009 (ported)\n\nselect 1\"";
        let context = format!("{text}\nPL/pgSQL function f() line 3 at EXECUTE");
        assert_eq!(depth(context.as_bytes()), 1, "in further lines");
        let context = "PL/pgSQL expression \"x -- SQL function g\"\nPL/pgSQL function f() line 3 at IF";
        assert_eq!(depth(context.as_bytes()), 1, "of an expression");
        assert_eq!(depth("PL/pgSQL-Funktion f() Zeile 3 bei PERFORM\nfonction PL/pgSQL g(), ligne 3".as_bytes()), 2);
    }

    #[test]
    fn the_check_of_a_foreign_key_is_deeper_than_the_statement_that_it_checks() {
        let insert = "SQL statement \"INSERT INTO items\n  VALUES (1)\"\nPL/pgSQL function f() line 3 at SQL statement";
        let check = format!("SQL statement \"SELECT 1 FROM ONLY orders\"\n{insert}");
        assert_eq!((depth(insert.as_bytes()), depth(check.as_bytes())), (1, 2));
        assert_eq!(depth(b"SQL statement \"SELECT 1 FROM ONLY orders\""), 1, "of the client's INSERT");
        let insert = "SQL function \"f\" statement 1";
        let check = format!("SQL statement \"SELECT 1 FROM ONLY orders\"\n{insert}");
        assert_eq!((depth(insert.as_bytes()), depth(check.as_bytes())), (1, 2), "in an SQL function");
    }

    #[test]
    fn blocks_of_parallel_processes_are_not_divided_by_the_time_of_one() {
        let node = |name: &str, time: &str, loops: u32| {
            format!(
                "\"Node Type\": \"{name}\", \"Actual Total Time\": {time}, \"Actual Rows\": 1, \"Actual Loops\": \
                 {loops}, \"Shared Hit Blocks\": 12000, \"I/O Read Time\": 0.000"
            )
        };
        let plan = format!(
            "2026-11-21 10:45:01.000 UTC [7] me@shop LOG:  duration: 12.500 ms  plan:\n\t{{\"Query Text\": \"select \
             1\", \"Plan\": {{{}, \"Workers Launched\": 2, \"Plans\": [{{\"Parallel Aware\": true, {}}}]}}}}\n",
            node("Gather", "12.000", 1),
            node("Seq Scan", "9.000", 3)
        );
        let (kept, _, summary) = read(&plan);
        assert_eq!((kept.calls.len(), summary.parallel, summary.micros_per_get_at_most()), (1, 1, None));
    }

    #[test]
    fn the_time_of_a_block_is_what_one_of_several_processes_waited_for_it() {
        let plan = "{\"Plan\": {\"Node Type\": \"Gather\", \"Actual Total Time\": 1100.0, \"Actual Rows\": 1, \
                    \"Actual Loops\": 1, \"Workers Launched\": 2, \"Shared Read Blocks\": 3000, \"I/O Read Time\": \
                    3000.000, \"Plans\": [{\"Node Type\": \"Seq Scan\", \"Actual Total Time\": 1050.0, \
                    \"Actual Rows\": 1, \"Actual Loops\": 3, \"Shared Read Blocks\": 3000, \"I/O Read Time\": \
                    3000.000}]}}";
        let (kept, _, _) = read(plan);
        let wait = &kept.waits[0];
        assert_eq!((wait.elapsed, wait.sum_of), (Ticks::from_micros(1_000_000), Some(1000)));
        assert_eq!((wait.parameters[0], kept.calls[0].own.physical_reads), (1000, 3000));
    }

    #[test]
    fn values_of_parameters_make_no_statement_of_the_client_an_inner_one() {
        for portal in ["unnamed portal", "portal \"fetched\"", "extended query", "extended query \"fetched\""] {
            let values = format!("{portal} with parameters: $1 = 'a\nb function c'");
            assert_eq!(depth(values.as_bytes()), 0, "{portal}");
            let within = format!("PL/pgSQL function f() line 3 at PERFORM\n{values}");
            assert_eq!(depth(within.as_bytes()), 1, "{portal}");
        }
        assert_eq!(depth(b"while checking a foreign key"), 1, "a context of another kind is one level");
        let context = "2026-11-21 10:45:01.000 UTC [7] me@shop CONTEXT:  unnamed portal with parameters: $1 = '7'\n";
        let (kept, _, summary) = read(&(entry(1000, 7, "4.000", "select 1", FIGURES) + context));
        assert_eq!((kept.calls[0].depth, kept.roots[0].depth, summary.orphans), (0, 0, 0));
    }

    #[test]
    fn reads_of_a_function_that_scans_are_not_counted_for_its_caller_too() {
        let context = "2026-11-21 10:45:01.000 UTC [7] me@shop CONTEXT:  PL/pgSQL function f() line 3 at PERFORM\n";
        for [of_inner, of_outer] in [["Seq Scan", "Result"], ["Index Scan", "Seq Scan"], ["Seq Scan", "Seq Scan"]] {
            let inner = entry(1000, 7, "4.000", "select inner", FIGURES).replace("Seq Scan", of_inner) + context;
            let read_more = FIGURES.replace("3.500", "3.900").replace("Blocks\": 10", "Blocks\": 12");
            let outer = entry(1002, 7, "9.000", "select f()", &read_more).replace("Seq Scan", of_outer);
            let (kept, _, summary) = read(&(inner + &outer));
            let blocks: i64 = kept.waits.iter().map(|wait| wait.parameters[0]).sum();
            let time: i64 = kept.waits.iter().map(|wait| wait.elapsed.0).sum();
            assert_eq!((blocks, Ticks(time)), (12, Ticks::from_micros(3900)), "{of_inner} in {of_outer}");
            assert_eq!((kept.waits.len(), summary.io_below_zero), (2, 0), "{of_inner} in {of_outer}");
        }
    }

    #[test]
    fn text_behind_a_plan_is_counted() {
        let log = entry(500, 7, "4.250", "select 1", FIGURES) + "\tFEHLER: nein\n\tdoch\n";
        let (kept, _, summary) = read(&log);
        let [behind] = &summary.unread[..] else { panic!("{:?}", summary.unread) };
        assert_eq!((kept.calls.len(), behind.kind, behind.lines), (1, BEHIND_A_PLAN, 2));
        assert_eq!(behind.bytes + summary.plan_bytes, log.len() as u64);
        let (_, _, summary) = read("[\n {\"Plan\": {\"Node Type\": \"Result\"}}\n]\n");
        assert!(summary.unread.is_empty(), "{:?}", summary.unread);
    }

    #[test]
    fn a_plan_of_explain_gets_no_advice_for_a_server_s_log() {
        let (_, _, summary) = read("[{\"Plan\": {\"Node Type\": \"Result\"}}]");
        let found: Vec<String> = findings(&summary).into_iter().map(|finding| finding.message).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[1].ends_with(": write EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)."), "{found:?}");
    }

    #[test]
    fn a_byte_order_mark_hides_no_plan_and_no_entry() {
        let plan = "\u{feff}[{\"Plan\": {\"Node Type\": \"Result\"}}]";
        let log = format!("\u{feff}{}", csv(1000, "9.0", ""));
        for text in [plan, log.as_str()] {
            let (kept, _, summary) = read(text);
            assert_eq!((kept.calls.len(), summary.unread.len()), (1, 0), "{text}");
            assert_eq!(summary.plan_bytes, text.len() as u64, "its bytes are counted");
        }
    }

    #[test]
    fn the_last_entry_before_a_log_is_cut_is_not_lost() {
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the gzip data is truncated"))
            }
        }
        let log = entry(500, 7, "4.250", "select 1", FIGURES) + &entry(600, 7, "4.250", "select 2", FIGURES);
        let (mut kept, mut source) = (Kept::default(), LogSource::new());
        let outcome = source.read_log(log.as_bytes().chain(Failing), &mut kept);
        assert!(outcome.unwrap_err().to_string().contains("truncated"));
        assert_eq!((kept.calls.len(), source.summary().plans), (2, 2));
    }

    #[test]
    fn nothing_is_dropped_without_a_count() {
        let whole = entry(500, 7, "4.250", "select 1", FIGURES);
        let text =
            "2026-11-21 10:45:00 UTC [7] LOG:  duration: 1.0 ms  plan:\n\tQuery Text: select 1\n\tSeq Scan on t\n";
        let other = "2026-11-21 10:45:00 UTC [7] ERROR:  no\n2026-11-21 10:45:00 UTC [7] STATEMENT:  select\n\tfrom\n";
        let cut = &whole[..whole.len() - 8];
        let log = format!("\tlost\n{whole}{text}{other}{cut}\n");
        let (kept, _, summary) = read(&log);
        assert_eq!(kept.calls.len(), 1);
        let kinds: Vec<&str> = summary.unread.iter().map(|unread| unread.kind).collect();
        assert_eq!(
            kinds,
            [
                "lines without the beginning of their message",
                "plans in another format than JSON",
                "messages without a plan",
                "plans that are cut"
            ]
        );
        let unread: u64 = summary.unread.iter().map(|unread| unread.bytes).sum();
        assert_eq!(unread + summary.plan_bytes, log.len() as u64);
    }

    /// The same entries as a CSV log.
    fn csv(millis: u32, duration: &str, context: &str) -> String {
        format!(
            "2026-11-21 10:45:{:02}.{:03} UTC,\"me\",\"shop\",7,\"[local]\",69.7,3,\"SELECT\",2026-11-21 10:00:00 UTC,\
             3/4,0,LOG,00000,\"duration: {duration} ms  plan:\n{{\n  \"\"Query Text\"\": \"\"select {}\"\",\n  \
             \"\"Plan\"\": {{\"\"Node Type\"\": \"\"Result\"\"}}\n}}\",,,,,\"{context}\",,,,\"psql\",\"client \
             backend\",,-42\n",
            millis / 1000,
            millis % 1000,
            if context.is_empty() { "outer" } else { "inner" },
        )
    }

    /// The same entry as a line of a JSON log.
    fn jsonlog(millis: u32) -> String {
        format!(
            r#"{{"timestamp":"2026-11-21 10:45:{:02}.{:03} UTC","pid":7,"session_id":"69.7","#,
            millis / 1000,
            millis % 1000
        ) + r#""error_severity":"LOG","message":"duration: 1.0 ms  plan:\n{\n  \"Query Text\": \"select outer\","#
            + r#"\n  \"Plan\": {\"Node Type\": \"Result\"}\n}","ps":"SELECT"}"#
            + "\n"
    }

    #[test]
    fn entries_that_two_formats_hold_are_counted_once_and_as_often_as_they_happened() {
        let stderr = |millis| {
            format!(
                "2026-11-21 10:45:{:02}.{:03} UTC [7] me@shop LOG:  duration: 1.0 ms  plan:\n\t{{\n\t  \"Query Text\": \
                 \"select outer\",\n\t  \"Plan\": {{\"Node Type\": \"Result\"}}\n\t}}\n",
                millis / 1000,
                millis % 1000
            )
        };
        let (mut kept, mut source) = (Kept::default(), LogSource::new());
        source.known = Some(HashMap::new());
        let text: String = [1001, 1002, 2000].map(stderr).concat();
        let table: String = [1001, 1002, 2000, 3000].map(|millis| csv(millis, "1.0", "")).concat();
        let json: String = [1001, 1002, 2000, 3000].map(jsonlog).concat();
        source.read_log(text.as_bytes(), &mut kept).unwrap();
        source.read_log(table.as_bytes(), &mut kept).unwrap();
        assert_eq!((kept.calls.len(), source.summary().repeated), (4, 3));
        source.read_log(json.as_bytes(), &mut kept).unwrap();
        assert_eq!((kept.calls.len(), source.summary().repeated), (4, 4), "executions, and not their copies");
    }

    #[test]
    fn the_period_of_a_log_begins_with_its_first_execution_and_not_when_that_was_over() {
        let at = |micros: i64| 1_795_257_900_000_000 + micros;
        let clocks = |log: &str| {
            let (mut kept, mut source) = (Kept::default(), LogSource::new());
            source.read_log(log.as_bytes(), &mut kept).unwrap();
            source.end(&mut kept).0.clocks
        };
        let entries = [(5000, "4.250"), (5500, "3000.000"), (5600, "3155000000000.000")];
        let [short, long, damaged] = entries.map(|(end, duration)| csv(end, duration, ""));
        assert_eq!(clocks(&short), Some((at(4_995_750), at(5_000_000))));
        assert_eq!(clocks(&(short.clone() + &damaged)), Some((at(4_995_750), at(5_600_000))), "a hundred years long");
        assert_eq!(clocks(&(short + &long)), Some((at(2_500_000), at(5_500_000))), "the one that was logged later");
    }

    #[test]
    fn a_statement_is_not_taken_for_the_next_one_whose_identifier_its_entry_has() {
        // A SELECT of a transaction is logged when the next statement closes its portal.
        let inner = csv(1001, "1.0", "PL/pgSQL function f() line 3 at PERFORM");
        let (_, context, _) = read(&(csv(1000, "9.0", "") + &inner + &csv(1002, "9.0", "")));
        let texts: Vec<&str> = context.statements.iter().map(|statement| statement.text.as_str()).collect();
        assert_eq!(texts, ["select outer", "select inner"]);
        assert!(context.statements.iter().all(|statement| statement.id.starts_with("text-")));
    }

    #[test]
    fn what_the_settings_left_out_is_said() {
        let plain = "\"Plan Rows\": 1";
        let no_blocks = "\"Actual Rows\": 1, \"Actual Loops\": 1";
        let no_io = "\"Actual Rows\": 1, \"Actual Loops\": 1, \"Shared Hit Blocks\": 1, \"Shared Read Blocks\": 2";
        let log: String = [plain, no_blocks, no_io].map(|figures| entry(1, 7, "1.0", "select 1", figures)).concat();
        let (kept, _, summary) = read(&log);
        assert_eq!((summary.unmeasured, summary.without_blocks, summary.without_io_times), (1, 1, 1));
        assert_eq!(summary.without_node_times, 2);
        assert_eq!((kept.waits.len(), summary.micros_per_get_at_most()), (0, None));
    }

    #[test]
    fn figures_beyond_belief_are_left_out_and_overflow_nothing() {
        let figures = "\"Actual Total Time\": 99999999999.999, \"Actual Rows\": 9223372036854775807.99, \
                       \"Actual Loops\": 9223372036854775807, \
                       \"Shared Hit Blocks\": 9223372036854775807, \"Shared Read Blocks\": 8000000000000";
        let log: String = (0..50).map(|at| entry(at, 7, "999999999.999", "select 1", figures)).collect();
        let (kept, _, summary) = read(&log);
        assert_eq!((kept.calls.len(), summary.plans), (0, 0));
        assert_eq!((summary.unread[0].kind, summary.unread[0].lines), (BEYOND_BELIEF, 50 * 7));
        // Each of these could be true, but not their sum.
        let figures = "\"Actual Total Time\": 999999999.999, \"Actual Rows\": 1, \"Actual Loops\": 900";
        let log: String = (0..50).map(|at| entry(at, 7, "9.999", "select 1", figures)).collect();
        let (kept, _, summary) = read(&log);
        let time: i64 = kept.lines.iter().map(|line| line.figures.unwrap().time.0).sum();
        assert!(time > 0 && summary.unread[0].kind == BEYOND_BELIEF);
    }
}
