//! The columns of a segment's file: one table, whose rows are of several kinds.
//!
//! What a kind of row does not have is null, or an empty text. Sums over a column need no condition on the kind but
//! for `looks` and `time_ns`, which both the samples of processes and those of a whole second have.

use crate::segment::{ReadSums, Segment};

/// How a column is got from a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Get {
    /// A time of the wall clock, in microseconds since 1970.
    Moment(fn(&Line<'_>) -> i64),
    OptionalMoment(fn(&Line<'_>) -> Option<i64>),
    Number(fn(&Line<'_>) -> Option<i64>),
    Text(for<'a> fn(&Line<'a>) -> &'a str),
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name; what it means stands in `docs/events.md`.
    pub name: &'static str,
    pub(crate) get: Get,
}

impl Column {
    /// What values it holds, as the documentation names them.
    pub fn kind(&self) -> &'static str {
        match self.get {
            Get::Moment(_) => "TIMESTAMP",
            Get::OptionalMoment(_) => "TIMESTAMP, null",
            Get::Number(_) => "INT64, null",
            Get::Text(_) => "STRING",
        }
    }
}

/// A value of a column of a file: a number, or else a text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cell<'a> {
    pub(crate) number: Option<i64>,
    pub(crate) text: &'a str,
}

/// What a row has of a cell, by how its column is got.
macro_rules! value {
    ($cell:expr, Text) => {
        $cell.text
    };
    ($cell:expr, Moment) => {
        $cell.number.unwrap_or_default()
    };
    ($cell:expr, $number:ident) => {
        $cell.number
    };
}

/// Declares the columns in their order: the field of a row, the column's name, and how it is got.
macro_rules! columns {
    ($line:ident<$life:lifetime>: $($field:ident: $value:ty = $name:literal, $get:ident;)*) => {
        /// A row as the columns see it.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub(crate) struct $line<$life> {
            $(pub(crate) $field: $value,)*
        }

        impl<$life> $line<$life> {
            /// A row from its values in the order of the columns.
            pub(crate) fn of(mut next: impl FnMut() -> Cell<$life>) -> $line<$life> {
                $line { $($field: value!(next(), $get),)* }
            }
        }

        /// The columns in their order.
        pub const COLUMNS: [Column; [$($name),*].len()] =
            [$(Column { name: $name, get: Get::$get(|line| line.$field) }),*];
    };
}

columns! { Line<'a>:
    record: &'a str = "record", Text;
    at: i64 = "moment", Moment;
    seconds: Option<i64> = "seconds", Number;
    looks: Option<i64> = "looks", Number;
    time: Option<i64> = "time_ns", Number;
    queued: Option<i64> = "queued_ns", Number;
    state: &'a str = "state", Text;
    event: &'a str = "event", Text;
    statement: &'a str = "statement_id", Text;
    text: &'a str = "text", Text;
    pid: Option<i64> = "pid", Number;
    started: Option<i64> = "started", OptionalMoment;
    process: &'a str = "process", Text;
    user: &'a str = "user", Text;
    database: &'a str = "database", Text;
    application: &'a str = "application", Text;
    blocker: Option<i64> = "blocker", Number;
    executions: Option<i64> = "executions", Number;
    rows: Option<i64> = "rows", Number;
    hits: Option<i64> = "hits", Number;
    reads: Option<i64> = "reads", Number;
    relation: &'a str = "relation", Text;
    tier: &'a str = "tier", Text;
    calls: Option<i64> = "calls", Number;
    blocks: Option<i64> = "blocks", Number;
    bytes: Option<i64> = "bytes", Number;
    read_time: Option<i64> = "read_time_ns", Number;
    queue: Option<i64> = "queue_ns", Number;
    service: Option<i64> = "service_ns", Number;
    estimated: Option<i64> = "estimated", Number;
    lost_records: Option<i64> = "lost_records", Number;
    sketch: &'a str = "sketch", Text;
}

/// How many of them segments had before reads were recorded: the first ones.
pub(crate) const COLUMNS_WITHOUT_READS: usize = 21;

/// Of the rows of kind [`OWN`] whose time it is: the recorder's, and its session's on the server.
pub(crate) const RECORDER: &str = "readpath";
pub(crate) const OWN_SESSION: &str = "session of readpath";

/// The kinds of rows.
pub(crate) const LOOKS: &str = "looks";
pub(crate) const SAMPLE: &str = "sample";
pub(crate) const STATEMENT: &str = "statement";
pub(crate) const BLOCKED: &str = "blocked";
pub(crate) const LOST: &str = "lost";
pub(crate) const ACCOUNT: &str = "account";
pub(crate) const HIDDEN: &str = "hidden";
pub(crate) const OWN: &str = "own";
pub(crate) const READ: &str = "read";
pub(crate) const REQUEST: &str = "request";
pub(crate) const BLOCKS: &str = "blocks";
pub(crate) const TRACING: &str = "tracing";

fn count(count: u64) -> Option<i64> {
    Some(i64::try_from(count).unwrap_or(i64::MAX))
}

/// A row of a kind, of this time, without anything else.
fn row<'a>(record: &'static str, at: i64) -> Line<'a> {
    Line { record, at, ..Line::default() }
}

