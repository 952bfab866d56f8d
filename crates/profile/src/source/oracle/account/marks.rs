//! The seldom lines: marks, declarations, plan lines, errors, ends of transactions.

use std::ops::Range;

use crate::event::{
    Binds, Failure, Observer, PlanFigures, PlanLine, ProblemKind, Scope, StatementIndex, StatementKind, Transaction,
};
use crate::source::oracle::account::state::{Accounting, CURSORS, Change, SESSIONS};
use crate::source::oracle::budget::point;
use crate::source::oracle::record::{self, Attribute, Batch, Body, DeclarationRecord, Mark, PlanLineRecord};
use crate::source::oracle::registry::{show, shown};

/// Most marks that are kept until the next line of another kind; a file of nothing but marks has no use for more.
const MARKS: usize = 256;

/// Most containers of a file whose names are kept: no release of Oracle has more in a database, but a damaged file can
/// seem to.
const CONTAINERS: usize = 1 << 13;

/// The part of a scope that an attribute gives; `None` for those that are none.
fn part(attribute: Attribute, scope: &mut Scope) -> Option<&mut String> {
    match attribute {
        Attribute::Module => Some(&mut scope.module),
        Attribute::Action => Some(&mut scope.action),
        Attribute::Service => Some(&mut scope.service),
        Attribute::Client => Some(&mut scope.client),
        Attribute::Container => Some(&mut scope.container),
        Attribute::Session
        | Attribute::Driver
        | Attribute::ContinuedFrom
        | Attribute::ContinuesIn
        | Attribute::Version
        | Attribute::Host
        | Attribute::Instance
        | Attribute::Process => None,
    }
}

impl Accounting {
    /// Keeps what a mark changes until the next line that is no mark.
    pub(super) fn mark(&mut self, mark: &Mark, clock: Option<i64>, bytes: &[u8], offset: u64) {
        if let Some(clock) = clock {
            self.wall_clock.stamp(clock);
        }
        let change = match mark {
            Mark::Attribute(attribute, span) => {
                let value = bytes.get(span.clone()).unwrap_or_default();
                if self.of_file(*attribute, value.trim_ascii()) {
                    return;
                }
                Change::Attribute(*attribute, shown(value))
            }
            Mark::Container(name, _) => {
                Change::Attribute(Attribute::Container, shown(bytes.get(name.clone()).unwrap_or_default()))
            }
            Mark::Process(number) => Change::Process(*number),
            Mark::SizeLimit => return self.problem(ProblemKind::SizeLimit, 1, offset),
            Mark::Recreated => return self.problem(ProblemKind::Recreated, 1, offset),
            Mark::Clock => return,
        };
        if self.changes.len() >= MARKS {
            self.changes.remove(0);
        }
        self.changes.push(change);
    }

    /// Takes what a mark says of the whole file; whether it does.
    fn of_file(&mut self, attribute: Attribute, value: &[u8]) -> bool {
        let header = &mut self.header;
        match attribute {
            Attribute::ContinuedFrom | Attribute::ContinuesIn if value.is_empty() => {
                // Old releases print the mark with no name in every file.
            }
            Attribute::ContinuedFrom if !self.continuation.is_begun && header.continues_in.is_none() => {
                self.continuation.came_from = true;
                header.continued_from = Some(shown(value));
            }
            Attribute::ContinuesIn | Attribute::ContinuedFrom => {
                let path = shown(value);
                // Two files one behind the other, as `cat` puts them: what this one goes on in is the one that follows.
                let is_here = attribute == Attribute::ContinuedFrom
                    && self.continuation.goes_on
                    && header.continues_in.as_ref().is_some_and(|other| *other != path);
                self.continuation.goes_on = true;
                header.continues_in = (!is_here).then_some(path);
            }
            // Where a release has a banner and a version of its own, the version says more.
            Attribute::Version => header.version = Some(shown(value)),
            Attribute::Host => drop(header.host.get_or_insert_with(|| shown(value))),
            Attribute::Instance => drop(header.instance.get_or_insert_with(|| shown(value))),
            Attribute::Process => drop(header.process.get_or_insert_with(|| shown(value))),
            Attribute::Driver => {}
            _ => return false,
        }
        true
    }

    /// Learns the names of containers from records of a batch ahead of its other marks: some lines name a container by
    /// its number alone, and the stamp that has both may come later. The batch may have another file's stamps too.
    pub(super) fn learn_containers(&mut self, batch: &Batch, records: &Range<usize>) {
        for (span, number) in batch.containers_at(records) {
            let name = shown(batch.bytes.get(span.clone()).unwrap_or_default());
            if let Some(known) = self.containers.get_mut(number) {
                // Nothing has the number alone any more.
                *known = name;
                continue;
            }
            if self.containers.len() >= CONTAINERS {
                continue;
            }
            let text = number.to_string();
            self.registry.name_container(&mut self.context, &text, &name);
            for session in self.sessions.iter_mut().filter(|session| session.scope.container == text) {
                session.scope.container.clone_from(&name);
            }
            self.containers.insert(*number, name);
        }
    }

