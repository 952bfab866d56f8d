//! What one construct of a trace says, in the trace's own units, before it is assigned to a session.
//!
//! A record holds numbers and spans, never text of its own: texts are spans of the batch's bytes, and names of events
//! are indexes into the batch's dictionary, so that a batch costs no allocation per line. The long records, those of
//! declarations and of lines of plans, stand in lists of their own, so that the short ones stand close together.

use std::ops::Range;

pub use crate::event::{CallKind, Unread};

/// A database call line. Times are in the file's unit; `elapsed`, `end` and `cpu` share none of their clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallRecord {
    /// Which call.
    pub kind: CallKind,
    /// Index into [`Batch::names`] for kinds with names of their own (LOBREAD, LOBPGSIZE, ...); 0 otherwise.
    pub name: u16,
    /// Recursion depth, 0 for a call of the client.
    pub depth: u16,
    /// The cursor's number; 0 for none.
    pub cursor: u64,
    /// CPU time, children included.
    pub cpu: i64,
    /// Elapsed time, children included.
    pub elapsed: i64,
    /// Time at the end of the call; `None` where the line has none (RPC).
    pub end: Option<i64>,
    /// Blocks read from disk, children included.
    pub physical_reads: u64,
    /// Blocks got in consistent mode, children included.
    pub consistent_gets: u64,
    /// Blocks got in current mode, children included.
    pub current_gets: u64,
    /// Misses of the library cache, own.
    pub misses: u64,
    /// Rows processed, own.
    pub rows: u64,
    /// Hash of the plan; 0 where the line has none.
    pub plan_hash: u64,
    /// The goal of the optimizer; 0 where the line has none.
    pub goal: u8,
}

/// A wait line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitRecord {
    /// Index into [`Batch::events`].
    pub event: u16,
    /// The cursor's number; 0 for none.
    pub cursor: u64,
    /// Time waited.
    pub elapsed: i64,
    /// The three parameters in the order of the line; absent ones are 0 and not named in [`EventName`].
    pub parameters: [i64; 3],
    /// The object; `None` where the line has none.
    pub object: Option<i64>,
    /// Time at the end of the wait; `None` in traces before 10g.
    pub end: Option<i64>,
}

/// `PARSING IN CURSOR` with its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclarationRecord {
    /// The cursor's number.
    pub cursor: u64,
    /// Recursion depth.
    pub depth: u16,
    /// Parsing schema.
    pub user: i64,
    /// Command type (3 select, 2 insert, 47 PL/SQL, ...).
    pub command: i64,
    /// Time of the declaration: no start time, good only where a file has nothing else.
    pub time: Option<i64>,
    /// Hash of the text.
    pub hash: u64,
    /// The identifier of the SQL, from 11.1 on: an index range of the batch's bytes; empty before.
    pub sql_id: Range<usize>,
    /// The SQL as it stands, without the line feed before `END OF STMT`; only its beginning where it is very long.
    pub text: Range<usize>,
    /// Bytes of the whole text: more than `text` has where that is only the beginning.
    pub text_bytes: u64,
    /// Whether the file ended (or another record began) inside the text.
    pub is_cut: bool,
}

/// A `STAT` line: one line of a plan as it was executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanLineRecord {
    /// The cursor's number.
    pub cursor: u64,
    /// Line number within the plan, from 1.
    pub id: u32,
    /// The parent's line number, 0 for the root.
    pub parent: u32,
    /// Rows that came out.
    pub rows: u64,
    /// The object; 0 for none.
    pub object: i64,
    /// The operation's name, without the figures in parentheses.
    pub operation: Range<usize>,
    /// Gets, physical reads and writes, children included; `None` before 10g.
    pub figures: Option<PlanFigures>,
}

