//! The rows of the exported files: each column's name beside the value that it has.
//!
//! Times are whole nanoseconds in 64 bits: every trace's unit is a whole number of them (1 µs, 1.024 µs, 10 ms), so
//! that sums made elsewhere are exact. Points in time are those of the trace's own clock, whose zero is no epoch.

use std::collections::VecDeque;

use parquet::data_type::ByteArray;
use profile::event::block_wait::BlockWait;
use profile::event::{
    Call, Context, Event, Placement, PlanLine, Scope, ScopeIndex, Session, SessionIndex, Statement, StatementIndex,
    Ticks, Wait,
};

use crate::table::{Column, Row, columns, without_nul};

/// A file of a folder: its name without `.parquet`, and its columns.
pub type Table = (&'static str, fn() -> Vec<Column>);

/// The files of a folder.
pub const TABLES: [Table; 5] = [
    ("calls", || columns(|row| call(row, &mut Texts::default(), &sample(), &Call::default()))),
    ("waits", || columns(|row| wait(row, &mut Texts::default(), &sample(), &Wait::default()))),
    ("statements", || columns(|row| statement(row, 0, &Statement::default()))),
    ("sessions", || columns(|row| session(row, &sample(), 0, &SessionTime::default()))),
    ("plan_lines", || columns(|row| plan_line(row, &mut Texts::default(), &sample(), &PlanLine::default()))),
];

/// One of each, so that any row can be made.
fn sample() -> Context {
    Context {
        sessions: vec![Session::default()],
        statements: vec![Statement::default()],
        events: vec![Event::new("", &[])],
        scopes: vec![Scope::default()],
        call_names: vec![String::new()],
        ..Context::default()
    }
}

/// From when to when a session was traced.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SessionTime {
    pub(crate) interval: Ticks,
    /// Begin and end; `None` where its executions have no time.
    pub(crate) first: Option<Ticks>,
    pub(crate) last: Option<Ticks>,
    pub(crate) segments: i64,
}

/// Most names of files that are kept: a damaged trace can seem to be of any number.
const FILES: usize = 1 << 12;

/// Texts that many rows share, by what the rows name them by; each is made once.
#[derive(Default)]
pub(crate) struct Texts {
    /// The last files that were read, in their order.
    files: VecDeque<ByteArray>,
    sessions: Vec<ByteArray>,
    statements: Vec<ByteArray>,
    /// Module, action, service, client and container.
    scopes: Vec<[ByteArray; 5]>,
    calls: Vec<ByteArray>,
    placements: Vec<ByteArray>,
    /// Name, class, and the names of three parameters.
    events: Vec<[ByteArray; 5]>,
}

impl Texts {
    pub(crate) fn begin_file(&mut self, name: &str) {
        if self.files.len() >= FILES {
            self.files.pop_front();
        }
        self.files.push_back(bytes(name));
    }

    /// The file that was read this number of files before the last one.
    fn file(&mut self, back: u32) -> &ByteArray {
        if self.files.is_empty() {
            // The writer's default text is no text at all, not even an empty one.
            self.files.push_back("".into());
        }
        let last = self.files.len() - 1;
        &self.files[last.saturating_sub(back as usize)]
    }

    /// Its name.
    pub(crate) fn file_name(&mut self, back: u32) -> String {
        String::from_utf8_lossy(self.file(back).data()).into_owned()
    }
}

/// The place of the container in the texts of a scope.
const CONTAINER: usize = 4;

/// The texts of entry `index` of a list that only grows; each is made once.
fn made<'m, T, M>(made: &'m mut Vec<M>, list: &[T], index: usize, text: fn(&T) -> M) -> &'m M {
    let known = made.len();
    made.extend(list.iter().skip(known).map(text));
    &made[index]
}

/// A text as the files hold it.
fn bytes(text: &str) -> ByteArray {
    ByteArray::from(&*without_nul(text))
}

/// Whose a call or a wait is, and where its line stands.
fn whose(
    row: &mut Row<'_>,
    texts: &mut Texts,
    context: &Context,
    (session, statement, scope): (SessionIndex, StatementIndex, ScopeIndex),
    (files_back, offset): (u32, u64),
) {
    row.shared("file", texts.file(files_back));
    row.count("offset", offset);
    row.integer("session_number", session.0.into());
    let text = |session: &Session| bytes(&session.id);
    row.shared("session", made(&mut texts.sessions, &context.sessions, session.0 as usize, text));
    row.integer("statement", statement.0.into());
    row.shared("statement_id", statement_id(texts, context, statement));
    let at = scope.0 as usize;
    made(&mut texts.scopes, &context.scopes, at, |scope| {
        let all = [&scope.module, &scope.action, &scope.service, &scope.client, &scope.container];
        all.map(|text| bytes(text))
    });
    let (scope, container) = (&mut texts.scopes[at], without_nul(&context.scopes[at].container));
    // A trace may name a container behind its number: its rows have the name from then on.
    if scope[CONTAINER].data() != container.as_bytes() {
        scope[CONTAINER] = ByteArray::from(&*container);
    }
    let names = ["module", "action", "service", "client", "container"];
    names.into_iter().zip(scope).for_each(|(name, text)| row.shared(name, text));
}

fn statement_id<'t>(texts: &'t mut Texts, context: &Context, index: StatementIndex) -> &'t ByteArray {
    let text = |statement: &Statement| bytes(&statement.id);
    made(&mut texts.statements, &context.statements, index.0 as usize, text)
}

