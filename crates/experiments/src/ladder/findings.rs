//! What the ladder says, in sentences.

use std::fmt::Display;

use device::tier::{Tier, Verdict};
use measure::quantity::{counted, format_nanos, grouped, size_in_words, three_digits};
use measure::schema::ladder::{findings as row, in_words};
use measure::schema::lio::{FOLKLORE, MILLSAP, RANGED};
use measure::schema::reads;
use measure::sentence::capital;
use measure::{Finding, Unit};

use super::steps::LogicalCost;
use super::storage::SEQUENTIAL_BLOCKS;
use crate::reading::{LAZY, Measured};

/// How many times the last cache main memory is walked through at least: a cache serves no more than its part of loads
/// at random.
const PAST_CACHE: u64 = 4;

/// The same where loads show how many of them the cache serves: half of what is walked through then exceeds the cache
/// too.
const NEAR_CACHE: u64 = 2;

/// Least ratio of the cost of a load within half of the memory to one within all of it, where the cache serves few.
/// Within half, it serves twice the share of the loads: if it saves a share `h` of the cost within all of the memory,
/// the ratio is `(1 - 2h) / (1 - h)`. 0.9 stands for one eleventh.
const ALIKE: f64 = 0.9;

/// What to do where threads or memory are refused: the ladder has no option for fewer at once.
const RAISE_LIMITS: &str = "Raise the limit on processes (ulimit -u, pids.max) or on memory (ulimit -v).";

/// Bytes that decide whether main memory can be told from the last cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    /// What is walked through.
    pub(super) footprint: u64,
    /// What the cache holds.
    pub(super) cache: u64,
    /// One in how many bytes of free memory may be walked through.
    pub(super) share: u64,
}

impl Reach {
    /// The least that is past a cache of this size, as the power of two that footprints are.
    pub(super) fn past(cache: u64) -> u64 {
        (PAST_CACHE * cache).next_power_of_two()
    }

    /// Whether loads have to show how many of them the cache serves: of a large cache that other guests share, most is
    /// often in their use.
    pub(super) fn is_near(&self) -> bool {
        (NEAR_CACHE * self.cache..PAST_CACHE * self.cache).contains(&self.footprint)
    }
}

/// Nanoseconds of a load within half of what is walked through, and within all of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loads {
    pub(super) half: f64,
    pub(super) whole: f64,
}

impl Loads {
    fn are_alike(&self) -> bool {
        self.half >= self.whole * ALIKE
    }
}

/// Costs of one block in nanoseconds, as far as they were found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// One random read at a time.
    pub(super) single: Option<f64>,
    /// Between two completions at the best depth.
    pub(super) best: Option<f64>,
    /// That depth.
    pub(super) depth: usize,
    /// In reads of 128 blocks.
    pub(super) sequential: Option<f64>,
    /// A logical I/O.
    pub(super) logical: Option<LogicalCost>,
}

/// The sentences under the table; `is_just_written` where the run made the file that it read.
pub(super) fn report(found: &Found, is_just_written: bool) -> Vec<Finding> {
    let all = [physical_against_logical(found), sequential(found), depth(found), just_written(is_just_written)];
    all.into_iter().flatten().collect()
}

fn sequential(found: &Found) -> Option<Finding> {
    let (single, sequential) = found.single.zip(found.sequential)?;
    let (ratio, [one, many]) = (single / sequential, [single, sequential].map(format_nanos));
    let times = three_digits(ratio);
    let message = format!(
        "A random read of one block costs {one}, {times} times a block of a {SEQUENTIAL_BLOCKS}-block read ({many})."
    );
    Some(row::ANSWER_SINGLE_AGAINST_SEQUENTIAL.of(message).with("ratio", ratio, Unit::Ratio))
}

fn depth(found: &Found) -> Option<Finding> {
    let (single, best) = found.single.zip(found.best)?;
    let (ratio, depth, [one, many]) = (single / best, found.depth, [single, best].map(format_nanos));
    let message = format!(
        "One at a time, a random read of one block takes {one}, {} times the time between two completions at depth \
         {depth} ({many}): both are medians.",
        three_digits(ratio)
    );
    Some(row::ANSWER_DEPTH.of(message).with("ratio", ratio, Unit::Ratio))
}

fn just_written(is_just_written: bool) -> Option<Finding> {
    let message = "The test file was just written: the device rungs may show the storage's cache. Use --on PATH for an \
                   old, large file or a block device.";
    is_just_written.then(|| row::JUST_WRITTEN.of(message))
}

