//! The bootstrap: how far a value, or a ratio of two, moves when its samples are drawn again from what was seen.

use crate::case::Case;
use crate::metric::Metric;
use crate::random::SplitMix64;
use crate::schema::reads;
use crate::unit::Unit;

/// Draws of the bootstrap; the 2.5th percentile is then the 50th smallest, steady to about half a percentile.
const RESAMPLES: usize = 2000;

/// Fewest samples a side. The widest interval that n samples allow, from the smallest to the largest, covers the median
/// with probability 1 - 2 / 2^n: 94 % for 5, 88 % for 4, which is no longer an interval of 95 %.
pub(super) const SAMPLES_MIN: usize = 5;

/// Fewest windows of a timeline that stand for the run as independent pieces.
pub(super) const WINDOWS_MIN: usize = 8;

/// The 97.5th percentile of the standard normal distribution.
const NORMAL: f64 = 1.959_964;

/// What a run's page shows of a metric: the median; of a rate the mean, which is the count over the time.
pub(super) fn value(metric: &Metric) -> f64 {
    if is_rate(metric) { metric.statistics.mean } else { metric.median() }
}

fn is_rate(metric: &Metric) -> bool {
    matches!(metric.unit, Unit::PerSecond | Unit::MebibytesPerSecond)
}

/// What a value may be drawn from again.
pub(super) enum Evidence {
    /// (median, reads) of the windows of a timeline, ascending by median. Latencies of neighbouring reads go together,
    /// so single reads drawn again would give an interval far too narrow; windows keep neighbours together.
    Windows(Vec<(f64, u64)>),
    /// Samples or a histogram, taken as independent.
    Spread(Distribution),
    /// Rates of windows, whose mean is the rate of the whole.
    Rates(Rates),
    /// The mean of more rates than a document carries, and its standard error: such means are normally distributed.
    Mean { mean: f64, error: f64 },
}

/// Rates of windows with their mean, and how much further from it than the means of draws a new mean may lie.
pub(super) struct Rates {
    windows: Vec<f64>,
    mean: f64,
    wider: f64,
}

/// Counts of a distribution, each spread evenly over its bucket. Clocks and histograms give steps: without the spread,
/// two equal distributions whose medians stand at either side of a step would differ beyond doubt.
pub(super) struct Distribution {
    lowest: f64,
    /// Ascending (upper edge, count to here).
    buckets: Vec<(f64, u64)>,
}

impl Evidence {
    /// The best evidence that the metric carries; `None` where it carries too little or something not finite.
    pub(super) fn of(case: &Case, metric: &Metric) -> Option<Evidence> {
        if is_rate(metric) {
            let windows = sound(metric.samples.clone()).map(|windows| Evidence::Rates(Rates::of(windows)));
            return windows.or_else(|| mean_of_many(metric));
        }
        windows(case, metric).or_else(|| samples(metric)).or_else(|| histogram(metric))
    }

    /// The median, of rates the mean, of as many draws with replacement as there is evidence.
    fn draw(&self, random: &mut SplitMix64) -> f64 {
        match self {
            Evidence::Windows(windows) => draw_of_windows(windows, random),
            Evidence::Spread(distribution) => distribution.draw(random),
            Evidence::Rates(rates) => rates.draw(random),
            Evidence::Mean { mean, error } => mean + error * normal(random),
        }
    }
}

impl Rates {
    fn of(windows: Vec<f64>) -> Rates {
        let (mean, wider) = (mean(windows.iter().copied(), windows.len()), wider(windows.len()));
        Rates { windows, mean, wider }
    }

    fn draw(&self, random: &mut SplitMix64) -> f64 {
        let count = self.windows.len();
        let drawn = mean((0..count).map(|_| self.windows[random.below(count as u64) as usize]), count);
        // As a power of their ratio, so that no rate is below zero.
        if self.mean > 0.0 { self.mean * (drawn / self.mean).powf(self.wider) } else { drawn }
    }
}

fn mean(values: impl Iterator<Item = f64>, count: usize) -> f64 {
    values.sum::<f64>() / count as f64
}

