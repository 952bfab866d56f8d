//! Entries of a log in plain text (`log_destination = 'stderr'`): a prefix, a severity, the message, and further lines
//! of it behind a tab.
//!
//! The prefix is whatever `log_line_prefix` made of it. It is not asked for: a time, a process and `user@database` are
//! found by their looks, and what is not found is unknown. Continuation lines name no process, so a message that
//! another process wrote into is cut: what follows is counted as lines without a beginning.

use super::entry::{Assembler, Entry, Line, MESSAGE_BYTES_MAX, Sink};
use crate::source::clock::{epoch, timestamp};

/// What lines without the beginning of their message are counted as.
const WITHOUT_BEGINNING: &str = "lines without the beginning of their message";
/// What messages that are too long are counted as.
const TOO_LONG: &str = "messages longer than 32 MiB";

/// Severities that begin an entry, as English servers write them; other words do where a plan follows.
const SEVERITIES: [&[u8]; 12] = [
    b"LOG", b"ERROR", b"WARNING", b"NOTICE", b"INFO", b"FATAL", b"PANIC", b"DEBUG1", b"DEBUG2", b"DEBUG3", b"DEBUG4",
    b"DEBUG5",
];

/// Parts that follow an entry's message under the same prefix.
const PARTS: [&[u8]; 7] = [b"DETAIL", b"HINT", b"CONTEXT", b"QUERY", b"STATEMENT", b"LOCATION", b"BACKTRACE"];

/// Which part of the entry continuation lines belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    None,
    Message,
    Context,
    /// A part that is not looked at, or a message that is too long.
    Other,
}

/// Puts entries together line by line.
#[derive(Debug, Default)]
pub struct Messages {
    entry: Option<Entry>,
    part: Part,
    is_too_long: bool,
}

impl Assembler for Messages {
    fn line(&mut self, line: &Line<'_>, sink: &mut Sink<'_>) {
        let head = if is_continuation(line.text) { None } else { Head::of(line.text) };
        match head {
            Some(head) if head.is_part && self.entry.is_some() => {
                self.part = if head.word == b"CONTEXT" { Part::Context } else { Part::Other };
                self.append(line, head.message);
            }
            Some(head) => {
                self.finish(sink);
                self.begin(line, &head);
            }
            None => self.further(line, sink),
        }
    }

    fn finish(&mut self, sink: &mut Sink<'_>) {
        let Some(entry) = self.entry.take() else { return };
        self.part = Part::None;
        let is_too_long = std::mem::take(&mut self.is_too_long);
        sink(if is_too_long { Err(entry.unread(TOO_LONG)) } else { Ok(&entry) });
    }
}

impl Messages {
    fn begin(&mut self, line: &Line<'_>, head: &Head<'_>) {
        let mut entry = Entry { offset: line.offset, ..Entry::default() };
        read_prefix(head.prefix, &mut entry);
        self.entry = Some(entry);
        self.part = Part::Message;
        self.append(line, head.message);
    }

    fn further(&mut self, line: &Line<'_>, sink: &mut Sink<'_>) {
        if self.entry.is_none() {
            return sink(Err(line.unread(WITHOUT_BEGINNING)));
        }
        let text = line.text.strip_prefix(b"\t").unwrap_or(line.text);
        self.append(line, text);
    }

    /// Adds a line to the part that is open.
    fn append(&mut self, line: &Line<'_>, text: &[u8]) {
        let Some(entry) = &mut self.entry else { return };
        entry.lines += 1;
        entry.bytes += line.bytes;
        let place = match self.part {
            Part::Message => &mut entry.message,
            Part::Context => &mut entry.context,
            Part::None | Part::Other => return,
        };
        if line.is_too_long || place.len() + text.len() > MESSAGE_BYTES_MAX {
            self.is_too_long = true;
            self.part = Part::Other;
            *place = Vec::new();
            return;
        }
        if !place.is_empty() {
            place.push(b'\n');
        }
        place.extend_from_slice(text);
    }
}

/// Whether a line can only go on with a message: a tab, or JSON whose tabs were taken away.
fn is_continuation(text: &[u8]) -> bool {
    matches!(text.first(), None | Some(b'\t' | b' ' | b'{' | b'}' | b']'))
}

/// A line with a prefix.
#[derive(Debug, PartialEq, Eq)]
struct Head<'a> {
    prefix: &'a [u8],
    word: &'a [u8],
    message: &'a [u8],
    /// Whether it belongs to the entry before.
    is_part: bool,
}

