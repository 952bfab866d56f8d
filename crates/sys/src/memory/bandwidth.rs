//! How many bytes a second one thread or several read from memory in sequence.
//!
//! The ceiling for every scan. The kernel that reads is a plain sum: it uses each byte and computes less than any real
//! scan does. Writing and copying are not measured: the reads under study do neither.

use std::hint::black_box;
use std::io;
use std::ops::Range;

use measure::Nanos;
use measure::random::mix;

use super::region::{Pages, Region};
use crate::host::allowed_cpus;
use crate::process::affinity::pin;
use crate::threads::{NotStarted, run_together};
use crate::time::Clock;

/// Parts of the region begin at whole multiples of this: two cache lines, which the widest vectors do not straddle.
const STRIP: usize = 128;

/// Least number of bytes that a thread reads in one sample: about 10 ms of main memory, a hundred times what it costs
/// to start the threads together.
const BYTES_PER_SAMPLE: usize = 256 << 20;

/// Fewest samples, however short the time given.
const SAMPLES_MIN: usize = 3;

/// A region of memory to be read in sequence, by any number of threads in turn.
#[derive(Debug)]
pub struct Stream {
    region: Region,
}

/// What the threads reached together.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamResult {
    /// Bytes a second of all threads together, one sample for each round.
    pub bytes_per_second: Vec<f64>,
    /// How many threads share it. No more of them read at a time than there are processors.
    pub threads: usize,
    /// How many of them were bound to a processor of their own, in the last round.
    pub pinned: usize,
    /// Bytes of the region on huge pages; `None` if the kernel does not report them.
    pub huge_bytes: Option<u64>,
}

impl StreamResult {
    /// Time in nanoseconds for a block of `block` bytes at each sample's bandwidth, as a thread sees it that has an
    /// equal share of the bandwidth.
    pub fn ns_per_block(&self, block: usize) -> Vec<f64> {
        let bytes = (block * self.threads) as f64;
        self.bytes_per_second.iter().map(|rate| bytes * 1e9 / rate).collect()
    }
}

impl Stream {
    /// Maps `bytes` (rounded up to whole huge pages) and fills them with numbers of which no two are alike, because
    /// hypervisors merge equal pages and some memory controllers treat zeros apart.
    ///
    /// Several times the last cache is the least that shows the memory's bandwidth. Errors when there is no room.
    pub fn new(bytes: usize, pages: Pages) -> io::Result<Stream> {
        let mut region = Region::new(bytes, pages)?;
        for (index, word) in region.bytes_mut().as_chunks_mut::<8>().0.iter_mut().enumerate() {
            *word = mix(index as u64).to_ne_bytes();
        }
        Ok(Stream { region })
    }

    /// Reads with `threads` threads for about `duration`, in three rounds at least.
    ///
    /// The region is divided among the threads. In each round they start together, each sums its part once or several
    /// times, and the round lasts from the first start to the last end, as STREAM counts it (McCalpin, 1995). Where
    /// allowed, each thread is bound to a processor of the affinity mask. No more threads are started than it has
    /// processors, because more do not read more: a thousand on two processors would take minutes, and each would read
    /// a part again and again that a cache holds. Errors where the threads cannot all be started. Panics when `threads`
    /// is 0.
    pub fn measure(&self, clock: &Clock, threads: usize, duration: Nanos) -> Result<StreamResult, NotStarted> {
        assert!(threads > 0, "someone has to read");
        let parts = self.parts(at_once(threads, allowed_cpus().len()));
        let end = clock.now() + duration;
        let huge_bytes = self.region.huge_bytes();
        let mut result = StreamResult { bytes_per_second: Vec::new(), threads, pinned: 0, huge_bytes };
        while result.bytes_per_second.len() < SAMPLES_MIN || clock.now() < end {
            let turns = round(&parts, clock)?;
            result.bytes_per_second.push(rate(&turns));
            result.pinned = turns.iter().filter(|turn| turn.pinned).count();
        }
        Ok(result)
    }

    fn parts(&self, threads: usize) -> Vec<&[u8]> {
        part_ranges(self.region.len(), threads).into_iter().map(|range| &self.region.bytes()[range]).collect()
    }
}

/// How many of these threads read at a time on this many processors.
fn at_once(threads: usize, processors: usize) -> usize {
    threads.min(processors.max(1))
}

/// Equal ranges of whole strips for every thread; what does not divide is left out at the end.
fn part_ranges(length: usize, threads: usize) -> Vec<Range<usize>> {
    let part = (length / threads / STRIP * STRIP).max(STRIP);
    (0..threads).map(|thread| (thread * part).min(length)..((thread + 1) * part).min(length)).collect()
}

/// What one thread did in a round.
#[derive(Clone, Copy, Debug)]
struct Turn {
    start: Nanos,
    end: Nanos,
    bytes: usize,
    pinned: bool,
}

