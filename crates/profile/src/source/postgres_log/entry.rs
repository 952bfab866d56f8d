//! An entry of a server log, whatever its format, and the lines that entries are made of.

use std::io::{self, BufRead, BufReader, Read};

use crate::event::{Scope, Unread};
use crate::input::{Peeked, foreign};
use crate::source::clock::timestamp;

/// Longest message that is kept; a longer one is passed over and counted. A plan of ten thousand nodes has 20 MiB.
pub const MESSAGE_BYTES_MAX: usize = 32 << 20;

/// What programs of Windows put in front of text in UTF-8.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 18;

/// One message of a server log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Where its first line stands: bytes from the start of the (uncompressed) log.
    pub offset: u64,
    /// How many lines it has.
    pub lines: u64,
    /// How many bytes they have.
    pub bytes: u64,
    /// When it was written, in microseconds since 1970 as if the log's time zone were UTC.
    pub time: Option<i64>,
    /// The name of that time zone; `UTC` of seconds since 1970, and empty where the log does not say it.
    pub zone: String,
    /// The session, by its identifier or else by its process; empty where the log does not say.
    pub session: String,
    /// Application, user and database.
    pub scope: Scope,
    /// Whether it says, in English, that the client's statement failed.
    pub is_failure: bool,
    /// The message.
    pub message: Vec<u8>,
    /// In which functions it happened; empty outside of all.
    pub context: Vec<u8>,
}

/// Takes whole entries, and lines that belong to no entry or cannot be read.
pub type Sink<'a> = dyn FnMut(Result<&Entry, Unread>) + 'a;

/// Puts the entries of one format together, line by line.
pub trait Assembler {
    /// Takes the next line.
    fn line(&mut self, line: &Line<'_>, sink: &mut Sink<'_>);
    /// Hands out, or gives up, what is open at the end of the log.
    fn finish(&mut self, _sink: &mut Sink<'_>) {}
}

/// A column that csvlog and jsonlog share: its number, and its key.
#[derive(Clone, Copy, Debug)]
pub struct Column(pub usize, pub &'static str);

impl Entry {
    /// The entry whose columns `field` gives, empty where the log leaves them out.
    ///
    /// # Errors
    /// Those of `field`.
    pub fn of_columns<E>(mut field: impl FnMut(Column) -> Result<String, E>) -> Result<Entry, E> {
        let text = field(Column(0, "timestamp"))?;
        let time = timestamp(text.as_bytes());
        let (process, session) = (field(Column(3, "pid"))?, field(Column(5, "session_id"))?);
        Ok(Entry {
            time: time.map(|(time, _)| time),
            zone: time.map_or_else(String::new, |(_, length)| text[length..].trim().into()),
            session: if session.is_empty() { process } else { session },
            scope: Scope {
                client: field(Column(1, "user"))?,
                container: field(Column(2, "dbname"))?,
                module: field(Column(22, "application_name"))?,
                ..Scope::default()
            },
            is_failure: is_failure(field(Column(11, "error_severity"))?.as_bytes()),
            message: field(Column(13, "message"))?.into_bytes(),
            context: field(Column(18, "context"))?.into_bytes(),
            ..Entry::default()
        })
    }

    /// Whether its time is UTC for certain: other names mean other times in summer.
    pub fn is_utc(&self) -> bool {
        self.zone == "UTC"
    }

    /// Its lines as lines that are not read.
    pub fn unread(&self, kind: &'static str) -> Unread {
        Unread { kind, lines: self.lines, bytes: self.bytes, first_offset: self.offset }
    }
}

/// Whether an entry of this severity says that the client's statement failed: an error that a function catches is not
/// logged.
pub fn is_failure(severity: &[u8]) -> bool {
    matches!(severity, b"ERROR" | b"FATAL" | b"PANIC")
}

/// A line without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Where it begins.
    pub offset: u64,
    /// Its bytes, with its end.
    pub bytes: u64,
    /// Its text, without line feed and carriage return; that of the first one without a byte order mark too.
    pub text: &'a [u8],
    /// Whether it is longer than a message may be: the text is its beginning.
    pub is_too_long: bool,
}

impl Line<'_> {
    /// The line as one that is not read.
    pub fn unread(&self, kind: &'static str) -> Unread {
        Unread { kind, lines: 1, bytes: self.bytes, first_offset: self.offset }
    }
}

/// The lines of a log, with bounded memory.
#[derive(Debug)]
pub struct Lines<R> {
    input: BufReader<Peeked<R>>,
    offset: u64,
    text: Vec<u8>,
}

impl<R: Read> Lines<R> {
    /// The lines of `input` from here on.
    pub fn new(input: R) -> Lines<R> {
        // One read of an archive may give no more than a small file in front of the logs.
        let input = Peeked::new(input, foreign::HEAD_BYTES);
        Lines { input: BufReader::with_capacity(READ_BYTES, input), offset: 0, text: Vec::new() }
    }

    /// The bytes at the beginning, at least as many as are looked at to choose the source; they stay to be read.
    ///
    /// # Errors
    /// Where the input cannot be read.
    pub fn head(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    /// The next line.
    ///
    /// # Errors
    /// Where the input cannot be read.
    pub fn read_line(&mut self) -> io::Result<Option<Line<'_>>> {
        self.text.clear();
        let kept = self.input.by_ref().take(MESSAGE_BYTES_MAX as u64).read_until(b'\n', &mut self.text)?;
        if kept == 0 {
            return Ok(None);
        }
        let is_whole = kept < MESSAGE_BYTES_MAX || self.text.ends_with(b"\n");
        let passed = if is_whole { 0 } else { self.input.skip_until(b'\n')? };
        let (offset, bytes) = (self.offset, (kept + passed) as u64);
        self.offset += bytes;
        let text = self.text.strip_suffix(b"\n").unwrap_or(&self.text);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let text = text.strip_prefix(BYTE_ORDER_MARK).filter(|_| offset == 0).unwrap_or(text);
        Ok(Some(Line { offset, bytes, text, is_too_long: passed > 0 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_know_where_they_stand_whatever_their_ends() {
        let mut lines = Lines::new(&b"one\r\n\ntwo"[..]);
        let mut found = Vec::new();
        while let Some(line) = lines.read_line().unwrap() {
            found.push((line.offset, line.bytes, line.text.to_vec()));
        }
        assert_eq!(found, [(0, 5, b"one".to_vec()), (5, 1, b"".to_vec()), (6, 3, b"two".to_vec())]);
    }

    #[test]
    fn a_line_without_end_takes_no_memory_without_end() {
        let endless = io::repeat(b'x').take(3 * MESSAGE_BYTES_MAX as u64);
        let mut lines = Lines::new(endless.chain(&b"\nnext"[..]));
        let line = lines.read_line().unwrap().unwrap();
        assert!(line.is_too_long && line.text.len() <= MESSAGE_BYTES_MAX);
        assert_eq!(lines.read_line().unwrap().unwrap().text, b"next");
    }
}
