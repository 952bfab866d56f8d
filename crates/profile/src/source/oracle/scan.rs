//! The scanner: bytes of a trace become records.
//!
//! It knows lines and the three constructs of many lines (texts of statements, values of bind variables, texts that
//! could not be parsed), and nothing of sessions or of what a cursor stands for. Where it stops within a construct it
//! says so, and goes on from there with the next chunk: what comes out does not depend on where a file is cut.

use std::mem;
use std::ops::Range;

use crate::source::contract::BindValues;
use crate::source::oracle::call;
use crate::source::oracle::fields::Fields;
use crate::source::oracle::line::{self, Line, kind};
use crate::source::oracle::mark::SIZE_LIMIT;
use crate::source::oracle::plan;
use crate::source::oracle::record::{
    Attribute, Batch, Body, CallKind, CallRecord, DeclarationRecord, Mark, PlanLineRecord, Record,
};
use crate::source::oracle::statement::{self, Header, Rest, TEXT_MAX, TextEnd, TextKind, strip_return};
use crate::source::oracle::wait::{self, EventDictionary};

/// Longest line that is held in memory whole; a longer one is no record.
pub const LINE_MAX: usize = TEXT_MAX;

/// The line before a declaration, as every release writes it.
const SEPARATOR: &[u8; 22] = b"=====================\n";

/// What the bytes of a chunk end with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkEnd {
    /// A line end; more chunks follow.
    Line,
    /// The file's end.
    File,
    /// The first [`LINE_MAX`] bytes of a line, and how many more it has, its line end included; those are left out.
    WithinLine(u64),
}

/// In what a chunk begins or ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Between constructs.
    #[default]
    Between,
    /// In a text that is too long to be held.
    Text(TextRest),
    /// In a block of bind values.
    Binds(BindBlock),
}

/// What is known of a text whose beginning was emitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRest {
    kind: TextKind,
    /// Bytes that are still missing to the declared length.
    missing: u64,
}

/// What is known of a block of bind values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BindBlock {
    offset: u64,
    cursor: u64,
    count: u32,
    /// A mark came in between: from now on only indented lines belong to the block.
    is_interrupted: bool,
    /// The text of the last value has no end yet.
    is_open: bool,
    /// The values, where they are kept.
    values: Vec<String>,
}

/// How far a scan came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Bytes of the batch that were read; the others begin a construct that goes on in the next chunk.
    pub consumed: usize,
    /// In what they end.
    pub state: State,
}

/// Reads records out of chunks; remembers only how events are spelled, for speed.
#[derive(Debug, Default)]
pub struct Scanner {
    events: EventDictionary,
    binds: BindValues,
}

impl Scanner {
    /// A scanner that does this with values of bind variables.
    pub fn new(binds: BindValues) -> Scanner {
        Scanner { binds, ..Scanner::default() }
    }

    /// Reads the records of `batch.bytes`, which stand at `batch.offset` of the file, into the batch. What the batch
    /// had before is forgotten.
    pub fn scan(&mut self, batch: &mut Batch, entry: State, end: ChunkEnd) -> Outcome {
        batch.clear_records();
        self.events.begin_batch();
        let bytes = mem::take(&mut batch.bytes);
        let binds = self.binds;
        let mut pass = Pass { events: &mut self.events, batch, bytes: &bytes, at: 0, end, is_incomplete: false, binds };
        let state = pass.run(entry);
        let consumed = pass.at;
        batch.bytes = bytes;
        Outcome { consumed, state }
    }
}

/// One chunk under way.
struct Pass<'a> {
    events: &'a mut EventDictionary,
    batch: &'a mut Batch,
    bytes: &'a [u8],
    at: usize,
    end: ChunkEnd,
    /// The construct at `at` needs more bytes than there are.
    is_incomplete: bool,
    binds: BindValues,
}

/// A line as it stands in the chunk.
#[derive(Clone, Copy)]
struct Extent {
    /// Where its content ends, or where its first [`LINE_MAX`] bytes do.
    end: usize,
    /// Where the next line begins.
    next: usize,
    /// How it ends.
    finish: Finish,
}

/// How a line ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Finish {
    /// With a line end.
    Whole,
    /// With the file.
    Unfinished,
    /// It has more than [`LINE_MAX`] bytes, whether they are at hand or were left out.
    Overlong,
}