impl<'a> Head<'a> {
    /// Finds the first severity: a word in front of a colon and two spaces.
    fn of(text: &'a [u8]) -> Option<Head<'a>> {
        let colon = memchr::memmem::find(text, b":  ")?;
        let is_letter = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || !byte.is_ascii();
        let length = text[..colon].iter().rev().take_while(|byte| is_letter(byte)).count();
        let (prefix, word) = text[..colon].split_at(colon - length);
        let message = &text[colon + 3..];
        let is_part = PARTS.contains(&word);
        let is_head =
            is_part || SEVERITIES.contains(&word) || (!word.is_empty() && super::message::is_plan_head(message));
        is_head.then_some(Head { prefix, word, message, is_part })
    }
}

/// Whether a line of a server's log in plain text begins here: a severity behind a prefix with a time or a process.
pub fn is_head(text: &[u8]) -> bool {
    let mut entry = Entry::default();
    Head::of(text).is_some_and(|head| {
        read_prefix(head.prefix, &mut entry);
        SEVERITIES.contains(&head.word) && (entry.time.is_some() || !entry.session.is_empty() || head.prefix.is_empty())
    })
}

/// Finds what a prefix says by its looks.
fn read_prefix(prefix: &[u8], entry: &mut Entry) {
    let mut rest = prefix;
    for at in 0..prefix.len() {
        let is_start = at == 0 || !prefix[at - 1].is_ascii_alphanumeric();
        if let Some((time, length)) = timestamp(&prefix[at..]).or_else(|| epoch(&prefix[at..]).filter(|_| is_start)) {
            entry.time = Some(time);
            rest = &prefix[at + length..];
            break;
        }
    }
    let text = String::from_utf8_lossy(rest);
    let before = String::from_utf8_lossy(&prefix[..prefix.len() - rest.len()]).into_owned();
    entry.session = session(&text).or_else(|| entry.time.and_then(|_| session(&before))).unwrap_or_default();
    for word in text.split([' ', ':', ',', '[', ']', '(', ')', '|', ';']) {
        if let Some((user, database)) =
            word.split_once('@').filter(|(user, database)| !user.is_empty() && !database.is_empty())
        {
            entry.scope.client = value_of(user, "user=");
            entry.scope.container = value_of(database, "db=");
        } else if let Some(database) = word.strip_prefix("db=") {
            entry.scope.container = database.into();
        } else if let Some(user) = word.strip_prefix("user=") {
            entry.scope.client = user.into();
        } else if let Some(application) = word.strip_prefix("app=") {
            entry.scope.module = application.into();
        }
    }
}

fn value_of(word: &str, name: &str) -> String {
    word.strip_prefix(name).unwrap_or(word).to_string()
}

/// The process in brackets, a session's identifier (`%c`), or the first whole number.
fn session(text: &str) -> Option<String> {
    let in_brackets = text.split('[').skip(1).find_map(|rest| {
        let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let behind = rest[number.len()..].chars().next();
        (!number.is_empty() && matches!(behind, Some(']' | '-' | ':' | ' '))).then_some(number)
    });
    let words =
        || text.split(|letter: char| letter.is_whitespace() || matches!(letter, ':' | ',' | '[' | ']' | '|' | '='));
    let is_identifier = |word: &&str| {
        let parts: Vec<&str> = word.split('.').collect();
        let is_hex = |part: &&str| part.len() >= 2 && part.chars().all(|letter| letter.is_ascii_hexdigit());
        parts.len() == 2 && parts.iter().all(is_hex)
    };
    let is_number = |word: &&str| (1..=10).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit());
    in_brackets.or_else(|| words().find(is_identifier).or_else(|| words().find(is_number)).map(Into::into))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Unread;

    #[derive(Default)]
    struct Kept {
        entries: Vec<Entry>,
        unread: u64,
    }

    fn entries(log: &str) -> Kept {
        let mut lines = super::super::entry::Lines::new(log.as_bytes());
        let (mut assembler, mut kept) = (Messages::default(), Kept::default());
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

    #[test]
    fn a_message_ends_where_the_next_prefix_begins() {
        let kept = entries(
            "\tlost\n2026-11-21 10:45:53.123 UTC [77] app@db LOG:  duration: 1.5 ms  plan:\n\t{\n\
             \t  \"a\": \"LOG:  x\"\n\t}\n\
             2026-11-21 10:45:53.123 UTC [77] app@db CONTEXT:  PL/pgSQL function f() line 3\n\tmore\n\
             2026-11-21 10:45:54 UTC [78] LOG:  checkpoint starting: time\n",
        );
        assert_eq!((kept.entries.len(), kept.unread), (2, 1));
        let first = &kept.entries[0];
        assert_eq!(first.message, b"duration: 1.5 ms  plan:\n{\n  \"a\": \"LOG:  x\"\n}");
        assert_eq!(first.context, b"PL/pgSQL function f() line 3\nmore");
        assert_eq!(
            (first.session.as_str(), first.scope.client.as_str(), first.scope.container.as_str()),
            ("77", "app", "db")
        );
        assert_eq!(first.time, Some(1_795_257_953_123_000));
        assert_eq!(kept.entries[1].session, "78");
    }

    #[test]
    fn prefixes_of_many_makers_are_understood() {
        for (prefix, session, client) in [
            ("2026-11-21 10:45:53 UTC:10.0.0.1(51234):me@shop:[1234]:", "1234", "me"),
            ("2026-11-21 10:45:53 UTC [1234-5] user=me,db=shop,app=web ", "1234", "me"),
            ("[1234] 2026-11-21 10:45:53.001 UTC ", "1234", ""),
            ("2026-11-21 10:45:53 CET 1234 ", "1234", ""),
            ("1795257953.123 691f0a61.4d2 ", "691f0a61.4d2", ""),
            ("", "", ""),
        ] {
            let log = format!("{prefix}LOG:  duration: 1 ms  plan:\n");
            let kept = entries(&log);
            let entry = &kept.entries[0];
            assert_eq!((entry.session.as_str(), entry.scope.client.as_str()), (session, client), "{prefix}");
            assert!(is_head(log.trim_end().as_bytes()), "{prefix}");
            assert_eq!(entry.time.is_some(), !prefix.is_empty());
        }
    }

    #[test]
    fn a_log_in_another_language_is_read() {
        let kept = entries("2026-11-21 10:45:53 CET [9] PROTOKOLL:  Dauer: 0.531 ms  Plan:\n\t{\n");
        assert_eq!(kept.entries[0].message, b"Dauer: 0.531 ms  Plan:\n{");
    }
}
