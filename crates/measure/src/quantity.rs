//! Sizes and times as people write them on a command line and in a file: `8KiB`, `500ms`.
//!
//! [`Size`] and [`Nanos`] read and write that text by `FromStr`, `Display` and serde, so that a parameter is the same
//! word as an option, as its default in the help, and as a line of a file.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::nanos::Nanos;

/// A number of bytes that is written as `8KiB`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(pub u64);

impl Size {
    /// The bytes as a length in memory; more than the address space holds becomes its end.
    pub fn in_memory(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format_size(self.0))
    }
}

impl FromStr for Size {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Size, QuantityError> {
        parse_size(text).map(Size)
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A size in a file: a text with its unit, or a number of bytes.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Bytes(u64),
    Text(String),
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Bytes(bytes) => Ok(Size(bytes)),
            Written::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

/// The time exactly, in the largest unit that divides it: `5s`, `500ms`.
impl fmt::Display for Nanos {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format_time(*self))
    }
}

impl FromStr for Nanos {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Nanos, QuantityError> {
        parse_time(text)
    }
}

impl Serialize for Nanos {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Nanos {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Nanos, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A quantity that could not be read; the sentence says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// Not a size.
    #[error(
        "'{0}' is not a size: write bytes or a binary unit{sign}, such as 8192, 8k, 8KiB, 64MiB, 1GiB, 2TiB",
        sign = without_sign(.0)
    )]
    Size(String),
    /// More bytes than 64 bits count.
    #[error("'{0}' is too large: write a size below 16384PiB")]
    TooLarge(String),
    /// More time than a run can count.
    #[error("'{0}' is too long: write a time below 100000d")]
    TooLong(String),
    /// Not a time.
    #[error(
        "'{0}' is not a time: write a number with its unit{sign}, such as 500us, 200ms, 5s, 2m",
        sign = without_sign(.0)
    )]
    Time(String),
}

/// What is wrong with a number that would be right above 0.
fn without_sign(text: &str) -> &'static str {
    if text.starts_with('-') { " and without a sign" } else { "" }
}

/// Bytes of `text`: a bare number, or one with KiB, MiB, GiB, TiB or PiB (case does not matter, fractions may be
/// written). `k` and `KB` are 1024 bytes too, as with fio and in PostgreSQL's settings.
pub fn parse_size(text: &str) -> Result<u64, QuantityError> {
    let error = || QuantityError::Size(text.into());
    let (number, unit) = split_unit(text);
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        "p" | "pb" | "pib" => 1 << 50,
        _ => return Err(error()),
    };
    let too_large = || QuantityError::TooLarge(text.into());
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(too_large);
    }
    let bytes = number.parse::<f64>().map_err(|_| error())? * factor as f64;
    // As a fraction the greatest number of bytes is rounded to the first one beyond it.
    if bytes >= u64::MAX as f64 {
        return Err(too_large());
    }
    if bytes.fract() == 0.0 { Ok(bytes as u64) } else { Err(error()) }
}

/// Times are shorter than this, so that the sum of two fits into 64 bits.
const TIME_BEYOND: f64 = 100_000.0 * 86_400e9;

/// The time of `text`: a number with ns, us, ms, s, m, h or d.
pub fn parse_time(text: &str) -> Result<Nanos, QuantityError> {
    let error = || QuantityError::Time(text.into());
    let (number, unit) = split_unit(text);
    let nanos = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3_600e9,
        "d" => 86_400e9,
        _ => return Err(error()),
    };
    let value = number.parse::<f64>().map_err(|_| error())? * nanos;
    if value >= TIME_BEYOND {
        return Err(QuantityError::TooLong(text.into()));
    }
    let whole = number.parse::<u64>().ok().and_then(|whole| whole.checked_mul(nanos as u64));
    Ok(Nanos(whole.unwrap_or(value.round() as u64)))
}

