//! The wall clock of the `*** ` lines, in both spellings.

use crate::source::clock::timestamp;
use crate::source::oracle::fields::Fields;

/// Reads `2007-07-11 10:58:57.903` or `2019-11-06T13:10:13.148529+00:00` and steps over it: microseconds since 1970 as
/// if the clock showed UTC. The offset is stepped over: what a person sees on the wall is what the marks are for.
pub(crate) fn read(fields: &mut Fields<'_>) -> Option<i64> {
    let (micros, length) = timestamp(fields.rest())?;
    let behind = &fields.rest()[length..];
    let offset = match behind {
        [b'Z', ..] => 1,
        [b'+' | b'-', zone @ ..] => {
            let digits = |at: &usize| zone.get(*at).is_some_and(u8::is_ascii_digit);
            let is_offset = [0, 1, 3, 4].iter().all(digits) && zone[2] == b':';
            is_offset.then_some(6)?
        }
        _ => 0,
    };
    fields.at += length + offset;
    Some(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<i64> {
        super::read(&mut Fields::new(text.as_bytes(), 0))
    }

    #[test]
    fn both_spellings_give_the_clock_on_the_wall() {
        assert_eq!(read("1970-01-01 00:00:00.001"), Some(1_000));
        assert_eq!(read("2000-03-01 00:00:00.000"), Some(951_868_800 * 1_000_000));
        assert_eq!(read("2019-11-06T13:10:13.148529+00:00"), Some(1_573_045_813_148_529));
        assert_eq!(read("2019-11-06T13:10:13.148529-07:00"), Some(1_573_045_813_148_529));
        assert_eq!(read("2019-11-06 13:10:13"), Some(1_573_045_813 * 1_000_000));
    }

    #[test]
    fn what_is_no_clock_is_none() {
        for text in ["", "2019-13-06 13:10:13", "2019-11-06 25:10:13", "2019-11-06", "SESSION", "2019-11-06 13:10:1"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
