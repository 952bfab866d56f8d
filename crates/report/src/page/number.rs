//! Numbers as people read them: three significant digits, thin separators, a unit that keeps the digits few.

use measure::Unit;
pub(crate) use measure::quantity::{grouped, rounded};

/// What stands where there is no number.
pub(crate) const ABSENT: &str = "–";

/// Units of time with their length in ns, ascending.
const TIME_UNITS: [(&str, f64); 4] = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];

/// Largest number that a column shows in the unit of its smallest, and how far its values may lie apart, before each
/// value gets its own unit: beyond, one of them has too many digits or the column too much air.
const COLUMN_VALUE_MAX: f64 = 10_000.0;
const COLUMN_RATIO_MAX: f64 = 1_000.0;

/// Digits after the point of a ratio that stands near 1.
pub(crate) const RATIO_DECIMALS: usize = 2;

/// The part of a binary unit from which on a number of bytes reads as 1 of it: three digits of less are no 1 024.
const UNIT_REACHED: f64 = 1.0 - 0.5 / 1024.0;

/// Three significant digits, all digits before the point: `1.13`, `17.0`, `447`, `16 949`.
pub(crate) fn three_digits(value: f64) -> String {
    // What is added leaves a zero without a sign.
    let rounded = rounded(value) + 0.0;
    let magnitude = rounded.abs();
    if !rounded.is_finite() {
        return ABSENT.into();
    }
    if magnitude >= 1e15 || (magnitude > 0.0 && magnitude < 1e-6) {
        return format!("{rounded:.2e}");
    }
    if magnitude >= 1000.0 {
        let sign = if rounded < 0.0 { "-" } else { "" };
        return format!("{sign}{}", grouped(value.abs().round() as u64));
    }
    let decimals = if magnitude == 0.0 { 0 } else { (2 - magnitude.log10().floor() as i32).max(0) as usize };
    format!("{rounded:.decimals$}")
}

/// How many times: one digit after the point below 10, none above.
pub(crate) fn times(ratio: f64) -> String {
    match ratio {
        _ if !ratio.is_finite() => ABSENT.into(),
        _ if ratio < 0.095 => three_digits(ratio),
        _ if ratio < 0.995 => format!("{ratio:.2}"),
        _ if ratio < 9.95 => format!("{ratio:.1}"),
        _ if ratio < 1e15 => grouped(ratio.round() as u64),
        _ => three_digits(ratio),
    }
}

/// A ratio that stands near 1: two digits after the point below 10.
pub(crate) fn ratio(value: f64) -> String {
    ratio_to(value, RATIO_DECIMALS)
}

/// The same with another number of digits after the point.
pub(crate) fn ratio_to(value: f64, decimals: usize) -> String {
    if value.is_finite() && (0.1..9.995).contains(&value) { format!("{value:.decimals$}") } else { three_digits(value) }
}

/// A time in the unit that keeps its number between 1 and 1000.
pub(crate) fn time(nanos: f64) -> String {
    let (symbol, length) = unit_for(nanos);
    format!("{} {symbol}", three_digits(nanos / length))
}

/// The symbol and the length in ns of the unit in which `nanos` reads best.
pub(crate) fn unit_for(nanos: f64) -> (&'static str, f64) {
    let largest = TIME_UNITS.iter().rev().find(|(_, length)| rounded(nanos).abs() >= *length);
    *largest.unwrap_or(&TIME_UNITS[0])
}

/// Times of one column, in one unit where the values allow it, else each in its own; absent ones as a dash.
pub(crate) fn time_column(values: &[Option<f64>]) -> Vec<String> {
    let shared = column_unit(values);
    let in_shared = |nanos: f64, (symbol, length): (&str, f64)| format!("{} {symbol}", three_digits(nanos / length));
    let cell = |nanos: f64| shared.map_or_else(|| time(nanos), |unit| in_shared(nanos, unit));
    let or_none = |nanos: f64| if nanos == 0.0 { "0".into() } else { cell(nanos) };
    values.iter().map(|value| value.map_or(ABSENT.into(), or_none)).collect()
}

/// The symbol and the length in ns of the one unit of such a column, where its values allow one.
pub(crate) fn column_unit(values: &[Option<f64>]) -> Option<(&'static str, f64)> {
    let known = || values.iter().flatten().copied().filter(|value| value.is_finite() && *value > 0.0);
    let smallest = known().fold(f64::INFINITY, f64::min);
    let largest = known().fold(0.0, f64::max);
    let (symbol, length) = unit_for(smallest);
    // Where all are below zero, none of them says which unit suits.
    let is_shared =
        smallest.is_finite() && largest / length < COLUMN_VALUE_MAX && largest / smallest < COLUMN_RATIO_MAX;
    is_shared.then_some((symbol, length))
}

