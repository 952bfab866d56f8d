//! In which format a server log is written, from its content.

use std::cell::Cell;

use super::entry::{Assembler, BYTE_ORDER_MARK, Entry, Line, MESSAGE_BYTES_MAX, Sink};
use super::{csvlog, jsonlog, stderr};
use crate::input::foreign::HEAD_BYTES;

/// Bytes in which a plan begins.
const PLAN_BYTES: usize = 4 << 10;

/// Formats that plans are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Plain text with a prefix.
    Stderr,
    /// CSV.
    Csv,
    /// JSON, one object a line.
    Json,
    /// No log, but one plan as `EXPLAIN (ANALYZE, FORMAT JSON)` prints it.
    Plan,
}

impl LogFormat {
    /// What puts its entries together; a plan is one entry.
    pub(super) fn assembler(self) -> Box<dyn Assembler> {
        match self {
            LogFormat::Stderr => Box::new(stderr::Messages::default()),
            LogFormat::Csv => Box::new(csvlog::Records::default()),
            LogFormat::Json => Box::new(jsonlog::Records),
            LogFormat::Plan => Box::new(PlanFile::default()),
        }
    }
}

/// A file that is one plan.
#[derive(Default)]
struct PlanFile(Entry);

impl Assembler for PlanFile {
    fn line(&mut self, line: &Line<'_>, _sink: &mut Sink<'_>) {
        let PlanFile(entry) = self;
        if entry.lines == 0 {
            entry.offset = line.offset;
        }
        entry.lines += 1;
        entry.bytes += line.bytes;
        if line.is_too_long || entry.message.len() + line.text.len() > MESSAGE_BYTES_MAX {
            entry.message.clear();
        } else {
            entry.message.extend_from_slice(line.text);
            entry.message.push(b'\n');
        }
    }

    fn finish(&mut self, sink: &mut Sink<'_>) {
        let entry = std::mem::take(&mut self.0);
        if entry.lines > 0 {
            sink(Ok(&entry));
        }
    }
}

/// Puts the entries of the files of an archive together, each file in its own format: a server writes its log in
/// several formats side by side.
pub(super) struct ByFile<'a> {
    format: &'a Cell<LogFormat>,
    assembler: Box<dyn Assembler>,
    /// The first lines of a file, as long as they do not show its format.
    held: Option<Held>,
}

/// Lines that are held.
#[derive(Default)]
struct Held {
    /// Their texts, each with a line feed behind it.
    text: Vec<u8>,
    /// Each without its text, and where that ends.
    lines: Vec<(Line<'static>, usize)>,
}

impl Held {
    /// Takes the next line; the format that it shows with those before it.
    fn take(&mut self, line: &Line<'_>) -> Option<LogFormat> {
        let Line { offset, bytes, mut text, is_too_long } = *line;
        if self.lines.is_empty() {
            text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        }
        self.text.extend_from_slice(text);
        self.lines.push((Line { offset, bytes, text: &[], is_too_long }, self.text.len()));
        self.text.push(b'\n');
        let begins_plan = is_plan(&self.text[..self.text.len().min(PLAN_BYTES)]);
        if begins_plan { Some(LogFormat::Plan) } else { of_line(text) }
    }
}

impl<'a> ByFile<'a> {
    /// The first file has the format in the cell, which changes with that of the file that is read.
    pub(super) fn new(format: &'a Cell<LogFormat>) -> ByFile<'a> {
        ByFile { format, assembler: format.get().assembler(), held: None }
    }

    /// Ends the file before; the next line is the first one of another.
    pub(super) fn begin_file(&mut self, sink: &mut Sink<'_>) {
        self.finish(sink);
        self.held = Some(Held::default());
    }

    /// Reads the lines that are held: in this format, or in that of the file before where they show none.
    fn hand_on(&mut self, format: Option<LogFormat>, sink: &mut Sink<'_>) {
        let Some(Held { text, lines }) = self.held.take() else { return };
        if let Some(format) = format {
            self.format.set(format);
            self.assembler = format.assembler();
        }
        let mut begin = 0;
        for (line, end) in lines {
            self.assembler.line(&Line { text: &text[begin..end], ..line }, sink);
            begin = end + 1;
        }
    }
}

impl Assembler for ByFile<'_> {
    fn line(&mut self, line: &Line<'_>, sink: &mut Sink<'_>) {
        let Some(held) = &mut self.held else { return self.assembler.line(line, sink) };
        let format = held.take(line);
        if format.is_some() || held.text.len() >= HEAD_BYTES {
            self.hand_on(format, sink);
        }
    }

