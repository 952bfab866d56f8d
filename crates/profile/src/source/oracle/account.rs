//! The accounting: from records to calls and waits that know their session, statement and parent.
//!
//! Records come in the file's order, one batch after the other, and are handed on to an observer at once; what has
//! to wait is bounded. A call's cost includes the calls it made, so its children are taken off
//! (`oracle::recursion`); a wait belongs to the next call of its cursor if it lies within that call's time,
//! and else between calls. Times become exact ticks here, and every number passes the budget that keeps all sums
//! behind from overflowing.

mod marks;
mod settle;
mod state;
pub(super) mod wall_clock;

use std::ops::Range;

use measure::schema::profile::{OTHER_SESSIONS, UNNAMED_SESSION};

use crate::event::{
    Accounted, Call, Child, Cost, Observer, Problem, ProblemKind, Root, Session, SessionIndex, StatementIndex,
    StatementKind, Ticks, TimeScale, Unit, Wait,
};
use crate::source::contract::FileHeader;
use crate::source::oracle::account::settle::{Within, root_of};
use crate::source::oracle::account::state::{BatchEvent, CURSORS, SESSIONS};
use crate::source::oracle::budget::point;
use crate::source::oracle::cursor::{PendingWait, UNDECIDED};
use crate::source::oracle::record::{Batch, Body, CallKind, CallRecord, Record, Unread, WaitRecord};
use crate::source::oracle::recursion::Claimed;
use crate::source::oracle::registry::Registry;
use crate::source::oracle::session::SessionState;

/// Most waits that may be pending until the next call of their cursor; then all are placed by their event's name.
const PENDING_WAITS: usize = 1 << 17;

/// The longest time between the last line of a file and the first one of the file that goes on with it, where neither
/// says so.
const PAUSE_MAX: Ticks = Ticks::from_micros(60_000_000);

/// Events that happen between calls, for waits without a time and for those that could not be kept.
const BETWEEN_CALLS: [&str; 6] = [
    "SQL*Net message from client",
    "SQL*Net message to client",
    "pmon timer",
    "smon timer",
    "rdbms ipc message",
    "single-task message",
];

pub use state::Accounting;

/// Host and name of the instance that wrote a file; `None` where it does not say both.
fn instance_of(header: &FileHeader) -> Option<(String, String)> {
    header.host.clone().zip(header.instance.clone())
}

impl Accounting {
    /// Nothing read yet.
    pub fn new() -> Accounting {
        let mut accounting = Accounting::default();
        accounting.registry = Registry::new(&mut accounting.context);
        accounting
    }

    /// What the current file says of where it comes from.
    pub fn header(&self) -> &FileHeader {
        &self.header
    }

    /// Whether the current file had a line other than marks.
    pub fn is_begun(&self) -> bool {
        self.continuation.is_begun
    }

    /// Calls and waits of the current file so far.
    pub fn timed_records(&self) -> u64 {
        self.timed_records
    }

    /// Begins a file, whose times are in this unit. Files of one session that was traced over several files are read
    /// in the order of their times.
    pub fn begin_file(&mut self, scale: TimeScale) {
        self.scale = scale;
        self.files += 1;
        self.name = None;
        self.header = FileHeader::default();
        self.containers.clear();
        self.registry.forget_numbered_containers();
        self.wall_clock.begin_file();
        self.timed_records = 0;
        self.continuation.came_from = false;
        self.continuation.is_begun = false;
        self.continuation.is_unsaid = false;
    }

    /// Says what the first stamp of the file that begins is, in µs since 1970, and the time of the line behind it: the
    /// lines ahead of it have the same clock.
    pub(super) fn expect_stamp(&mut self, stamp: Option<(i64, Ticks)>) {
        self.wall_clock.expect(stamp);
    }

