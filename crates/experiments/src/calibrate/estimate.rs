//! What samples support: a straight line through them, and a ratio with its interval.

use measure::random::SplitMix64;
use measure::sorting;
use measure::statistics::median;

/// Resamples of a bootstrap: the ends of a 95 % interval are then the 25th from either side.
pub(super) const RESAMPLES: usize = 1000;
pub(super) const TAIL: usize = RESAMPLES / 40;

/// Seed of the resampling: the same samples give the same interval.
pub(super) const SEED: u64 = 1;

/// A value with the interval that its samples leave open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Ends of the interval of 95 %.
    pub low: f64,
    /// The same.
    pub high: f64,
}

/// A straight line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// What one more of `x` adds.
    pub slope: f64,
    /// The value where `x` is 0.
    pub intercept: f64,
}

/// The line of least squares; `None` where all points have the same `x`.
pub fn line(points: &[(f64, f64)]) -> Option<Line> {
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let products: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let squares: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let slope = products / squares;
    (squares > 0.0).then_some(Line { slope, intercept: y - slope * x })
}

/// The median of some samples over the median of others, with the interval of a bootstrap that resamples both.
///
/// Source: Efron, Tibshirani, "An Introduction to the Bootstrap", 1993, the percentile interval. `None` where there is
/// no sample, or where the median of `under` is not above 0.
pub fn ratio(over: &[f64], under: &[f64]) -> Option<Estimate> {
    let (value, unit) = (median(over)?, median(under)?);
    if unit <= 0.0 {
        return None;
    }
    let mut random = SplitMix64::new(SEED);
    let mut resampled = |samples: &[f64]| {
        let drawn: Vec<f64> = samples.iter().map(|_| samples[random.below(samples.len() as u64) as usize]).collect();
        median(&drawn).unwrap_or(f64::NAN)
    };
    let mut ratios: Vec<f64> = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let (over, under) = (resampled(over), resampled(under));
        // A resample without a unit says nothing about the ratio.
        ratios.extend((under > 0.0).then_some(over / under));
    }
    sorting::by(&mut ratios, f64::total_cmp);
    let low = *ratios.get(TAIL.min(ratios.len() / 2))?;
    let high = *ratios.get(ratios.len().saturating_sub(TAIL + 1).max(ratios.len() / 2))?;
    Some(Estimate { value: value / unit, low, high })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_points_of_a_line_is_that_line() {
        let found = line(&[(1.0, 5.0), (2.0, 7.0), (4.0, 11.0)]).unwrap();
        assert!((found.slope - 2.0).abs() < 1e-12 && (found.intercept - 3.0).abs() < 1e-12, "{found:?}");
        assert_eq!(line(&[(1.0, 5.0), (1.0, 7.0)]), None);
    }

    #[test]
    fn an_interval_holds_its_value_and_is_the_same_each_time() {
        let over = [40.0, 42.0, 38.0, 41.0, 60.0];
        let under = [10.0, 9.0, 11.0];
        let found = ratio(&over, &under).unwrap();
        assert_eq!(Some(found), ratio(&over, &under));
        assert!((found.value - 4.1).abs() < 1e-12, "{found:?}");
        assert!(found.low < found.value && found.value < found.high && found.high < 7.0, "{found:?}");
    }

    #[test]
    fn one_sample_has_no_width_and_no_unit_has_no_ratio() {
        let found = ratio(&[3.0], &[1.5]).unwrap();
        assert_eq!((found.low, found.value, found.high), (2.0, 2.0, 2.0));
        assert_eq!(ratio(&[3.0], &[0.0]), None);
        assert_eq!(ratio(&[], &[1.0]), None);
    }
}
