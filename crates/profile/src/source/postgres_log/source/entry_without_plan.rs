//! An entry without a plan, and the statement that it shows to begin or to be over: one that failed, or a `CALL` or
//! `DO`, of which the server writes no plan. What these ran has no caller in the log.

use super::call_stack::depth;
use super::execution::Inner;
use super::registry::{NAME_BYTES_MAX, SESSIONS_MAX};
use super::state::LogSource;
use crate::event::{Observer, SessionIndex, Ticks};
use crate::source::postgres_log::entry::Entry;
use crate::source::postgres_log::message::{begun_statement, ended_statement};

impl LogSource {
    /// Gives up what waits in a session whose statement is over and has no plan: it failed, and the client often runs
    /// the same text again, or it is a `CALL` or `DO`.
    pub(super) fn end_without_plan(&mut self, entry: &Entry, observer: &mut dyn Observer) {
        let at = entry.time.map(Ticks::from_micros);
        let running = self.running_call(&entry.session);
        let call = self.ended_call(entry, at);
        let is_over = entry.is_failure || call.is_some();
        // An entry without a session may be any session's.
        if !is_over || entry.session.is_empty() {
            return;
        }
        let Some(session) = self.sessions.get(&entry.session).copied() else { return };
        // A log of another format may tell of it long before, and a cursor of the client's may be open meanwhile.
        let is_before = |inner: &Inner| call.is_some_and(|call| !inner.began_within(&call));
        let is_later = |inner: &Inner| inner.span().zip(at).is_some_and(|((_, end), at)| end > at);
        let mut ended = Vec::new();
        self.states[session as usize].waiting.retain(|_, waiting| {
            // Statements of one depth follow one another: those of a call are the last ones.
            let first = waiting.iter().rposition(is_before).map_or(0, |last| last + 1);
            ended.extend(waiting.extract_if(first.., |inner| !is_later(inner)));
            !waiting.is_empty()
        });
        self.waiting -= ended.len();
        for inner in &ended {
            let is_of_running = running.is_some_and(|call| inner.began_within(&call));
            self.orphan(SessionIndex(session), inner, call.is_some() || is_of_running, observer);
        }
    }

    /// The client's `CALL` or `DO` that an entry without a plan shows to be over: the entry has its duration, or the
    /// log has its beginning and this is the session's next entry outside of functions. Notes one that begins, too.
    fn ended_call(&mut self, entry: &Entry, at: Option<Ticks>) -> Option<Inner> {
        let is_within = depth(&entry.context) > 0 && !entry.is_failure;
        if entry.session.is_empty() || is_within {
            return None;
        }
        let begun = self.running.remove(&entry.session);
        if entry.is_failure {
            return None;
        }
        let has_room = self.running.len() < SESSIONS_MAX && entry.session.len() <= NAME_BYTES_MAX;
        if has_room && begun_statement(&entry.message).is_some_and(is_call) {
            self.running.insert(entry.session.clone(), at);
        }
        match ended_statement(&entry.message).filter(|(_, text)| is_call(text)) {
            Some((duration, _)) => Some(Inner::of_call(at, duration)),
            None => begun.map(|start| Inner::of_begun_call(start.filter(|_| at.is_some()))),
        }
    }
}

/// Whether the text of a statement is a `CALL` or a `DO`: the server writes no plan of these.
fn is_call(text: &[u8]) -> bool {
    let word = from_first_word(text).split(|byte| !byte.is_ascii_alphabetic()).next().unwrap_or_default();
    [&b"CALL"[..], b"DO"].iter().any(|call| word.eq_ignore_ascii_case(call))
}

