//! Decimal numbers of plans and logs, read exactly: three digits behind the point are all that PostgreSQL prints.

/// Longest time that is believed, in microseconds: a hundred years. What is longer is damage.
const MICROS_MAX: i64 = 100 * 366 * 86_400 * 1_000_000;

/// Milliseconds with up to three digits behind the point, in microseconds; `None` where it is no such number, or longer
/// than a hundred years. Further digits are cut off.
pub fn micros_of_millis(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let micros = i64::try_from(thousandths(digits)?).ok()?;
    (micros <= MICROS_MAX).then_some(sign * micros)
}

/// A number without a sign in thousandths; `None` where it is none or too large for 64 bits.
pub fn thousandths(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() || !whole.bytes().chain(part.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = part.bytes().chain(std::iter::repeat(b'0')).take(3);
    let part = digits.fold(0, |sum, digit| 10 * sum + u64::from(digit - b'0'));
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_to_the_microsecond() {
        assert_eq!(micros_of_millis("0.013"), Some(13));
        assert_eq!(micros_of_millis("12370.490"), Some(12_370_490));
        assert_eq!(micros_of_millis("7"), Some(7000));
        assert_eq!(micros_of_millis("7.1239"), Some(7123));
        assert_eq!(micros_of_millis("-0.002"), Some(-2));
    }

    #[test]
    fn a_number_beyond_belief_is_none_instead_of_a_wrong_one() {
        for text in ["", ".", ".5", "1e3", "x", "--1", "99999999999999999999", "18446744073709551615", "1.2.3"] {
            assert_eq!(micros_of_millis(text), None, "{text}");
        }
    }
}