impl Pass<'_> {
    fn run(&mut self, entry: State) -> State {
        let mut state = entry;
        while self.at < self.bytes.len() && !self.is_incomplete {
            state = match state {
                State::Between => self.between(),
                State::Text(rest) => self.text_line(rest),
                State::Binds(block) => self.bind_line(block),
            };
        }
        if let (State::Binds(block), ChunkEnd::File) = (&state, self.end) {
            self.end_binds(block);
            state = State::Between;
        }
        if self.end == ChunkEnd::File {
            self.mark_within_last_line();
        }
        state
    }

    /// Reads lines until a construct of many lines begins.
    fn between(&mut self) -> State {
        while self.at < self.bytes.len() && !self.is_incomplete {
            if !self.quick_line()
                && let Some(state) = self.careful_line()
            {
                return state;
            }
        }
        State::Between
    }

    /// Reads a call, a wait, a line of a plan, a separator or a declaration of the usual form; says whether it did.
    #[inline(always)]
    fn quick_line(&mut self) -> bool {
        let mut fields = Fields::new(self.bytes, self.at);
        let call = match fields.peek() {
            Some(b'W') if fields.eat(wait::BEGINNING).is_some() => {
                let Some((wait, next)) = self.events.quick(fields, &mut self.batch.events) else { return false };
                self.push(Body::Wait(wait), next);
                return true;
            }
            Some(b'F') if fields.eat(b"FETCH #").is_some() => call::quick(fields, CallKind::Fetch),
            Some(b'E') if fields.eat(b"EXEC #").is_some() => call::quick(fields, CallKind::Exec),
            Some(b'P') if fields.eat(b"PARSE #").is_some() => call::quick(fields, CallKind::Parse),
            Some(b'C') if fields.eat(b"CLOSE #").is_some() => call::quick_close(fields),
            Some(b'S') if fields.eat(plan::BEGINNING).is_some() => return self.quick_plan_line(fields),
            Some(b'P') if fields.eat(statement::DECLARATION).is_some() => return self.quick_declaration(fields),
            Some(b'=') if fields.eat(SEPARATOR).is_some() => {
                self.pass_over(fields.at);
                return true;
            }
            _ => return false,
        };
        let Some((call, next)) = call else { return false };
        self.push(Body::Call(call), next);
        true
    }

    /// Reads a line of a plan of the usual form; `fields` stands behind the `#`.
    #[inline]
    fn quick_plan_line(&mut self, fields: Fields<'_>) -> bool {
        let Some((plan, next)) = plan::quick(fields) else { return false };
        let body = self.plan_line(plan);
        self.push(body, next);
        true
    }

    /// Reads a declaration of the usual form with its text; `fields` stands behind the `#`.
    #[inline]
    fn quick_declaration(&mut self, fields: Fields<'_>) -> bool {
        let Some((header, begin)) = statement::quick_header(fields, self.at) else { return false };
        let Some((length, next)) = statement::quick_text(&self.bytes[begin..], header.length) else { return false };
        let body = self.statement(header, begin..begin + length, length as u64, false);
        self.push(body, begin + next);
        true
    }

    /// Adds a record that ends before `next`, and goes there.
    #[inline(always)]
    fn push(&mut self, body: Body, next: usize) {
        self.batch.records.push(Record { offset: self.batch.offset + self.at as u64, body });
        self.pass_over(next);
    }

    /// Goes to `next`; the bytes up to there were read.
    #[inline(always)]
    fn pass_over(&mut self, next: usize) {
        self.batch.read_bytes += (next - self.at) as u64;
        self.at = next;
    }

    /// The extent of the line here.
    fn extent(&self) -> Extent {
        let rest = &self.bytes[self.at..];
        let (length, line_end, finish) = match memchr::memchr(b'\n', rest) {
            Some(length) => (length, 1, Finish::Whole),
            None if self.left_out() > 0 => (rest.len(), 0, Finish::Overlong),
            None => (rest.len(), 0, Finish::Unfinished),
        };
        let finish = if length > LINE_MAX { Finish::Overlong } else { finish };
        Extent { end: self.at + length.min(LINE_MAX), next: self.at + length + line_end, finish }
    }

    /// Bytes of the last line that were left out of the chunk.
    fn left_out(&self) -> u64 {
        if let ChunkEnd::WithinLine(bytes) = self.end { bytes } else { 0 }
    }

    /// Bytes of a line in the file, those that were left out included.
    fn line_bytes(&self, extent: Extent) -> u64 {
        let is_last = extent.next == self.bytes.len();
        (extent.next - self.at) as u64 + if is_last { self.left_out() } else { 0 }
    }

    /// Goes past a line, those of its bytes that were left out included.
    fn pass_over_line(&mut self, extent: Extent) {
        self.batch.read_bytes += self.line_bytes(extent);
        self.at = extent.next;
    }

    /// Counts the line as not read, and goes past it.
    fn leave_unread(&mut self, kind: &'static str, extent: Extent) {
        let (bytes, offset) = (self.line_bytes(extent), self.batch.offset + self.at as u64);
        self.batch.count_unread(kind, bytes, offset);
        self.at = extent.next;
    }

    /// Reads a line of any form; what it leads into, if anything.
    fn careful_line(&mut self) -> Option<State> {
        let bytes = self.bytes;
        let extent = self.extent();
        let content = strip_return(&bytes[self.at..extent.end]);
        if extent.finish == Finish::Overlong {
            self.leave_unread(kind::OVERLONG, extent);
            return None;
        }
        let found = line::look(content);
        let may_lack_its_end = matches!(found, Line::Plan(_) | Line::Mark(..) | Line::Quiet | Line::Application(..));
        if extent.finish == Finish::Unfinished && !may_lack_its_end {
            self.leave_unread(kind::UNFINISHED, extent);
            return None;
        }
        match found {
            Line::Header(header) => return self.text(header, extent),
            Line::Binds(cursor) => {
                let offset = self.batch.offset + self.at as u64;
                self.pass_over(extent.next);
                return Some(State::Binds(BindBlock { offset, cursor, ..BindBlock::default() }));
            }
            Line::Quiet => self.pass_over(extent.next),
            Line::Unread(kind) => self.leave_unread(kind, extent),
            Line::Wait => match self.events.read(content, self.batch) {
                Some(Ok(wait)) => self.push(Body::Wait(wait), extent.next),
                Some(Err(fault)) => self.leave_unread(line::kind_of(fault), extent),
                None => self.leave_unread(kind::MALFORMED, extent),
            },
            record => self.push_record(record, extent.next),
        }
        None
    }

    /// Adds a record of one line other than a wait.
    fn push_record(&mut self, record: Line<'_>, next: usize) {
        let at = self.at;
        match &record {
            Line::Mark(Mark::SizeLimit, _) => self.take_back_cut_line(),
            Line::Mark(Mark::Attribute(Attribute::Version, _), _) => {
                self.batch.versions.push(self.batch.records.len());
            }
            Line::Mark(Mark::Container(name, number), _) => self.batch.containers.push((shifted(name, at), *number)),
            _ => {}
        }
        let body = match record {
            Line::Call(call, name) => Body::Call(self.named(call, name)),
            Line::Plan(mut plan) => {
                plan.operation = shifted(&plan.operation, at);
                self.plan_line(plan)
            }
            Line::Whole(body) => body,
            Line::Mark(mark, clock) => Body::Mark(shifted_mark(mark, at), clock),
            Line::Application(module, action) => {
                let mark = |attribute, range| Body::Mark(Mark::Attribute(attribute, shifted(range, at)), None);
                self.push(mark(Attribute::Module, &module), at);
                mark(Attribute::Action, &action)
            }
            Line::Wait | Line::Header(_) | Line::Binds(_) | Line::Quiet | Line::Unread(_) => return,
        };
        self.push(body, next);
    }

    /// Takes back the line before the mark of a trace at its greatest size: it was cut wherever that size was reached,
    /// and may be a record with wrong numbers for all that.
    fn take_back_cut_line(&mut self) {
        if let Some(begin) = line_before(self.bytes, self.at) {
            self.take_back(begin);
        }
    }

    /// The mark may stand on the line that was cut, which is the last one then.
    fn mark_within_last_line(&mut self) {
        let Some(begin) = line_before(self.bytes, self.at) else { return };
        if memchr::memmem::find(&self.bytes[begin..self.at], SIZE_LIMIT).is_none_or(|place| place == 0) {
            return;
        }
        self.take_back(begin);
        let offset = self.batch.offset + begin as u64;
        self.batch.records.push(Record { offset, body: Body::Mark(Mark::SizeLimit, None) });
    }

    /// Takes back the record of the line that begins here.
    fn take_back(&mut self, begin: usize) {
        let is_of_line = |record: &Record| record.offset == self.batch.offset + begin as u64;
        let is_cut = self.batch.records.last().is_some_and(|last| {
            is_of_line(last) && matches!(last.body, Body::Call(_) | Body::Wait(_) | Body::PlanLine(_))
        });
        if is_cut && let Some(record) = self.batch.records.pop() {
            let length = memchr::memchr(b'\n', &self.bytes[begin..]).map_or(0, |length| length as u64 + 1);
            self.batch.read_bytes -= length;
            self.batch.count_unread(kind::AT_SIZE_LIMIT, length, record.offset);
        }
    }

    /// Gives a call the index of its name.
    fn named(&mut self, call: CallRecord, name: &[u8]) -> CallRecord {
        let names = &mut self.batch.names;
        let text = String::from_utf8_lossy(name);
        let index = names.iter().position(|known| *known == text).unwrap_or_else(|| {
            names.push(text.into_owned());
            names.len() - 1
        });
        CallRecord { name: u16::try_from(index).unwrap_or(0), ..call }
    }

    /// Reads the text that follows a header.
    fn text(&mut self, header: Header, line: Extent) -> Option<State> {
        let bytes = self.bytes;
        let begin = line.next;
        let rest = if self.end == ChunkEnd::File { Rest::Nothing } else { Rest::More };
        let end = statement::text_end(&bytes[begin..], &header, rest, line::is_record);
        // Also where its kept part ends with a line.
        let is_too_long = matches!(end, TextEnd::TooLong(_));
        let (text_bytes, kept, next, is_cut) = match end {
            TextEnd::Whole(text, next) => (text as u64, text, next, false),
            TextEnd::Cut(next) => (next as u64, next, next, true),
            TextEnd::TooLong(next) => (header.length.max(TEXT_MAX as u64), TEXT_MAX, next, false),
            TextEnd::Unknown => {
                self.is_incomplete = true;
                return None;
            }
        };
        let missing = header.length.saturating_sub(next as u64);
        let text = begin..begin + strip_line_end(&bytes[begin..begin + kept], is_cut);
        let kind = header.kind;
        // Carriage returns of the line ends are no part of the text.
        let text_bytes = if is_too_long { text_bytes } else { text.len() as u64 };
        let body = self.statement(header, text, text_bytes, is_cut);
        self.push(body, begin + next);
        is_too_long.then_some(State::Text(TextRest { kind, missing }))
    }

    fn statement(&mut self, header: Header, text: Range<usize>, text_bytes: u64, is_cut: bool) -> Body {
        let Header { kind, declaration, error: code, .. } = header;
        if kind == TextKind::ParseError {
            let DeclarationRecord { cursor, depth, time, .. } = declaration;
            return Body::ParseError { cursor, depth, code, time, text };
        }
        let sql_id = shifted(&declaration.sql_id, self.at);
        let declarations = &mut self.batch.declarations;
        // A chunk of more declarations than that would not fit into memory.
        let index = u32::try_from(declarations.len()).unwrap_or(u32::MAX);
        declarations.push(DeclarationRecord { sql_id, text, text_bytes, is_cut, ..declaration });
        Body::Declaration(index)
    }

    /// Keeps a line of a plan in the list of its kind.
    #[inline]
    fn plan_line(&mut self, plan: PlanLineRecord) -> Body {
        let index = u32::try_from(self.batch.plan_lines.len()).unwrap_or(u32::MAX);
        self.batch.plan_lines.push(plan);
        Body::PlanLine(index)
    }

    /// A line within a text that is too long to be held: only its end is looked for. A line of the text that looks like
    /// that end is taken for it: to know better the rest of the text would have to be held.
    fn text_line(&mut self, rest: TextRest) -> State {
        let extent = self.extent();
        let content = strip_return(&self.bytes[self.at..extent.end]);
        let is_end = rest.kind == TextKind::Statement && content == statement::END_OF_STATEMENT;
        let is_whole = rest.missing == 0 && extent.finish == Finish::Whole;
        if !is_end && is_whole && (rest.kind == TextKind::ParseError || line::is_record(content)) {
            return State::Between;
        }
        let missing = rest.missing.saturating_sub(self.line_bytes(extent));
        self.pass_over_line(extent);
        if is_end { State::Between } else { State::Text(TextRest { missing, ..rest }) }
    }

    /// A line in or after a block of bind values. Values may hold line feeds, so a line belongs to the block until a
    /// whole record stands in it.
    fn bind_line(&mut self, mut block: BindBlock) -> State {
        let bytes = self.bytes;
        let first = bytes[self.at];
        if first.is_ascii_uppercase() {
            // The block's record comes before that of the line that ends it.
            self.end_binds(&block);
            if self.quick_line() {
                return State::Between;
            }
            self.batch.records.pop();
            if !block.values.is_empty() {
                self.batch.binds.pop();
            }
        }
        let extent = self.extent();
        let content = strip_return(&bytes[self.at..extent.end]);
        if matches!(first, b'A'..=b'Z' | b'=' | b'*') && extent.finish == Finish::Whole && line::is_record(content) {
            return self.record_in_binds(block, content, extent);
        }
        if first != b' ' && block.is_interrupted && !content.is_empty() {
            self.end_binds(&block);
            return State::Between;
        }
        if line::has_keyword(content) {
            self.leave_unread(
                match extent.finish {
                    Finish::Whole => kind::MALFORMED,
                    Finish::Unfinished => kind::UNFINISHED,
                    Finish::Overlong => kind::OVERLONG,
                },
                extent,
            );
            return State::Binds(block);
        }
        block.count = block.count.saturating_add(u32::from(is_bind(content)));
        if self.binds == BindValues::Kept {
            keep_value(content, &mut block.values);
        }
        block.is_open = is_open(content, block.is_open);
        self.pass_over_line(extent);
        State::Binds(block)
    }

    /// A mark only interrupts a block; any other record ends it.
    fn record_in_binds(&mut self, mut block: BindBlock, content: &[u8], extent: Extent) -> State {
        if let Line::Mark(mark, clock) = line::look(content) {
            self.push_record(Line::Mark(mark, clock), extent.next);
            block.is_interrupted = true;
            return State::Binds(block);
        }
        self.end_binds(&block);
        State::Between
    }

    fn end_binds(&mut self, block: &BindBlock) {
        let values = (!block.values.is_empty()).then(|| {
            self.batch.binds.push(block.values.clone());
            u32::try_from(self.batch.binds.len() - 1).unwrap_or(u32::MAX)
        });
        let body = Body::Binds { cursor: block.cursor, count: block.count, is_open: block.is_open, values };
        self.batch.records.push(Record { offset: block.offset, body });
    }
}