/// The ratio that the published papers argue about. Random blocks are compared with random blocks, and those of long
/// reads with a scan.
fn physical_against_logical(found: &Found) -> Option<Finding> {
    let (single, logical) = found.single.zip(found.logical)?;
    let ranged = found.sequential.map_or(String::new(), |sequential| {
        let [block, in_order] = [sequential, logical.in_order].map(format_nanos);
        format!(
            " A block of a {SEQUENTIAL_BLOCKS}-block read costs {} logical I/Os of a full scan ({block} over \
             {in_order} in block order; published: about {}).",
            three_digits(sequential / logical.in_order),
            RANGED.value
        )
    });
    let (ratio, [block, random]) = (single / logical.random, [single, logical.random].map(format_nanos));
    let message = format!(
        "A single-block physical I/O costs {} logical I/Os here ({block} over {random}, a get with its rows in random \
         order; Millsap: {}, the folklore: {}).{ranged}",
        three_digits(ratio),
        MILLSAP.value,
        grouped(FOLKLORE.value as u64)
    );
    Some(row::ANSWER_RATIO.of(message).with("ratio", ratio, Unit::Ratio))
}

/// The rungs of the device, which are absent where its file system, of this name, refuses direct I/O.
pub(super) fn without_direct_io(filesystem: Option<&str>) -> Vec<Finding> {
    let reason = format!(
        "{} refuses direct I/O, so the page cache would serve the reads. Name a directory on another file system \
         with --dir, or a file or block device with --on.",
        filesystem.unwrap_or("The file system")
    );
    row::ABSENT_RUNG.stems.iter().map(|rung| row::ABSENT_RUNG.named(rung, reason.clone())).collect()
}

/// That less memory is walked through than the size of the last cache requires, because loads show that the cache
/// serves few of them.
pub(super) fn near_cache(reach: &Reach, loads: Option<Loads>) -> Option<Finding> {
    let loads = loads.filter(|loads| reach.is_near() && loads.are_alike())?;
    let [footprint, cache] = [reach.footprint, reach.cache].map(size_in_words);
    let [half, whole] = [loads.half, loads.whole].map(format_nanos);
    let message = format!(
        "Main memory is walked through over {footprint}, which is less than {PAST_CACHE} times the last-level cache \
         ({cache}): no more can be spared. A load within half of it costs about as much ({half}) as one within all of \
         it ({whole}), so the cache serves few loads."
    );
    Some(row::MEMORY_NEAR_CACHE.of(message))
}

/// The rungs of main memory, which are absent where too little of it can be walked through.
pub(super) fn without_memory(reach: &Reach, loads: Option<Loads>) -> Vec<Finding> {
    let Reach { footprint, cache, share } = *reach;
    if footprint >= PAST_CACHE * cache || near_cache(reach, loads).is_some() {
        return Vec::new();
    }
    let [spared, held, needed] = [footprint, cache, share * Reach::past(cache)].map(size_in_words);
    let reason = format!(
        "{spared} of memory can be spared, and the last-level cache, which holds {held}, could serve more than a \
         quarter of the loads. Free {needed} of memory, or raise the container's limit."
    );
    row::ABSENT_MEMORY.stems.iter().map(|rung| row::ABSENT_MEMORY.named(rung, reason.clone())).collect()
}

/// That depths from this one on were not tried, because threads or memory for them were refused.
pub(super) fn untried_depths(from: usize, reason: &impl Display) -> Finding {
    let message = format!(
        "Depths from {from} on were not tried: the kernel refused the threads or the memory for them ({reason}). \
         {RAISE_LIMITS}"
    );
    row::UNTRIED.named("depths", message)
}

/// The same of numbers of threads that read memory.
pub(super) fn untried_threads(from: usize, reason: &impl Display) -> Finding {
    let threads = counted(from as u64, "thread", "threads");
    let message = format!(
        "Memory was not read in order by {threads} or more: the kernel refused them ({reason}). {RAISE_LIMITS}"
    );
    row::UNTRIED.named("threads", message)
}

/// That the page cache did not serve its own rung. Where it is not known what did, the reading has said so.
pub(super) fn page_cache_lost(verdict: Option<&Verdict>) -> Option<Finding> {
    let verdict = verdict.filter(|verdict| !matches!(verdict.tier, Tier::PageCache | Tier::Unknown))?;
    Some(row::PAGE_CACHE_LOST.of(format!(
        "The page cache should serve {} and did not: {}. Repeat with more free memory.",
        in_words("page-cache-read"),
        verdict.proof
    )))
}

/// That the first touch of a block costs far more than the second.
pub(super) fn first_touch(name: &str, first: &Measured, second: &Measured) -> Option<Finding> {
    let mean = |measured: &Measured| Some(measured.metric(&reads::READ_LATENCY)?.statistics.mean);
    let (first, later) = (mean(first)?, mean(second)?);
    let (ratio, [once, again]) = (first / later, [first, later].map(|micros| format_nanos(micros * 1e3)));
    let message = format!(
        "{}: the first touch of a block takes {once} on average, the second {again}: {} times. The storage fetches \
         blocks from a slower place when they are first read, as volumes made from a snapshot do. Read every block \
         once before you measure, or before users come.",
        capital(&in_words(name)),
        three_digits(ratio)
    );
    let is_lazy = second.is_of_device() && ratio >= LAZY;
    is_lazy.then(|| row::LAZILY_LOADED.of(message).with("ratio", ratio, Unit::Ratio))
}

#[cfg(test)]
mod tests;