/// The figures of a plan line, children included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanFigures {
    /// Consistent gets.
    pub consistent_gets: u64,
    /// Blocks read.
    pub physical_reads: u64,
    /// Blocks written.
    pub physical_writes: u64,
    /// How often it was started; from 12.2.
    pub starts: Option<u64>,
    /// Time in the file's unit.
    pub time: i64,
    /// Rows that the optimizer expected of a start; from 11g.
    pub estimated_rows: Option<u64>,
}

/// What a `*** ` line or a line of the preamble says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// What is called so has this value from now on.
    Attribute(Attribute, Range<usize>),
    /// The container by name and number, as stamps have it: `(PDB1(3))`.
    Container(Range<usize>, u64),
    /// The process changes: a separator of merged files.
    Process(u64),
    /// The trace was cut at its greatest size.
    SizeLimit,
    /// A file that was removed was begun again.
    Recreated,
    /// The wall clock alone.
    Clock,
}

/// What a mark can give a value to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// The session: (serial number included) `sid.serial`.
    Session,
    /// The client identifier.
    Client,
    /// The service.
    Service,
    /// The module.
    Module,
    /// The action.
    Action,
    /// The client's driver.
    Driver,
    /// The container by its number.
    Container,
    /// The file from which this one comes.
    ContinuedFrom,
    /// The file in which this one goes on.
    ContinuesIn,
    /// The version in the preamble, such as `11.2.0.3.0`.
    Version,
    /// The host in the preamble.
    Host,
    /// The instance in the preamble.
    Instance,
    /// The number of the process in the preamble, or of the thread.
    Process,
}

/// What one construct says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A database call.
    Call(CallRecord),
    /// A wait.
    Wait(WaitRecord),
    /// A cursor is declared: index into [`Batch::declarations`].
    Declaration(u32),
    /// A line of a plan: index into [`Batch::plan_lines`].
    PlanLine(u32),
    /// A mark, with the wall clock in microseconds since 1970 as if it were UTC, where the line has one.
    Mark(Mark, Option<i64>),
    /// End of a transaction.
    TransactionEnd {
        /// Whether it was rolled back.
        is_rollback: bool,
        /// Whether it only read.
        is_read_only: bool,
        /// Its time, from 11.1 on.
        time: Option<i64>,
    },
    /// A call failed; the line before says which call.
    Error {
        /// The cursor.
        cursor: u64,
        /// The number of the error.
        code: i64,
        /// Its time.
        time: Option<i64>,
    },
    /// A statement that could not be parsed, with its text.
    ParseError {
        /// The cursor.
        cursor: u64,
        /// Recursion depth.
        depth: u16,
        /// The number of the error.
        code: i64,
        /// Its time.
        time: Option<i64>,
        /// The text.
        text: Range<usize>,
    },
    /// Values of bind variables; they are personal data, so only their number is kept unless the user asks for them.
    Binds {
        /// The cursor.
        cursor: u64,
        /// How many.
        count: u32,
        /// Whether the text of a value has not ended where the next record begins.
        is_open: bool,
        /// Index into [`Batch::binds`], where values are kept.
        values: Option<u32>,
    },
}

/// A construct and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Bytes from the start of the (uncompressed) file to the construct's first line.
    pub offset: u64,
    /// What it says.
    pub body: Body,
}

/// An event and the names of its parameters, as the lines spell them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct EventName {
    /// Such as `db file sequential read`.
    pub event: String,
    /// Such as `file#`, `block#`, `blocks`; as many as the lines have, three at most.
    pub parameters: Vec<String>,
}

