//! Entries of a log in CSV (`log_destination = 'csvlog'`): one record an entry, quoted, with line feeds inside quotes.
//!
//! A log that was cut leaves a quote open, and everything behind it would be read inside out. That shows at once,
//! because a closing quote must be followed by a comma or the line's end: the record is given up there, and reading
//! goes on at the next line that begins with a time.

use std::convert::Infallible;

use super::entry::{Assembler, Column, Entry, Line, MESSAGE_BYTES_MAX, Sink};
use crate::event::Unread;
use crate::source::clock::timestamp;

/// What records that cannot be read are counted as.
const BROKEN: &str = "broken records";

/// Columns of every version; 13 added one, 14 two more.
const COLUMNS_MIN: usize = 23;
/// More columns than any version has are damage.
const COLUMNS_MAX: usize = 64;

/// Where the reading of a record stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// At the start of a field.
    #[default]
    Start,
    /// Inside a field without quotes.
    Plain,
    /// Inside quotes.
    Quoted,
    /// Behind a quote that ends the field, or is the first of two.
    Closed,
}

/// Puts entries together line by line.
#[derive(Debug, Default)]
pub struct Records {
    fields: Vec<Vec<u8>>,
    state: State,
    length: usize,
    /// The lines of the record so far; none between records.
    taken: Option<Unread>,
}

impl Assembler for Records {
    fn line(&mut self, line: &Line<'_>, sink: &mut Sink<'_>) {
        if self.taken.is_none() && !begins_record(line.text) {
            return sink(Err(line.unread(BROKEN)));
        }
        if self.take(line) {
            if self.state != State::Quoted {
                self.emit(sink);
            }
            return;
        }
        // The line does not go on with the record; perhaps it begins one.
        let is_first = self.taken.is_none();
        self.give_up(sink);
        if is_first || !begins_record(line.text) || !self.take(line) {
            self.give_up(sink);
            sink(Err(line.unread(BROKEN)));
        } else if self.state != State::Quoted {
            self.emit(sink);
        }
    }

    fn finish(&mut self, sink: &mut Sink<'_>) {
        self.give_up(sink);
    }
}

impl Records {
    /// Reads a line as the record's next; whether it can be.
    fn take(&mut self, line: &Line<'_>) -> bool {
        self.length += line.text.len() + 1;
        if line.is_too_long || self.length > MESSAGE_BYTES_MAX || !self.read(line.text) {
            return false;
        }
        let taken = self.taken.get_or_insert(Unread { kind: BROKEN, first_offset: line.offset, ..Unread::default() });
        taken.lines += 1;
        taken.bytes += line.bytes;
        true
    }

    fn read(&mut self, text: &[u8]) -> bool {
        if self.fields.is_empty() {
            self.fields.push(Vec::new());
        } else if let (State::Quoted, Some(field)) = (self.state, self.fields.last_mut()) {
            field.push(b'\n');
        }
        let mut at = 0;
        while at < text.len() {
            let byte = text[at];
            let Some(field) = self.fields.last_mut() else { return false };
            at += 1;
            match (self.state, byte) {
                (State::Start | State::Plain | State::Closed, b',') => {
                    if self.fields.len() == COLUMNS_MAX {
                        return false;
                    }
                    self.fields.push(Vec::new());
                    self.state = State::Start;
                }
                (State::Start, b'"') => self.state = State::Quoted,
                (State::Closed, b'"') => {
                    field.push(b'"');
                    self.state = State::Quoted;
                }
                (State::Start | State::Plain, byte) if byte != b'"' => {
                    field.push(byte);
                    self.state = State::Plain;
                }
                (State::Quoted, b'"') => self.state = State::Closed,
                (State::Quoted, _) => {
                    let rest = &text[at - 1..];
                    let length = memchr::memchr(b'"', rest).unwrap_or(rest.len());
                    field.extend_from_slice(&rest[..length]);
                    at += length - 1;
                }
                _ => return false,
            }
        }
        true
    }

    fn emit(&mut self, sink: &mut Sink<'_>) {
        if self.fields.len() < COLUMNS_MIN {
            return self.give_up(sink);
        }
        let Unread { lines, bytes, first_offset: offset, .. } = self.taken.take().unwrap_or_default();
        let text = |Column(number, _)| {
            let field = self.fields.get(number).map_or(&[][..], Vec::as_slice);
            Ok::<_, Infallible>(String::from_utf8_lossy(field).into_owned())
        };
        let Ok(entry) = Entry::of_columns(text);
        self.clear();
        sink(Ok(&Entry { offset, lines, bytes, ..entry }));
    }

    fn give_up(&mut self, sink: &mut Sink<'_>) {
        if let Some(taken) = self.taken.take() {
            sink(Err(taken));
        }
        self.clear();
    }

    fn clear(&mut self) {
        self.fields.clear();
        self.state = State::Start;
        self.length = 0;
    }
}

/// Whether a line begins like a record: a time and its zone, then a comma.
pub fn begins_record(text: &[u8]) -> bool {
    let Some((_, length)) = timestamp(text) else { return false };
    let zone = text[length..].iter().position(|byte| *byte == b',');
    zone.is_some_and(|zone| zone <= 40)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Kept {
        entries: Vec<Entry>,
        unread: u64,
    }

    fn entries(log: &str) -> Kept {
        let mut lines = super::super::entry::Lines::new(log.as_bytes());
        let (mut assembler, mut kept) = (Records::default(), Kept::default());
        let mut sink = |found: Result<&Entry, Unread>| match found {
            Ok(entry) => kept.entries.push(entry.clone()),
            Err(unread) => kept.unread += unread.lines,
        };
        while let Some(line) = lines.read_line().unwrap() {
            assembler.line(&line, &mut sink);
        }
        assembler.finish(&mut sink);
        kept
    }

    fn record(message: &str) -> String {
        format!(
            "2026-11-21 10:45:53.123 UTC,\"me\",\"shop\",77,\"[local]\",69.4d,3,\"SELECT\",\
             2026-11-21 10:00:00 UTC,3/4,0,\
             LOG,\
             00000,\"{message}\",,,,,\"in f()\",,,,\"psql\",\"client backend\",,-42\n"
        )
    }

    #[test]
    fn a_record_keeps_its_quotes_and_line_feeds() {
        let kept = entries(&record("duration: 1 ms  plan:\n{\n  \"\"a\"\": 1,\n\n}"));
        assert_eq!((kept.entries.len(), kept.unread), (1, 0));
        let entry = &kept.entries[0];
        assert_eq!(entry.message, b"duration: 1 ms  plan:\n{\n  \"a\": 1,\n\n}");
        assert_eq!((entry.session.as_str(), entry.scope.module.as_str()), ("69.4d", "psql"));
        assert_eq!((entry.context.as_slice(), entry.lines, entry.is_utc()), (&b"in f()"[..], 5, true));
    }

    #[test]
    fn a_cut_record_costs_no_other() {
        let whole = record("a \"\"b\"\"\nc");
        for cut in 30..whole.len() - 1 {
            if !whole.is_char_boundary(cut) {
                continue;
            }
            let kept = entries(&format!("{}\n{whole}{whole}", &whole[..cut]));
            let found = kept.entries.iter().filter(|entry| entry.message == b"a \"b\"\nc").count();
            assert!(found >= 2, "cut at {cut}: {found} of 2");
        }
    }

    #[test]
    fn a_quote_that_never_closes_is_counted_and_no_entry() {
        let log = record("x");
        let kept = entries(&log[..log.len() - 60]);
        assert_eq!((kept.entries.len(), kept.unread), (0, 1));
    }
}