    /// Says the name of the file that begins. Observers hear it ahead of the file's first line, and behind what waited
    /// of the file before: until then nothing says whether this one goes on where that one ended.
    pub(super) fn name_file(&mut self, name: &str) {
        self.name = Some(name.to_owned());
    }

    /// Takes the records of the next part of the file.
    pub fn batch<O: Observer + ?Sized>(&mut self, batch: &Batch, observer: &mut O) {
        self.part(batch, 0..batch.records.len(), observer);
    }

    /// Takes some of a batch's records, with what was not read between them.
    pub fn part<O: Observer + ?Sized>(&mut self, batch: &Batch, records: Range<usize>, observer: &mut O) {
        self.translate(batch);
        self.learn_containers(batch, &records);
        if !self.continuation.is_begun {
            self.continuation.first_line = self.first_line(&batch.records[records.clone()]);
        }
        for unread in batch.unread_at(&records) {
            Unread::add(&mut self.unread, unread);
        }
        for record in &batch.records[records] {
            let offset = record.offset;
            match &record.body {
                Body::Call(call) => {
                    self.timed_records += 1;
                    self.begin_line(observer);
                    self.call(call, offset, observer);
                }
                Body::Wait(wait) => {
                    self.timed_records += 1;
                    self.begin_line(observer);
                    self.wait(wait, offset, observer);
                }
                Body::Mark(mark, clock) => self.mark(mark, *clock, &batch.bytes, offset),
                other => {
                    self.begin_line(observer);
                    self.seldom(other, batch, offset, observer);
                }
            }
        }
    }

    /// Start and end of the first timed line.
    fn first_line(&self, records: &[Record]) -> Option<(Ticks, Ticks)> {
        let scaled = |end: i64, elapsed: i64, unit: Unit| {
            let (end, elapsed) = (point(end, unit.ticks())?, point(elapsed, unit.ticks())?);
            Some((end - elapsed, end))
        };
        records.iter().find_map(|record| match &record.body {
            Body::Call(call) => scaled(call.end?, call.elapsed, self.scale.calls),
            Body::Wait(wait) => scaled(wait.end?, wait.elapsed, self.scale.waits),
            _ => None,
        })
    }

    /// Ends the file. What still waits is settled, unless the file may go on in another one: it says so, or it names
    /// its process, which may be that of the next file too.
    pub fn end_file<O: Observer + ?Sized>(&mut self, observer: &mut O) {
        // A part without a preamble is of the process of the part before it, and a further part may follow.
        let is_part = self.continuation.is_unsaid && self.header == FileHeader::default();
        if !self.continuation.goes_on && self.header.process.is_none() && !is_part {
            self.settle_sessions(observer);
        }
        if let Some(key) = instance_of(&self.header).filter(|_| !self.containers.is_empty()) {
            self.known_containers.entry(key).or_default().extend(self.containers.drain());
        }
        // A file of marks alone is none that the next one can go on with: what waits is of the file before it.
        if self.continuation.is_begun {
            self.previous = self.current.take();
            if !is_part {
                self.continuation.before = Some(self.header.clone());
            }
        }
        self.changes.clear();
        self.process = None;
        self.by_process.clear();
    }

    /// Settles what still waits, and gives what is known of the whole.
    pub fn finish<O: Observer + ?Sized>(mut self, observer: &mut O) -> Accounted {
        self.settle_sessions(observer);
        Accounted {
            context: self.context,
            problems: self.problems.into_values().collect(),
            unread: self.unread,
            clocks: self.clocks,
        }
    }

    /// Puts the batch's names into the terms of the whole.
    fn translate(&mut self, batch: &Batch) {
        let Accounting { context, registry, batch_events, batch_names, .. } = self;
        batch_events.clear();
        batch_events.extend(batch.events.iter().map(|name| BatchEvent {
            index: registry.event(context, name),
            is_between_by_name: BETWEEN_CALLS.contains(&name.event.as_str()),
        }));
        batch_names.clear();
        batch_names.extend(batch.names.iter().map(|name| registry.call_name(context, name)));
    }

