//! The message that auto_explain writes: a duration, and a plan on the lines below.

use super::number::micros_of_millis;
use crate::event::Ticks;

/// A message with a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanMessage<'a> {
    /// Elapsed time of the execution.
    pub duration: Ticks,
    /// The plan.
    pub plan: &'a [u8],
}

/// Whether a message's first line announces a plan: a duration in milliseconds, then the word `plan` and a colon at the
/// end. The other words are not looked at. A statement is logged with its duration too, and a client's text that begins
/// with a line feed leaves `statement:` at the end.
pub fn is_plan_head(line: &[u8]) -> bool {
    duration(line).is_some()
}

/// The duration and the plan of a message; `None` for any other message.
pub fn plan_message(message: &[u8]) -> Option<PlanMessage<'_>> {
    let end = memchr::memchr(b'\n', message)?;
    let duration = duration(&message[..end])?;
    Some(PlanMessage { duration, plan: message[end + 1..].trim_ascii() })
}

/// How many bytes of a message are searched for what stands before the text of a statement.
const HEAD_BYTES_MAX: usize = 200;

/// The duration and the text of a client's statement that is over, as `log_min_duration_statement` writes them; `None`
/// for any other message.
pub fn ended_statement(message: &[u8]) -> Option<(Ticks, &[u8])> {
    let (duration, unit) = first_duration(&message[..message.len().min(HEAD_BYTES_MAX)])?;
    let behind = &message[unit..];
    let colon = memchr::memchr(b':', behind)?;
    Some((duration, behind[colon + 1..].trim_ascii_start()))
}

/// The text of a statement that a client begins, as `log_statement` writes it after a word or two in any language;
/// `None` for a message without one. Other messages may look the same.
pub fn begun_statement(message: &[u8]) -> Option<&[u8]> {
    let message = without_code(message);
    let colon = memchr::memchr(b':', &message[..message.len().min(HEAD_BYTES_MAX)])?;
    let behind = &message[colon + 1..];
    behind.first().is_some_and(u8::is_ascii_whitespace).then(|| behind.trim_ascii_start())
}

/// A message without the code that stands before it with `log_error_verbosity = verbose`: `00000: statement: ...`.
fn without_code(message: &[u8]) -> &[u8] {
    let is_code = |code: &[u8]| code.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    match message.split_at_checked(5) {
        Some((code, [b':', b' ', rest @ ..])) if is_code(code) => rest,
        _ => message,
    }
}

/// The number in front of the first unit of milliseconds, in front of which something must stand, and the place of the
/// unit.
fn first_duration(text: &[u8]) -> Option<(Ticks, usize)> {
    let unit = memchr::memmem::find(text, b" ms")?;
    let start = text[..unit].iter().rposition(|byte| !(byte.is_ascii_digit() || *byte == b'.'))? + 1;
    let micros = micros_of_millis(std::str::from_utf8(&text[start..unit]).ok()?)?;
    Some((Ticks::from_micros(micros), unit))
}

fn duration(line: &[u8]) -> Option<Ticks> {
    let line = line.trim_ascii_end();
    if line.len() > 200 || line.last() != Some(&b':') {
        return None;
    }
    let last_word = line[..line.len() - 1].trim_ascii_end().rsplit(|byte| !byte.is_ascii_alphabetic()).next()?;
    if !last_word.eq_ignore_ascii_case(b"plan") {
        return None;
    }
    // Something must stand behind the unit too.
    first_duration(line).filter(|(_, unit)| line.len() > unit + 4).map(|(duration, _)| duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_that_is_over_has_its_duration_and_its_text() {
        let duration = Ticks::from_micros(4100);
        for (message, text) in [
            ("duration: 4.100 ms  statement: CALL p()", "CALL p()"),
            ("duration: 4.100 ms  execute <unnamed>: CALL p($1)", "CALL p($1)"),
            ("Dauer: 4.100 ms Anweisung: DO '", "DO '"),
        ] {
            assert_eq!(ended_statement(message.as_bytes()), Some((duration, text.as_bytes())), "{message}");
        }
        for other in ["duration: 4.100 ms", "statement: CALL p()", " ms: CALL p()", ""] {
            assert_eq!(ended_statement(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn a_statement_that_begins_has_its_text() {
        for message in ["statement: CALL p()", "execute S_1/C_2: CALL p()", "instruction : \nCALL p()"] {
            assert_eq!(begun_statement(message.as_bytes()), Some(&b"CALL p()"[..]), "{message}");
        }
        for other in ["", "statement:", "CALL p()", "CALL shop::p()"] {
            assert_eq!(begun_statement(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn only_a_plan_s_announcement_is_taken_for_one() {
        let message = plan_message(b"duration: 12.345 ms  plan:\n{\"Plan\": {}}\n").unwrap();
        assert_eq!(message, PlanMessage { duration: Ticks::from_micros(12_345), plan: b"{\"Plan\": {}}" });
        assert!(plan_message("durée : 0.010 ms, plan :\n{}".as_bytes()).is_some());
        for other in [
            &b"duration: 12.345 ms  statement: select 1"[..],
            b"duration: 12.345 ms  plan:",
            b"duration: 12.345 ms",
            b"duration: x ms  plan:\n{}",
            b"duration: 99999999999999999999 ms  plan:\n{}",
            b"12.3 ms plan:\n{}",
            b"duration: 12.345 ms  statement: \n\tselect 1",
            b"duration: 12.345 ms  execute <unnamed>: \n\tselect 1",
            b"duration: 12.345 ms  statement: select 'floorplan:\n'",
            b"",
        ] {
            assert_eq!(plan_message(other), None, "{}", String::from_utf8_lossy(other));
        }
    }
}
