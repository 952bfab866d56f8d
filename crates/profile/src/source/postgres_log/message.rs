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

fn duration(line: &[u8]) -> Option<Ticks> {
    let line = line.trim_ascii_end();
    if line.len() > 200 || line.last() != Some(&b':') {
        return None;
    }
    let last_word = line[..line.len() - 1].trim_ascii_end().rsplit(|byte| !byte.is_ascii_alphabetic()).next()?;
    if !last_word.eq_ignore_ascii_case(b"plan") {
        return None;
    }
    let unit = memchr::memmem::find(line, b" ms")?;
    let start = line[..unit].iter().rposition(|byte| !(byte.is_ascii_digit() || *byte == b'.')).map_or(0, |at| at + 1);
    let number = std::str::from_utf8(&line[start..unit]).ok()?;
    // Something must stand in front of the number and behind its unit.
    let is_announced = start > 0 && line.len() > unit + 4;
    micros_of_millis(number).filter(|_| is_announced).map(Ticks::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

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