    /// Before a line that is no mark: whose it is has been said by now.
    #[inline]
    fn begin_line<O: Observer + ?Sized>(&mut self, observer: &mut O) {
        if !self.continuation.is_begun {
            self.begin_records(observer);
        }
        self.continuation.goes_on = false;
        if !self.changes.is_empty() {
            self.settle_changes();
        }
    }

    /// At the first line of a file that is no mark.
    #[cold]
    fn begin_records<O: Observer + ?Sized>(&mut self, observer: &mut O) {
        self.continuation.is_begun = true;
        self.recall_containers();
        let is_said = self.continuation.goes_on && self.continuation.came_from && !self.is_of_another_process();
        self.continuation.is_unsaid = !is_said && self.goes_on_unsaid();
        if !is_said && !self.continuation.is_unsaid {
            self.settle_sessions(observer);
        }
        self.last_begun = self.files;
        if let Some(name) = self.name.take() {
            observer.begin_file(&name);
            self.heard = self.heard.saturating_add(1);
        }
        if self.wall_clock.begin_lines() {
            self.context.clock = self.wall_clock.first();
        }
    }

    /// The containers of an instance have the same numbers in all its files: one that has a number alone gets the name
    /// that a file before had for it.
    fn recall_containers(&mut self) {
        let known = instance_of(&self.header).and_then(|key| self.known_containers.get(&key));
        for (number, name) in known.cloned().unwrap_or_default() {
            if !self.containers.contains_key(&number) {
                self.registry.name_container(&mut self.context, &number.to_string(), &name);
                self.containers.insert(number, name);
            }
        }
    }

    /// Whether a file goes on where the one before ended though neither says so: the same process wrote both, and the
    /// clock goes on.
    fn goes_on_unsaid(&self) -> bool {
        let last = self.sessions.iter().filter_map(|session| session.clock.last()).max();
        let Some((last, (start, end))) = last.zip(self.continuation.first_line) else { return false };
        self.is_of_process_before() && end >= last && start <= last + PAUSE_MAX
    }

    /// Whether the preambles say that two processes wrote the file before and this one: what each goes on in, or comes
    /// from, is another file then.
    fn is_of_another_process(&self) -> bool {
        let before = self.continuation.before.as_ref().and_then(|before| before.process.as_ref());
        before.zip(self.header.process.as_ref()).is_some_and(|(before, own)| before != own)
    }

    /// Whether the process that wrote the file before wrote this one too: the preambles of both say so, or this one has
    /// none, as the second part of a trace that was cut in two.
    fn is_of_process_before(&self) -> bool {
        let Some(before) = &self.continuation.before else { return false };
        let whose = |header: &FileHeader| (header.process.clone(), header.instance.clone(), header.host.clone());
        let is_marked = self.continuation.goes_on || self.continuation.came_from;
        let is_part = before.process.is_some() && self.header == FileHeader::default();
        let is_same = self.header.process.is_some() && whose(before) == whose(&self.header);
        !is_marked && (is_same || is_part)
    }

    /// The session with this identifier in the current file.
    fn enter(&mut self, key: &str) -> usize {
        if let Some(&place) = self.by_key.get(key) {
            return place;
        }
        let continued = self.known.get(key).filter(|_| self.continuation.came_from).copied();
        if continued.is_none() && self.context.sessions.len() >= SESSIONS && key != OTHER_SESSIONS {
            self.problem(ProblemKind::SessionsShared, 1, 0);
            return self.enter(OTHER_SESSIONS);
        }
        let index = continued.unwrap_or_else(|| {
            let index = SessionIndex(u32::try_from(self.context.sessions.len()).unwrap_or(u32::MAX));
            let uses = self.names.entry(key.to_owned()).or_default();
            *uses += 1;
            // The same identifier in another file is another session.
            let name = if key.is_empty() { UNNAMED_SESSION } else { key };
            let id = if *uses == 1 { key.to_owned() } else { format!("{name} ({uses})") };
            self.context.sessions.push(Session { id });
            self.known.insert(key.to_owned(), index);
            index
        });
        let place = self.sessions.len();
        self.sessions.push(SessionState { index, ..SessionState::default() });
        self.by_key.insert(key.to_owned(), place);
        place
    }

