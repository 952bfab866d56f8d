//! The rungs of the caches and of main memory: dependent loads, and streaming.

use std::io::ErrorKind;
use std::time::Duration;

use measure::Nanos;
use measure::quantity::size_in_words;
use measure::schema::ladder;
use measure::schema::ladder::parameters::{BLOCK_SIZE, FOOTPRINT, HUGE_BYTES, PAGES};
use measure::sentence::capital;
use subjects::huge_pages;
use sys::memory::{Chase, Pages, Stream};

use super::findings::{self, Loads, Reach};
use super::steps::Steps;
use super::storage::BLOCK;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::last_cache::footprint_beyond;

/// Samples of a rung.
const SAMPLES: usize = 15;

/// Loads of a sample in the caches and in main memory: 0.2 to 8 ms and about 30 ms, so that the clock's cost vanishes.
const LOADS_CACHED: u64 = 1 << 18;
const LOADS_MEMORY: u64 = 1 << 16;

/// Main memory is measured over this footprint where there is room, or over more where a cache is very large: past
/// every cache, and past what the processor's table of 2 MiB pages reaches.
const FOOTPRINT_MAX: u64 = 2 << 30;

/// Share of the free memory that a probe may take.
const MEMORY_SHARE: u64 = 4;

/// Percent of the memory that must be on huge pages before two footprints are compared.
const HUGE_PERCENT: u64 = 95;

/// Time for each number of streaming threads.
const STREAM_TIME: Nanos = Nanos::from_millis(600);

/// Measures l1, l2, l3, dram, dram-huge and dram-sequential.
pub(super) fn rungs(steps: &Steps<'_>, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    for (name, footprint) in cache_footprints(steps) {
        chase_rung(steps, name, footprint, Pages::Huge, journal)?;
    }
    let smaller = steps.machine.last_cache().and_then(|cache| cache.finding());
    journal.find_all(smaller);
    let cache = steps.machine.last_cache().map_or(0, |cache| cache.usable);
    let footprint = steps.parameters.footprint(MEMORY_SHARE, FOOTPRINT_MAX.max(Reach::past(cache)));
    let reach = Reach { footprint: footprint as u64, cache, share: MEMORY_SHARE };
    let loads = if reach.is_near() { loads_of_parts(steps, footprint, journal)? } else { None };
    steps.machine.stop.check()?;
    let absent = findings::without_memory(&reach, loads);
    if !absent.is_empty() {
        journal.find_all(absent);
        return Ok(());
    }
    journal.find_all(findings::near_cache(&reach, loads));
    chase_rung(steps, "dram", footprint, Pages::Small, journal)?;
    chase_rung(steps, "dram-huge", footprint, Pages::Huge, journal)?;
    steps.machine.stop.check()?;
    sequential(steps, footprint, journal)
}

/// A footprint inside each cache: half of the first level, and of each further one as [`footprint_beyond`] says.
fn cache_footprints(steps: &Steps<'_>) -> Vec<(&'static str, usize)> {
    let caches = &steps.machine.host.caches;
    let size = |level: u8| caches.iter().find(|cache| cache.level == level).map(|cache| cache.bytes);
    let between = |above, own| footprint_beyond(above, own) as usize;
    let first = size(1).map(|own| ("l1", own as usize / 2));
    let second = size(1).zip(size(2)).map(|(above, own)| ("l2", between(above, own)));
    let third = size(2).zip(size(3)).map(|(above, own)| ("l3", between(above, own)));
    [first, second, third].into_iter().flatten().map(|(name, bytes)| (name, bytes / 64 * 64)).collect()
}

fn chase_rung(
    steps: &Steps<'_>,
    name: &'static str,
    footprint: usize,
    pages: Pages,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    steps.machine.stop.check()?;
    let seconds = footprint as u64 >> 30;
    let what = format!("preparing {} of memory for {}", size_in_words(footprint as u64), ladder::in_words(name));
    steps.say(&what, Duration::from_secs(seconds), journal);
    let Some(mut chase) = chase(steps, footprint, pages)? else { return Ok(()) };
    let mut parameters = steps.rung(name);
    parameters.extend([
        FOOTPRINT.of(footprint),
        PAGES.of(if pages == Pages::Huge { "huge" } else { "small" }),
        HUGE_BYTES.of(chase.huge_bytes()),
    ]);
    if pages == Pages::Huge {
        report_huge(name, footprint, chase.huge_bytes(), journal);
    }
    let source = "chain of dependent loads in random order, one a cache line";
    let loads = if footprint >= 64 << 20 { LOADS_MEMORY } else { LOADS_CACHED };
    let clock = steps.machine.clock;
    let sample = move || {
        // One unmeasured round: it fills the cache in question.
        chase.latency_ns(&clock, (footprint as u64 / 64).clamp(1024, loads));
        (0..SAMPLES).map(|_| chase.latency_ns(&clock, loads)).collect()
    };
    steps.timed_rung(name, parameters, source, sample, journal)
}

