//! A place in the bytes of a trace, and the few steps that every record is read with.
//!
//! A step either succeeds and moves on, or fails and leaves the line to a slower reader: the quick readers of calls
//! and waits take a line in one pass, without looking for its end first.

/// What a line that begins like a record turned out to be.
pub(crate) type Answer<T> = Result<T, Fault>;

/// Why a line that begins like a record is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It breaks off, or goes on in a way that no record does.
    Malformed,
    /// A number does not fit into 64 bits.
    OutOfRange,
}

/// A place in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Fields<'a> {
    /// Begins at a place.
    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Fields<'a> {
        Fields { bytes, at }
    }

    /// The byte here.
    #[inline(always)]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// What is left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Whether nothing is left.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Steps over exactly these bytes. The length is a constant, so that this is one or two comparisons of words.
    #[inline(always)]
    pub(crate) fn eat<const LENGTH: usize>(&mut self, wanted: &[u8; LENGTH]) -> Option<()> {
        let found = self.bytes.get(self.at..self.at + LENGTH)?;
        if found != wanted {
            return None;
        }
        self.at += LENGTH;
        Some(())
    }

    /// Steps over exactly these bytes, which a record has here.
    pub(crate) fn expect<const LENGTH: usize>(&mut self, wanted: &[u8; LENGTH]) -> Answer<()> {
        self.eat(wanted).ok_or(Fault::Malformed)
    }

    /// Steps over exactly these bytes, of any length.
    #[inline(always)]
    pub(crate) fn eat_slice(&mut self, wanted: &[u8]) -> Option<()> {
        let end = self.at + wanted.len();
        if self.bytes.get(self.at..end)? != wanted {
            return None;
        }
        self.at = end;
        Some(())
    }

    /// Steps over blanks.
    #[inline(always)]
    pub(crate) fn skip_blanks(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    /// Steps over the end of a line: a line feed, with one carriage return before it or not.
    #[inline(always)]
    pub(crate) fn line_end(&mut self) -> Option<()> {
        let step = match self.peek()? {
            b'\n' => 1,
            b'\r' if self.bytes.get(self.at + 1) == Some(&b'\n') => 2,
            _ => return None,
        };
        self.at += step;
        Some(())
    }

    /// A whole number that a quick reader takes: up to 16 digits, eight at a time. Longer ones are left to [`checked`].
    ///
    /// [`checked`]: Fields::checked
    #[inline(always)]
    pub(crate) fn quick(&mut self) -> Option<u64> {
        let first = word(self.bytes, self.at)?;
        // Most figures have one digit, and each place in the code has figures of its own, so that this is foreseen.
        let (one, two) = ((first as u8).wrapping_sub(b'0'), ((first >> 8) as u8).wrapping_sub(b'0'));
        if one <= 9 && two > 9 {
            self.at += 1;
            return Some(u64::from(one));
        }
        let (digits, value) = eight_digits(first);
        if digits < 8 {
            self.at += digits;
            return (digits > 0).then_some(value);
        }
        let (more, low) = eight_digits(word(self.bytes, self.at + 8)?);
        if more == 8 && self.bytes.get(self.at + 16).is_some_and(u8::is_ascii_digit) {
            return None;
        }
        self.at += 8 + more;
        Some(value * POWERS_OF_TEN[more] + low)
    }

    /// The same behind a key.
    #[inline(always)]
    pub(crate) fn quick_after<const LENGTH: usize>(&mut self, key: &[u8; LENGTH]) -> Option<u64> {
        self.eat(key)?;
        self.quick()
    }

    /// A whole number with or without a minus, quickly.
    #[inline(always)]
    pub(crate) fn quick_signed(&mut self) -> Option<i64> {
        // 16 digits stay far below the largest number, with either sign.
        if self.peek()? == b'-' {
            self.at += 1;
            return self.quick().map(|value| -(value as i64));
        }
        self.quick().map(|value| value as i64)
    }

    /// The same behind a key.
    #[inline(always)]
    pub(crate) fn quick_signed_after<const LENGTH: usize>(&mut self, key: &[u8; LENGTH]) -> Option<i64> {
        self.eat(key)?;
        self.quick_signed()
    }

    /// A whole number of any length.
    #[inline]
    pub(crate) fn checked(&mut self) -> Answer<u64> {
        let begin = self.at;
        if let Some(value) = self.quick() {
            return Ok(value);
        }
        self.at = begin;
        self.checked_slowly()
    }

    /// Digit by digit: for numbers of more than 16 digits, and near the end of the bytes.
    #[cold]
    fn checked_slowly(&mut self) -> Answer<u64> {
        let digits = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return Err(Fault::Malformed);
        }
        let value = self.rest()[..digits]
            .iter()
            .try_fold(0_u64, |value, digit| value.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
        self.at += digits;
        value.ok_or(Fault::OutOfRange)
    }

    /// A whole number of any length, behind a key.
    pub(crate) fn checked_after<const LENGTH: usize>(&mut self, key: &[u8; LENGTH]) -> Answer<u64> {
        self.expect(key)?;
        self.checked()
    }

    /// A whole number of any length, with or without a minus.
    #[inline]
    pub(crate) fn checked_signed(&mut self) -> Answer<i64> {
        let is_negative = self.peek() == Some(b'-');
        self.at += usize::from(is_negative);
        let value = i128::from(self.checked()?);
        i64::try_from(if is_negative { -value } else { value }).map_err(|_| Fault::OutOfRange)
    }
}

