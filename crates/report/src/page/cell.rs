//! Cells: a value with its unit and its spread, and the text that a person reads.

use measure::schema::{Bound, Published, Spec};
use measure::{Case, Metric, Unit};

use super::number::{ABSENT, bytes, grouped, range, three_digits, time, with_unit};

/// A standard deviation below this part of the mean is that of sums of floating-point numbers: no clock and no counter
/// has as many digits.
const ROUNDING: f64 = 1e-9;

/// One cell of a table. In a column of bars the value is the length, from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// The value as a person reads it, with its unit where the column has none.
    pub text: String,
    /// The number, where the cell has one.
    pub value: Option<f64>,
    /// What it is counted in.
    pub unit: Option<Unit>,
    /// The ends of the range around it.
    pub spread: Option<(f64, f64)>,
}

impl Cell {
    /// A number in a unit, written as `text`.
    pub(crate) fn number(text: impl Into<String>, value: f64, unit: Unit) -> Cell {
        Cell { text: text.into(), value: Some(value), unit: Some(unit), spread: None }
    }

    /// What was not measured.
    pub(crate) fn absent() -> Cell {
        ABSENT.into()
    }

    /// The cell, or the sign of what was not measured.
    pub(crate) fn or_absent(cell: Option<Cell>) -> Cell {
        cell.unwrap_or_else(Cell::absent)
    }

    /// Three significant digits; the column names the unit.
    pub(crate) fn digits(value: f64, unit: Unit) -> Cell {
        Cell::number(three_digits(value), value, unit)
    }

    /// The median of a metric at three significant digits; the column names the unit.
    pub(crate) fn median(metric: &Metric) -> Cell {
        Cell::digits(metric.median(), metric.unit).with_spread(metric)
    }

    /// The same of a metric of a case; none where the case lacks it.
    pub(crate) fn of(case: &Case, spec: &Spec) -> Option<Cell> {
        spec.in_case(case).map(Cell::median)
    }

    /// The range of a metric's samples at three significant digits; the column names the unit. None of one sample.
    pub(crate) fn range(metric: &Metric) -> Option<Cell> {
        let (low, high) = Cell::median(metric).spread?;
        let text = range(&three_digits(low), &three_digits(high));
        Some(Cell { spread: Some((low, high)), unit: Some(metric.unit), ..text.into() })
    }

    /// A figure as it was published.
    pub(crate) fn published(published: &Published) -> Cell {
        let bound = match published.bound {
            Bound::Exactly => "",
            Bound::About => "about ",
            Bound::Above => "> ",
            Bound::Below => "< ",
        };
        let number = match published.value {
            value if value >= 1e6 => format!("{} M", value / 1e6),
            value if value >= 1e3 && value.fract() == 0.0 => grouped(value as u64),
            value => value.to_string(),
        };
        Cell::number(format!("{bound}{number}"), published.value, published.unit)
    }

    /// A whole number with thin separators. One from a damaged source may be below zero.
    pub(crate) fn count(value: f64) -> Cell {
        let sign = if value <= -0.5 { "-" } else { "" };
        Cell::number(format!("{sign}{}", grouped(value.abs().round() as u64)), value, Unit::Count)
    }

    /// Nanoseconds in the unit that suits them.
    pub(crate) fn time(nanos: f64) -> Cell {
        Cell::number(time(nanos), nanos, Unit::Nanoseconds)
    }

    /// Bytes in the unit that suits them.
    pub(crate) fn bytes(value: f64) -> Cell {
        Cell::number(bytes(value), value, Unit::Bytes)
    }

    /// Three digits and the sign of per cent.
    pub(crate) fn percent(value: f64) -> Cell {
        Cell::number(format!("{} %", three_digits(value)), value, Unit::Percent)
    }

    /// How many times.
    pub(crate) fn times(ratio: f64) -> Cell {
        Cell::number(format!("{} ×", three_digits(ratio)), ratio, Unit::Ratio)
    }

