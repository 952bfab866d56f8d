//! Scales: from values to places in a picture, and the values that stand beside them.

use measure::Unit;

use crate::page::number::{bytes, grouped, unit_for};
use crate::page::{Axis, Scale};

/// Part of a linear axis that stays free above the largest value.
const HEADROOM: f64 = 1.04;

/// Values beyond this, or below one part of it on a logarithmic scale, are damage and stretch no axis.
const LARGEST: f64 = 1e24;

/// Decades of a scale whose parts are marked too.
const DECADES_MARKED_MAX: i32 = 9;

/// Powers that are marked at most: of more, only every second one is, or fewer.
const POWERS_MARKED_MAX: usize = 100;

/// A scale between two places.
#[derive(Clone, Debug)]
pub(super) struct Ruler {
    pub(super) low: f64,
    pub(super) high: f64,
    scale: Scale,
    unit: Unit,
    /// Where the lowest and the highest value stand.
    places: (f64, f64),
}

impl Ruler {
    /// The scale of an axis that holds all of `values`; what it cannot show is not among them.
    pub(super) fn over(axis: &Axis, values: impl Iterator<Item = f64>, places: (f64, f64)) -> Ruler {
        let is_shown = |value: &f64| value.abs() <= LARGEST && (axis.scale == Scale::Linear || *value >= 1.0 / LARGEST);
        let (mut low, mut high) = values
            .filter(is_shown)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            (low, high) = if axis.scale == Scale::Linear { (0.0, 1.0) } else { (1.0, 10.0) };
        }
        let (low, high) = match axis.scale {
            Scale::Linear => (low.min(0.0), if high > 0.0 { high * HEADROOM } else { 0.0 }),
            Scale::Logarithmic => decades(low, high, axis.unit),
        };
        let high = if high > low { high } else { low + 1.0 };
        Ruler { low, high, scale: axis.scale, unit: axis.unit, places }
    }

    /// The same scale between other places.
    pub(super) fn between(&self, places: (f64, f64)) -> Ruler {
        Ruler { places, ..self.clone() }
    }

    /// Where a value stands; outside of the scale, at its end.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln(),
        };
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        self.places.0 + share * (self.places.1 - self.places.0)
    }

    /// Where the scale begins: bars stand there.
    pub(super) fn origin(&self) -> f64 {
        match self.scale {
            Scale::Linear => self.at(0.0),
            Scale::Logarithmic => self.places.0,
        }
    }

    /// At most about `most` values with their words, ascending.
    pub(super) fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        self.values(most).into_iter().map(|value| (value, tick(value, self.unit))).collect()
    }

    /// Values between the ticks of a logarithmic scale, without words: by them one sees that it is one.
    pub(super) fn between_ticks(&self, most: usize) -> Vec<f64> {
        if self.scale == Scale::Linear {
            return Vec::new();
        }
        let (base, steps): (f64, &[f64]) = if self.unit == Unit::Bytes {
            (2.0, &[1.0])
        } else {
            (10.0, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
        };
        let (first, last) = powers(self.low, self.high, base);
        // Of many decades only the decades themselves can be told apart.
        let steps = if last - first > DECADES_MARKED_MAX { &steps[..1] } else { steps };
        let ticks = self.values(most);
        let apart = usize::try_from(last - first + 2).unwrap_or(0).div_ceil(POWERS_MARKED_MAX).max(1);
        let all =
            (first - 1..=last).step_by(apart).flat_map(|power| steps.iter().map(move |step| step * base.powi(power)));
        let is_between = |value: &f64| {
            *value > self.low && *value < self.high && !ticks.iter().any(|tick| (value / tick - 1.0).abs() < 1e-6)
        };
        all.filter(is_between).collect()
    }

    fn values(&self, most: usize) -> Vec<f64> {
        match self.scale {
            Scale::Linear => linear(self.low, self.high, self.unit, most),
            Scale::Logarithmic => logarithmic(self.low, self.high, self.unit, most),
        }
    }
}

/// The ends of a logarithmic scale: whole decades, or halves and fifths of them where that leaves much of it empty.
fn decades(low: f64, high: f64, unit: Unit) -> (f64, f64) {
    if unit == Unit::Bytes {
        return (low.log2().floor().exp2(), high.log2().ceil().exp2());
    }
    let below = |value: f64| {
        let decade = 10_f64.powf(value.log10().floor());
        [5.0, 2.0, 1.0].into_iter().map(|step| step * decade).find(|edge| *edge <= value * 1.000_001).unwrap_or(decade)
    };
    let above = |value: f64| {
        let decade = 10_f64.powf(value.log10().floor());
        [1.0, 2.0, 5.0]
            .into_iter()
            .map(|step| step * decade)
            .find(|edge| *edge >= value * 0.999_999)
            .unwrap_or(decade * 10.0)
    };
    (below(low), above(high))
}

fn linear(low: f64, high: f64, unit: Unit, most: usize) -> Vec<f64> {
    let rough = (high - low) / most.max(1) as f64;
    let step = if unit == Unit::Bytes {
        rough.log2().ceil().exp2()
    } else {
        let decade = 10_f64.powf(rough.log10().floor());
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * decade).find(|step| *step >= rough * 0.999).unwrap_or(rough)
    };
    let first = (low / step).ceil() as i64;
    let last = ((high / step) + 1e-9).floor() as i64;
    (first..=last.min(first.saturating_add(100))).map(|index| index as f64 * step).collect()
}