/// The text of a statement after the comments that some programs put in front of it.
fn from_first_word(mut text: &[u8]) -> &[u8] {
    loop {
        text = text.trim_ascii_start();
        let end = match text {
            [b'-', b'-', ..] => memchr::memchr(b'\n', text),
            [b'/', b'*', rest @ ..] => memchr::memmem::find(rest, b"*/").map(|at| at + 3),
            _ => return text,
        };
        let Some(end) = end else { return text };
        text = &text[end + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::postgres_log::format::LogFormat;
    use crate::source::postgres_log::source::tests::samples::{FIGURES, Kept, WITHIN_F, csv, entry, inner, read};

    #[test]
    fn what_a_failed_statement_ran_is_taken_off_no_later_one() {
        let failed = "2026-11-21 10:45:01.020 UTC [7] me@shop ERROR:  could not serialize access\n";
        let of_another = failed.replace("[7]", "[8]");
        let again = entry(2000, 7, "300.000", "select f()", FIGURES);
        for (error, own, orphans) in [(failed, 300_000, 1), (of_another.as_str(), 292_000, 0)] {
            let (kept, _, summary) = read(&(inner(1010, "8.000", WITHIN_F) + error + &again));
            assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(own), orphans), "{error}");
            assert_eq!(kept.roots.len() as u64, 1 + orphans);
        }
        let failed_in_csv = csv(1010, "8.0", "").replace("LOG,00000", "ERROR,40001").replace(" ms  plan:", "");
        let log = csv(1000, "8.0", "PL/pgSQL function outer() line 3 at PERFORM") + &failed_in_csv;
        let (kept, _, summary) = read(&(log + &csv(2000, "300.0", "")));
        assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(300_000), 1));
    }

    #[test]
    fn what_a_call_ran_is_taken_off_no_statement_behind_the_line_of_its_end() {
        let over = |text: &str| format!("2026-11-21 10:45:01.006 UTC [7] me@shop LOG:  duration: 4.100 ms  {text}\n");
        let next = entry(1025, 7, "17.000", "select 1", FIGURES);
        for (text, own, orphans) in [
            ("statement: CALL f()", 17_000, 1),
            ("execute <unnamed>: call f($1)", 17_000, 1),
            ("statement: SELECT f()", 14_000, 0),
        ] {
            let (kept, _, summary) = read(&(inner(1005, "3.000", WITHIN_F) + &over(text) + &next));
            assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(own), orphans), "{text}");
        }
        // What ran before the CALL is of a cursor that is open.
        let of_cursor = entry(1025, 7, "60.000", "select f()", FIGURES);
        let log = inner(980, "3.000", WITHIN_F) + &over("statement: CALL g()") + &of_cursor;
        let (kept, _, summary) = read(&log);
        assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(57_000), 0));
        // Where stamps have whole seconds, what ran in it may seem to end long before it began.
        let over = "2026-11-21 10:45:02.000 UTC [7] me@shop LOG:  duration: 500.000 ms  statement: CALL f()\n";
        let late = entry(2100, 7, "1500.000", "select 1", FIGURES);
        let (kept, _, summary) = read(&(inner(1000, "3.000", WITHIN_F) + over + &late));
        assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(1_500_000), 1));
    }

    #[test]
    fn what_a_call_ran_is_taken_off_no_statement_where_its_beginning_alone_is_logged() {
        let line = |millis: u32, text: &str| format!("2026-11-21 10:45:01.{millis:03} UTC [7] me@shop LOG:  {text}\n");
        let next = entry(1025, 7, "17.000", "select 1", FIGURES);
        for (begin, behind, own, orphans) in [
            ("statement: CALL f()", "statement: select 1", 17_000, 1),
            ("statement: CALL f()", "duration: 4.100 ms", 17_000, 1),
            ("00000: statement: CALL f()", "00000: statement: select 1", 17_000, 1),
            ("execute <unnamed>: /* job 7 */ call f($1)", "execute <unnamed>: select 1", 17_000, 1),
            ("Anweisung: -- job\n\tDO 'x'", "Anweisung: select 1", 17_000, 1),
            ("statement: select f()", "duration: 4.100 ms", 14_000, 0),
            ("statement: select called()", "statement: select 1", 14_000, 0),
        ] {
            let log = line(1, begin) + &inner(1005, "3.000", WITHIN_F) + &line(6, behind) + &next;
            let (kept, _, summary) = read(&log);
            assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(own), orphans), "{begin}");
        }
        // What ran before the CALL is of a cursor that is open.
        let of_cursor = entry(1025, 7, "60.000", "select f()", FIGURES);
        let call = line(1, "statement: CALL g()") + &line(6, "statement: FETCH c");
        let (kept, _, summary) = read(&(inner(980, "3.000", WITHIN_F) + &call + &of_cursor));
        assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(57_000), 0));
        // What runs behind it is no part of it.
        let later = line(1, "statement: CALL g()") + &line(6, "statement: select f()");
        let outer = entry(1030, 7, "20.000", "select f()", FIGURES);
        let (kept, _, summary) = read(&(later + &inner(1020, "3.000", WITHIN_F) + &outer));
        assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(17_000), 0));
    }

    #[test]
    fn no_call_that_is_logged_without_a_plan_is_said_to_be_missing() {
        let line = |millis: u32, text: &str| format!("2026-11-21 10:45:01.{millis:03} UTC [7] me@shop LOG:  {text}\n");
        let (begin, ran) = (line(1, "statement: CALL f()"), inner(1005, "3.000", WITHIN_F));
        let end = line(6, "duration: 5.100 ms  statement: CALL f()");
        let failed = line(6, "x").replace("LOG", "ERROR");
        let next = entry(1525, 7, "17.000", "select 1", FIGURES);
        for (log, of_calls) in [
            (begin.clone() + &ran + &end, 1),
            (ran.clone() + &end, 1),
            (begin.clone() + &ran, 1),
            (begin.clone() + &ran + &failed, 1),
            (begin.clone() + &ran + &next, 1),
            (inner(980, "3.000", WITHIN_F) + &begin, 0),
            (ran.clone() + &failed, 0),
            (ran.clone() + &next, 0),
            (begin.replace("[7]", "[8]") + &ran, 0),
        ] {
            let (_, _, summary) = read(&log);
            assert_eq!((summary.orphans, summary.orphans_of_calls), (1, of_calls), "{log}");
        }
    }

    #[test]
    fn calls_that_begin_and_never_end_fill_no_memory() {
        let (mut source, mut kept) = (LogSource::new(), Kept::default());
        for number in 0..SESSIONS_MAX + 5 {
            let message = b"statement: CALL p()".to_vec();
            let entry = Entry { session: number.to_string(), message, ..Entry::default() };
            assert!(source.entry(&entry, LogFormat::Csv, &mut kept).is_err());
        }
        assert_eq!((source.running.len(), source.sessions.len()), (SESSIONS_MAX, 0));
    }
}
