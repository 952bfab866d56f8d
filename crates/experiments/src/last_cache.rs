//! How much of the last-level cache there really is: a virtual machine sees the size of the whole cache, of which other
//! guests use their parts.

use measure::Finding;
use measure::quantity::{format_nanos, size_in_words};
use measure::run::CacheLevel;
use measure::schema::conditions::findings as row;
use sys::host;
use sys::memory::{Chase, Pages};
use sys::time::Clock;

use crate::journal::Stop;

/// If a load half-way into the cache costs this many times one at its start, the cache is smaller than it claims.
const SHRUNK: f64 = 2.5;

/// Share of the free memory that a look at the cache may take: a large cache may claim more than a container may use.
const MEMORY_SHARE: u64 = 4;

/// Loads of a measurement: some milliseconds.
const LOADS: u64 = 1 << 18;

/// Loads before it, at least: they bring the lines into the cache. Those of a large ring come into it when they are
/// linked, as far as they fit: to walk around the half of 300 MiB would take half a second at the start of each run.
const WARMING_LOADS: u64 = 1024;

/// The order of the loads.
const SEED: u64 = 1;

/// The last cache of the processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastCache {
    /// Bytes that it claims.
    claimed: u64,
    /// Bytes that can be counted on.
    pub(crate) usable: u64,
    /// Nanoseconds of a load within the usable bytes, and within half of the claimed ones, where the two differ.
    latencies: Option<[f64; 2]>,
}

impl LastCache {
    /// Measures the cache beyond the one above it; some 0.1 s. What cannot be measured is taken as it is claimed.
    /// `None` where no cache is known.
    pub(crate) fn measure(caches: &[CacheLevel], clock: &Clock, stop: &Stop) -> Option<LastCache> {
        let last = caches.iter().max_by_key(|cache| cache.level)?;
        let as_claimed = LastCache { claimed: last.bytes, usable: last.bytes, latencies: None };
        let Some([start, half]) = footprints(caches, last, host::available_memory()) else { return Some(as_claimed) };
        let latency = |footprint: u64| {
            let mut chase = Chase::new_unless_stopped(footprint as usize, Pages::Huge, SEED, stop.flag()).ok()?;
            chase.latency_ns(clock, chase.lines().clamp(WARMING_LOADS, LOADS));
            Some(chase.latency_ns(clock, LOADS))
        };
        let latencies = latency(start).zip(latency(half));
        Some(latencies.map_or(as_claimed, |(near, deep)| as_claimed.judged(start, [near, deep])))
    }

    /// What loads within `start` bytes and within half of the cache say of it, in nanoseconds.
    fn judged(self, start: u64, [near, deep]: [f64; 2]) -> LastCache {
        match deep > near * SHRUNK {
            true => LastCache { usable: start, latencies: Some([near, deep]), ..self },
            false => self,
        }
    }

    /// That it is smaller than it claims, where it is.
    pub(crate) fn finding(&self) -> Option<Finding> {
        let [near, deep] = self.latencies?;
        let [claimed, half, usable] = [self.claimed, self.claimed / 2, self.usable].map(size_in_words);
        let [near, deep] = [near, deep].map(format_nanos);
        let message = format!(
            "The last-level cache claims {claimed}, but a load within {half} costs {deep}, against {near} within \
             {usable}: other guests or cores use the rest. Count on {usable} of it."
        );
        Some(row::L3_SMALLER_THAN_SAID.of(message))
    }
}

/// What is walked through of the last cache: its start, and half of it. `None` where the two are too near to each other
/// to be compared, and where half of it is too much of the free memory.
fn footprints(caches: &[CacheLevel], last: &CacheLevel, free: Option<u64>) -> Option<[u64; 2]> {
    let above = caches.iter().filter(|cache| cache.level < last.level).max_by_key(|cache| cache.level);
    let start = above.map_or(last.bytes, |above| footprint_beyond(above.bytes, last.bytes));
    let half = last.bytes / 2;
    let has_room = free.is_none_or(|free| half <= free / MEMORY_SHARE);
    (has_room && half > 2 * start).then_some([start, half])
}

/// A footprint inside a cache and beyond the one above it: the geometric mean, at most four times the one above,
/// because the far part of a shared cache is often used by others.
pub(crate) fn footprint_beyond(above: u64, own: u64) -> u64 {
    ((above as f64 * own as f64).sqrt() as u64).min(above * 4) / 64 * 64
}

#[cfg(test)]
mod tests {
    use super::*;

    impl LastCache {
        /// A cache whose loads took these nanoseconds within `start` bytes and within half of what it claims.
        pub(crate) fn of(claimed: u64, start: u64, latencies: [f64; 2]) -> LastCache {
            LastCache { claimed, usable: claimed, latencies: None }.judged(start, latencies)
        }
    }

    #[test]
    fn what_other_guests_use_of_a_cache_is_not_counted_on() {
        assert_eq!(LastCache::of(32 << 20, 4 << 20, [34.4, 196.0]).usable, 4 << 20);
        assert_eq!(LastCache::of(32 << 20, 4 << 20, [34.4, 80.0]).usable, 32 << 20);
    }

    #[test]
    fn a_cache_that_is_large_against_the_free_memory_is_not_walked_through() {
        let caches = [CacheLevel { level: 2, bytes: 2 << 20 }, CacheLevel { level: 3, bytes: 480 << 20 }];
        let of = |free| footprints(&caches, &caches[1], free);
        let expected = Some([8_u64 << 20, 240 << 20]);
        assert_eq!([of(None), of(Some(960 << 20)), of(Some(256 << 20))], [expected, expected, None]);
    }

    #[test]
    fn a_cache_without_another_above_it_is_taken_as_it_is_claimed() {
        let measured = |caches: &[CacheLevel]| LastCache::measure(caches, &Clock::calibrate(), &Stop::default());
        assert!(measured(&[]).is_none());
        assert_eq!(measured(&[CacheLevel { level: 1, bytes: 32 << 10 }]).map(|cache| cache.usable), Some(32 << 10));
    }
}