/// One round of all threads: everything but reading happens before they begin.
fn round(parts: &[&[u8]], clock: &Clock) -> Result<Vec<Turn>, NotStarted> {
    let cpus = allowed_cpus();
    run_together(parts.iter().enumerate(), |(index, part)| {
        let pinned = cpus.get(index).copied().is_some_and(pin);
        let passes = BYTES_PER_SAMPLE.div_ceil(part.len().max(1));
        move || {
            let start = clock.now();
            for _ in 0..passes {
                black_box(sum(black_box(part)));
            }
            Turn { start, end: clock.now(), bytes: passes * part.len(), pinned }
        }
    })
}

/// Bytes a second from the first start to the last end.
fn rate(turns: &[Turn]) -> f64 {
    let start = turns.iter().map(|turn| turn.start).min().unwrap_or_default();
    let end = turns.iter().map(|turn| turn.end).max().unwrap_or_default();
    let bytes: usize = turns.iter().map(|turn| turn.bytes).sum();
    bytes as f64 / end.since(start).as_seconds()
}

/// Sum of the 64-bit words of `bytes`, wrapping; a rest shorter than a word is left out.
#[cfg(target_arch = "x86_64")]
fn sum(bytes: &[u8]) -> u64 {
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor was just found to have AVX2, the only condition for calling `sum_avx2`.
        return unsafe { sum_avx2(bytes) };
    }
    sum_words(bytes)
}

/// Sum of the 64-bit words of `bytes`, wrapping; a rest shorter than a word is left out.
#[cfg(not(target_arch = "x86_64"))]
fn sum(bytes: &[u8]) -> u64 {
    sum_words(bytes)
}

/// The same sum, compiled for vectors of 256 bits. The baseline of x86-64 has 128 bits, with which the sum reaches
/// 45 GB/s in a second-level cache that gives 150: too near to the 30 of main memory. 512 bits gain nothing there.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sum_avx2(bytes: &[u8]) -> u64 {
    sum_words(bytes)
}

/// The plainest form is the best one: wrapping addition may be reordered, so that the compiler keeps several vectors of
/// partial sums of its own accord, for any width. An array of accumulators written out by hand ran ten times slower
/// when compiled for AVX-512, where the compiler made gathers of it.
#[inline(always)]
fn sum_words(bytes: &[u8]) -> u64 {
    bytes.as_chunks::<8>().0.iter().fold(0, |total, word| total.wrapping_add(u64::from_ne_bytes(*word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_takes_every_word() {
        let words: Vec<u64> = (0..1000).map(mix).collect();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let expected = words.iter().fold(0, |total: u64, word| total.wrapping_add(*word));
        assert_eq!((sum(&bytes), sum_words(&bytes)), (expected, expected));
    }

    #[test]
    fn parts_do_not_overlap_and_leave_less_than_a_strip_a_thread() {
        for threads in [1, 2, 3, 7, 16] {
            let parts = part_ranges(2 << 20, threads);
            assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert!((2 << 20) - parts[threads - 1].end < threads * STRIP);
        }
    }

    #[test]
    fn more_threads_than_processors_read_no_more_and_in_no_smaller_parts() {
        assert_eq!([(1, 2), (2, 2), (1000, 2)].map(|(all, cpus)| at_once(all, cpus)), [1, 2, 2]);
        let stream = Stream::new(4 << 20, Pages::Small).unwrap();
        let result = stream.measure(&Clock::calibrate(), 1000, Nanos::ZERO).unwrap();
        assert_eq!((result.threads, result.bytes_per_second.len()), (1000, SAMPLES_MIN));
        assert!(result.pinned <= allowed_cpus().len());
    }

    #[test]
    fn a_round_lasts_from_the_first_start_to_the_last_end() {
        let turn = |start, end| Turn { start: Nanos(start), end: Nanos(end), bytes: 1000, pinned: true };
        assert!((rate(&[turn(100, 1100), turn(600, 2100)]) - 1e9).abs() < 1.0);
    }

    #[test]
    fn one_region_serves_any_number_of_threads() {
        let stream = Stream::new(4 << 20, Pages::Small).unwrap();
        let clock = Clock::calibrate();
        for threads in [1, 2, 3] {
            let result = stream.measure(&clock, threads, Nanos::ZERO).unwrap();
            assert_eq!((result.threads, result.bytes_per_second.len()), (threads, SAMPLES_MIN));
            assert!(result.bytes_per_second.iter().all(|rate| rate.is_finite() && *rate > 1e6));
            assert!(result.pinned <= threads);
        }
    }

    #[test]
    fn a_block_takes_a_thread_its_share_of_the_bandwidth() {
        let result = StreamResult { bytes_per_second: vec![16.384e9], threads: 2, pinned: 2, huge_bytes: None };
        assert!((result.ns_per_block(8192)[0] - 1000.0).abs() < 1e-9);
    }
}
