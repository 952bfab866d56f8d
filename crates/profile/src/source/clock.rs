//! Wall-clock times as traces and logs write them.

use jiff::civil::DateTime;
use jiff::tz::Offset;

/// A time such as `2026-11-21 10:45:53.123` or `2019-11-06T13:10:13.148529` at the start of `text`, in microseconds
/// since 1970 as if it were UTC, and the number of bytes it takes. What stands behind it, such as the name of a time
/// zone, is not looked at.
pub(crate) fn timestamp(text: &[u8]) -> Option<(i64, usize)> {
    const SHAPE: &[u8] = b"dddd-dd-dd dd:dd:dd";
    let fits = |(wanted, byte): (&u8, &u8)| match wanted {
        b'd' => byte.is_ascii_digit(),
        b' ' => matches!(byte, b' ' | b'T'),
        _ => wanted == byte,
    };
    if text.len() < SHAPE.len() || !SHAPE.iter().zip(text).all(fits) {
        return None;
    }
    let number = |at: usize, length: usize| {
        text[at..at + length].iter().fold(0, |sum, digit| 10 * sum + i16::from(digit - b'0'))
    };
    let part = |at: usize| number(at, 2) as i8;
    // A leap second is the last one of its minute.
    let second = if part(17) == 60 { 59 } else { part(17) };
    let time = DateTime::new(number(0, 4), part(5), part(8), part(11), part(14), second, 0).ok()?;
    let seconds = Offset::UTC.to_timestamp(time).ok()?.as_second();
    let (micros, length) = fraction(&text[SHAPE.len()..]);
    // Later years do not fit into 64 bits of the finest unit that traces have.
    (1970..2200).contains(&time.year()).then_some((seconds * 1_000_000 + micros, SHAPE.len() + length))
}

/// Seconds since 1970 with a fraction, such as `1700000000.123`: the escape `%n` of a log line's prefix.
pub(crate) fn epoch(text: &[u8]) -> Option<(i64, usize)> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits != 10 || text.get(10) != Some(&b'.') {
        return None;
    }
    let seconds = text[..digits].iter().fold(0_i64, |sum, digit| 10 * sum + i64::from(digit - b'0'));
    let (micros, length) = fraction(&text[digits..]);
    (length > 1).then_some((seconds * 1_000_000 + micros, digits + length))
}

/// Microseconds of `.123`, and how many bytes it takes; nothing where no fraction stands.
fn fraction(text: &[u8]) -> (i64, usize) {
    if text.first() != Some(&b'.') {
        return (0, 0);
    }
    let digits = text[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let padded = text[1..1 + digits].iter().copied().chain(std::iter::repeat(b'0')).take(6);
    (padded.fold(0, |sum, digit| 10 * sum + i64::from(digit - b'0')), 1 + digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_read_to_its_last_digit() {
        assert_eq!(timestamp(b"1970-01-01 00:00:00 UTC"), Some((0, 19)));
        assert_eq!(timestamp(b"2000-02-29 12:00:00.5"), Some((951_825_600_500_000, 21)));
        assert_eq!(timestamp(b"2026-11-21T10:45:53.123 CET"), Some((1_795_257_953_123_000, 23)));
        assert_eq!(epoch(b"1700000000.123 [7]"), Some((1_700_000_000_123_000, 14)));
    }

    #[test]
    fn what_is_no_stamp_is_none() {
        for text in
            [&b""[..], b"2026-13-01 00:00:00", b"2026-11-21 25:00:00", b"2026-11-21 10:4", b"9026-11-21 10:45:53"]
        {
            assert_eq!((timestamp(text), epoch(text)), (None, None));
        }
    }
}