fn logarithmic(low: f64, high: f64, unit: Unit, most: usize) -> Vec<f64> {
    let base: f64 = if unit == Unit::Bytes { 2.0 } else { 10.0 };
    let (first, last) = powers(low, high, base);
    let count = (last - first + 1).max(0) as usize;
    if unit != Unit::Bytes && (count <= 2 || count * 3 <= most) {
        let all = (first - 1..=last).flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * 10_f64.powi(power)));
        return all.filter(|value| *value >= low * 0.999 && *value <= high * 1.001).collect();
    }
    let step = count.div_ceil(most.max(1)).max(1);
    (first..=last).step_by(step).map(|power| base.powi(power)).collect()
}

/// The first and the last power of `base` on a scale.
fn powers(low: f64, high: f64, base: f64) -> (i32, i32) {
    ((low.log(base) - 1e-9).ceil() as i32, (high.log(base) + 1e-9).floor() as i32)
}

/// A value of an axis, without digits that say nothing.
fn tick(value: f64, unit: Unit) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if unit.nanoseconds().is_some() {
        let (symbol, length) = unit_for(value);
        return format!("{} {symbol}", plain(value / length));
    }
    match unit {
        Unit::Bytes => bytes(value),
        Unit::Percent => format!("{} %", plain(value)),
        Unit::Ratio => format!("{} ×", plain(value)),
        _ => plain(value),
    }
}

/// A number without zeros at its end.
fn plain(value: f64) -> String {
    let magnitude = value.abs();
    if !(1e-4..1e15).contains(&magnitude) {
        return format!("{value:e}");
    }
    if magnitude >= 999.5 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", grouped(magnitude.round() as u64));
    }
    let decimals = (2 - magnitude.log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(axis: &Axis, values: &[f64], most: usize) -> Vec<String> {
        let ruler = Ruler::over(axis, values.iter().copied(), (0.0, 100.0));
        ruler.ticks(most).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn an_axis_has_few_round_values_with_their_unit() {
        let times = Axis::logarithmic("time", Unit::Nanoseconds);
        assert_eq!(words(&times, &[1.13, 79_100.0], 6), ["1 ns", "10 ns", "100 ns", "1 µs", "10 µs", "100 µs"]);
        assert_eq!(words(&times, &[300.0, 900.0], 6), ["200 ns", "500 ns", "1 µs"]);
        assert_eq!(
            words(&Axis::linear("time", Unit::Nanoseconds), &[2_300.0], 5),
            ["0", "500 ns", "1 µs", "1.5 µs", "2 µs"]
        );
        let distance = Axis::logarithmic("distance", Unit::Bytes);
        assert_eq!(
            words(&distance, &[8192.0, 1073741824.0], 6),
            ["8 KiB", "64 KiB", "512 KiB", "4 MiB", "32 MiB", "256 MiB"]
        );
        assert_eq!(words(&Axis::linear("share", Unit::Percent), &[100.0], 4), ["0", "50 %", "100 %"]);
    }

    #[test]
    fn a_logarithmic_axis_shows_by_its_marks_that_it_is_one() {
        let ruler =
            |values: &[f64], unit| Ruler::over(&Axis::logarithmic("", unit), values.iter().copied(), (0.0, 100.0));
        let times = ruler(&[1.0, 1e5], Unit::Nanoseconds);
        assert_eq!(times.ticks(8).len(), 6);
        let marks = times.between_ticks(8);
        assert_eq!((marks.len(), marks[0], marks[8]), (40, 2.0, 20.0), "eight between two ticks");
        let near = ruler(&[100.0, 10_000.0], Unit::Nanoseconds);
        let words: Vec<String> = near.ticks(9).into_iter().map(|(_, text)| text).collect();
        assert_eq!(words, ["100 ns", "200 ns", "500 ns", "1 µs", "2 µs", "5 µs", "10 µs"]);
        assert!(near.between_ticks(9).iter().all(|mark| ![200.0, 500.0, 1000.0].contains(mark)));
        assert_eq!(ruler(&[1.0, 8.0], Unit::Bytes).between_ticks(2), [2.0]);
        assert_eq!(ruler(&[1e-9, 1e9], Unit::PerSecond).between_ticks(4).len(), 14);
        assert!(ruler(&[9.4e-14, 3.6e23], Unit::Bytes).between_ticks(6).len() <= 100, "124 powers of two");
        let linear = Ruler::over(&Axis::linear("", Unit::Count), [1.0, 9.0].into_iter(), (0.0, 100.0));
        assert!(linear.between_ticks(8).is_empty());
    }

    #[test]
    fn bars_end_where_the_scale_does_and_nothing_leaves_the_picture() {
        let ruler = Ruler::over(&Axis::logarithmic("", Unit::Nanoseconds), [1.0, 100.0].into_iter(), (0.0, 100.0));
        assert_eq!([1.0, 10.0, 100.0, 1e9, 0.0].map(|value| ruler.at(value).round()), [0.0, 50.0, 100.0, 100.0, 0.0]);
    }

    proptest! {
        #[test]
        fn no_values_are_too_strange_for_an_axis(values in proptest::collection::vec(any::<f64>(), 0..5)) {
            for unit in [Unit::Nanoseconds, Unit::Bytes, Unit::Percent] {
                for axis in [Axis::linear("", unit), Axis::logarithmic("", unit)] {
                    let ruler = Ruler::over(&axis, values.iter().copied(), (10.0, 90.0));
                    prop_assert!(ruler.ticks(6).len() <= 110);
                    prop_assert!(ruler.between_ticks(6).len() <= 110);
                    let is_inside = |value: &f64| (10.0..=90.0).contains(&ruler.at(*value));
                    prop_assert!(values.iter().all(is_inside));
                }
            }
        }
    }
}