    fn current_session(&mut self) -> usize {
        match self.current {
            Some(place) => place,
            None => {
                // A file that goes on without naming its session goes on with the one that was last.
                let place = self.previous.unwrap_or_else(|| self.enter(""));
                self.current = Some(place);
                place
            }
        }
    }

    /// Counts a decision or an omission.
    #[cold]
    fn problem(&mut self, kind: ProblemKind, count: u64, offset: u64) {
        let first_file = self.files.saturating_sub(1);
        let new = Problem { kind, count: 0, first_file, first_offset: offset };
        let problem = self.problems.entry(kind).or_insert(new);
        problem.count = problem.count.saturating_add(count);
    }

    fn call<O: Observer + ?Sized>(&mut self, record: &CallRecord, offset: u64, observer: &mut O) {
        let Some((inclusive, end)) = self.figures(record) else {
            return self.problem(ProblemKind::TooLarge, 1, offset);
        };
        let elapsed = inclusive.elapsed;
        if elapsed < Ticks::ZERO {
            self.problem(ProblemKind::NegativeElapsed, 1, offset);
        }
        let place = self.current_session();
        let span = end.map(|end| (end - elapsed, end));
        if let Some((start, end)) = span {
            self.observe_time(place, start, end, offset, observer);
        }
        let (statement, cursor) = self.statement_of_call(place, record, offset);
        let within = Within { kind: record.kind, depth: record.depth, statement, plan_hash: record.plan_hash, span };
        let waits = self.settle_waits(place, cursor, &within, observer);
        let session = &mut self.sessions[place];
        session.last_call = Some(statement);
        if let Some(cursor) = cursor {
            session.cursors.all[cursor].plan_hash = record.plan_hash;
        }
        // A call of the client's side has no time; it ended after the last timed line.
        let start = span.map(|(start, _)| start).or(session.clock.last().map(|last| last - elapsed));
        let (context, index) = (&self.context, session.index);
        let claim =
            session.recursion.claim(record.depth, start, |claimed, waiting| match (claimed, waiting.statement) {
                (Claimed::Orphan, _) => observer.root(context, &root_of(index, waiting)),
                (Claimed::Child, Some(child)) => {
                    let (calls, elapsed) = (waiting.calls, waiting.inclusive.elapsed);
                    observer.child(context, &Child { parent: statement, statement: child, calls, elapsed });
                }
                // Calls of several statements that were folded.
                (Claimed::Child, None) => {}
            });
        let mut own = inclusive;
        own -= claim.children;
        let call = Call {
            number: self.calls,
            session: session.index,
            statement,
            scope: session.scope_index,
            kind: record.kind,
            name: match self.batch_names.get(usize::from(record.name)) {
                Some(name) if record.kind == CallKind::Lob => *name,
                _ => record.kind as u16,
            },
            depth: record.depth,
            end,
            inclusive,
            own,
            misses: record.misses,
            rows: record.rows,
            plan_hash: record.plan_hash,
            goal: record.goal,
            waits,
            offset,
        };
        self.calls += 1;
        observer.call(&self.context, &call);
        if record.depth == 0 {
            let root = Root { session: session.index, inclusive, depth: 0, calls: 1 };
            observer.root(&self.context, &root);
        } else {
            session.recursion.push(record.depth, start.unwrap_or(Ticks::ZERO), inclusive, statement);
        }
        if claim.straddled > 0 {
            self.problem(ProblemKind::FoldStraddled, claim.straddled, offset);
        }
    }