    /// Applies the marks since the last line. Attributes that stand before the first session of the run are that
    /// session's: old releases write them in this order.
    #[cold]
    pub(super) fn settle_changes(&mut self) {
        let changes = std::mem::take(&mut self.changes);
        let is_session = |change: &Change| matches!(change, Change::Attribute(Attribute::Session, _));
        let (before, after) = changes.split_at(changes.iter().position(is_session).unwrap_or(0));
        let is_attribute = |change: &&Change| matches!(change, Change::Attribute(..));
        before.iter().filter(|change| !is_attribute(change)).for_each(|change| self.apply(change));
        if let Some(session) = after.first() {
            self.apply(session);
        }
        before.iter().filter(is_attribute).for_each(|change| self.apply(change));
        after.iter().skip(1).for_each(|change| self.apply(change));
        if let Some(place) = self.current {
            let session = &mut self.sessions[place];
            session.scope_index = self.registry.scope(&mut self.context, &session.scope);
        }
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::Attribute(Attribute::Session, key) => {
                let place = self.enter(key);
                self.current = Some(place);
                if let Some(process) = self.process.filter(|_| self.by_process.len() < SESSIONS) {
                    self.by_process.insert(process, place);
                }
            }
            Change::Process(process) => {
                self.process = Some(*process);
                let place = match self.by_process.get(process) {
                    Some(place) => *place,
                    None => self.enter(&format!("process {process}")),
                };
                self.current = Some(place);
            }
            Change::Attribute(attribute, text) => {
                let place = self.current_session();
                let session = &mut self.sessions[place];
                // A container is named by its name in stamps and by its number in marks; the name says more.
                let name = text.parse().ok().filter(|_| *attribute == Attribute::Container);
                let name = name.and_then(|number: u64| self.containers.get(&number)).unwrap_or(text);
                if let Some(part) = part(*attribute, &mut session.scope) {
                    part.clone_from(name);
                }
                session.scope_index = self.registry.scope(&mut self.context, &session.scope);
            }
        }
    }

    /// Lines other than calls, waits and marks.
    pub(super) fn seldom<O: Observer + ?Sized>(&mut self, body: &Body, batch: &Batch, offset: u64, observer: &mut O) {
        let bytes = batch.bytes.as_slice();
        match body {
            Body::Declaration(index) => {
                if let Some(declaration) = batch.declaration(*index) {
                    self.declaration(declaration, bytes, offset);
                }
            }
            Body::PlanLine(index) => {
                if let Some(line) = batch.plan_line(*index) {
                    self.plan_line(line, bytes, offset, observer);
                }
            }
            Body::TransactionEnd { is_rollback, is_read_only, time } => {
                let place = self.current_session();
                let time = time.and_then(|time| point(time, self.scale.calls.ticks()));
                if let Some(time) = time {
                    self.observe_time(place, time, time, offset, observer);
                }
                let session = self.sessions[place].index;
                let (is_rollback, is_read_only) = (*is_rollback, *is_read_only);
                observer.transaction(&self.context, &Transaction { session, is_rollback, is_read_only, time });
            }
            Body::Error { cursor, code, time } => {
                let place = self.current_session();
                let statement = self.statement_of_error(place, *cursor, offset);
                self.fail(place, statement, (*code, *time), offset, observer);
            }
            Body::ParseError { cursor, depth, code, time, text } => {
                let place = self.current_session();
                let text = bytes.get(text.clone()).unwrap_or_default();
                let entry = self.registry.parse_error(&mut self.context, text, *depth);
                self.give_up(entry.given_up, offset);
                self.claim_waits(place, *cursor, entry.index);
                // What follows under this number, its waits and its end, is of this text.
                self.bind_anew(place, *cursor, entry.index, offset);
                self.fail(place, entry.index, (*code, *time), offset, observer);
            }
            Body::Binds { cursor, is_open, values, .. } => {
                if *is_open {
                    self.problem(ProblemKind::RecordInValue, 1, offset);
                }
                if let Some(values) = values.and_then(|index| batch.binds.get(index as usize)) {
                    let place = self.current_session();
                    let statement = self.statement_of(place, *cursor, offset);
                    observer.binds(&self.context, &Binds { statement, values: values.clone() });
                }
            }
            Body::Call(_) | Body::Wait(_) | Body::Mark(..) => {}
        }
    }

    fn fail<O: Observer + ?Sized>(
        &mut self,
        place: usize,
        statement: StatementIndex,
        (code, time): (i64, Option<i64>),
        offset: u64,
        observer: &mut O,
    ) {
        let session = self.sessions[place].index;
        let time = time.and_then(|time| point(time, self.scale.calls.ticks()));
        observer.failure(&self.context, &Failure { session, statement, code, time, offset });
    }

    fn statement_of(&mut self, place: usize, cursor: u64, offset: u64) -> StatementIndex {
        if cursor == 0 {
            return self.registry.pseudo(&mut self.context, StatementKind::NoCursor);
        }
        let cursor = self.cursor(place, cursor, offset);
        self.sessions[place].cursors.all[cursor].statement
    }

    /// The statement whose call failed. The line of an error follows that of its call, but some name a number that no
    /// other line has: such a number is not a cursor whose declaration is missing.
    fn statement_of_error(&mut self, place: usize, cursor: u64, offset: u64) -> StatementIndex {
        let is_unknown = cursor != 0 && self.sessions[place].cursors.find(cursor).is_none();
        match self.sessions[place].last_call.filter(|_| is_unknown) {
            Some(statement) => statement,
            None => self.statement_of(place, cursor, offset),
        }
    }

    /// Gives a text that could not be parsed the waits of its parse, of which no call tells: those under its number
    /// since the client's message came. What waited before that is of the statement that had the number.
    fn claim_waits(&mut self, place: usize, cursor: u64, statement: StatementIndex) {
        let cursors = &mut self.sessions[place].cursors;
        let Some(at) = cursors.find(cursor) else { return };
        let of_parse = cursors.all[at].pending.iter_mut().rev().take_while(|wait| !wait.is_between_by_name);
        of_parse.for_each(|pending| {
            (pending.wait.statement, pending.wait.plan_hash) = (statement, 0);
            // It is in no call, and not of the next text that fails.
            pending.is_between_by_name = true;
        });
    }

    fn declaration(&mut self, declaration: &DeclarationRecord, bytes: &[u8], offset: u64) {
        let place = self.current_session();
        let entry = self.registry.declared(&mut self.context, declaration, bytes);
        self.give_up(entry.given_up, offset);
        if declaration.is_cut {
            self.problem(ProblemKind::TextCut, 1, offset);
        }
        self.bind_anew(place, declaration.cursor, entry.index, offset);
    }

    /// Binds a number to the statement that a line with its text names, if there is room for another cursor.
    fn bind_anew(&mut self, place: usize, cursor: u64, statement: StatementIndex, offset: u64) {
        if self.cursors < CURSORS || self.sessions[place].cursors.find(cursor).is_some() {
            self.bind(place, cursor, statement);
        } else {
            self.problem(ProblemKind::CursorsShared, 1, offset);
        }
    }

    fn plan_line<O: Observer + ?Sized>(
        &mut self,
        record: &PlanLineRecord,
        bytes: &[u8],
        offset: u64,
        observer: &mut O,
    ) {
        let place = self.current_session();
        let statement = self.statement_of(place, record.cursor, offset);
        let last = self.sessions[place].cursors.last().filter(|_| record.cursor != 0);
        let plan_hash = last.map_or(0, |cursor| cursor.plan_hash);
        let figures = record.figures.map(|figures| self.plan_figures(&figures));
        let (Some(_), false) = (self.budget.count(record.rows), figures == Some(None)) else {
            return self.problem(ProblemKind::TooLarge, 1, offset);
        };
        let mut operation = std::mem::take(&mut self.operation);
        show(bytes.get(record.operation.clone()).unwrap_or_default(), &mut operation);
        let line = PlanLine {
            statement,
            plan_hash,
            id: record.id,
            parent: record.parent,
            operation,
            object: record.object,
            rows: record.rows,
            estimated: record.figures.and_then(|figures| figures.estimated_rows),
            starts: record.figures.and_then(|figures| figures.starts),
            figures: figures.flatten(),
        };
        self.context.learn_object(line.object, &line.operation);
        observer.plan_line(&self.context, &line);
        self.operation = line.operation;
    }

    /// The figures of a plan line; `None` where one is too large.
    fn plan_figures(&mut self, record: &record::PlanFigures) -> Option<PlanFigures> {
        let budget = &mut self.budget;
        budget.count(record.starts.unwrap_or(0))?;
        Some(PlanFigures {
            gets: budget.count(record.consistent_gets)?,
            physical_reads: budget.count(record.physical_reads)?,
            physical_writes: budget.count(record.physical_writes)?,
            time: budget.time(record.time, self.scale.calls.ticks())?,
            read_time: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::TimeScale;
    use crate::source::oracle::scan::{ChunkEnd, Scanner, State};

    struct Nothing;

    impl Observer for Nothing {}

    #[test]
    fn a_new_container_in_every_stamp_fills_no_memory() {
        let stamp = |number: usize| format!("*** 2024-01-31T00:00:00.000000+00:00 (PDB{number}({number}))\n");
        let text: String = (0..2 * CONTAINERS).map(stamp).collect();
        let mut batch = Batch { bytes: text.into_bytes(), ..Batch::default() };
        Scanner::default().scan(&mut batch, State::Between, ChunkEnd::File);
        assert_eq!(batch.containers.len(), 2 * CONTAINERS);
        let mut accounting = Accounting::new();
        accounting.begin_file(TimeScale::default());
        accounting.batch(&batch, &mut Nothing);
        assert_eq!(accounting.containers.len(), CONTAINERS);
        assert_eq!(accounting.containers[&7], "PDB7", "the first ones stay");
    }
}
