//! The gate where a loop's reads are counted: latencies in a histogram of fixed size, and over time.

use hdrhistogram::Histogram;
use measure::schema::Spec;
use measure::statistics::ExactSums;
use measure::{Metric, Nanos, Statistics};

use crate::windows::{CpuClock, LATENCY_MAX, Window, Windows};

/// Latencies of the reads that ended, in flat memory whatever their count.
#[derive(Clone, Debug)]
pub struct Meter {
    histogram: Histogram<u64>,
    exact: ExactSums,
    windows: Windows,
}

impl Meter {
    /// An empty meter that has yet to [`begin`](Meter::begin), and takes the CPU time by `cpu`. It takes some 0.1 ms to
    /// make.
    pub fn new(cpu: CpuClock) -> Meter {
        Meter { histogram: histogram(), exact: ExactSums::default(), windows: Windows::new(cpu) }
    }

    /// Lets the windows begin at `start`.
    pub fn begin(&mut self, start: Nanos) {
        self.windows.begin(start);
    }

    /// Counts one read that ended at `now`.
    #[inline]
    pub fn record(&mut self, now: Nanos, latency: Nanos) {
        self.histogram.saturating_record(latency.0.max(1));
        self.exact.record(latency.0);
        self.windows.record(now, latency);
    }

    /// Closes the windows.
    pub fn finish(&mut self, end: Nanos) {
        self.windows.finish(end);
    }

    /// Reads counted.
    pub fn reads(&self) -> u64 {
        self.histogram.len()
    }

    /// The longest latency; zero before the first read.
    pub fn longest(&self) -> Nanos {
        Nanos(self.exact.max)
    }

    /// The windows.
    pub fn windows(&self) -> &Windows {
        &self.windows
    }

    /// Adds the reads of another worker, which started at the same moment, or of a later turn, by what `windows` says.
    pub fn add(&mut self, other: Meter, windows: fn(&mut Windows, Windows)) {
        self.histogram.add(&other.histogram).expect("both histograms have the same constant bounds");
        self.exact.add(&other.exact);
        windows(&mut self.windows, other.windows);
    }

    /// All latencies as a metric, whose unit is microseconds; `None` when no read was counted.
    pub fn metric(&self, spec: &Spec, source: &str) -> Option<Metric> {
        metric_of(&self.histogram, self.exact, spec, source)
    }

    /// The latencies of some windows alone (two significant digits); `None` when they are empty.
    pub fn metric_of_windows(windows: &[Window], spec: &Spec, source: &str) -> Option<Metric> {
        let mut histogram = histogram();
        let mut exact = ExactSums::default();
        for window in windows {
            exact.add(&window.exact);
            for (value, count) in &window.distribution {
                histogram.saturating_record_n(*value as u64, u64::from(*count));
            }
        }
        metric_of(&histogram, exact, spec, source)
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_MAX, 3).expect("constant bounds are valid")
}

fn metric_of(histogram: &Histogram<u64>, exact: ExactSums, spec: &Spec, source: &str) -> Option<Metric> {
    let statistics = Statistics::of_histogram(histogram, exact, 1e3)?;
    let mut metric = spec.of_statistics(source, statistics);
    metric.histogram = distribution(histogram);
    Some(metric)
}

/// The distribution at two significant digits in microseconds: the metric's own percentiles are finer, and a
/// document should not carry tens of thousands of buckets.
fn distribution(fine: &Histogram<u64>) -> Vec<(f64, u64)> {
    let mut coarse = Histogram::<u64>::new_with_bounds(1, LATENCY_MAX, 2).expect("constant bounds are valid");
    for step in fine.iter_recorded() {
        coarse.saturating_record_n(step.value_iterated_to(), step.count_at_value());
    }
    coarse.iter_recorded().map(|step| (Nanos(step.value_iterated_to()).as_micros(), step.count_at_value())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::schema::reads::READ_LATENCY;

    #[test]
    fn windows_hold_the_same_distribution_as_the_whole() {
        let mut meter = Meter::new(None);
        for read in 1..=10_000u64 {
            meter.record(Nanos(read * 100_000), Nanos(read * 100));
        }
        meter.finish(Nanos::from_millis(1100));
        let whole = meter.metric(&READ_LATENCY, "test").unwrap();
        let parts = Meter::metric_of_windows(meter.windows().closed(), &READ_LATENCY, "test").unwrap();
        assert_eq!(whole.statistics.n, parts.statistics.n);
        assert!((whole.median() / parts.median() - 1.0).abs() < 0.01);
        assert_eq!(whole.statistics.max, parts.statistics.max);
        assert!(whole.histogram.len() < 1000);
    }
}