    /// A value of any unit.
    pub(crate) fn quantity(value: f64, unit: Unit) -> Cell {
        Cell::number(with_unit(value, unit), value, unit)
    }

    /// Mean and standard deviation; the column names the unit.
    pub(crate) fn mean(metric: &Metric) -> Cell {
        let statistics = &metric.statistics;
        let mean = three_digits(statistics.mean);
        let is_noise = |sd: f64| sd < statistics.mean.abs() * ROUNDING;
        let spread = |sd: f64| if is_noise(sd) { "0".into() } else { three_digits(sd) };
        let text = statistics.stddev.map_or(mean.clone(), |sd| format!("{mean} ± {}", spread(sd)));
        Cell::number(text, statistics.mean, metric.unit).with_spread(metric)
    }

    /// The cell with the range of the metric's samples, in the cell's unit.
    pub(crate) fn with_spread(self, metric: &Metric) -> Cell {
        let high = metric.statistics.p90.unwrap_or(metric.statistics.max);
        let lengths = metric.unit.nanoseconds().zip(self.unit.and_then(Unit::nanoseconds));
        let scale = lengths.map_or(1.0, |(of_metric, of_cell)| of_metric / of_cell);
        let range = (metric.statistics.min * scale, high * scale);
        Cell { spread: (metric.statistics.n > 1).then_some(range), ..self }
    }

    /// A bar: how long it is, of the longest.
    pub(crate) fn bar(share: Option<f64>) -> Cell {
        Cell { value: share, ..Cell::default() }
    }

    /// Whether there is nothing to read.
    pub(crate) fn is_blank(&self) -> bool {
        self.text.is_empty() || self.text == ABSENT
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell { text, ..Cell::default() }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        String::from(text).into()
    }
}

impl From<Option<Cell>> for Cell {
    fn from(cell: Option<Cell>) -> Cell {
        cell.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use measure::Statistics;
    use measure::schema::join::IO_TIME;

    use super::*;

    #[test]
    fn a_count_below_zero_keeps_its_sign_where_it_is_rounded_to_one() {
        assert_eq!([-1.4, -0.6, -0.4, 0.6].map(|value| Cell::count(value).text), ["-1", "-1", "0", "1"]);
    }

    #[test]
    fn the_range_of_a_time_is_in_the_unit_of_its_cell() {
        let metric = IO_TIME.of_statistics("", Statistics { n: 2, min: 1.0, max: 3.0, ..Statistics::single(2.0) });
        assert_eq!(Cell::median(&metric).spread, Some((1.0, 3.0)));
        let nanos = metric.nanos().unwrap();
        assert_eq!(Cell::time(nanos).with_spread(&metric).spread, Some((nanos / 2.0, nanos * 1.5)));
    }

    #[test]
    fn a_range_is_of_several_samples_and_one_value_where_both_ends_read_the_same() {
        let text = |n, min, max| {
            let statistics = Statistics { n, min, max, ..Statistics::single(2.0) };
            Cell::range(&IO_TIME.of_statistics("", statistics)).map(|cell| cell.text)
        };
        assert_eq!(text(3, 1.0, 1234.0).as_deref(), Some("1.00–1\u{202f}234"));
        assert_eq!((text(3, 2.0, 2.001).as_deref(), text(1, 2.0, 2.0)), (Some("2.00"), None));
    }

    #[test]
    fn what_sums_lose_by_rounding_is_no_spread() {
        let shown = |stddev| {
            let statistics = Statistics { stddev: Some(stddev), ..Statistics::single(1700.0) };
            Cell::mean(&IO_TIME.of_statistics("", statistics)).text.replace('\u{202f}', " ")
        };
        assert_eq!(shown(9.33e-13), "1 700 ± 0");
        assert_eq!(shown(0.25), "1 700 ± 0.250");
    }
}
