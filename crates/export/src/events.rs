//! The observer that writes what it hears.
//!
//! Observers return nothing: the first failure is kept, everything after it is ignored, and [`EventWriter::finish`]
//! returns it. [`EventWriter::failed`] lets the caller stop reading early.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use measure::wait_class::class_of;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use profile::event::{
    Call, Context, EventIndex, Observer, Placement, PlanLine, ScopeIndex, Segment, SessionIndex, StatementIndex, Ticks,
    Wait,
};
use profile::observe::block_wait::BlockWaits;

use crate::ExportError;
use crate::folder::Folder;
use crate::schema::{CALLS, PLAN_LINES, SESSIONS, STATEMENTS, Table, WAITS};
use crate::table::{Cell, TableWriter};
use Cell::{Flag, Integer, Optional, Text};

/// Writes calls, waits and plan lines as they come, and sessions and statements at the end.
pub struct EventWriter {
    folder: Folder,
    calls: TableWriter,
    waits: TableWriter,
    plan_lines: TableWriter,
    texts: Texts,
    block_waits: BlockWaits,
    sessions: BTreeMap<u32, SessionTime>,
    failure: Option<ExportError>,
    has_failed: Arc<AtomicBool>,
}

/// How many rows were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Database calls.
    pub calls: u64,
    /// Waits.
    pub waits: u64,
    /// Statements.
    pub statements: u64,
    /// Sessions with any line that has a time.
    pub sessions: u64,
    /// Lines of plans.
    pub plan_lines: u64,
}

/// From when to when a session was traced.
#[derive(Clone, Copy, Debug)]
struct SessionTime {
    interval: Ticks,
    first: Ticks,
    last: Ticks,
    segments: i64,
}

/// Texts that many rows share, by what the rows name them by; each is made once.
#[derive(Default)]
struct Texts {
    file: ByteArray,
    file_name: String,
    written: Written,
    sessions: Vec<ByteArray>,
    statements: Vec<ByteArray>,
    scopes: Vec<[ByteArray; 5]>,
    calls: Vec<ByteArray>,
    events: Vec<EventTexts>,
    between: ByteArray,
    inside: ByteArray,
}

struct EventTexts {
    name: ByteArray,
    class: ByteArray,
    parameters: [ByteArray; 3],
}

impl EventWriter {
    /// Begins the files in `folder`.
    ///
    /// # Errors
    /// Where they cannot be made.
    pub fn new(folder: Folder) -> Result<EventWriter, ExportError> {
        let calls = begin(&folder, &CALLS)?;
        let waits = begin(&folder, &WAITS)?;
        let plan_lines = begin(&folder, &PLAN_LINES)?;
        // The writer's default text is no text at all, not even an empty one.
        let (file, between, inside) = ("".into(), "between".into(), "inside".into());
        let texts = Texts { file, between, inside, ..Texts::default() };
        let (block_waits, sessions) = (BlockWaits::default(), BTreeMap::new());
        let (failure, has_failed) = (None, Arc::default());
        Ok(EventWriter { folder, calls, waits, plan_lines, texts, block_waits, sessions, failure, has_failed })
    }

