//! A metric: a name, a unit, how it was obtained, and the statistics of its samples.

use serde::{Deserialize, Serialize};

use crate::statistics::Statistics;
use crate::unit::Unit;

/// One measured quantity of a case; only a [`Spec`](crate::schema::Spec) makes one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
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
    /// Whether each of its values is a number.
    pub fn is_finite(&self) -> bool {
        let statistics = &self.statistics;
        let optional = [statistics.stddev, statistics.p90, statistics.p99, statistics.p999].into_iter().flatten();
        let known = [statistics.min, statistics.median, statistics.mean, statistics.max];
        let edges = self.histogram.iter().map(|(edge, _)| *edge);
        known.into_iter().chain(optional).chain(self.samples.iter().copied()).chain(edges).all(f64::is_finite)
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