/// Where the last line before `at` begins that is not empty.
fn line_before(bytes: &[u8], at: usize) -> Option<usize> {
    let end = bytes[..at].iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'))?;
    Some(memchr::memrchr(b'\n', &bytes[..end]).map_or(0, |feed| feed + 1))
}

/// Whether a bind variable begins in this line: on its own, or behind the value of the one before, which then is NULL.
fn is_bind(line: &[u8]) -> bool {
    let text = line.trim_ascii_start();
    if line.starts_with(b" Bind#") {
        return true;
    }
    if let Some(number) = line.strip_prefix(b" bind ") {
        return number.first().is_some_and(u8::is_ascii_digit);
    }
    line.starts_with(b" ")
        && text.strip_prefix(b"value=").is_some_and(|value| value.trim_ascii_start().starts_with(b"Bind#"))
}

/// Most values of a block that are kept, and most bytes of one.
const VALUES_MAX: usize = 64;
const VALUE_BYTES: usize = 120;

/// Keeps the value that a line of a block has; a variable without a value is NULL.
fn keep_value(line: &[u8], values: &mut Vec<String>) {
    let value = line.trim_ascii_start().strip_prefix(b"value=").filter(|_| line.starts_with(b" "));
    let begins_behind = value.is_some_and(|value| value.trim_ascii_start().starts_with(b"Bind#"));
    if is_bind(line) && values.len() < VALUES_MAX {
        values.push("NULL".into());
    }
    if let (Some(value), false, Some(last)) = (value, begins_behind, values.last_mut()) {
        let kept = &value[..value.len().min(VALUE_BYTES)];
        *last = String::from_utf8_lossy(kept.trim_ascii()).into_owned();
    }
}

/// Whether the text of a bind value goes on behind this line: `value="` begins one, and the next quote ends it.
fn is_open(line: &[u8], was_open: bool) -> bool {
    match memchr::memmem::rfind(line, b"value=\"") {
        Some(begin) => !line[begin + b"value=\"".len()..].contains(&b'"'),
        None => was_open && !line.contains(&b'"'),
    }
}

/// The length of a text without its last line end; that of a cut text is its own.
fn strip_line_end(text: &[u8], is_cut: bool) -> usize {
    let text = if is_cut { text.strip_suffix(b"\n").unwrap_or(text) } else { text };
    strip_return(text).len()
}

fn shifted(range: &Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

fn shifted_mark(mark: Mark, by: usize) -> Mark {
    match mark {
        Mark::Attribute(attribute, range) => Mark::Attribute(attribute, shifted(&range, by)),
        Mark::Container(range, number) => Mark::Container(shifted(&range, by), number),
        other => other,
    }
}

#[cfg(test)]
mod tests;