/// Ten to the power of the index.
const POWERS_OF_TEN: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Eight bytes; fails within the last eight of the bytes, where a slower reader goes on.
#[inline(always)]
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let (word, _) = bytes.get(at..)?.split_first_chunk::<8>()?;
    Some(u64::from_le_bytes(*word))
}

/// How many of eight bytes are digits, from the first on, and their value.
///
/// The bytes are shifted until the last digit stands last, with zeros before it; then pairs, pairs of pairs and both
/// halves are put together with one multiplication each.
#[inline(always)]
fn eight_digits(word: u64) -> (usize, u64) {
    let values = word ^ 0x3030_3030_3030_3030;
    // A byte above 9 carries into its highest bit, or has it already. A carry beyond the byte spoils only what follows
    // the first byte that is no digit.
    let no_digits = (values.wrapping_add(0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080;
    let digits = (no_digits.trailing_zeros() / 8) as usize;
    if digits == 0 {
        return (0, 0);
    }
    let aligned = values << (64 - 8 * digits);
    let pairs = (aligned.wrapping_mul(1 + (10 << 8)) >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs.wrapping_mul(1 + (100 << 16)) >> 16) & 0x0000_FFFF_0000_FFFF;
    (digits, fours.wrapping_mul(1 + (10_000 << 32)) >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn both(text: &str) -> (Option<u64>, Answer<u64>) {
        let padded = format!("{text},c=123456789");
        let (mut quick, mut slow) = (Fields::new(padded.as_bytes(), 0), Fields::new(padded.as_bytes(), 0));
        let answers = (quick.quick(), slow.checked_slowly());
        if answers.0.is_some() {
            assert_eq!(quick.at, slow.at);
        }
        answers
    }

    proptest! {
        #[test]
        fn the_quick_and_the_careful_reader_of_numbers_agree(value in any::<u64>(), digits in 0_u32..20) {
            let value = value % 10_u64.saturating_pow(digits).max(1);
            let (quick, slow) = both(&value.to_string());
            prop_assert_eq!(slow, Ok(value));
            prop_assert!(quick.is_none_or(|quick| quick == value));
            prop_assert!(quick.is_some() || value.to_string().len() > 16);
        }

        #[test]
        fn what_follows_a_number_does_not_change_it(value in 0_u64..100_000_000, tail in "[^0-9]{1,12}") {
            let text = format!("{value}{tail}        ");
            prop_assert_eq!(Fields::new(text.as_bytes(), 0).quick(), Some(value));
        }
    }

    #[test]
    fn a_number_beyond_64_bits_is_out_of_range_and_not_another_number() {
        assert_eq!(both("18446744073709551615"), (None, Ok(u64::MAX)));
        assert_eq!(both("18446744073709551616"), (None, Err(Fault::OutOfRange)));
        assert_eq!(both("99999999999999999999999999"), (None, Err(Fault::OutOfRange)));
        assert_eq!(Fields::new(b"-9223372036854775808", 0).checked_signed(), Ok(i64::MIN));
        assert_eq!(Fields::new(b"9223372036854775808", 0).checked_signed(), Err(Fault::OutOfRange));
    }

    #[test]
    fn no_digit_is_no_zero() {
        assert_eq!(both("x"), (None, Err(Fault::Malformed)));
        assert_eq!(Fields::new(b"-,c=12345678", 0).quick_signed(), None);
    }
}
