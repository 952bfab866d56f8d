//! Entries of a log in plain text (`log_destination = 'stderr'`): a prefix, a severity, the message, and further lines
//! of it behind a tab.
//!
//! The prefix is whatever `log_line_prefix` made of it. It is not asked for: a time, a process and `user@database` are
//! found by their looks, and what is not found is unknown. Continuation lines name no process, so a message that
//! another process wrote into is cut: what follows is counted as lines without a beginning.

use std::net::Ipv6Addr;

use super::entry::{Assembler, Entry, Line, MESSAGE_BYTES_MAX, Sink, is_failure};
use super::message::is_plan_head;
use crate::event::Scope;
use crate::source::clock::{epoch, timestamp};

/// What lines without the beginning of their message are counted as.
const WITHOUT_BEGINNING: &str = "lines without the beginning of their message";
/// What messages that are too long are counted as.
const TOO_LONG: &str = "messages longer than 32 MiB";

/// Severities that begin an entry, as English servers write them; other words do where a plan follows or a time stands
/// before.
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
    /// The severity of the open entry.
    severity: Vec<u8>,
    part: Part,
    is_too_long: bool,
}

impl Assembler for Messages {
    fn line(&mut self, line: &Line<'_>, sink: &mut Sink<'_>) {
        match beginning(line.text) {
            Some(head) if head.role == Role::Part && self.entry.is_some() => {
                self.part = if head.word == b"CONTEXT" { Part::Context } else { Part::Other };
                self.append(line, head.message);
            }
            Some(head) if head.role == Role::Foreign && self.is_context(&head) => {
                self.part = Part::Context;
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
        let mut entry = Entry { offset: line.offset, is_failure: is_failure(head.word), ..Entry::default() };
        read_prefix(head.prefix, &mut entry);
        self.entry = Some(entry);
        self.severity.clear();
        self.severity.extend_from_slice(head.word);
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

    /// Whether a line is the context of the open plan in a language that is not known: of the same session and time,
    /// and it names a language of functions. The server writes an entry at once, under one time. The severity of the
    /// plan, once more, begins another entry.
    fn is_context(&self, head: &Head<'_>) -> bool {
        let Some(entry) = self.entry.as_ref().filter(|_| self.part == Part::Message) else { return false };
        let first = entry.message.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let names = |language: &[u8]| memchr::memmem::find(head.message, language).is_some();
        if head.word == self.severity || !is_plan_head(first) || !(names(b"SQL") || names(b"PL/")) {
            return false;
        }
        let mut other = Entry::default();
        read_prefix(head.prefix, &mut other);
        (other.time, &other.session) == (entry.time, &entry.session)
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

/// What a line begins; `None` where it can only go on with a message: behind a tab, or as JSON whose tabs were taken
/// away. A prefix too may begin with a blank or a brace: a time tells it apart, in front of which JSON has quotes.
fn beginning(text: &[u8]) -> Option<Head<'_>> {
    match text.first() {
        None | Some(b'\t' | b']') => None,
        Some(b' ' | b'{' | b'}') => {
            Head::of(text).filter(|head| !head.prefix.contains(&b'"') && Stamp::of(head.prefix).is_some())
        }
        Some(_) => Head::of(text),
    }
}

/// What a line with a prefix begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// An entry.
    Entry,
    /// A part of the entry before.
    Part,
    /// An entry or a part, in a language that is not known.
    Foreign,
}

/// A line with a prefix.
#[derive(Debug, PartialEq, Eq)]
struct Head<'a> {
    prefix: &'a [u8],
    word: &'a [u8],
    message: &'a [u8],
    role: Role,
}

impl<'a> Head<'a> {
    /// Finds the first severity: a word in front of a colon and two spaces.
    fn of(text: &'a [u8]) -> Option<Head<'a>> {
        let colon = memchr::memmem::find(text, b":  ")?;
        let is_letter = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || !byte.is_ascii();
        let length = text[..colon].iter().rev().take_while(|byte| is_letter(byte)).count();
        let (prefix, word) = text[..colon].split_at(colon - length);
        let message = &text[colon + 3..];
        let role = if PARTS.contains(&word) {
            Role::Part
        } else if SEVERITIES.contains(&word) || (!word.is_empty() && is_plan_head(message)) {
            Role::Entry
        } else if !word.is_empty() && Stamp::of(prefix).is_some() {
            Role::Foreign
        } else {
            return None;
        };
        Some(Head { prefix, word, message, role })
    }
}

/// Whether a line of a server's log in plain text begins here: a severity behind a prefix with a time or a process.
/// Other programs write words of their own there. So a severity in another language needs a time and a plan, or letters
/// that are not ASCII behind a process and a time with which the line begins.
pub fn is_head(text: &[u8]) -> bool {
    let mut entry = Entry::default();
    Head::of(text).is_some_and(|head| {
        read_prefix(head.prefix, &mut entry);
        let (has_time, has_process) = (entry.time.is_some(), !entry.session.is_empty());
        if SEVERITIES.contains(&head.word) {
            return has_time || has_process || head.prefix.is_empty();
        }
        // Room for a bracket: `[%m]`, `< %m >`.
        // Other programs write a comma in front of milliseconds.
        let is_ours = |stamp: Stamp<'_>| stamp.start <= 2 && head.prefix.get(stamp.end) != Some(&b',');
        let begins_with_time = Stamp::of(head.prefix).is_some_and(is_ours);
        // The end of a longer word is none.
        let is_word = head.prefix.last().is_some_and(|byte| !byte.is_ascii_alphanumeric());
        let is_foreign = begins_with_time && has_process && is_word && !head.word.is_ascii();
        has_time && head.role != Role::Part && (is_foreign || is_plan_head(head.message))
    })
}

/// The time in a prefix, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp<'a> {
    time: i64,
    /// The name of its time zone; `UTC` of seconds since 1970.
    zone: &'a [u8],
    start: usize,
    /// Behind its time zone.
    end: usize,
}

impl<'a> Stamp<'a> {
    fn of(prefix: &'a [u8]) -> Option<Stamp<'a>> {
        (0..prefix.len()).find_map(|start| {
            let rest = &prefix[start..];
            let is_word = start == 0 || !prefix[start - 1].is_ascii_alphanumeric();
            let civil = timestamp(rest).map(|(time, length)| {
                let zone = &rest[length..][..zone_length(&rest[length..])];
                (time, length + zone.len(), zone.trim_ascii())
            });
            let seconds = || epoch(rest).map(|(time, length)| (time, length, &b"UTC"[..]));
            // Asked for only where a number begins: each place within a long one would be read to its end.
            let (time, length, zone) = civil.or_else(|| if is_word { seconds() } else { None })?;
            Some(Stamp { time, zone, start, end: start + length })
        })
    }
}

/// Length of the time zone behind a time, with the blank before it: ` CET`, ` -03`. The digits of one are no process.
fn zone_length(text: &[u8]) -> usize {
    let Some(zone) = text.strip_prefix(b" ") else { return 0 };
    let sign = usize::from(matches!(zone.first(), Some(b'+' | b'-')));
    let is_zone = |byte: &&u8| if sign > 0 { byte.is_ascii_digit() } else { byte.is_ascii_uppercase() };
    match zone[sign..].iter().take_while(is_zone).count() {
        0 => 0,
        length => 1 + sign + length,
    }
}

/// Finds what a prefix says by its looks.
fn read_prefix(prefix: &[u8], entry: &mut Entry) {
    let stamp = Stamp::of(prefix);
    let (start, end) = stamp.map_or((0, 0), |stamp| (stamp.start, stamp.end));
    let [before, behind] = [&prefix[..start], &prefix[end..]].map(String::from_utf8_lossy);
    entry.time = stamp.map(|stamp| stamp.time);
    entry.zone = stamp.map_or_else(String::new, |stamp| String::from_utf8_lossy(stamp.zone).into_owned());
    entry.session = session(&behind).or_else(|| session(&before)).unwrap_or_default();
    read_names(&before, &mut entry.scope);
    read_names(&behind, &mut entry.scope);
}

/// Finds user, database and application: `user@database`, `user=`, `db=`, `app=`.
fn read_names(text: &str, scope: &mut Scope) {
    for word in text.split([' ', ':', ',', '[', ']', '(', ')', '|', ';']) {
        if let Some((user, database)) =
            word.rsplit_once('@').filter(|(user, database)| !user.is_empty() && !database.is_empty())
        {
            scope.client = user.strip_prefix("user=").unwrap_or(user).into();
            scope.container = database.strip_prefix("db=").unwrap_or(database).into();
        }
    }
    let up_to = |value: &str, ends: &[char]| value.split(ends).next().unwrap_or_default().to_string();
    let database = value_of(text, "db=").map(|database| up_to(database, &[' ', ':', '@']));
    if let Some(user) = value_of(text, "user=").map(|user| up_to(user, &[' ', ':'])) {
        // Managed servers have users that are called like an address of mail.
        let end = if database.is_some() { user.find("@db=") } else { user.rfind('@') };
        scope.client = user[..end.unwrap_or(user.len())].into();
    }
    if let Some(database) = database {
        scope.container = database;
    }
    if let Some(application) = value_of(text, "app=") {
        // An application's name may hold blanks and colons; those in front of the next name are none of it.
        let next = application.find('=').map(|equals| application[..equals].rfind([' ', ':']).unwrap_or(equals));
        scope.module = application[..next.unwrap_or(application.len())].trim_end_matches([' ', ':']).into();
    }
}

/// What stands behind `name`, up to a comma or a bracket.
fn value_of<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let is_within = |at: usize| text[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    let (at, _) = text.match_indices(name).find(|(at, _)| !is_within(*at))?;
    text[at + name.len()..].split([',', '[', ']', '(', ')', '|', ';']).next()
}

/// The process in brackets, a session's identifier (`%c`), or the first whole number.
fn session(text: &str) -> Option<String> {
    let in_brackets = text.split('[').skip(1).find_map(|rest| {
        let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let behind = rest[number.len()..].chars().next();
        (!number.is_empty() && matches!(behind, Some(']' | '-' | ':' | ' '))).then_some(number)
    });
    // A dash beside the time or the severity parts words; elsewhere it may be part of a name, such as `shop-2`.
    let has_dashes = text.starts_with('-') || text.ends_with('-');
    let is_between = |letter: char| {
        letter.is_whitespace()
            || matches!(letter, ':' | ',' | '[' | ']' | '<' | '>' | '|' | '=')
            || (has_dashes && letter == '-')
    };
    // The groups of a client's address in IPv6, with its port or its interface behind or not, are no process. A process
    // with two empty names behind it (`1234::`) is no client's address, which never ends so.
    let is_no_address =
        |part: &&str| part.split(['(', '%']).all(|word| word.ends_with("::") || word.parse::<Ipv6Addr>().is_err());
    let is_outer = |letter: char| letter != ':' && is_between(letter);
    let parts = || text.split(is_outer).filter(is_no_address);
    let words = || parts().flat_map(move |part| part.split(is_between)).map(|word| word.trim_matches(['(', ')']));
    let is_identifier = |word: &&str| {
        let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
        // The session's start in seconds since 1970 has eight digits from 1978 to 2106.
        let is_start = |part: &str| part.len() == 8 && is_hex(part);
        let is_process = |part: &str| (1..=8).contains(&part.len()) && is_hex(part);
        word.split_once('.').is_some_and(|(start, process)| is_start(start) && is_process(process))
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
    fn a_time_is_no_session() {
        for (prefix, session) in [
            ("2026-11-21 10:45:53 UTC-6920f3c1.4d2-", "6920f3c1.4d2"),
            ("2026-11-21 10:45:53 -03-1234-", "1234"),
            ("1234 2026-11-21 10:45:53.123 UTC ", "1234"),
            ("(1234) 2026-11-21 10:45:53.123 UTC ", "1234"),
            ("< 2026-11-21 10:45:53.123 UTC >", ""),
            ("2026-11-21 10:45:53.123 UTC me@shop ::1 1234 ", "1234"),
            ("2026-11-21 10:45:53.123 UTC fe80::17(51234) 1234 ", "1234"),
            ("2026-11-21 10:45:53.123 UTC fe80::215:5dff%eth0(51234) 1234 ", "1234"),
            ("2026-11-21 10:45:53.123 UTC 1234:: ", "1234"),
            ("2026-11-21 10:45:53.123 UTC:10.0.0.1:1234:", "1234"),
            ("2026-11-21 10:45:53.123 -03 ", ""),
            ("2026-11-21 10:45:53.123 UTC me@shop-2 ", ""),
        ] {
            let kept = entries(&format!("{prefix}LOG:  x\n"));
            assert_eq!(kept.entries[0].session, session, "{prefix}");
        }
    }

    #[test]
    fn names_are_whole_on_either_side_of_the_time() {
        for (prefix, names) in [
            (
                "2026-11-21 10:45:53 UTC [7]: user=me,db=shop,app=PostgreSQL JDBC Driver,client=10.0.0.1 ",
                ["me", "shop", "PostgreSQL JDBC Driver"],
            ),
            ("2026-11-21 10:45:53 UTC [7] user=me db=shop app=a DB:b host=web ", ["me", "shop", "a DB:b"]),
            ("me@shop 2026-11-21 10:45:53 UTC [7] ", ["me", "shop", ""]),
            ("2026-11-21 10:45:53 UTC [7]: [1-1] db=shop,user=me@corp.com ", ["me@corp.com", "shop", ""]),
            ("2026-11-21 10:45:53 UTC [7] me@corp.com@shop ", ["me@corp.com", "shop", ""]),
            ("2026-11-21 10:45:53 UTC [7] user=me@corp.com@db=shop ", ["me@corp.com", "shop", ""]),
            ("2026-11-21 10:45:53 UTC [7] user=me@shop ", ["me", "shop", ""]),
            ("user=[unknown],db=[unknown] 2026-11-21 10:45:53 UTC [7] ", ["", "", ""]),
        ] {
            let scope = entries(&format!("{prefix}LOG:  x\n")).entries.remove(0).scope;
            assert_eq!([scope.client.as_str(), scope.container.as_str(), scope.module.as_str()], names, "{prefix}");
        }
    }

    #[test]
    fn a_prefix_that_begins_with_a_blank_begins_an_entry_and_json_without_tabs_does_not() {
        let quoted = "  \"Query Text\": \"2026-11-21 10:45:53.123 UTC [8] LOG:  y\"";
        let log = format!("web 2026-11-21 10:45:53.123 UTC [7] LOG:  duration: 1 ms  plan:\n{{\n{quoted}\n}}\n")
            + " 2026-11-21 10:45:54.123 UTC [8] LOG:  duration: 2 ms  plan:\n{\n}\n";
        let kept = entries(&log);
        let sessions: Vec<&str> = kept.entries.iter().map(|entry| entry.session.as_str()).collect();
        assert_eq!((sessions, kept.unread), (vec!["7", "8"], 0));
        assert_eq!(kept.entries[1].message, b"duration: 2 ms  plan:\n{\n}");
    }

    #[test]
    fn a_context_in_another_language_belongs_to_its_plan_and_an_error_does_not() {
        let kept = entries(
            "2026-11-21 10:45:53.123 CET [9] LOG:  Dauer: 0.5 ms  Plan:\n\t{\n\t}\n\
             2026-11-21 10:45:53.123 CET [9] ZUSAMMENHANG:  PL/pgSQL-Funktion f() Zeile 3 bei PERFORM\n\tmehr\n\
             2026-11-21 10:45:53.123 CET [9] FEHLER:  Division durch Null\n",
        );
        assert_eq!((kept.entries.len(), kept.unread), (2, 0));
        assert_eq!(kept.entries[0].message, b"Dauer: 0.5 ms  Plan:\n{\n}");
        assert_eq!(kept.entries[0].context, b"PL/pgSQL-Funktion f() Zeile 3 bei PERFORM\nmehr");
        assert_eq!(kept.entries[1].message, b"Division durch Null");
    }

    #[test]
    fn a_statement_of_the_same_time_is_no_context_of_the_plan_before() {
        let kept = entries(
            "2026-11-21 10:45:53.123 MSK [9] СООБЩЕНИЕ:  duration: 0.5 ms  plan:\n\t{\n\t}\n\
             2026-11-21 10:45:53.123 MSK [9] СООБЩЕНИЕ:  оператор: SELECT x FROM \"SQL\"\n",
        );
        let contexts: Vec<usize> = kept.entries.iter().map(|entry| entry.context.len()).collect();
        assert_eq!(contexts, [0, 0]);
    }

    #[test]
    fn a_prefix_of_digits_takes_no_quadratic_time() {
        let start = std::time::Instant::now();
        let kept = entries(&format!("{} LOG:  x\n", "7".repeat(1 << 18)));
        assert_eq!((kept.entries.len(), kept.entries[0].time), (1, None));
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    }

    #[test]
    fn a_log_in_another_language_is_read() {
        let kept = entries("2026-11-21 10:45:53 CET [9] PROTOKOLL:  Dauer: 0.531 ms  Plan:\n\t{\n");
        assert_eq!(kept.entries[0].message, b"Dauer: 0.531 ms  Plan:\n{");
    }
}
