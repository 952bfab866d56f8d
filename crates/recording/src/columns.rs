//! The columns of a segment's file: one table, whose rows are of several kinds.
//!
//! What a kind of row does not have is null, or an empty text. Sums over a column need no condition on the kind but
//! for `looks` and `time_ns`, which both the samples of processes and those of a whole second have.

use crate::segment::{ReadSums, Segment};

/// A row as the columns see it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Line<'a> {
    pub(crate) record: &'a str,
    pub(crate) at: i64,
    pub(crate) seconds: Option<i64>,
    pub(crate) looks: Option<i64>,
    pub(crate) time: Option<i64>,
    pub(crate) queued: Option<i64>,
    pub(crate) state: &'a str,
    pub(crate) event: &'a str,
    pub(crate) statement: &'a str,
    pub(crate) text: &'a str,
    pub(crate) pid: Option<i64>,
    pub(crate) started: Option<i64>,
    pub(crate) process: &'a str,
    pub(crate) user: &'a str,
    pub(crate) database: &'a str,
    pub(crate) application: &'a str,
    pub(crate) blocker: Option<i64>,
    pub(crate) executions: Option<i64>,
    pub(crate) rows: Option<i64>,
    pub(crate) hits: Option<i64>,
    pub(crate) reads: Option<i64>,
    pub(crate) relation: &'a str,
    pub(crate) tier: &'a str,
    pub(crate) calls: Option<i64>,
    pub(crate) blocks: Option<i64>,
    pub(crate) bytes: Option<i64>,
    pub(crate) read_time: Option<i64>,
    pub(crate) queue: Option<i64>,
    pub(crate) service: Option<i64>,
    pub(crate) estimated: Option<i64>,
    pub(crate) lost_records: Option<i64>,
    pub(crate) sketch: &'a str,
}

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

/// The columns in their order.
pub const COLUMNS: [Column; 32] = [
    Column { name: "record", get: Get::Text(|line| line.record) },
    Column { name: "moment", get: Get::Moment(|line| line.at) },
    Column { name: "seconds", get: Get::Number(|line| line.seconds) },
    Column { name: "looks", get: Get::Number(|line| line.looks) },
    Column { name: "time_ns", get: Get::Number(|line| line.time) },
    Column { name: "queued_ns", get: Get::Number(|line| line.queued) },
    Column { name: "state", get: Get::Text(|line| line.state) },
    Column { name: "event", get: Get::Text(|line| line.event) },
    Column { name: "statement_id", get: Get::Text(|line| line.statement) },
    Column { name: "text", get: Get::Text(|line| line.text) },
    Column { name: "pid", get: Get::Number(|line| line.pid) },
    Column { name: "started", get: Get::OptionalMoment(|line| line.started) },
    Column { name: "process", get: Get::Text(|line| line.process) },
    Column { name: "user", get: Get::Text(|line| line.user) },
    Column { name: "database", get: Get::Text(|line| line.database) },
    Column { name: "application", get: Get::Text(|line| line.application) },
    Column { name: "blocker", get: Get::Number(|line| line.blocker) },
    Column { name: "executions", get: Get::Number(|line| line.executions) },
    Column { name: "rows", get: Get::Number(|line| line.rows) },
    Column { name: "hits", get: Get::Number(|line| line.hits) },
    Column { name: "reads", get: Get::Number(|line| line.reads) },
    Column { name: "relation", get: Get::Text(|line| line.relation) },
    Column { name: "tier", get: Get::Text(|line| line.tier) },
    Column { name: "calls", get: Get::Number(|line| line.calls) },
    Column { name: "blocks", get: Get::Number(|line| line.blocks) },
    Column { name: "bytes", get: Get::Number(|line| line.bytes) },
    Column { name: "read_time_ns", get: Get::Number(|line| line.read_time) },
    Column { name: "queue_ns", get: Get::Number(|line| line.queue) },
    Column { name: "service_ns", get: Get::Number(|line| line.service) },
    Column { name: "estimated", get: Get::Number(|line| line.estimated) },
    Column { name: "lost_records", get: Get::Number(|line| line.lost_records) },
    Column { name: "sketch", get: Get::Text(|line| line.sketch) },
];

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

/// The rows of a segment.
pub(crate) fn lines(segment: &Segment) -> impl Iterator<Item = Line<'_>> {
    let looks = segment.looks.iter().map(|one| Line {
        record: LOOKS,
        at: one.at,
        looks: count(one.looks),
        time: Some(one.time),
        ..Line::default()
    });
    let begin = segment.head.begin;
    let statements = segment.statements.iter().map(move |one| {
        let counted = one.counted;
        Line {
            record: STATEMENT,
            at: begin,
            statement: &one.id,
            text: &one.text,
            executions: counted.and_then(|counted| count(counted.executions)),
            rows: counted.and_then(|counted| count(counted.rows)),
            hits: counted.and_then(|counted| count(counted.hits)),
            reads: counted.and_then(|counted| count(counted.reads)),
            ..Line::default()
        }
    });
    let blocked = segment.blocked.iter().map(|one| Line {
        record: BLOCKED,
        at: one.at,
        pid: Some(one.pid.into()),
        blocker: Some(one.blocker.into()),
        ..Line::default()
    });
    let lost = segment.lost.iter().map(|one| Line {
        record: LOST,
        at: one.at,
        time: Some(one.time),
        text: &one.reason,
        ..Line::default()
    });
    statements.chain(looks).chain(samples(segment)).chain(blocked).chain(lost).chain(reads(segment))
}

fn samples(segment: &Segment) -> impl Iterator<Item = Line<'_>> {
    segment.samples.iter().map(|one| {
        let process = segment.processes.get(one.process as usize);
        Line {
            record: SAMPLE,
            at: one.at,
            seconds: Some(one.seconds.into()),
            looks: Some(i64::try_from(one.looks).unwrap_or(i64::MAX)),
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
            ..Line::default()
        }
    })
}

fn reads(segment: &Segment) -> impl Iterator<Item = Line<'_>> {
    let begin = segment.head.begin;
    let account = segment.account.iter().map(move |time| Line {
        record: ACCOUNT,
        at: begin,
        time: Some(*time),
        ..Line::default()
    });
    let hidden = (segment.hidden > 0).then(|| Line {
        record: HIDDEN,
        at: begin,
        looks: count(segment.hidden),
        ..Line::default()
    });
    let own = segment.own.into_iter().flat_map(move |own| {
        let row = |process, time| Line { record: OWN, at: begin, process, time: Some(time), ..Line::default() };
        [Some(row(RECORDER, own.cpu)), own.session.map(|time| row(OWN_SESSION, time))].into_iter().flatten()
    });
    let tracing = segment.tracing.iter().map(move |one| Line {
        record: TRACING,
        at: begin,
        calls: count(one.records),
        lost_records: count(one.lost),
        text: &one.reason,
        ..Line::default()
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