/// The records of one chunk of a file, in the file's order.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Where the chunk's bytes begin in the (uncompressed) file.
    pub offset: u64,
    /// The chunk's bytes; spans of its records point into them.
    pub bytes: Vec<u8>,
    /// The records.
    pub records: Vec<Record>,
    /// The declarations that records name by index.
    pub declarations: Vec<DeclarationRecord>,
    /// The lines of plans that records name by index.
    pub plan_lines: Vec<PlanLineRecord>,
    /// The events that its waits name by index.
    pub events: Vec<EventName>,
    /// The names that its calls name by index; index 0 is the empty name.
    pub names: Vec<String>,
    /// The values that blocks of bind values name by index, where they are kept.
    pub binds: Vec<Vec<String>>,
    /// The records that say a version: each begins a preamble, or goes on with one.
    pub versions: Vec<usize>,
    /// The containers that stamps name, each with its number.
    pub containers: Vec<(Range<usize>, u64)>,
    /// Lines that are no record and belong to none, by kind.
    pub unread: Vec<Unread>,
    /// Bytes of the lines that were read: records with their texts and values, separators, the preamble. Over a whole
    /// file these and the bytes of the unread lines are the file's bytes.
    pub read_bytes: u64,
}

impl Batch {
    /// Takes back what was read out of the bytes, and leaves the bytes. It keeps its room, so that the next chunk
    /// allocates nothing.
    pub fn clear_records(&mut self) {
        self.records.clear();
        self.declarations.clear();
        self.plan_lines.clear();
        self.events.clear();
        self.names.clear();
        self.names.push(String::new());
        self.binds.clear();
        self.versions.clear();
        self.containers.clear();
        self.unread.clear();
        self.read_bytes = 0;
    }

    /// The text of a span, with other letters than those of ASCII shown as well as they can be.
    pub fn text(&self, span: &Range<usize>) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.bytes.get(span.clone()).unwrap_or_default())
    }

    /// Whether one of these records is anything but a mark.
    pub fn has_lines(&self, records: Range<usize>) -> bool {
        self.records[records].iter().any(|record| !matches!(record.body, Body::Mark(..)))
    }

    /// Where the next preamble behind a line begins, from this record on; `is_begun` says that a line came before. It
    /// begins another file, or another run of the one that was removed.
    pub fn next_file(&self, from: usize, is_begun: bool) -> Option<usize> {
        let version =
            self.versions.iter().find(|version| **version >= from && (is_begun || self.has_lines(from..**version)))?;
        // Old releases say first from which file it comes.
        let comes_from =
            |record: &&Record| matches!(record.body, Body::Mark(Mark::Attribute(Attribute::ContinuedFrom, _), _));
        Some(version - self.records[from..*version].iter().rev().take_while(comes_from).count())
    }

    /// The lines that were not read among these records, by kind: each kind where its first line stands.
    pub fn unread_at(&self, records: &Range<usize>) -> impl Iterator<Item = &Unread> {
        let places = self.places(records);
        self.unread.iter().filter(move |unread| places.contains(&unread.first_offset))
    }

    /// The containers that stamps name among these records, each with its number.
    pub fn containers_at(&self, records: &Range<usize>) -> impl Iterator<Item = &(Range<usize>, u64)> {
        let places = self.places(records);
        self.containers.iter().filter(move |(span, _)| places.contains(&(self.offset + span.start as u64)))
    }

    /// From where to where these records reach in the file, with what was not read between them.
    fn places(&self, records: &Range<usize>) -> Range<u64> {
        let offset = |place: usize| self.records.get(place).map(|record| record.offset);
        let begin = if records.start == 0 { 0 } else { offset(records.start).unwrap_or(u64::MAX) };
        begin..offset(records.end).unwrap_or(u64::MAX)
    }

    /// The declaration of this index.
    pub fn declaration(&self, index: u32) -> Option<&DeclarationRecord> {
        self.declarations.get(index as usize)
    }

    /// The line of a plan of this index.
    pub fn plan_line(&self, index: u32) -> Option<&PlanLineRecord> {
        self.plan_lines.get(index as usize)
    }

    /// Counts a line that was not read.
    pub(crate) fn count_unread(&mut self, kind: &'static str, bytes: u64, offset: u64) {
        Unread::add(&mut self.unread, &Unread { kind, lines: 1, bytes, first_offset: offset });
    }
}
