//! How long and how often something is measured: one rule for all experiments that repeat short work.

use std::time::{Duration, Instant};

use measure::quantity::counted;
use measure::schema::FindingSpec;
use measure::{Finding, Nanos};
use subjects::logical_reads::Cache;

use crate::error::{ExperimentError, refuse};

/// Threads that ran for a smaller share of the time had to wait for a processor.
pub(crate) const BUSY: f64 = 0.9;

/// Most threads of a case.
const THREADS_MAX: usize = 1024;

/// How long a sample has to last, so that its own overhead is negligible.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleLength {
    /// At least.
    pub(crate) time: Nanos,
    /// Most laps.
    pub(crate) laps_max: u64,
}

impl SampleLength {
    /// Laps of a sample when one lap takes `once`. A dry run takes no time: there one lap stands for all.
    pub(crate) fn laps(self, once: Nanos) -> u32 {
        let laps = if once == Nanos::ZERO { 1 } else { self.time.0.div_ceil(once.0).clamp(1, self.laps_max) };
        u32::try_from(laps).unwrap_or(u32::MAX)
    }
}

/// How many samples a case has: as many as asked for, or fewer where they would take too long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleCount {
    /// As many as asked for.
    pub(crate) wanted: usize,
    /// Fewest, however long they take.
    pub(crate) least: usize,
    /// How long a case may last beyond those.
    pub(crate) time_max: Duration,
}

impl SampleCount {
    /// Takes samples until there are enough.
    pub(crate) fn collect<T, E>(self, mut sample: impl FnMut() -> Result<T, E>) -> Result<Vec<T>, E> {
        let begun = Instant::now();
        // No room is taken for all: where time ends it, any number may be asked for.
        let mut samples = Vec::new();
        while samples.len() < self.wanted {
            samples.push(sample()?);
            if samples.len() >= self.least && begun.elapsed() >= self.time_max {
                break;
            }
        }
        Ok(samples)
    }

    /// About how long that takes where a sample takes `sample`.
    pub(crate) fn expected(self, sample: Duration) -> Duration {
        let of = |count: usize| time_left(sample, (0, count));
        of(self.wanted).min(self.time_max.max(of(self.least)))
    }
}

/// Refuses a case without samples.
pub(crate) fn check_repeat(repeat: usize) -> Result<(), ExperimentError> {
    if repeat == 0 { refuse("--repeat must be at least 1") } else { Ok(()) }
}

/// Refuses a number of threads that no case can have.
pub(crate) fn check_threads(threads: &[usize]) -> Result<(), ExperimentError> {
    match threads.iter().find(|threads| !(1..=THREADS_MAX).contains(*threads)) {
        Some(threads) => refuse(format!("--threads {threads} is out of range: give 1 to {THREADS_MAX}")),
        None => Ok(()),
    }
}

/// About how long the rest of `all` takes where each takes `each`.
pub(crate) fn time_left(each: Duration, (done, all): (usize, usize)) -> Duration {
    each.saturating_mul(u32::try_from(all.saturating_sub(done)).unwrap_or(u32::MAX))
}

/// How long each of those took on average that are `done`; before the first one, what is `assumed`.
pub(crate) fn each(elapsed: Duration, done: usize, assumed: Duration) -> Duration {
    u32::try_from(done).ok().and_then(|done| elapsed.checked_div(done)).unwrap_or(assumed)
}

/// The finding of a `row` about blocks that were read in a case where all should have been cached.
pub(crate) fn missing(row: &FindingSpec, what: &str, misses: u64, cache: Cache) -> Option<Finding> {
    let message = || {
        format!(
            "{} missing from {} in {what}, which should find every block there: the cost includes those reads. {}",
            counted(misses, "block was", "blocks were"),
            cache.name,
            cache.advice
        )
    };
    (misses > 0).then(|| row.of(message()))
}

/// What keeps threads from their processors where they are more than the `cores` that this process may use; `None`
/// where they are not. The machine may be quiet then.
pub(crate) fn turns(threads: usize, cores: Option<u64>) -> Option<String> {
    let cores = cores.filter(|cores| *cores > 0 && threads as u64 > *cores)?;
    Some(format!(
        " The threads take turns on the {} that readpath may use: give --threads {cores} at most.",
        counted(cores, "processor", "processors")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_laps_until_it_is_long_enough_and_one_where_nothing_takes_time() {
        let length = SampleLength { time: Nanos::from_millis(20), laps_max: 256 };
        assert_eq!([7_000_000, 30_000_000, 10, 0].map(|once| length.laps(Nanos(once))), [3, 1, 256, 1]);
    }

    #[test]
    fn the_time_left_follows_from_what_was_measured_and_not_from_what_was_assumed() {
        let second = Duration::from_secs(1);
        let count = SampleCount { wanted: 7, least: 3, time_max: second * 20 };
        let expected = [second, second * 5, second * 30].map(|sample| count.expected(sample));
        assert_eq!(expected, [second * 7, second * 20, second * 90]);
        assert_eq!(SampleCount { wanted: 2, ..count }.expected(second * 30), second * 60);
        assert_eq!(each(Duration::ZERO, 0, second), second);
        assert_eq!(time_left(each(second * 12, 4, second), (4, 10)), second * 18);
    }

    #[test]
    fn a_case_that_takes_too_long_has_fewer_samples_but_never_too_few() {
        let count = SampleCount { wanted: 9, least: 3, time_max: Duration::ZERO };
        assert_eq!(count.collect(|| Ok::<_, ()>(())).unwrap().len(), 3);
        assert_eq!(SampleCount { wanted: 2, ..count }.collect(|| Ok::<_, ()>(())).unwrap().len(), 2);
        assert_eq!(count.collect(|| Err::<(), _>("stopped")), Err("stopped"));
        assert_eq!(SampleCount { wanted: usize::MAX, ..count }.collect(|| Ok::<_, ()>(0_u64)).unwrap().len(), 3);
    }
}
