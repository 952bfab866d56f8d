//! The wall clock of the `*** ` lines, in both spellings.

use crate::source::oracle::fields::Fields;

/// Microseconds in a second.
const SECOND: i64 = 1_000_000;

/// Reads `2007-07-11 10:58:57.903` or `2019-11-06T13:10:13.148529+00:00` and steps over it: microseconds since 1970 as
/// if the clock showed UTC. The offset is stepped over: what a person sees on the wall is what the marks are for.
pub(crate) fn read(fields: &mut Fields<'_>) -> Option<i64> {
    let begin = fields.at;
    let answer = stamp(fields);
    if answer.is_none() {
        fields.at = begin;
    }
    answer
}

fn stamp(fields: &mut Fields<'_>) -> Option<i64> {
    let year = digits(fields, 4)?;
    fields.eat(b"-")?;
    let month = digits(fields, 2)?;
    fields.eat(b"-")?;
    let day = digits(fields, 2)?;
    if !matches!(fields.peek()?, b' ' | b'T') || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    fields.at += 1;
    let hour = digits(fields, 2)?;
    fields.eat(b":")?;
    let minute = digits(fields, 2)?;
    fields.eat(b":")?;
    let second = digits(fields, 2)?;
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let fraction = if fields.eat(b".").is_some() { fraction(fields)? } else { 0 };
    offset(fields)?;
    let seconds = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    Some(seconds * SECOND + fraction)
}

/// Exactly this number of digits.
fn digits(fields: &mut Fields<'_>, count: usize) -> Option<i64> {
    let digits = fields.bytes.get(fields.at..fields.at + count)?;
    fields.at += count;
    digits.iter().try_fold(0, |value, digit| digit.is_ascii_digit().then(|| value * 10 + i64::from(digit - b'0')))
}

/// What stands behind the point, in microseconds; digits beyond the sixth are dropped.
fn fraction(fields: &mut Fields<'_>) -> Option<i64> {
    let count = fields.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
    let digits = &fields.rest()[..count];
    fields.at += count;
    let micros =
        (0..6).fold(0, |value, place| value * 10 + digits.get(place).map_or(0, |digit| i64::from(digit - b'0')));
    (1..=9).contains(&count).then_some(micros)
}

fn offset(fields: &mut Fields<'_>) -> Option<()> {
    match fields.peek() {
        Some(b'Z') => fields.at += 1,
        Some(b'+' | b'-') => {
            fields.at += 1;
            digits(fields, 2)?;
            fields.eat(b":")?;
            digits(fields, 2)?;
        }
        _ => {}
    }
    Some(())
}

/// Days from 1970-01-01 to a date of the Gregorian calendar (Howard Hinnant, "chrono-compatible low-level date
/// algorithms": years begin in March, so that the leap day is the last of its year).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year - era * 400;
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
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
        assert_eq!(read("2000-03-01 00:00:00.000"), Some(951_868_800 * SECOND));
        assert_eq!(read("2019-11-06T13:10:13.148529+00:00"), Some(1_573_045_813_148_529));
        assert_eq!(read("2019-11-06T13:10:13.148529-07:00"), Some(1_573_045_813_148_529));
        assert_eq!(read("2019-11-06 13:10:13"), Some(1_573_045_813 * SECOND));
    }

    #[test]
    fn what_is_no_clock_is_none() {
        for text in ["", "2019-13-06 13:10:13", "2019-11-06 25:10:13", "2019-11-06", "SESSION", "2019-11-06 13:10:1"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