    /// The cost and the end of a call, converted and within the budget; `None` where a number is too large.
    #[inline(always)]
    fn figures(&mut self, record: &CallRecord) -> Option<(Cost, Option<Ticks>)> {
        let (unit, budget) = (self.scale.calls, &mut self.budget);
        let end = match record.end {
            Some(end) => Some(point(end, unit.ticks())?),
            None => None,
        };
        let cpu = Some(budget.time(record.cpu, unit.cpu_ticks())?);
        let elapsed = budget.time(record.elapsed, unit.ticks())?;
        let CallRecord { physical_reads, consistent_gets, current_gets, misses, rows, .. } = *record;
        let counts = budget.counts([physical_reads, consistent_gets, current_gets, misses, rows])?;
        let [physical_reads, consistent_gets, current_gets, ..] = counts;
        Some((Cost { cpu, elapsed, physical_reads, consistent_gets, current_gets }, end))
    }

    /// The statement of a call, and where its cursor stands.
    fn statement_of_call(&mut self, place: usize, record: &CallRecord, offset: u64) -> (StatementIndex, Option<usize>) {
        let kind = match record.kind {
            CallKind::Lob => StatementKind::LargeObjects,
            CallKind::Rpc => StatementKind::ClientCalls,
            _ if record.cursor == 0 => StatementKind::NoCursor,
            _ => {
                let cursor = self.cursor(place, record.cursor, offset);
                return (self.sessions[place].cursors.all[cursor].statement, Some(cursor));
            }
        };
        (self.registry.pseudo(&mut self.context, kind), None)
    }

    /// Where a cursor stands; one that is not declared is made known as such.
    #[inline]
    fn cursor(&mut self, place: usize, number: u64, offset: u64) -> usize {
        let cursors = &mut self.sessions[place].cursors;
        match cursors.find(number) {
            Some(cursor) if cursors.all[cursor].statement != UNDECIDED => cursor,
            Some(cursor) => self.decide_undeclared(place, (cursor, number), offset),
            None => self.unknown_cursor(place, number, offset),
        }
    }

    /// The same for a wait, which may be that of a parse whose declaration is still to come.
    #[inline]
    fn cursor_of_wait(&mut self, place: usize, number: u64, offset: u64) -> usize {
        match self.sessions[place].cursors.find(number) {
            Some(cursor) => cursor,
            None => self.undecided_cursor(place, number, offset),
        }
    }

    #[cold]
    fn undecided_cursor(&mut self, place: usize, number: u64, offset: u64) -> usize {
        if self.cursors >= CURSORS {
            return self.unknown_cursor(place, number, offset);
        }
        let cursor = self.bind(place, number, UNDECIDED);
        self.sessions[place].cursors.all[cursor].undecided = Some(number);
        cursor
    }

    #[cold]
    fn unknown_cursor(&mut self, place: usize, number: u64, offset: u64) -> usize {
        if self.cursors >= CURSORS {
            self.problem(ProblemKind::CursorsShared, 1, offset);
            let entry = self.registry.unknown_shared(&mut self.context);
            return self.sessions[place].cursors.shared(entry.index);
        }
        let statement = self.undeclared(place, number, offset);
        self.bind(place, number, statement)
    }

    /// The statement of a cursor that is not declared.
    fn undeclared(&mut self, place: usize, number: u64, offset: u64) -> StatementIndex {
        let session = self.sessions[place].index.0;
        let entry = self.registry.unknown(&mut self.context, self.files, session, number);
        self.problem(ProblemKind::UnknownCursor, 1, offset);
        self.give_up(entry.given_up, offset);
        entry.index
    }

    /// Binds a number of a cursor to a statement.
    fn bind(&mut self, place: usize, number: u64, statement: StatementIndex) -> usize {
        let cursors = &mut self.sessions[place].cursors;
        let before = cursors.all.len();
        let cursor = cursors.bind(number, statement);
        self.cursors += cursors.all.len() - before;
        cursor
    }