    /// Set when a write failed: later events are ignored.
    pub fn failed(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.has_failed)
    }

    /// Writes sessions and statements, ends all files, and gives the folder its name.
    ///
    /// # Errors
    /// Whatever failed first; nothing is left then.
    pub fn finish(mut self, context: &Context) -> Result<Written, ExportError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let folder = self.folder;
        let mut sessions = begin(&folder, &SESSIONS)?;
        for (number, time) in &self.sessions {
            let row = session_row(*number, time, context).ok_or_else(|| self.texts.out_of_range(0))?;
            sessions.push(row).map_err(|error| failure(&folder, error))?;
        }
        let mut statements = begin(&folder, &STATEMENTS)?;
        for (index, statement) in context.statements.iter().enumerate() {
            statements.note_text(statement.text.len());
            let row = [
                Integer(index as i64),
                text(&statement.id),
                text(&statement.text),
                Integer(integer(statement.text_bytes)),
                Integer(statement.command),
                Integer(i64::from(statement.depth)),
                Integer(statement.user),
            ];
            statements.push(row).map_err(|error| failure(&folder, error))?;
        }
        for table in [self.calls, self.waits, self.plan_lines, sessions, statements] {
            table.finish().map_err(|error| failure(&folder, error))?;
        }
        self.texts.written.sessions = self.sessions.len() as u64;
        self.texts.written.statements = context.statements.len() as u64;
        folder.publish()?;
        Ok(self.texts.written)
    }

    /// Keeps the first failure of a row.
    fn note(&mut self, written: Result<(), Failed>, offset: u64) {
        self.failure = match written {
            Ok(()) => return,
            Err(Failed::Writer(error)) => Some(failure(&self.folder, error)),
            Err(Failed::Range) => Some(self.texts.out_of_range(offset)),
        };
        self.has_failed.store(true, Ordering::Relaxed);
    }

    fn write_call(&mut self, context: &Context, call: &Call) -> Result<(), Failed> {
        self.texts.written.calls += 1;
        let texts = &mut self.texts;
        let scope = texts.scope(context, call.scope).clone();
        let [module, action, service, client, container] = scope;
        self.calls.push([
            Text(texts.file.clone()),
            Integer(integer(call.offset)),
            Integer(i64::from(call.session.0)),
            Text(texts.session(context, call.session)),
            Integer(i64::from(call.statement.0)),
            Text(texts.statement(context, call.statement)),
            Text(module),
            Text(action),
            Text(service),
            Text(client),
            Text(container),
            Integer(integer(call.number)),
            Text(texts.call(context, call.name)),
            Integer(i64::from(call.depth)),
            Flag(call.depth > 0),
            Optional(optional_ns(call.end.map(|end| Ticks(end.0.saturating_sub(call.inclusive.elapsed.0))))?),
            Optional(optional_ns(call.end)?),
            Integer(ns(call.inclusive.elapsed)?),
            Optional(optional_ns(call.inclusive.cpu)?),
            Integer(call.inclusive.physical_reads),
            Integer(call.inclusive.consistent_gets),
            Integer(call.inclusive.current_gets),
            Integer(ns(call.own.elapsed)?),
            Optional(optional_ns(call.own.cpu)?),
            Integer(call.own.physical_reads),
            Integer(call.own.consistent_gets),
            Integer(call.own.current_gets),
            Integer(ns(call.waits)?),
            Integer(integer(call.rows)),
            Integer(integer(call.misses)),
            // The bits of an unsigned number: hashes of 64 bits are compared, not counted.
            Integer(call.plan_hash.cast_signed()),
        ])?;
        Ok(())
    }

    fn write_wait(&mut self, context: &Context, wait: &Wait) -> Result<(), Failed> {
        self.texts.written.waits += 1;
        let block_wait = self.block_waits.read(context, wait);
        let texts = &mut self.texts;
        let [module, action, service, client, container] = texts.scope(context, wait.scope).clone();
        let (session, statement) = (texts.session(context, wait.session), texts.statement(context, wait.statement));
        let placement = match wait.placement {
            Placement::Between => texts.between.clone(),
            Placement::Inside(_) => texts.inside.clone(),
        };
        let file = texts.file.clone();
        let event = texts.event(context, wait.event);
        let [first, second, third] = event.parameters.clone();
        let address = block_wait.and_then(|block_wait| block_wait.address);
        self.waits.push([
            Text(file),
            Integer(integer(wait.offset)),
            Integer(i64::from(wait.session.0)),
            Text(session),
            Integer(i64::from(wait.statement.0)),
            Text(statement),
            Text(module),
            Text(action),
            Text(service),
            Text(client),
            Text(container),
            Text(event.name.clone()),
            Text(event.class.clone()),
            Optional(optional_ns(wait.end.map(|end| Ticks(end.0.saturating_sub(wait.elapsed.0))))?),
            Optional(optional_ns(wait.end)?),
            Integer(ns(wait.elapsed)?),
            Text(placement),
            Integer(i64::from(wait.depth)),
            Text(first),
            Integer(wait.parameters[0]),
            Text(second),
            Integer(wait.parameters[1]),
            Text(third),
            Integer(wait.parameters[2]),
            Optional(address.map(|address| address.file)),
            Optional(address.map(|address| address.block)),
            Optional(block_wait.and_then(|block_wait| block_wait.blocks).map(i64::from)),
            Optional(wait.object),
        ])?;
        Ok(())
    }

    fn write_plan_line(&mut self, context: &Context, line: &PlanLine) -> Result<(), Failed> {
        self.texts.written.plan_lines += 1;
        let figures = line.figures;
        let figure = |of: fn(&profile::event::PlanLineFigures) -> u64| figures.as_ref().map(of).map(integer);
        self.plan_lines.note_text(line.operation.len());
        self.plan_lines.push([
            Text(self.texts.file.clone()),
            Integer(i64::from(line.statement.0)),
            Text(self.texts.statement(context, line.statement)),
            Integer(line.plan_hash.cast_signed()),
            Integer(i64::from(line.id)),
            Integer(i64::from(line.parent)),
            text(&line.operation),
            Integer(line.object),
            Integer(integer(line.rows)),
            Optional(figures.and_then(|figures| figures.starts).map(integer)),
            Optional(figure(|figures| figures.gets)),
            Optional(figure(|figures| figures.physical_reads)),
            Optional(figure(|figures| figures.physical_writes)),
            Optional(optional_ns(figures.map(|figures| figures.time))?),
            Optional(optional_ns(figures.and_then(|figures| figures.read_time))?),
        ])?;
        Ok(())
    }
}

