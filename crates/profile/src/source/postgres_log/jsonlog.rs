//! Entries of a log in JSON (`log_destination = 'jsonlog'`, from 15 on): one object a line.

use super::clock::timestamp;
use super::entry::{Entry, Line, Sink};
use super::json::{Fault, Reader, Token};

/// What lines that are no entry are counted as.
const BROKEN: &str = "broken records";

/// Reads one line.
pub fn line(line: &Line<'_>, sink: &mut dyn Sink) {
    if line.text.is_empty() {
        sink.unread(line.unread("empty lines"));
        return;
    }
    match if line.is_too_long { Err(Fault::TooDeep) } else { entry(line.text) } {
        Ok(mut entry) => {
            entry.offset = line.offset;
            entry.lines = 1;
            entry.bytes = line.bytes;
            sink.entry(&entry);
        }
        Err(_) => sink.unread(line.unread(BROKEN)),
    }
}

/// Whether a line is an entry of such a log.
pub fn is_entry(text: &[u8]) -> bool {
    let has = |key: &[u8]| memchr::memmem::find(text, key).is_some();
    text.starts_with(b"{") && has(b"\"timestamp\":") && has(b"\"pid\":") && has(b"\"error_severity\":")
}

fn entry(text: &[u8]) -> Result<Entry, Fault> {
    let mut reader = Reader::new(text);
    if reader.read_token()? != Some(Token::ObjectStart) {
        return Err(Fault::Malformed);
    }
    let mut entry = Entry::default();
    let mut process = String::new();
    while let Some(token) = reader.read_token()? {
        let Token::Key(key) = token else { continue };
        if !is_wanted(&key) {
            reader.skip_value()?;
            continue;
        }
        let value = match reader.read_token()?.ok_or(Fault::Cut)? {
            Token::Text(text) => text.into_owned(),
            Token::Number(number) => number.to_string(),
            Token::Null | Token::Bool(_) => String::new(),
            _ => return Err(Fault::Malformed),
        };
        match &*key {
            "timestamp" => entry.time = timestamp(value.as_bytes()).map(|(time, _)| time),
            "user" => entry.scope.client = value,
            "dbname" => entry.scope.container = value,
            "application_name" => entry.scope.module = value,
            "pid" => process = value,
            "session_id" => entry.session = value,
            "query_id" => entry.query_id = value.parse().ok().filter(|id| *id != 0),
            "context" => entry.context = value.into_bytes(),
            _ => entry.message = value.into_bytes(),
        }
    }
    if !text[reader.position()..].trim_ascii().is_empty() {
        return Err(Fault::Malformed);
    }
    if entry.session.is_empty() {
        entry.session = process;
    }
    Ok(entry)
}

fn is_wanted(key: &str) -> bool {
    matches!(
        key,
        "timestamp"
            | "user"
            | "dbname"
            | "application_name"
            | "pid"
            | "session_id"
            | "query_id"
            | "context"
            | "message"
    )
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
        assert_eq!((entry.session.as_str(), entry.query_id), ("69.4d", Some(-42)));
        assert_eq!(entry.time, Some(1_795_257_953_123_000));
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