    /// Counts what was given up for a statement.
    fn give_up(&mut self, given_up: Option<ProblemKind>, offset: u64) {
        if let Some(kind) = given_up {
            self.problem(kind, 1, offset);
        }
    }

    /// Extends the session's time, and settles what waits where its clock went back.
    #[inline]
    fn observe_time<O: Observer + ?Sized>(
        &mut self,
        place: usize,
        start: Ticks,
        end: Ticks,
        offset: u64,
        observer: &mut O,
    ) {
        if !self.sessions[place].goes_on(start, end, self.files) {
            return self.observe_odd_time(place, (start, end), offset, observer);
        }
        if self.wall_clock.line(end) {
            self.context.clock = self.wall_clock.first();
        }
    }

    /// The same for the first line of a session or of a file, and where the clock moves back or leaps.
    #[inline(never)]
    fn observe_odd_time<O: Observer + ?Sized>(
        &mut self,
        place: usize,
        (start, end): (Ticks, Ticks),
        offset: u64,
        observer: &mut O,
    ) {
        if self.sessions[place].clock.moves_back(end) {
            self.problem(ProblemKind::ClockWentBack, 1, offset);
            if let Some(segment) = self.sessions[place].clock.move_back(end) {
                self.settle_by_name(place, offset, observer);
                self.settle_session(place, Some(segment), observer);
                self.wall_clock.restart();
                self.context.clock = None;
            }
        }
        let session = &mut self.sessions[place];
        if session.clock.leaps(start) && !self.wall_clock.tells_of(start) {
            session.clock.leap(start, end);
            return self.problem(ProblemKind::ClockLeapt, 1, offset);
        }
        session.extend(start, end, self.files);
        if self.wall_clock.line(end) {
            self.context.clock = self.wall_clock.first();
        }
    }

    fn wait<O: Observer + ?Sized>(&mut self, record: &WaitRecord, offset: u64, observer: &mut O) {
        let unit = self.scale.waits.ticks();
        let end = record.end.map(|end| point(end, unit));
        let (Some(elapsed), false) = (self.budget.time(record.elapsed, unit), end == Some(None)) else {
            self.problem(ProblemKind::TooLarge, 1, offset);
            return;
        };
        let Some(&event) = self.batch_events.get(usize::from(record.event)) else {
            return;
        };
        let end = end.flatten();
        if elapsed < Ticks::ZERO {
            self.problem(ProblemKind::NegativeElapsed, 1, offset);
        }
        let place = self.current_session();
        if let Some(end) = end {
            self.observe_time(place, end - elapsed, end, offset, observer);
        }
        let cursor = match record.cursor {
            0 => None,
            number => Some(self.cursor_of_wait(place, number, offset)),
        };
        let (statement, plan_hash) = match cursor {
            Some(cursor) => {
                let cursor = &self.sessions[place].cursors.all[cursor];
                (cursor.statement, cursor.plan_hash)
            }
            None => (self.registry.pseudo(&mut self.context, StatementKind::NoCursor), 0),
        };
        let session = &mut self.sessions[place];
        let wait = Wait {
            session: session.index,
            statement,
            scope: session.scope_index,
            event: event.index,
            elapsed,
            end,
            parameters: record.parameters,
            object: record.object,
            plan_hash,
            offset,
            ..Wait::default()
        };
        let pending = PendingWait { wait, file: self.heard, is_between_by_name: event.is_between_by_name };
        match cursor {
            Some(cursor) => session.cursors.push(cursor, pending),
            None => session.loose.push(pending),
        }
        self.pending_waits += 1;
        if self.pending_waits >= PENDING_WAITS {
            (0..self.sessions.len()).for_each(|place| self.settle_by_name(place, offset, observer));
        }
    }
}
