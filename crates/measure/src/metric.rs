//! A metric: a name, a unit, how it was obtained, and the statistics of its samples.

use serde::{Deserialize, Serialize};

use crate::statistics::Statistics;
use crate::unit::Unit;

/// Most samples that a metric carries along one by one; beyond, it carries a histogram.
pub const SAMPLES_KEPT_MAX: usize = 1024;

/// One measured quantity of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// The field's term for the quantity, in snake case.
    pub name: String,
    /// What its values are counted in.
    pub unit: Unit,
    /// How it was obtained: which clock, counter or file.
    pub source: String,
    /// Count and spread of the samples.
    #[serde(flatten)]
    pub statistics: Statistics,
    /// The samples in the order they were taken, where they are few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<f64>,
    /// The distribution where the samples are many: ascending (value, count) pairs, each value the upper edge of
    /// its bucket.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<(f64, u64)>,
}

impl Metric {
    /// A metric with one value.
    pub fn single(name: &str, unit: Unit, source: &str, value: f64) -> Metric {
        Metric::of_statistics(name, unit, source, Statistics::single(value))
    }

    /// A metric of repeated samples, kept with it up to [`SAMPLES_KEPT_MAX`].
    ///
    /// `None` when there is no sample: what was not measured is absent, not zero.
    pub fn of_samples(name: &str, unit: Unit, source: &str, samples: &[f64]) -> Option<Metric> {
        let statistics = Statistics::of_samples(samples)?;
        let mut metric = Metric::of_statistics(name, unit, source, statistics);
        if samples.len() > 1 && samples.len() <= SAMPLES_KEPT_MAX {
            metric.samples = samples.to_vec();
        }
        Some(metric)
    }

    /// A metric whose statistics are already known.
    pub fn of_statistics(name: &str, unit: Unit, source: &str, statistics: Statistics) -> Metric {
        Metric {
            name: name.into(),
            unit,
            source: source.into(),
            statistics,
            samples: Vec::new(),
            histogram: Vec::new(),
        }
    }

    /// The middle value: what a table shows and a ratio is built from.
    pub fn median(&self) -> f64 {
        self.statistics.median
    }

    /// The middle value in nanoseconds; `None` when it is no time.
    pub fn nanos(&self) -> Option<f64> {
        self.nanos_of(|metric| Some(metric.median()))
    }

    /// Another of its values in nanoseconds; `None` when it is no time or has no such value.
    pub fn nanos_of(&self, value: impl Fn(&Metric) -> Option<f64>) -> Option<f64> {
        Some(value(self)? * self.unit.nanoseconds()?)
    }
}
