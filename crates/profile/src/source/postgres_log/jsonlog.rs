//! Entries of a log in JSON (`log_destination = 'jsonlog'`, from 15 on): one object a line.

use super::entry::{Assembler, Column, Entry, Line, Sink};
use super::json::{Fault, Object};

/// What lines that are no entry are counted as.
const BROKEN: &str = "broken records";

/// Reads each line by itself.
pub struct Records;

impl Assembler for Records {
    fn line(&mut self, line: &Line<'_>, sink: &mut Sink<'_>) {
        let found = if line.is_too_long { Err(Fault::TooDeep) } else { entry(line.text) };
        match found {
            _ if line.text.is_empty() => sink(Err(line.unread("empty lines"))),
            Ok(entry) => sink(Ok(&Entry { offset: line.offset, lines: 1, bytes: line.bytes, ..entry })),
            Err(_) => sink(Err(line.unread(BROKEN))),
        }
    }
}

/// Whether a line is an entry of such a log.
pub fn is_entry(text: &[u8]) -> bool {
    let has = |key: &[u8]| memchr::memmem::find(text, key).is_some();
    text.starts_with(b"{") && has(b"\"timestamp\":") && has(b"\"pid\":") && has(b"\"error_severity\":")
}

fn entry(text: &[u8]) -> Result<Entry, Fault> {
    let text = String::from_utf8_lossy(text);
    let (keys, rest) = Object::read(&text)?;
    if !rest.trim().is_empty() {
        return Err(Fault::Malformed);
    }
    Entry::of_columns(|Column(_, key)| keys.text(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_with_its_escapes() {
        let text =
            br#"{"timestamp":"2026-11-21 10:45:53.123 UTC","user":"me","dbname":"shop","pid":77,"session_id":"69.4d",
            "error_severity":"LOG","message":"duration: 1 ms  plan:\n{\"a\": 1}","query_id":-42,"ps":"SELECT"}"#;
        assert!(is_entry(text));
        let entry = entry(text).unwrap();
        assert_eq!(entry.message, b"duration: 1 ms  plan:\n{\"a\": 1}");
        assert_eq!((entry.session.as_str(), entry.scope.container.as_str()), ("69.4d", "shop"));
        assert_eq!((entry.time, entry.is_utc()), (Some(1_795_257_953_123_000), true));
    }

    #[test]
    fn a_cut_line_is_no_entry() {
        let text = br#"{"timestamp":"2026-11-21 10:45:53.123 UTC","message":"x"}"#;
        for length in 0..text.len() {
            assert!(entry(&text[..length]).is_err());
        }
        assert!(entry(br#"{"message":"x"} {"message":"y"}"#).is_err());
    }
}