    fn finish(&mut self, sink: &mut Sink<'_>) {
        self.hand_on(None, sink);
        self.assembler.finish(sink);
    }
}

/// The format of a log that begins with these bytes; `None` for anything else. A few lines are enough; a log may begin
/// in the middle of a message, so several are looked at.
pub fn detect(head: &[u8]) -> Option<LogFormat> {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    if is_plan(head) {
        return Some(LogFormat::Plan);
    }
    head.split(|byte| *byte == b'\n').find_map(of_line)
}

/// The format that a line shows; `None` where it may be one of any.
fn of_line(line: &[u8]) -> Option<LogFormat> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if jsonlog::is_entry(line) {
        return Some(LogFormat::Json);
    }
    if csvlog::begins_record(line) && line.iter().filter(|byte| **byte == b',').count() >= 12 {
        return Some(LogFormat::Csv);
    }
    stderr::is_head(line).then_some(LogFormat::Stderr)
}

/// Whether a document with a plan begins here: an object, or an array of one, whose first key is one of a plan.
fn is_plan(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    let object = text.strip_prefix(b"[").unwrap_or(text).trim_ascii_start().strip_prefix(b"{");
    let keys: [&[u8]; 4] = [b"\"Plan\"", b"\"Query Text\"", b"\"Query Identifier\"", b"\"Query Parameters\""];
    object.is_some_and(|object| keys.iter().any(|key| object.trim_ascii_start().starts_with(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_told_by_its_content() {
        let json = br#"{"timestamp":"2026-11-21 10:45:53.123 UTC","pid":77,"error_severity":"LOG","message":"x"}"#;
        assert_eq!(detect(json), Some(LogFormat::Json));
        let csv =
            b"half a message\"\n2026-11-21 10:45:53.123 UTC,,,77,,69.4d,1,,2026-11-21 10:45:53 UTC,,0,LOG,00000,\"x\"";
        assert_eq!(detect(csv), Some(LogFormat::Csv));
        assert_eq!(detect(b"\t}\n2026-11-21 10:45:53.123 UTC [77] LOG:  x\n"), Some(LogFormat::Stderr));
        assert_eq!(detect(b" [\n {\"Plan\": {\"Node Type\": \"Result\"}}]"), Some(LogFormat::Plan));
    }

    #[test]
    fn a_log_whose_severities_are_in_another_language_is_one() {
        for line in [
            "2026-11-21 10:45:53.123 MSK [9] СООБЩЕНИЕ:  контрольная точка\n",
            "2026-11-21 10:45:53.123 CST [9] 日志:  duration: 0.5 ms  plan:\n",
            "2026-11-21 10:45:53 CET LOGG:  duration: 0.5 ms  plan:\n",
        ] {
            assert_eq!(detect(line.as_bytes()), Some(LogFormat::Stderr), "{line}");
        }
        for line in [
            "2026-11-21 10:45:53.123 [9] WARN:  x\n",
            "2026-11-21 10:45:53.123 [main] 警告:  x\n",
            "2026-11-21 10:45:53,123 [12] 错误:  x\n",
            "2026-11-21 10:45:53 [12] qualité:  12\n",
            "select 1 from t where a > '2026-11-21 10:45:53' and b = 5 -- 备注:  x\n",
        ] {
            assert_eq!(detect(line.as_bytes()), None, "of another program: {line}");
        }
    }

    #[test]
    fn other_files_are_no_logs() {
        for text in [
            &b""[..],
            b"\x7fELF\0\0\n\0",
            b"*** 2007-07-11 10:58:57.903\n=====================\nPARSING IN CURSOR #1 len=5\nLOG:  x\n",
            b"{\"timestamp\": 5}\n",
            b"{\"a\": {\"Plan\": 1}}",
            b"a,b,c\n1,2,3\n",
        ] {
            // A severity without any prefix is a log of a server without `log_line_prefix`.
            let found = detect(text).filter(|format| *format != LogFormat::Stderr);
            assert_eq!(found, None, "{}", String::from_utf8_lossy(text));
        }
    }
}