/// A time in the largest unit that divides it, as [`parse_time`] reads it.
fn format_time(time: Nanos) -> String {
    let units = [("m", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let unit = units.into_iter().find(|(_, nanos)| time.0 >= *nanos && time.0.is_multiple_of(*nanos));
    let (name, nanos) = unit.unwrap_or(("ns", 1));
    format!("{}{name}", time.0 / nanos)
}

/// A size in the largest binary unit that divides it, as [`parse_size`] reads it.
pub fn format_size(bytes: u64) -> String {
    let units = [("PiB", 50), ("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    for (name, shift) in units {
        if bytes >= 1 << shift && bytes.trailing_zeros() >= shift {
            return format!("{}{name}", bytes >> shift);
        }
    }
    bytes.to_string()
}

/// A size to the mebibyte below, as [`format_size`] writes it; smaller ones exactly.
pub fn rounded_size(bytes: u64) -> String {
    format_size(if bytes >= 1 << 20 { bytes >> 20 << 20 } else { bytes })
}

/// A size as a sentence writes it, with a space before the unit: `8 KiB`, `512 bytes`.
pub fn size_in_words(bytes: u64) -> String {
    let text = format_size(bytes);
    let (number, unit) = text.split_at(text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len()));
    let number = number.parse().map_or_else(|_| number.into(), grouped);
    let unit = match (bytes, unit) {
        (1, _) => "byte",
        (_, "") => "bytes",
        (_, unit) => unit,
    };
    format!("{number} {unit}")
}

/// A size as a sentence writes it, to the mebibyte below from one mebibyte on.
pub fn whole_mebibytes(bytes: u64) -> String {
    size_in_words(if bytes >= 1 << 20 { bytes >> 20 << 20 } else { bytes })
}

/// Nanoseconds at three significant digits in the unit that suits them: `1.13 ns`, `79.1 µs`, `2.70 ms`, `1.20 s`.
pub fn format_nanos(nanos: f64) -> String {
    let (value, unit) = match rounded(nanos).abs() {
        size if size < 1e3 => (nanos, "ns"),
        size if size < 1e6 => (nanos / 1e3, "µs"),
        size if size < 1e9 => (nanos / 1e6, "ms"),
        _ => (nanos / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// A number at three significant digits, never in exponents: `0.0123`, `1.13`, `79.1`, `478`, `16 900`.
pub fn three_digits(value: f64) -> String {
    let rounded = rounded(value);
    if rounded == 0.0 || !rounded.is_finite() {
        // Without the sign of -0.
        return format!("{}", rounded + 0.0);
    }
    let exponent = rounded.abs().log10().floor() as i32;
    let text = format!("{rounded:.*}", (2 - exponent).max(0) as usize);
    let (sign, digits) = text.split_at(usize::from(rounded < 0.0));
    match digits.parse() {
        Ok(whole) => format!("{sign}{}", grouped(whole)),
        Err(_) => text,
    }
}

/// A number to three significant digits. Tables and sentences both round by it, so that one number reads the same in
/// both.
pub fn rounded(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// Separator of thousands: narrow, and no line breaks at it.
pub const THIN_SPACE: char = '\u{202f}';

/// A whole number with thin separators: `69 642 625`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(THIN_SPACE);
        }
        text.push(digit);
    }
    text
}

/// A count with its noun, as a sentence writes it: `1 line`, `24 015 reads`.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|character: char| !(character.is_ascii_digit() || character == '.')).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_read_as_written() {
        assert_eq!(parse_size("8KiB"), Ok(8192));
        assert_eq!(parse_size("1.5GiB"), Ok(1_610_612_736));
        assert_eq!(parse_size("512"), Ok(512));
        assert_eq!(parse_size("0"), Ok(0));
        for (text, bytes) in [("4k", 4096), ("8KB", 8192), ("64m", 64 << 20), ("2T", 2 << 40), ("1PiB", 1 << 50)] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "KiB", "8kbit", "-1", "1e3", "8 KiBs", "0.3", "1.2.3KiB"] {
            assert_eq!(parse_size(wrong), Err(QuantityError::Size(wrong.into())), "{wrong}");
        }
    }

    #[test]
    fn a_size_that_is_too_large_is_called_that() {
        let digits = "9".repeat(400);
        for large in ["99999999999TiB", "16384PiB", "16384.5PiB", "18446744073709551616", digits.as_str()] {
            assert_eq!(parse_size(large), Err(QuantityError::TooLarge(large.into())), "{large}");
        }
        let said = parse_size("99999999999TiB").unwrap_err().to_string();
        assert!(said.contains("too large") && !said.contains("not a size"), "{said}");
        assert_eq!((parse_size("18446744073709551615"), parse_size("16383PiB")), (Ok(u64::MAX), Ok(16_383 << 50)));
    }

    #[test]
    fn times_are_read_as_written() {
        assert_eq!(parse_time("500ms"), Ok(Nanos::from_millis(500)));
        assert_eq!(parse_time("1.5s"), Ok(Nanos::from_millis(1500)));
        assert_eq!(
            (parse_time("5h"), parse_time("7d")),
            (Ok(Nanos(18_000_000_000_000)), Ok(Nanos(604_800_000_000_000)))
        );
        for wrong in ["5", "", "s", "-1s", "5y", "infs"] {
            assert_eq!(parse_time(wrong), Err(QuantityError::Time(wrong.into())), "{wrong}");
        }
    }

    #[test]
    fn a_time_that_is_too_long_is_called_that_and_the_sum_of_two_is_a_time() {
        let digits = format!("{}s", "9".repeat(400));
        for long in ["99999999999s", "100000d", "213000d", "8640000000000000001us", digits.as_str()] {
            assert_eq!(parse_time(long), Err(QuantityError::TooLong(long.into())), "{long}");
        }
        let said = parse_time("100000d").unwrap_err().to_string();
        assert_eq!(said, "'100000d' is too long: write a time below 100000d");
        let longest = parse_time("99999d").unwrap();
        assert_eq!((longest + longest).0, 2 * 99_999 * 86_400_000_000_000);
    }

    #[test]
    fn quantities_are_the_same_words_in_a_file_and_on_a_command_line() {
        let written = serde_json::to_string(&(Size(8192), Nanos::from_millis(5000))).unwrap();
        assert_eq!(written, r#"["8KiB","5s"]"#);
        let read: (Size, Size, Nanos) = serde_json::from_str(r#"["1.5GiB", 512, "200ms"]"#).unwrap();
        assert_eq!(read, (Size(1_610_612_736), Size(512), Nanos::from_millis(200)));
        let error = serde_json::from_str::<Size>(r#""8 furlongs""#).unwrap_err().to_string();
        assert!(error.starts_with("'8 furlongs' is not a size: write bytes or a binary unit"), "{error}");
        assert!(serde_json::from_str::<Nanos>(r#""5""#).unwrap_err().to_string().starts_with("'5' is not a time"));
    }

    #[test]
    fn numbers_carry_three_significant_digits() {
        let texts: Vec<String> = [0.01234, 1.126, 79.06, 99.96, 478.4, 16_944.0, 0.9996, 0.0].map(three_digits).into();
        assert_eq!(texts, ["0.0123", "1.13", "79.1", "100", "478", "16\u{202f}900", "1.00", "0"]);
        assert_eq!([-16_944.0, -1.126, 1e30].map(three_digits)[..2], ["-16\u{202f}900", "-1.13"]);
        assert_eq!([three_digits(-0.0), format_nanos(-0.0)], ["0", "0 ns"]);
        assert_eq!(format_nanos(999_700.0), "1.00 ms");
        assert_eq!(format_nanos(1.13), "1.13 ns");
        assert_eq!([8192, 1000, 1].map(size_in_words), ["8 KiB", "1\u{202f}000 bytes", "1 byte"]);
    }

    #[test]
    fn counts_have_thin_separators_and_their_noun_its_number() {
        let shown = |count| counted(count, "read", "reads").replace(THIN_SPACE, "'");
        assert_eq!(
            [0, 1, 2, 999, 24_015, 69_642_625].map(shown),
            ["0 reads", "1 read", "2 reads", "999 reads", "24'015 reads", "69'642'625 reads"]
        );
    }

    proptest! {
        #[test]
        fn what_is_formatted_is_read_back(bytes in 0u64..1 << 60) {
            prop_assert_eq!(parse_size(&format_size(bytes)), Ok(bytes));
        }

        #[test]
        fn a_time_that_is_formatted_is_read_back(nanos in 0u64..8_640_000_000_000_000_000) {
            prop_assert_eq!(Nanos(nanos).to_string().parse(), Ok(Nanos(nanos)));
        }

        #[test]
        fn hostile_text_never_panics(text in ".*") {
            let _ = parse_size(&text);
            let _ = parse_time(&text);
        }
    }
}
