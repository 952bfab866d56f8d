//! Amounts of time that are added up in one column: one unit and one number of decimals, so that a reader can check
//! the sum.

use measure::Unit;

use crate::page::Cell;
use crate::page::number::grouped;

/// A unit that a whole column of microseconds is shown in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    /// Name in the heading of the column.
    pub(super) heading: &'static str,
    micros: f64,
    decimals: usize,
}

/// The scale in which a column that adds up to `total` microseconds reads best: three digits of the total and more.
pub(super) fn scale(total: f64) -> Scale {
    let (heading, micros) = match total.abs() {
        size if size >= 1e6 => ("seconds", 1e6),
        size if size >= 1e3 => ("ms", 1e3),
        _ => ("µs", 1.0),
    };
    let decimals = match total.abs() / micros {
        size if size >= 10_000.0 => 0,
        size if size >= 1_000.0 => 1,
        size if size >= 100.0 => 2,
        _ => 3,
    };
    Scale { heading, micros, decimals }
}

impl Scale {
    /// Whether its unit is.
    pub(super) fn is_longer_than(self, other: Scale) -> bool {
        self.micros > other.micros
    }

    /// Microseconds in this scale, as a cell of a column.
    pub(super) fn cell(self, micros: f64) -> Cell {
        Cell::number(self.show(micros), micros, Unit::Microseconds)
    }

    /// Microseconds in this scale.
    pub(super) fn show(self, micros: f64) -> String {
        without_sign_of_zero(format!("{:.*}", self.decimals, micros / self.micros))
    }

    /// The same with its unit: `12.407 s`.
    pub(super) fn with_unit(self, micros: f64) -> String {
        let unit = if self.heading == "seconds" { "s" } else { self.heading };
        format!("{} {unit}", self.show(micros))
    }
}

/// A number as it is written, without the sign of what was rounded to zero.
fn without_sign_of_zero(text: String) -> String {
    let is_zero = text.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.'));
    if is_zero { text.trim_start_matches('-').to_string() } else { text }
}

/// A time with all digits that its scale has, and its unit: `12.407 s`.
pub(super) fn exact_time(micros: f64) -> String {
    scale(micros).with_unit(micros)
}

/// Hundredths of a whole; empty where there is no whole.
pub(super) fn share(part: f64, whole: f64) -> Option<Cell> {
    (whole > 0.0).then(|| percent(100.0 * part / whole))
}

/// Hundredths; the column names them.
pub(super) fn percent(share: f64) -> Cell {
    Cell::number(without_sign_of_zero(format!("{share:.1}")), share, Unit::Percent)
}

/// One number divided by another; empty where that has no meaning.
pub(super) fn per(part: Option<f64>, of: Option<f64>) -> Option<Cell> {
    let ratio = part? / of.filter(|of| *of > 0.0)?;
    Some(Cell::digits(ratio, Unit::Ratio))
}

/// Microseconds in the unit that suits them.
pub(super) fn of_micros(micros: f64) -> Cell {
    if micros > 0.0 { Cell::time(micros * 1e3) } else { Cell::number("0", 0.0, Unit::Nanoseconds) }
}

/// A count, cut off behind the point.
pub(super) fn count(value: f64) -> Cell {
    Cell::count(value.trunc())
}

/// A count with its noun.
pub(super) fn counted(count: f64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count as u64), if count == 1.0 { one } else { many })
}

/// A remark under a table, with the number of its lines that are not shown.
pub(super) fn with_left_out(remark: &str, lines: usize) -> String {
    if lines == 0 {
        return remark.into();
    }
    let more = counted(lines as f64, "more line is", "more lines are");
    format!("{remark} {more} in --format csv.").trim_start().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_sorts_a_time_of_zero_with_the_other_times() {
        assert_eq!([0.0, 2.0].map(|micros| of_micros(micros).value), [Some(0.0), Some(2000.0)]);
    }

    #[test]
    fn a_share_that_is_rounded_to_zero_has_no_sign() {
        let shown = |part: f64| share(part, 100.0).map(|cell| cell.text);
        assert_eq!([-0.04, 0.04, -0.06].map(shown), ["0.0", "0.0", "-0.1"].map(|text| Some(text.to_string())));
    }

    #[test]
    fn the_unit_follows_the_total_and_zero_has_no_sign() {
        assert_eq!(exact_time(12_406_613.0), "12.407 s");
        assert_eq!(exact_time(227_384.0), "227.38 ms");
        assert_eq!(exact_time(17.0), "17.000 µs");
        assert_eq!(scale(12e6).show(-100.0), "0.000");
        assert_eq!(scale(12e6).show(-326_300.0), "-0.326");
        assert_eq!(scale(86_400e6).show(1.5e6), "2");
    }
}