impl Observer for EventWriter {
    /// Begins row groups, so that none has rows of two files.
    fn begin_file(&mut self, name: &str) {
        self.texts.file = name.into();
        self.texts.file_name = name.into();
        if self.failure.is_none() {
            let tables = [&mut self.calls, &mut self.waits, &mut self.plan_lines];
            let flushed = tables.into_iter().try_for_each(TableWriter::flush);
            self.note(flushed.map_err(Failed::Writer), 0);
        }
    }

    fn call(&mut self, context: &Context, call: &Call) {
        if self.failure.is_none() {
            let written = self.write_call(context, call);
            self.note(written, call.offset);
        }
    }

    fn wait(&mut self, context: &Context, wait: &Wait) {
        if self.failure.is_none() {
            let written = self.write_wait(context, wait);
            self.note(written, wait.offset);
        }
    }

    fn plan_line(&mut self, context: &Context, line: &PlanLine) {
        if self.failure.is_none() {
            let written = self.write_plan_line(context, line);
            self.note(written, 0);
        }
    }

    fn segment(&mut self, _context: &Context, segment: &Segment) {
        let none = SessionTime { interval: Ticks::ZERO, first: segment.first, last: segment.last, segments: 0 };
        let time = self.sessions.entry(segment.session.0).or_insert(none);
        time.interval += segment.last - segment.first;
        time.first = time.first.min(segment.first);
        time.last = time.last.max(segment.last);
        time.segments += 1;
    }
}

/// Why a row was not written.
enum Failed {
    Writer(ParquetError),
    Range,
}

impl From<ParquetError> for Failed {
    fn from(error: ParquetError) -> Failed {
        Failed::Writer(error)
    }
}

impl Texts {
    fn session(&mut self, context: &Context, index: SessionIndex) -> ByteArray {
        shared(&mut self.sessions, &context.sessions, index.0 as usize, |session| session.id.as_str().into())
    }

    fn statement(&mut self, context: &Context, index: StatementIndex) -> ByteArray {
        shared(&mut self.statements, &context.statements, index.0 as usize, |statement| statement.id.as_str().into())
    }

    fn call(&mut self, context: &Context, index: u16) -> ByteArray {
        shared(&mut self.calls, &context.call_names, usize::from(index), |name| name.as_str().into())
    }

    fn scope(&mut self, context: &Context, index: ScopeIndex) -> &[ByteArray; 5] {
        let made = self.scopes.len();
        let new = context.scopes.iter().skip(made);
        self.scopes.extend(new.map(|scope| {
            [&scope.module, &scope.action, &scope.service, &scope.client, &scope.container]
                .map(|text| text.as_str().into())
        }));
        &self.scopes[index.0 as usize]
    }

    fn event(&mut self, context: &Context, index: EventIndex) -> &EventTexts {
        let made = self.events.len();
        let new = context.events.iter().skip(made);
        self.events.extend(new.map(|event| EventTexts {
            name: event.name.as_str().into(),
            class: class_of(&event.name).key().into(),
            parameters: [0, 1, 2].map(|at| event.parameters.get(at).map_or("", String::as_str).into()),
        }));
        &self.events[index.0 as usize]
    }

    fn out_of_range(&self, offset: u64) -> ExportError {
        ExportError::TimeOutOfRange { file: self.file_name.clone(), offset }
    }
}

/// The text of entry `index` of a list that only grows; each is made once.
fn shared<T>(made: &mut Vec<ByteArray>, list: &[T], index: usize, text: fn(&T) -> ByteArray) -> ByteArray {
    let known = made.len();
    made.extend(list.iter().skip(known).map(text));
    made[index].clone()
}

fn session_row(number: u32, time: &SessionTime, context: &Context) -> Option<[Cell; 6]> {
    Some([
        Integer(i64::from(number)),
        text(&context.sessions[number as usize].id),
        Integer(ns(time.interval).ok()?),
        Optional(optional_ns(Some(time.first)).ok()?),
        Optional(optional_ns(Some(time.last)).ok()?),
        Integer(time.segments),
    ])
}

fn begin(folder: &Folder, table: &Table) -> Result<TableWriter, ExportError> {
    let file = folder.file(&format!("{}.parquet", table.name))?;
    TableWriter::new(table, file).map_err(|error| failure(folder, error))
}

fn text(text: &str) -> Cell {
    Text(text.into())
}

/// A count; those of a trace are below 2^63, because they are read as such.
fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn ns(time: Ticks) -> Result<i64, Failed> {
    time.nanos().ok_or(Failed::Range)
}

fn optional_ns(time: Option<Ticks>) -> Result<Option<i64>, Failed> {
    time.map(ns).transpose()
}

/// A failure of the Parquet writer as a sentence; the file system's errors are inside.
fn failure(folder: &Folder, error: ParquetError) -> ExportError {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(source) => folder.failure(*source),
            Err(other) => ExportError::Refused { path: folder.place().into(), reason: other.to_string() },
        },
        other => ExportError::Refused { path: folder.place().into(), reason: other.to_string() },
    }
}
