//! Units of metrics, written as the run document writes them.

use serde::{Deserialize, Serialize};

/// What a metric is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Unit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Events per second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// Bandwidth in units of 2^20 bytes per second.
    #[serde(rename = "MiB/s")]
    MebibytesPerSecond,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
    /// A count of things; the metric's name says which.
    #[serde(rename = "count")]
    Count,
    /// Core or counter frequency in units of 10^9 per second.
    #[serde(rename = "GHz")]
    Gigahertz,
    /// Hundredths.
    #[serde(rename = "%")]
    Percent,
    /// One value divided by another of the same unit.
    #[serde(rename = "ratio")]
    Ratio,
}

impl Unit {
    /// The unit as the run document and the tables write it.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Nanoseconds => "ns",
            Unit::Microseconds => "us",
            Unit::Milliseconds => "ms",
            Unit::Seconds => "s",
            Unit::PerSecond => "1/s",
            Unit::MebibytesPerSecond => "MiB/s",
            Unit::Bytes => "bytes",
            Unit::Count => "count",
            Unit::Gigahertz => "GHz",
            Unit::Percent => "%",
            Unit::Ratio => "ratio",
        }
    }

    /// The length of one in nanoseconds; `None` when it is no unit of time.
    pub fn nanoseconds(self) -> Option<f64> {
        match self {
            Unit::Nanoseconds => Some(1.0),
            Unit::Microseconds => Some(1e3),
            Unit::Milliseconds => Some(1e6),
            Unit::Seconds => Some(1e9),
            _ => None,
        }
    }
}
