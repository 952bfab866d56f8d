//! The samples of a case: how many laps each has, how many there are, and what is measured beside them.

use std::time::{Duration, Instant};

use measure::schema::Spec;
use measure::{Metric, Nanos};
use subjects::access_paths::{PathFacts, ScanCost, ScanPass};

use super::bench::Bench;
use crate::error::ExperimentError;
use crate::sampling::{SampleCount, SampleLength};

/// A first pass of this length predicts the next ones: no cache holds what it went through.
const LONG_PASS: Nanos = Nanos::from_millis(500);

/// After this long a case takes no further sample, if it has [`SAMPLES_MIN`]: seven passes by an index with bad
/// clustering would take minutes where the table is large, and three say as much.
const CASE_TIME_MAX: Duration = Duration::from_secs(20);

/// Fewest samples of a case, unless fewer are asked for.
const SAMPLES_MIN: usize = 3;

/// What one case came to.
pub(super) struct Samples {
    pub(super) costs: Vec<ScanCost>,
    /// Passes of a sample.
    pub(super) laps: f64,
    /// Bytes a second of memory that is read in sequence by as many threads, just before.
    pub(super) ceiling: Vec<f64>,
    /// The same passes by the kernel that valgrind counted, where that is another one.
    pub(super) by_counted_kernel: Option<(String, Vec<ScanCost>)>,
}

impl Samples {
    /// Takes the samples of the path that was prepared; with `counted_kernel` as many by that kernel. `expect` hears
    /// about how long that takes, as soon as a pass has shown it.
    pub(super) fn take(
        bench: &mut Bench<'_>,
        facts: &PathFacts,
        threads: usize,
        counted_kernel: Option<String>,
        expect: &mut dyn FnMut(Duration),
    ) -> Result<Samples, ExperimentError> {
        let begun = Instant::now();
        let once = ScanPass { threads, laps: 1, kernel: None };
        // The first pass warms the caches; it predicts the next one only where no cache holds what it went through.
        let mut first = bench.subject.scan(&once)?;
        bench.machine.stop.check()?;
        if first.elapsed < LONG_PASS {
            first = bench.subject.scan(&once)?;
        }
        let length = SampleLength { time: facts.sampling.time, laps_max: facts.sampling.laps_max.into() };
        let laps = length.laps(facts.sampling.lap_time.unwrap_or(first.elapsed));
        let is_touched = first.touched.is_some_and(|bytes| bytes > 0);
        let ceiling = if is_touched { bench.bandwidth(threads) } else { Vec::new() };
        let pass = ScanPass { laps, ..once };
        let (wanted, time_max) = (bench.parameters.repeat, CASE_TIME_MAX.saturating_sub(begun.elapsed()));
        let mut by_counted_kernel = counted_kernel.map(|kernel| (kernel, Vec::new()));
        let count = SampleCount { wanted, least: SAMPLES_MIN, time_max };
        let kernels = 1 + u32::from(by_counted_kernel.is_some());
        expect(count.expected(Duration::from(first.elapsed).saturating_mul(laps).saturating_mul(kernels)));
        let costs = count.collect(|| {
            bench.machine.stop.check()?;
            let cost = bench.subject.scan(&pass)?;
            // In turn, so that both see the same machine.
            if let Some((kernel, costs)) = &mut by_counted_kernel {
                costs.push(bench.subject.scan(&ScanPass { kernel: Some(kernel), ..pass })?);
            }
            Ok::<_, ExperimentError>(cost)
        })?;
        Ok(Samples { costs, laps: laps.into(), ceiling, by_counted_kernel })
    }

    /// The metric of one value a sample; `None` where one of them is not a number.
    pub(super) fn metric(&self, spec: Spec, source: &str, value: impl Fn(&ScanCost) -> f64) -> Option<Metric> {
        of_finite(&spec, source, &self.costs.iter().map(value).collect::<Vec<_>>())
    }
}

/// The metric of these values; `None` where one of them is not a number.
pub(super) fn of_finite(spec: &Spec, source: &str, values: &[f64]) -> Option<Metric> {
    spec.of_samples(source, values).filter(|_| values.iter().all(|value| value.is_finite()))
}
