//! Threads that read one pool together: the part of each, where it runs, and what all took.

use std::ops::Range;

use measure::Nanos;
use storage::StorageError;
use storage::pool::{GateCounts, Pool, Session};
use sys::host::allowed_cpus;
use sys::process::affinity::pin;
use sys::threads::run_together;

/// What the clocks say of one thread.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    pub(super) cpu: Nanos,
}

/// Reads each part on a thread of its own, all of which begin together, and gives what they came to and what the pool
/// counted meanwhile. With more than one, each keeps to a processor.
///
/// `prepare` runs first on each thread; what it returns is run once all threads are prepared.
pub(super) fn run<'p, P: Send, T: Send, F: FnOnce() -> Result<T, StorageError>>(
    pool: &'p Pool,
    parts: impl ExactSizeIterator<Item = P>,
    prepare: impl Fn(Session<'p>, P) -> F + Sync,
) -> Result<(Vec<T>, GateCounts), StorageError> {
    let threads = parts.len();
    let cpus = allowed_cpus();
    let before = pool.counts();
    let taken = run_together(parts.enumerate(), |(index, part)| {
        if threads > 1 && !cpus.is_empty() {
            pin(cpus[index % cpus.len()]);
        }
        prepare(pool.session(), part)
    })?;
    let taken = taken.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok((taken, pool.counts().since(before)))
}

/// From the first thread's beginning to the last one's end, and the CPU time of all.
pub(super) fn elapsed_and_cpu(times: impl Iterator<Item = Times> + Clone) -> (Nanos, Nanos) {
    let start = times.clone().map(|one| one.start).min().unwrap_or_default();
    let end = times.clone().map(|one| one.end).max().unwrap_or_default();
    (end.since(start), times.fold(Nanos::ZERO, |sum, one| sum + one.cpu))
}

/// The part of a thread of `count`; all together are the whole.
pub(super) fn part(count: u64, index: usize, threads: usize) -> Range<u64> {
    let start = |index: usize| (u128::from(count) * index as u128 / threads as u128) as u64;
    start(index)..start(index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_leave_no_block_out_and_take_none_twice() {
        for (count, threads) in [(0, 3), (1, 2), (10, 3), (u64::MAX, 7)] {
            let parts: Vec<_> = (0..threads).map(|index| part(count, index, threads)).collect();
            assert_eq!((parts[0].start, parts[threads - 1].end), (0, count));
            assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
    }
}