/// Every database call.
pub(crate) fn call(row: &mut Row<'_>, texts: &mut Texts, context: &Context, call: &Call) {
    whose(row, texts, context, (call.session, call.statement, call.scope), (0, call.offset));
    row.count("call_number", call.number);
    let name = usize::from(call.name);
    row.shared("call", made(&mut texts.calls, &context.call_names, name, |name| bytes(name)));
    row.integer("depth", call.depth.into());
    row.flag("recursive", call.depth > 0);
    row.optional_time("start_ns", call.end.map(|end| Ticks(end.0.saturating_sub(call.inclusive.elapsed.0))));
    row.optional_time("end_ns", call.end);
    row.time("elapsed_ns", call.inclusive.elapsed);
    row.optional_time("cpu_ns", call.inclusive.cpu);
    row.integer("physical_reads", call.inclusive.physical_reads);
    row.integer("consistent_gets", call.inclusive.consistent_gets);
    row.integer("current_gets", call.inclusive.current_gets);
    row.time("own_elapsed_ns", call.own.elapsed);
    row.optional_time("own_cpu_ns", call.own.cpu);
    row.integer("own_physical_reads", call.own.physical_reads);
    row.integer("own_consistent_gets", call.own.consistent_gets);
    row.integer("own_current_gets", call.own.current_gets);
    row.time("own_waits_ns", call.waits);
    row.count("rows", call.rows);
    row.count("misses", call.misses);
    // The bits of an unsigned number: hashes of 64 bits are compared, not counted.
    row.integer("plan_hash", call.plan_hash.cast_signed());
}

/// Every wait.
pub(crate) fn wait(row: &mut Row<'_>, texts: &mut Texts, context: &Context, wait: &Wait) {
    whose(row, texts, context, (wait.session, wait.statement, wait.scope), (wait.files_back, wait.offset));
    let event = made(&mut texts.events, &context.events, wait.event.0 as usize, |event| {
        let parameter = |at: usize| event.parameters.get(at).map_or("", String::as_str);
        [&*event.name, event.class.key(), parameter(0), parameter(1), parameter(2)].map(bytes)
    });
    let [name, class, first, second, third] = event;
    row.shared("event", name);
    row.shared("class", class);
    row.optional_time("start_ns", wait.end.map(|end| Ticks(end.0.saturating_sub(wait.elapsed.0))));
    row.optional_time("end_ns", wait.end);
    row.time("elapsed_ns", wait.elapsed);
    row.optional("sum_of", wait.sum_of.map(|count| i64::try_from(count).unwrap_or(i64::MAX)));
    let placement = usize::from(wait.placement != Placement::Between);
    row.shared("placement", made(&mut texts.placements, &["between", "inside"], placement, |text| (*text).into()));
    row.integer("depth", wait.depth.into());
    row.shared("parameter1_name", first);
    row.integer("parameter1", wait.parameters[0]);
    row.shared("parameter2_name", second);
    row.integer("parameter2", wait.parameters[1]);
    row.shared("parameter3_name", third);
    row.integer("parameter3", wait.parameters[2]);
    let block_wait = BlockWait::of(context, wait);
    let address = block_wait.and_then(|block_wait| block_wait.address);
    row.optional("file_number", address.map(|address| address.file));
    row.optional("block", address.map(|address| address.block));
    row.optional("blocks", block_wait.and_then(|block_wait| block_wait.blocks).map(i64::from));
    row.optional("object", wait.object);
}

/// Every statement.
pub(crate) fn statement(row: &mut Row<'_>, index: usize, statement: &Statement) {
    row.integer("statement", index as i64);
    row.text("statement_id", &statement.id);
    row.text("text", &statement.text);
    row.count("text_bytes", statement.text_bytes);
    row.integer("command", statement.command);
    row.integer("depth", statement.depth.into());
    row.optional("user", statement.user);
}

/// Every session, with the time from its first to its last line.
pub(crate) fn session(row: &mut Row<'_>, context: &Context, number: u32, time: &SessionTime) {
    row.integer("session_number", number.into());
    row.text("session", &context.sessions[number as usize].id);
    row.time("interval_ns", time.interval);
    row.optional_time("first_ns", time.first);
    row.optional_time("last_ns", time.last);
    row.integer("stretches", time.segments);
}

/// Every line of an executed plan, as often as the source has it.
pub(crate) fn plan_line(row: &mut Row<'_>, texts: &mut Texts, context: &Context, line: &PlanLine) {
    row.shared("file", texts.file(0));
    row.integer("statement", line.statement.0.into());
    row.shared("statement_id", statement_id(texts, context, line.statement));
    row.integer("plan_hash", line.plan_hash.cast_signed());
    row.integer("line", line.id.into());
    row.integer("parent", line.parent.into());
    row.text("operation", &line.operation);
    row.integer("object", line.object);
    row.count("rows", line.rows);
    row.optional("starts", line.starts.map(|starts| i64::try_from(starts).unwrap_or(i64::MAX)));
    row.optional("gets", line.figures.map(|figures| figures.gets));
    row.optional("physical_reads", line.figures.map(|figures| figures.physical_reads));
    row.optional("physical_writes", line.figures.map(|figures| figures.physical_writes));
    row.optional_time("time_ns", line.figures.map(|figures| figures.time));
    row.optional_time("read_time_ns", line.figures.and_then(|figures| figures.read_time));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_that_is_named_behind_its_number_has_its_name_from_then_on() {
        let (mut texts, mut context) = (Texts::default(), sample());
        let mut exported = |container: &str| {
            context.scopes[0].container = container.into();
            columns(|row| call(row, &mut texts, &context, &Call::default()));
            texts.scopes[0][CONTAINER].clone()
        };
        assert_eq!(exported("3"), ByteArray::from("3"));
        assert_eq!(exported("SHOP"), ByteArray::from("SHOP"));
        assert_eq!(exported("SHOP\0"), ByteArray::from("SHOP\u{fffd}"), "no text has a NUL");
    }
}