/// Bytes in the binary unit that keeps the number between 1 and 1024.
pub(crate) fn bytes(value: f64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.iter().find(|(_, shift)| value >= (1_u64 << shift) as f64 * UNIT_REACHED);
    let Some((symbol, shift)) = unit else {
        let is_whole = value.fract() == 0.0 && value >= 0.0;
        return format!("{} B", if is_whole { grouped(value as u64) } else { three_digits(value) });
    };
    let scaled = value / (1_u64 << shift) as f64;
    if scaled.fract() == 0.0 && scaled < 1e6 {
        format!("{} {symbol}", grouped(scaled as u64))
    } else {
        format!("{} {symbol}", three_digits(scaled))
    }
}

/// Any value with its unit.
pub(crate) fn with_unit(value: f64, unit: Unit) -> String {
    if let Some(length) = unit.nanoseconds() {
        return time(value * length);
    }
    match unit {
        Unit::Count if value.fract() == 0.0 && (0.0..1e15).contains(&value) => grouped(value as u64),
        Unit::Count | Unit::Ratio => three_digits(value),
        Unit::Bytes => bytes(value),
        Unit::PerSecond => format!("{} /s", three_digits(value)),
        other => format!("{} {}", three_digits(value), other.symbol()),
    }
}

/// A range by its ends as they are shown, `1.20–3.40`; one value where they read the same.
pub(crate) fn range(low: &str, high: &str) -> String {
    joined(low, "–", high)
}

/// A range in a sentence, `1.20 to 3.40`.
pub(crate) fn range_in_words(low: &str, high: &str) -> String {
    joined(low, " to ", high)
}

fn joined(low: &str, sign: &str, high: &str) -> String {
    if low == high { low.into() } else { format!("{low}{sign}{high}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::quantity::{THIN_SPACE, format_nanos};
    use proptest::prelude::*;

    #[test]
    fn three_digits_are_significant() {
        let shown = |value: f64| three_digits(value).replace(THIN_SPACE, " ");
        let expected = [(1.13, "1.13"), (17.0, "17.0"), (446.6, "447"), (999.6, "1 000"), (16949.2, "16 949")];
        expected.iter().for_each(|(value, text)| assert_eq!(shown(*value), *text));
        assert_eq!((shown(0.035).as_str(), shown(0.0).as_str(), shown(-2.5).as_str()), ("0.0350", "0", "-2.50"));
        assert_eq!(shown(f64::NAN), ABSENT);
    }

    #[test]
    fn a_zero_has_no_sign() {
        assert_eq!([three_digits(-0.0), ratio(-0.0), time(-0.0), bytes(-0.0)], ["0", "0", "0 ns", "0 B"]);
    }

    #[test]
    fn a_time_never_shows_a_thousand_of_a_unit() {
        assert_eq!(time(999.6), "1.00 µs");
        assert_eq!(time(0.28), "0.280 ns");
        assert_eq!(time(63_100.0), "63.1 µs");
        assert_eq!(time(-4_090_000.0), "-4.09 ms");
    }

    #[test]
    fn a_time_half_way_between_two_digits_reads_in_a_table_as_in_the_sentence_next_to_it() {
        let half_way = (5..100_000_u32).step_by(10).map(f64::from);
        half_way.for_each(|nanos| assert_eq!(time(nanos), format_nanos(nanos)));
    }

    #[test]
    fn bytes_are_counted_in_whole_ones() {
        assert_eq!([3.0, 0.0, 512.0, 2.5].map(bytes), ["3 B", "0 B", "512 B", "2.50 B"]);
    }

    #[test]
    fn bytes_never_show_1024_of_a_unit() {
        let shown = |value: f64| bytes(value).replace(THIN_SPACE, " ");
        assert_eq!([1_048_575.0, 1_073_733_632.0].map(shown), ["1.00 MiB", "1.00 GiB"]);
        assert_eq!([1023.0, 1_047_552.0, 1_048_576.0].map(shown), ["1 023 B", "1 023 KiB", "1 MiB"]);
    }

    #[test]
    fn a_range_of_one_value_is_that_value() {
        assert_eq!((range("1.20", "1.20"), range("1.20", "1.21")), ("1.20".into(), "1.20–1.21".into()));
        assert_eq!(
            (range_in_words("1 ms", "1 ms"), range_in_words("1 ms", "2 ms")),
            ("1 ms".into(), "1 ms to 2 ms".into())
        );
    }

    #[test]
    fn a_column_keeps_one_unit_until_its_values_are_too_far_apart() {
        assert_eq!(time_column(&[Some(98e3), Some(1.5e6), None]), ["98.0 µs", "1\u{202f}500 µs", ABSENT]);
        assert_eq!(time_column(&[Some(98e3), Some(2e9)]), ["98.0 µs", "2.00 s"]);
        assert_eq!(time_column(&[Some(-500.0), None, Some(0.0)]), ["-500 ns", ABSENT, "0"]);
    }

    proptest! {
        #[test]
        fn no_number_is_too_strange_to_print(value in any::<f64>()) {
            prop_assert!(!three_digits(value).is_empty() && time(value).len() < 40);
            prop_assert!(times(value).len() < 40 && ratio(value).len() < 40 && bytes(value).len() < 40);
        }
    }
}
