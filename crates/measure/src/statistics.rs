//! Statistics of samples: count, minimum, median, mean, standard deviation, high percentiles, maximum.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Fewest samples for which a percentile is given: ten beyond it would be ideal, one is the least that means anything.
const SAMPLES_FOR_P90: u64 = 10;
const SAMPLES_FOR_P99: u64 = 100;
const SAMPLES_FOR_P999: u64 = 1000;

/// What is known about a set of samples, all in the metric's unit.
///
/// A value that the number of samples cannot support is absent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// Number of samples.
    pub n: u64,
    /// Smallest sample.
    pub min: f64,
    /// Half the samples are at most this.
    pub median: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation of the sample (divisor n - 1); absent for one sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stddev: Option<f64>,
    /// 90th percentile; absent under 10 samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90: Option<f64>,
    /// 99th percentile; absent under 100 samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
    /// 99.9th percentile; absent under 1000 samples.
    #[serde(default, rename = "p99.9", skip_serializing_if = "Option::is_none")]
    pub p999: Option<f64>,
    /// Largest sample.
    pub max: f64,
}

impl Statistics {
    /// Statistics of one value.
    pub fn single(value: f64) -> Statistics {
        Statistics::supported(1, [value; 4], f64::NAN, |_| value)
    }

    /// Statistics of `samples`; `None` when there is none or one of them is not a number.
    pub fn of_samples(samples: &[f64]) -> Option<Statistics> {
        if samples.is_empty() || samples.iter().any(|sample| !sample.is_finite()) {
            return None;
        }
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len() as u64;
        let mean = sorted.iter().sum::<f64>() / n as f64;
        let squares: f64 = sorted.iter().map(|sample| (sample - mean).powi(2)).sum();
        let stddev = (squares / (n - 1) as f64).sqrt();
        let values = [sorted[0], median_of_sorted(&sorted), mean, sorted[sorted.len() - 1]];
        Some(Statistics::supported(n, values, stddev, |fraction| nearest_rank(&sorted, fraction)))
    }

    /// Statistics of a histogram whose values are in a unit `scale` times smaller than the metric's
    /// (nanoseconds shown as microseconds: 1000). `exact` holds what the histogram's buckets would blur.
    ///
    /// `None` when the histogram is empty.
    pub fn of_histogram(histogram: &Histogram<u64>, exact: ExactSums, scale: f64) -> Option<Statistics> {
        let n = histogram.len();
        if n == 0 {
            return None;
        }
        let (min, max) = (exact.min as f64, exact.max as f64);
        // The middle of a bucket may lie outside the true range when the range is one bucket wide.
        let quantile = |fraction: f64| (histogram.value_at_quantile(fraction) as f64).clamp(min, max) / scale;
        let mean = exact.sum / n as f64;
        let variance = (exact.squares - exact.sum * mean) / (n.max(2) - 1) as f64;
        let values = [min / scale, quantile(0.5), mean / scale, max / scale];
        Some(Statistics::supported(n, values, variance.max(0.0).sqrt() / scale, quantile))
    }

    /// The statistics of `n` samples that this number supports; a single sample has no standard deviation.
    fn supported(n: u64, [min, median, mean, max]: [f64; 4], stddev: f64, quantile: impl Fn(f64) -> f64) -> Statistics {
        let from = |fewest: u64, fraction: f64| (n >= fewest).then(|| quantile(fraction));
        Statistics {
            n,
            min,
            median,
            mean,
            stddev: (n > 1).then_some(stddev),
            p90: from(SAMPLES_FOR_P90, 0.90),
            p99: from(SAMPLES_FOR_P99, 0.99),
            p999: from(SAMPLES_FOR_P999, 0.999),
            max,
        }
    }

    /// Spread of the middle of the samples relative to the median: (p90 - min) / median, or (max - min) / median
    /// where there are too few for a 90th percentile. 0.2 and more is worth a word in a table.
    pub fn relative_spread(&self) -> Option<f64> {
        (self.n > 1 && self.median > 0.0).then(|| (self.p90.unwrap_or(self.max) - self.min) / self.median)
    }
}

/// Sums kept exactly beside a histogram, in the histogram's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExactSums {
    /// Smallest value recorded.
    pub min: u64,
    /// Largest value recorded.
    pub max: u64,
    /// Sum of the values.
    pub sum: f64,
    /// Sum of the squared values.
    pub squares: f64,
}

impl Default for ExactSums {
    fn default() -> Self {
        ExactSums { min: u64::MAX, max: 0, sum: 0.0, squares: 0.0 }
    }
}

impl ExactSums {
    /// Adds one value.
    pub fn record(&mut self, value: u64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        let value = value as f64;
        self.sum += value;
        self.squares += value * value;
    }

    /// Adds what `other` has seen.
    pub fn add(&mut self, other: &ExactSums) {
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.squares += other.squares;
    }
}

/// Median of `samples`, the mean of the two middle ones for an even count; `None` when empty.
pub fn median(samples: &[f64]) -> Option<f64> {
    median_in_place(&mut samples.to_vec())
}

/// The same, sorting `samples` in place: for callers that take medians by the thousand.
pub fn median_in_place(samples: &mut [f64]) -> Option<f64> {
    samples.sort_unstable_by(f64::total_cmp);
    (!samples.is_empty()).then(|| median_of_sorted(samples))
}

fn median_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

/// The smallest sample that at least `fraction` of the samples do not exceed.
fn nearest_rank(sorted: &[f64], fraction: f64) -> f64 {
    let rank = (fraction * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_that_the_count_cannot_support_are_absent() {
        let statistics = Statistics::of_samples(&[3.0, 1.0, 2.0]).unwrap();
        assert_eq!((statistics.n, statistics.min, statistics.median, statistics.max), (3, 1.0, 2.0, 3.0));
        assert_eq!((statistics.p90, statistics.p99, statistics.p999), (None, None, None));
        assert_eq!(statistics.stddev, Some(1.0));
    }

    #[test]
    fn no_samples_give_no_statistics_rather_than_zeros() {
        assert_eq!(Statistics::of_samples(&[]), None);
        assert_eq!(Statistics::of_samples(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn a_histogram_and_its_samples_agree() {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        let mut exact = ExactSums::default();
        let samples: Vec<f64> = (1..=2000).map(|value| f64::from(value) * 1000.0).collect();
        for sample in &samples {
            histogram.record(*sample as u64).unwrap();
            exact.record(*sample as u64);
        }
        let from_histogram = Statistics::of_histogram(&histogram, exact, 1000.0).unwrap();
        let from_samples = Statistics::of_samples(&samples).unwrap();
        assert_eq!(from_histogram.n, from_samples.n);
        assert!((from_histogram.mean * 1000.0 - from_samples.mean).abs() < 1e-6);
        assert!((from_histogram.stddev.unwrap() * 1000.0 / from_samples.stddev.unwrap() - 1.0).abs() < 1e-6);
        assert!((from_histogram.p999.unwrap() * 1000.0 / from_samples.p999.unwrap() - 1.0).abs() < 2e-3);
        assert_eq!(from_histogram.max * 1000.0, from_samples.max);
    }
}