/// How much wider than where 95 % of the means of draws lie the interval of a mean of so few values is: their own mean
/// takes a part of their spread away, and of a spread that few values tell more has to be allowed for.
///
/// Source: Hesterberg, "What teachers should know about the bootstrap", The American Statistician 69 (2015), on
/// expanded percentile intervals. The quantile of Student's t is the expansion 26.7.5 of Abramowitz and Stegun,
/// "Handbook of mathematical functions" (1964), which is 0.3 % off at 5 values and less at more.
fn wider(count: usize) -> f64 {
    let (z, freedom) = (NORMAL, count as f64 - 1.0);
    let [z3, z5, z7] = [3, 5, 7].map(|power| z.powi(power));
    let first = (z3 + z) / 4.0;
    let second = (5.0 * z5 + 16.0 * z3 + 3.0 * z) / 96.0;
    let third = (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / 384.0;
    let t = z + first / freedom + second / freedom.powi(2) + third / freedom.powi(3);
    t / z * (count as f64 / freedom).sqrt()
}

/// The bootstrap interval (95 %) of the ratio, stretched where it must be to hold `ratio` itself: the median
/// of windows is not exactly that of the reads, nor that of a spread distribution that of its steps.
///
/// `None` when the evidence gives no positive, finite ratio.
pub(super) fn ratio_interval(before: &Evidence, after: &Evidence, ratio: f64, seed: u64) -> Option<(f64, f64)> {
    let interval = interval(ratio, seed, |random| after.draw(random) / before.draw(random))?;
    (interval.0 > 0.0).then_some(interval)
}

/// The same interval of one value.
pub(super) fn value_interval(evidence: &Evidence, value: f64, seed: u64) -> Option<(f64, f64)> {
    interval(value, seed, |random| evidence.draw(random))
}

/// Where 95 % of the draws lie, with `value`; `None` where one of them is not finite.
fn interval(value: f64, seed: u64, draw: impl Fn(&mut SplitMix64) -> f64) -> Option<(f64, f64)> {
    let mut random = SplitMix64::new(seed);
    let mut draws: Vec<f64> = (0..RESAMPLES).map(|_| draw(&mut random)).collect();
    draws.sort_by(f64::total_cmp);
    let beyond = RESAMPLES / 40;
    let interval = (draws[beyond - 1].min(value), draws[RESAMPLES - beyond].max(value));
    (value.is_finite() && draws.iter().all(|draw| draw.is_finite())).then_some(interval)
}

fn windows(case: &Case, metric: &Metric) -> Option<Evidence> {
    let timeline = case.timeline.as_ref().filter(|_| metric.name == "read_latency")?;
    let scale = match metric.unit {
        Unit::Nanoseconds => 1e3,
        Unit::Microseconds => 1.0,
        Unit::Milliseconds => 1e-3,
        _ => return None,
    };
    let pairs = timeline.median_us.iter().zip(&timeline.reads).filter(|(_, reads)| **reads > 0);
    let mut windows: Vec<(f64, u64)> = pairs.map(|(median, reads)| (median * scale, *reads)).collect();
    windows.sort_by(|left, right| left.0.total_cmp(&right.0));
    let sound = windows.len() >= WINDOWS_MIN && windows.iter().all(|(median, _)| median.is_finite());
    sound.then_some(Evidence::Windows(windows))
}

fn samples(metric: &Metric) -> Option<Evidence> {
    let mut samples = sound(metric.samples.clone())?;
    samples.sort_by(f64::total_cmp);
    Some(Evidence::Spread(Distribution::of_sorted(&samples)))
}

/// The samples, if they are finite and not too few.
fn sound(samples: Vec<f64>) -> Option<Vec<f64>> {
    (samples.len() >= SAMPLES_MIN && samples.iter().all(|sample| sample.is_finite())).then_some(samples)
}

/// The mean of rates that were too many to be carried one by one.
fn mean_of_many(metric: &Metric) -> Option<Evidence> {
    let statistics = metric.statistics;
    let error = statistics.stddev.filter(|_| !metric.histogram.is_empty())? / (statistics.n as f64).sqrt();
    (statistics.mean.is_finite() && error.is_finite()).then_some(Evidence::Mean { mean: statistics.mean, error })
}

/// Whether a metric is of single reads whose windows no timeline has: what they would give as independent reads is an
/// interval far too narrow.
fn lacks_windows(metric: &Metric) -> bool {
    [reads::SERVICE_TIME, reads::SUBMISSION_LATENESS].iter().any(|spec| metric.name == spec.name)
}

fn histogram(metric: &Metric) -> Option<Evidence> {
    if lacks_windows(metric) {
        return None;
    }
    let mut total = 0_u64;
    let mut cumulative = |count: u64| {
        total = total.saturating_add(count);
        total
    };
    let buckets: Vec<(f64, u64)> = metric.histogram.iter().map(|(edge, count)| (*edge, cumulative(*count))).collect();
    let ascending = buckets.is_sorted_by(|left, right| left.0 < right.0);
    let sound = ascending && buckets.iter().all(|(edge, _)| edge.is_finite()) && total >= SAMPLES_MIN as u64;
    let lowest = buckets.first().map(|(edge, _)| metric.statistics.min.min(*edge)).filter(|edge| edge.is_finite())?;
    sound.then_some(Evidence::Spread(Distribution { lowest, buckets }))
}

impl Distribution {
    /// The distribution of ascending samples: equal ones share a bucket, which reaches half-way to its neighbours.
    fn of_sorted(samples: &[f64]) -> Distribution {
        let steps: Vec<&[f64]> = samples.chunk_by(|left, right| left == right).collect();
        let half_gap = |index: usize| Some((steps.get(index + 1)?[0] - steps[index][0]) / 2.0);
        let mut buckets = Vec::with_capacity(steps.len());
        let mut cumulative = 0;
        for (index, step) in steps.iter().enumerate() {
            cumulative += step.len() as u64;
            let reach = half_gap(index).or_else(|| half_gap(index.checked_sub(1)?)).unwrap_or(0.0);
            buckets.push((step[0] + reach, cumulative));
        }
        let (first, reach) = (steps[0][0], half_gap(0).unwrap_or(0.0));
        // No tick of a clock is longer than its first value. The mirror of a far neighbour would go below zero.
        let reach = if first < 0.0 { reach } else { reach.min(first / 2.0) };
        Distribution { lowest: first - reach, buckets }
    }

    /// The median of as many draws with replacement as there are counts, without drawing them: the middle one of n
    /// uniform numbers is distributed as Beta((n + 1) / 2, (n + 1) / 2), and it stands at that fraction of the values.
    fn draw(&self, random: &mut SplitMix64) -> f64 {
        let shape = (self.total() + 1.0) / 2.0;
        self.value_at(beta(shape, shape, random))
    }

    /// The value that `fraction` of the distribution does not exceed.
    fn value_at(&self, fraction: f64) -> f64 {
        let target = fraction * self.total();
        let reached = self.buckets.partition_point(|(_, cumulative)| (*cumulative as f64) < target);
        let index = reached.min(self.buckets.len() - 1);
        let (upper, through) = self.buckets[index];
        let (lower, before) = index.checked_sub(1).map_or((self.lowest, 0), |previous| self.buckets[previous]);
        let share = (target - before as f64) / (through - before).max(1) as f64;
        lower + (upper - lower) * share.clamp(0.0, 1.0)
    }

    fn total(&self) -> f64 {
        self.buckets.last().map_or(0.0, |(_, cumulative)| *cumulative as f64)
    }
}

fn draw_of_windows(windows: &[(f64, u64)], random: &mut SplitMix64) -> f64 {
    let mut times = vec![0_u64; windows.len()];
    for _ in windows {
        times[random.below(windows.len() as u64) as usize] += 1;
    }
    let drawn = windows.iter().zip(times).map(|((median, reads), times)| (*median, reads.saturating_mul(times)));
    weighted_median(drawn).unwrap_or(f64::NAN)
}

/// The value of ascending (value, weight) pairs at which half of the weight is reached; `None` without weight.
fn weighted_median(pairs: impl Iterator<Item = (f64, u64)> + Clone) -> Option<f64> {
    let total: f64 = pairs.clone().map(|(_, weight)| weight as f64).sum();
    let mut reached = 0.0;
    let mut found = pairs.filter(|(_, weight)| *weight > 0).skip_while(|(_, weight)| {
        reached += *weight as f64;
        reached < total / 2.0
    });
    found.next().map(|(value, _)| value)
}

/// A draw from Beta(`first`, `second`) as a share of two gamma draws; both parameters at least 1.
fn beta(first: f64, second: f64, random: &mut SplitMix64) -> f64 {
    let (left, right) = (gamma(first, random), gamma(second, random));
    left / (left + right)
}

/// A draw from the gamma distribution of `shape` >= 1 and scale 1.
///
/// Source: Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000).
fn gamma(shape: f64, random: &mut SplitMix64) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(random);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && unit_interval(random).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

/// A draw from the standard normal distribution, after Box and Muller.
fn normal(random: &mut SplitMix64) -> f64 {
    let radius = (-2.0 * unit_interval(random).ln()).sqrt();
    radius * (std::f64::consts::TAU * unit_interval(random)).cos()
}

/// A number above 0 and at most 1, with the 53 bits that a float carries.
fn unit_interval(random: &mut SplitMix64) -> f64 {
    ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}