/// The cost of a load within half of a footprint, and within all of it. `None` when ^C came meanwhile, and where too
/// much of the memory is on small pages: loads cost more there, which could hide or imitate the cache's effect.
fn loads_of_parts(
    steps: &Steps<'_>,
    footprint: usize,
    journal: &mut dyn Journal,
) -> Result<Option<Loads>, ExperimentError> {
    let time = Duration::from_secs(2 * (footprint as u64 >> 30) + 1);
    steps.say("what share of loads the last-level cache serves", time, journal);
    let clock = steps.machine.clock;
    let mut costs = [0.0; 2];
    for (cost, bytes) in costs.iter_mut().zip([footprint / 2, footprint]) {
        let Some(mut chase) = chase(steps, bytes, Pages::Huge)? else { return Ok(None) };
        if chase.huge_bytes().is_none_or(|huge| huge < bytes as u64 / 100 * HUGE_PERCENT) {
            return Ok(None);
        }
        chase.latency_ns(&clock, LOADS_MEMORY);
        // Other work on the machine can only make loads slower.
        *cost = (0..SAMPLES).map(|_| chase.latency_ns(&clock, LOADS_MEMORY)).fold(f64::INFINITY, f64::min);
    }
    let [half, whole] = costs;
    Ok(Some(Loads { half, whole }))
}

/// A ring through the footprint; `None` when ^C came while it was made.
fn chase(steps: &Steps<'_>, footprint: usize, pages: Pages) -> Result<Option<Chase>, ExperimentError> {
    match Chase::new_unless_stopped(footprint, pages, steps.parameters.seed(), steps.machine.stop.flag()) {
        Ok(chase) => Ok(Some(chase)),
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(None),
        Err(reason) => Err(ExperimentError::Memory { what: "the pointer chase", bytes: footprint, reason }),
    }
}

pub(super) fn report_huge(name: &str, footprint: usize, huge: Option<u64>, journal: &mut dyn Journal) {
    if footprint >= sys::memory::HUGE_PAGE {
        let finding = huge_pages::not_granted(&capital(&ladder::in_words(name)), footprint as u64, huge, "its latency");
        journal.find_all(finding);
    }
}

/// Streams over memory on one thread up to all processors; the rung is one thread's time for a block.
fn sequential(steps: &Steps<'_>, footprint: usize, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let memory = |reason| ExperimentError::Memory { what: "the sequential scan", bytes: footprint, reason };
    steps.say(&ladder::in_words("dram-sequential"), Duration::from_secs(3), journal);
    let stream = Stream::new(footprint, Pages::Huge).map_err(memory)?;
    let mut parameters = steps.rung("dram-sequential");
    parameters.extend([FOOTPRINT.of(footprint), BLOCK_SIZE.of(BLOCK)]);
    let measured = steps.kept_rung("dram-sequential", parameters, journal, |case, journal| {
        for threads in thread_counts(steps.machine.host.cores.unwrap_or(1) as usize) {
            let result = match stream.measure(&steps.machine.clock, threads, STREAM_TIME) {
                Ok(result) => result,
                Err(refused) => {
                    journal.find(findings::untried_threads(threads, refused.reason()));
                    break;
                }
            };
            if threads == 1 {
                let source = "sum over memory in order, one thread, huge pages where granted";
                case.metrics.extend(ladder::LATENCY.of_samples(source, &result.ns_per_block(BLOCK)));
            }
            let mebibytes: Vec<f64> = result.bytes_per_second.iter().map(|rate| rate / f64::from(1 << 20)).collect();
            let family = if threads == 1 { ladder::BANDWIDTH_OF_ONE } else { ladder::BANDWIDTH_OF_THREADS };
            let bandwidth = family.of(&threads.to_string());
            case.metrics.extend(bandwidth.of_samples("sum over memory in order", &mebibytes));
        }
        Ok(())
    });
    measured.map(drop)
}

/// 1, 2, 4, ... and all.
fn thread_counts(cores: usize) -> Vec<usize> {
    let mut counts: Vec<usize> =
        std::iter::successors(Some(1), |count| Some(count * 2)).take_while(|count| *count < cores).collect();
    counts.push(cores.max(1));
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_threads_is_measured_once() {
        assert_eq!(thread_counts(1), [1]);
        assert_eq!(thread_counts(2), [1, 2]);
        assert_eq!(thread_counts(6), [1, 2, 4, 6]);
    }
}
