//! Wall-clock times of log entries.

/// A time such as `2026-11-21 10:45:53.123` at the start of `text`, in microseconds since 1970 as if it were UTC, and
/// the number of bytes it takes; the name of the time zone behind it is not looked at.
pub fn timestamp(text: &[u8]) -> Option<(i64, usize)> {
    let shape = b"dddd-dd-dd dd:dd:dd";
    let fits = |(wanted, byte): (&u8, &u8)| match wanted {
        b'd' => byte.is_ascii_digit(),
        b' ' => matches!(byte, b' ' | b'T'),
        _ => wanted == byte,
    };
    if text.len() < shape.len() || !shape.iter().zip(text).all(fits) {
        return None;
    }
    let number = |at: usize, length: usize| {
        text[at..at + length].iter().fold(0_i64, |sum, digit| 10 * sum + i64::from(digit - b'0'))
    };
    let (year, month, day) = (number(0, 4), number(5, 2), number(8, 2));
    let (hour, minute, second) = (number(11, 2), number(14, 2), number(17, 2));
    // Later years do not fit into 64 bits of the finest unit that traces have.
    if !(1970..2200).contains(&year)
        || !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    let (micros, length) = fraction(&text[shape.len()..]);
    let seconds = ((days_since_1970(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    Some((seconds * 1_000_000 + micros, shape.len() + length))
}

/// Seconds since 1970 with a fraction, such as `1700000000.123`: the escape `%n` of a log line's prefix.
pub fn epoch(text: &[u8]) -> Option<(i64, usize)> {
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

/// Days from 1970-01-01 to a day of the Gregorian calendar (H. Hinnant's arithmetic of eras of 400 years).
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
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
