//! The distribution of a latency: buckets of known width with exact sums in each.
//!
//! A bucket keeps the sum of its values and their count, so that parts of the distribution add up to the whole to
//! the last tick, and a quantile is the mean of a bucket: exact below 256 µs for whole microseconds, where each has a
//! bucket of its own, and within 0.4 % above.

use measure::Statistics;

use crate::event::Ticks;
use crate::tables::growing::entry;

/// Buckets in each power of two, as a power of two.
const BITS_PER_OCTAVE: u32 = 8;
const PER_OCTAVE: u64 = 1 << BITS_PER_OCTAVE;

/// One bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub time: Ticks,
}

/// Latencies, none below zero.
#[derive(Clone, Debug, Default)]
pub struct LatencyDistribution {
    buckets: Vec<Bucket>,
    count: u64,
    time: Ticks,
    min: Option<Ticks>,
    max: Ticks,
    /// Sum of the squares in µs².
    squares: f64,
    /// Greatest common divisor of all values in ticks: the step of the clock, or a multiple of it.
    step: u64,
    below_zero: u64,
}

impl LatencyDistribution {
    /// Adds one. A latency below zero (a clock that was set back) is counted apart.
    pub fn record(&mut self, latency: Ticks) {
        let Ok(ticks) = u64::try_from(latency.0) else {
            self.below_zero += 1;
            return;
        };
        self.add(1, latency, latency);
        if self.step == 0 || !ticks.is_multiple_of(self.step) {
            self.step = greatest_common_divisor(ticks, self.step);
        }
    }

    /// Adds this number of latencies that are alike, by their sum: each is taken for their mean.
    pub fn record_alike(&mut self, count: u64, total: Ticks) {
        match count {
            0 => {}
            1 => self.record(total),
            _ => {
                let total = total.max(Ticks::ZERO);
                self.add(count, total, Ticks(total.0 / count.cast_signed()));
            }
        }
    }

    fn add(&mut self, count: u64, total: Ticks, mean: Ticks) {
        let bucket = entry(&mut self.buckets, bucket_index(mean.0.cast_unsigned()));
        bucket.count += count;
        bucket.time = Ticks(bucket.time.0.saturating_add(total.0));
        self.count += count;
        self.time = Ticks(self.time.0.saturating_add(total.0));
        self.min = Some(self.min.map_or(mean, |min| min.min(mean)));
        self.max = self.max.max(mean);
        self.squares += count as f64 * mean.micros() * mean.micros();
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    pub fn time(&self) -> Ticks {
        self.time
    }

    /// How many were below zero, and are in no bucket.
    pub fn below_zero(&self) -> u64 {
        self.below_zero
    }

    /// The step of the clock in µs, as far as the values show it; 1 µs where they show none.
    pub fn step_micros(&self) -> f64 {
        if self.step == 0 { 1.0 } else { Ticks(self.step as i64).micros() }
    }

    /// The buckets with something in them, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.buckets.iter().copied().filter(|bucket| bucket.count > 0)
    }

    /// Statistics in µs; `None` when there is no latency.
    pub fn statistics(&self) -> Option<Statistics> {
        let min = self.min?.micros();
        let max = self.max.micros();
        let mean = self.time.micros() / self.count as f64;
        let variance = (self.squares - self.time.micros() * mean) / (self.count.max(2) - 1) as f64;
        let values = || self.buckets().map(|bucket| (bucket.time.micros() / bucket.count as f64, bucket.count));
        let at = |fraction| quantile(values(), self.count, fraction).map_or(max, |value| value.clamp(min, max));
        Some(statistics(self.count, (min, max), mean, variance.max(0.0), at))
    }
}

/// The first of ascending values, each with how often it came, that at least `fraction` of all `count` do not exceed.
pub(super) fn quantile(mut values: impl Iterator<Item = (f64, u64)>, count: u64, fraction: f64) -> Option<f64> {
    let rank = (fraction * count as f64).ceil() as u64;
    let mut seen = 0;
    let reached = values.find(|(_, count)| {
        seen += count;
        seen >= rank
    });
    reached.map(|(value, _)| value)
}

/// Statistics whose parts are known; quantiles as far as there are enough values for them.
pub(super) fn statistics(
    n: u64,
    (min, max): (f64, f64),
    mean: f64,
    variance: f64,
    quantile: impl Fn(f64) -> f64,
) -> Statistics {
    Statistics {
        n,
        min,
        median: quantile(0.5),
        mean,
        stddev: (n > 1).then(|| variance.sqrt()),
        p90: (n >= 10).then(|| quantile(0.90)),
        p99: (n >= 100).then(|| quantile(0.99)),
        p999: (n >= 1000).then(|| quantile(0.999)),
        max,
    }
}

/// Buckets are one tick wide up to [`PER_OCTAVE`], then each power of two has [`PER_OCTAVE`] of equal width.
fn bucket_index(ticks: u64) -> usize {
    if ticks < PER_OCTAVE {
        return ticks as usize;
    }
    let shift = ticks.ilog2() - BITS_PER_OCTAVE;
    ((u64::from(shift) << BITS_PER_OCTAVE) + (ticks >> shift)) as usize
}

fn greatest_common_divisor(mut left: u64, mut right: u64) -> u64 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn distribution(micros: &[i64]) -> LatencyDistribution {
        let mut distribution = LatencyDistribution::default();
        micros.iter().for_each(|micros| distribution.record(Ticks::from_micros(*micros)));
        distribution
    }

    proptest! {
        #[test]
        fn statistics_agree_with_those_of_the_samples(micros in prop::collection::vec(0i64..10_000_000, 1..400)) {
            let ours = distribution(&micros).statistics().unwrap();
            let samples: Vec<f64> = micros.iter().map(|micros| *micros as f64).collect();
            let mut sorted = samples.clone();
            sorted.sort_by(f64::total_cmp);
            let rank = |fraction: f64| sorted[((fraction * sorted.len() as f64).ceil() as usize).max(1) - 1];
            let theirs = Statistics::of_samples(&samples).unwrap();
            prop_assert_eq!((ours.n, ours.min, ours.max), (theirs.n, theirs.min, theirs.max));
            prop_assert!((ours.mean - theirs.mean).abs() <= 1e-9 * theirs.mean);
            prop_assert!((ours.median - rank(0.5)).abs() <= 0.004 * rank(0.5));
            if let Some(p90) = ours.p90 {
                prop_assert!((p90 - rank(0.9)).abs() <= 0.004 * rank(0.9));
            }
        }

        #[test]
        fn parts_add_up_to_the_whole_and_no_value_panics(ticks in prop::collection::vec(any::<i64>(), 0..40)) {
            let mut distribution = LatencyDistribution::default();
            ticks.iter().for_each(|ticks| distribution.record(Ticks(*ticks)));
            let count: u64 = distribution.buckets().map(|bucket| bucket.count).sum();
            prop_assert_eq!(count + distribution.below_zero(), ticks.len() as u64);
            distribution.statistics();
        }
    }

    #[test]
    fn whole_microseconds_are_exact_where_each_has_a_bucket() {
        let distribution = distribution(&[40, 41, 43, 44, 250]);
        assert_eq!(distribution.statistics().unwrap().median, 43.0);
        assert_eq!(distribution.buckets().count(), 5);
    }

    #[test]
    fn the_step_of_a_coarse_clock_is_seen() {
        assert_eq!(distribution(&[10_000, 30_000, 50_000]).step_micros(), 10_000.0);
        assert_eq!(distribution(&[10_000, 30_001]).step_micros(), 1.0);
        assert_eq!(distribution(&[]).step_micros(), 1.0);
    }
}
