//! The clock of the records.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the clock that records have their times from.
pub fn monotonic_nanos() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}
