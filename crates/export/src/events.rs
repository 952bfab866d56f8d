//! The observer that writes what it hears.
//!
//! Observers return nothing: the first failure is kept, everything after it is ignored, and [`EventWriter::finish`]
//! returns it. [`EventWriter::failed`] lets the caller stop reading early.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parquet::errors::ParquetError;
use profile::event::{Call, Context, Observer, PlanLine, Segment, Ticks, Wait};

use crate::ExportError;
use crate::folder::Folder;
use crate::rows::{SessionTime, TABLES, Table, Texts, call, plan_line, session, statement, wait};
use crate::table::{Failed, Row, TableWriter, of_writer};

/// Writes calls, waits and plan lines as they come, and sessions and statements at the end.
pub struct EventWriter {
    folder: Folder,
    /// In the order of [`TABLES`].
    tables: Vec<TableWriter>,
    texts: Texts,
    sessions: BTreeMap<u32, SessionTime>,
    failure: Option<ExportError>,
    has_failed: Arc<AtomicBool>,
}

/// Places of the tables in [`TABLES`].
const CALLS: usize = 0;
const WAITS: usize = 1;
const STATEMENTS: usize = 2;
const SESSIONS: usize = 3;
const PLAN_LINES: usize = 4;

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

impl EventWriter {
    /// Begins the files in `folder`.
    ///
    /// # Errors
    /// Where they cannot be made.
    pub fn new(folder: Folder) -> Result<EventWriter, ExportError> {
        let begin = |(name, columns): &Table| {
            let file = folder.file(&format!("{name}.parquet"))?;
            TableWriter::new(name, columns(), file).map_err(|error| failure(&folder, error))
        };
        let tables = TABLES.iter().map(begin).collect::<Result<_, _>>()?;
        let (sessions, has_failed) = (BTreeMap::new(), Arc::default());
        Ok(EventWriter { folder, tables, texts: Texts::default(), sessions, failure: None, has_failed })
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
        for (number, time) in std::mem::take(&mut self.sessions) {
            self.write(SESSIONS, (0, 0), |row, _| session(row, context, number, &time));
        }
        for (index, one) in context.statements.iter().enumerate() {
            self.write(STATEMENTS, (0, 0), |row, _| statement(row, index, one));
        }
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let rows = |table: usize| self.tables[table].rows_written;
        let written = Written {
            calls: rows(CALLS),
            waits: rows(WAITS),
            statements: rows(STATEMENTS),
            sessions: rows(SESSIONS),
            plan_lines: rows(PLAN_LINES),
        };
        for table in self.tables {
            table.finish().map_err(|error| failure(&self.folder, error))?;
        }
        self.folder.publish()?;
        Ok(written)
    }

    /// Writes a row whose line stands this number of files before the last one, at this offset, unless a row failed
    /// before.
    fn write(&mut self, table: usize, line: (u32, u64), fill: impl FnOnce(&mut Row<'_>, &mut Texts)) {
        if self.failure.is_none() {
            let texts = &mut self.texts;
            let written = self.tables[table].push(|row| fill(row, texts));
            self.note(written, line);
        }
    }

    /// Keeps the first failure.
    fn note(&mut self, written: Result<(), Failed>, (files_back, offset): (u32, u64)) {
        self.failure = match written {
            Ok(()) => return,
            Err(Failed::Writer(error)) => Some(failure(&self.folder, error)),
            Err(Failed::Range) => Some(ExportError::TimeOutOfRange { file: self.texts.file_name(files_back), offset }),
        };
        self.has_failed.store(true, Ordering::Relaxed);
    }
}

impl Observer for EventWriter {
    /// Begins row groups, so that none has rows of two files, except for waits that a call of the next file settles.
    fn begin_file(&mut self, name: &str) {
        self.texts.begin_file(name);
        if self.failure.is_none() {
            let flushed = self.tables.iter_mut().try_for_each(TableWriter::flush);
            self.note(flushed.map_err(Failed::Writer), (0, 0));
        }
    }

    fn call(&mut self, context: &Context, one: &Call) {
        self.write(CALLS, (0, one.offset), |row, texts| call(row, texts, context, one));
    }

    fn wait(&mut self, context: &Context, one: &Wait) {
        self.write(WAITS, (one.files_back, one.offset), |row, texts| wait(row, texts, context, one));
    }

    fn plan_line(&mut self, context: &Context, one: &PlanLine) {
        self.write(PLAN_LINES, (0, 0), |row, texts| plan_line(row, texts, context, one));
    }

    fn segment(&mut self, _context: &Context, segment: &Segment) {
        let none = SessionTime { interval: Ticks::ZERO, first: None, last: None, segments: 0 };
        let time = self.sessions.entry(segment.session.0).or_insert(none);
        time.interval += segment.last - segment.first + segment.untimed;
        if segment.last > segment.first || segment.untimed == Ticks::ZERO {
            time.first = Some(time.first.map_or(segment.first, |first| first.min(segment.first)));
            time.last = time.last.max(Some(segment.last));
        }
        time.segments += 1;
    }
}

/// A failure of the Parquet writer as a sentence.
fn failure(folder: &Folder, error: ParquetError) -> ExportError {
    folder.failure(of_writer(error))
}
