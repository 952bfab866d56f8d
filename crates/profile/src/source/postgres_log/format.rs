//! In which format a server log is written, from its content.

use super::entry::{Assembler, BYTE_ORDER_MARK, Entry, Line, MESSAGE_BYTES_MAX, Sink};
use super::{csvlog, jsonlog, stderr};

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

/// The format of a log that begins with these bytes; `None` for anything else. A few lines are enough; a log may begin
/// in the middle of a message, so several are looked at.
pub fn detect(head: &[u8]) -> Option<LogFormat> {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    if is_plan(head) {
        return Some(LogFormat::Plan);
    }
    for line in head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)) {
        if jsonlog::is_entry(line) {
            return Some(LogFormat::Json);
        }
        if csvlog::begins_record(line) && line.iter().filter(|byte| **byte == b',').count() >= 12 {
            return Some(LogFormat::Csv);
        }
        if stderr::is_head(line) {
            return Some(LogFormat::Stderr);
        }
    }
    None
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
