//! Rate and latency over the time of a case, in windows of equal width.

use serde::{Deserialize, Serialize};

/// What happened in each window of a case; the three lists have one entry a window.
///
/// Windows start 100 ms wide. When a run outlasts the room kept for them, neighbours are merged and the width
/// doubles, so that memory stays flat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Width of a window in milliseconds.
    pub window_ms: f64,
    /// Reads completed in each window.
    pub reads: Vec<u64>,
    /// Median latency of each window in microseconds; 0 where `reads` is 0.
    pub median_us: Vec<f64>,
    /// Largest latency of each window in microseconds; 0 where `reads` is 0.
    pub max_us: Vec<f64>,
}