/// The rows of a segment.
pub(crate) fn lines(segment: &Segment) -> impl Iterator<Item = Line<'_>> {
    let looks =
        segment.looks.iter().map(|one| Line { looks: count(one.looks), time: Some(one.time), ..row(LOOKS, one.at) });
    let begin = segment.head.begin;
    let statements = segment.statements.iter().map(move |one| {
        let counted = one.counted;
        Line {
            statement: &one.id,
            text: &one.text,
            executions: counted.and_then(|counted| count(counted.executions)),
            rows: counted.and_then(|counted| count(counted.rows)),
            hits: counted.and_then(|counted| count(counted.hits)),
            reads: counted.and_then(|counted| count(counted.reads)),
            ..row(STATEMENT, begin)
        }
    });
    let blocked = segment.blocked.iter().map(|one| Line {
        pid: Some(one.pid.into()),
        blocker: Some(one.blocker.into()),
        ..row(BLOCKED, one.at)
    });
    let lost = segment.lost.iter().map(|one| Line { time: Some(one.time), text: &one.reason, ..row(LOST, one.at) });
    statements.chain(looks).chain(samples(segment)).chain(blocked).chain(lost).chain(reads(segment))
}

fn samples(segment: &Segment) -> impl Iterator<Item = Line<'_>> {
    segment.samples.iter().map(|one| {
        let process = segment.processes.get(one.process as usize);
        Line {
            seconds: Some(one.seconds.into()),
            looks: count(one.looks),
            time: Some(one.time),
            queued: Some(one.queued),
            state: Segment::STATES.get(one.state as usize).copied().unwrap_or_default(),
            event: segment.events.get(one.event as usize).map_or("", |event| event),
            statement: segment.statements.get(one.statement as usize).map_or("", |statement| &statement.id),
            pid: process.map(|process| process.pid.into()),
            started: process.map(|process| process.started),
            process: process.map_or("", |process| &process.kind),
            user: process.map_or("", |process| &process.user),
            database: process.map_or("", |process| &process.database),
            application: process.map_or("", |process| &process.application),
            ..row(SAMPLE, one.at)
        }
    })
}

fn reads(segment: &Segment) -> impl Iterator<Item = Line<'_>> {
    let begin = segment.head.begin;
    let account = segment.account.iter().map(move |time| Line { time: Some(*time), ..row(ACCOUNT, begin) });
    let hidden = (segment.hidden > 0).then(|| Line { looks: count(segment.hidden), ..row(HIDDEN, begin) });
    let own = segment.own.into_iter().flat_map(move |own| {
        let of = |process, time| Line { process, time: Some(time), ..row(OWN, begin) };
        [Some(of(RECORDER, own.cpu)), own.session.map(|time| of(OWN_SESSION, time))].into_iter().flatten()
    });
    let tracing = segment.tracing.iter().map(move |one| Line {
        calls: count(one.records),
        lost_records: count(one.lost),
        text: &one.reason,
        ..row(TRACING, begin)
    });
    let reads = segment.reads.iter().map(|one| Line {
        record: READ,
        at: one.at,
        seconds: Some(one.seconds.into()),
        relation: segment.relations.get(one.relation as usize).map_or("", |relation| relation),
        tier: Segment::TIERS.get(one.tier as usize).copied().unwrap_or_default(),
        blocks: count(one.sums.blocks),
        read_time: Some(one.sums.time),
        estimated: count(one.estimated),
        ..summed(&one.sums, reader(segment, one.reader))
    });
    let requests = segment.requests.iter().map(|one| Line {
        record: REQUEST,
        at: one.at,
        seconds: Some(one.seconds.into()),
        statement: segment.statements.get(one.statement as usize).map_or("", |statement| &statement.id),
        tier: Segment::PURPOSES.get(one.purpose as usize).copied().unwrap_or_default(),
        ..summed(&one.sums, Line::default())
    });
    let blocks = segment.blocks.iter().map(move |one| Line {
        record: BLOCKS,
        at: begin,
        relation: segment.relations.get(one.relation as usize).map_or("", |relation| relation),
        sketch: &one.sketch,
        ..reader(segment, one.reader)
    });
    account.chain(hidden).chain(own).chain(tracing).chain(reads).chain(requests).chain(blocks)
}

/// A row with what reads and requests have in common.
fn summed<'a>(sums: &ReadSums, line: Line<'a>) -> Line<'a> {
    Line {
        calls: count(sums.calls),
        bytes: count(sums.bytes),
        queue: Some(sums.queue),
        service: Some(sums.service),
        ..line
    }
}

/// A row that says who read.
fn reader(segment: &Segment, place: u32) -> Line<'_> {
    let Some(reader) = segment.readers.get(place as usize) else { return Line::default() };
    let statement = segment.statements.get(reader.statement as usize).map_or("", |statement| &statement.id);
    Line { statement, process: &reader.process, ..Line::default() }
}
