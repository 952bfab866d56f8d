//! How many of the reads of a trace a larger buffer cache would have avoided, by its size.
//!
//! The reads of a trace are what its buffer cache missed. A block that is read again with n other blocks in between
//! would have been found in a further cache of more than n blocks that keeps the blocks read last: a victim cache in
//! LRU order. The curve knows the reads of the trace alone, so that a cache shared with other sessions gains less.

mod document;
mod reuse_stack;
mod sample;

use crate::event::Ticks;
use crate::event::block_wait::{BlockAddress, BlockWait, BlockWaitKind};
use crate::observe::miss_curve::sample::{GROUPS, Reads, Sample};

/// Blocks of which distances are exact, as long as they are read less than half a million times; beyond, a sample
/// stands for them. They take about 16 MiB.
pub const BLOCKS_EXACT: usize = 1 << 17;

/// The size of a block where no line has it.
pub const BLOCK_BYTES_ASSUMED: u64 = 8192;

/// Half the width of the range that holds a value 19 of 20 times, in standard errors estimated from 16 groups
/// (Student's t with 15 degrees of freedom).
const ERRORS_IN_BOUND: f64 = 2.131;

/// Least share of the reads for which a size gets a row.
const SHARE_MIN: f64 = 0.000_5;

/// Most rows.
const ROWS_MAX: u32 = 24;

/// Listens to reads.
#[derive(Clone, Debug)]
pub struct MissCurve {
    sample: Sample,
    /// Reads into the cache whose lines do not say of which blocks: they are not in the curve.
    pub without_address: Reading,
    /// Reads past the cache: no larger cache avoids them.
    pub past_cache: Reading,
}

/// Reads and their blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Requests.
    pub requests: u64,
    /// Blocks, as far as they are known.
    pub blocks: u64,
}

impl Reading {
    fn add(&mut self, wait: &BlockWait) {
        self.requests += 1;
        self.blocks += u64::from(wait.blocks.unwrap_or(0));
    }
}

/// What one size of a further cache would have avoided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Avoided {
    /// The further cache.
    pub blocks: u64,
    /// Block reads it avoids.
    pub reads: f64,
    /// Their share of the block reads.
    pub share: f64,
    /// How far the share may be off, 19 of 20 times; 0 where distances are exact.
    pub share_error: f64,
    /// The time of the reads it avoids; of a read of several blocks each block has its part.
    pub time: Ticks,
}

impl Default for MissCurve {
    fn default() -> MissCurve {
        MissCurve::new(BLOCKS_EXACT)
    }
}

impl MissCurve {
    /// A curve that is exact up to this many blocks (64 at least) and a sample beyond.
    pub fn new(blocks_exact: usize) -> MissCurve {
        MissCurve {
            sample: Sample::new(blocks_exact),
            without_address: Reading::default(),
            past_cache: Reading::default(),
        }
    }

    /// Block reads that the curve is about.
    pub fn reads(&self) -> u64 {
        self.sample.reads
    }

    /// Share of all blocks that stand for all; 1 where distances are exact.
    pub fn sampled_share(&self) -> f64 {
        self.sample.share()
    }

    /// Blocks that distances are taken from.
    pub fn sampled_blocks(&self) -> usize {
        self.sample.blocks()
    }

    /// The most bytes of memory that the curve ever took: a sample that has become small gives room back.
    pub fn memory_bytes(&self) -> u64 {
        self.sample.bytes_max() as u64
    }

    /// How many different blocks were read; an estimate where distances are.
    pub fn distinct_blocks(&self) -> f64 {
        self.missed(f64::INFINITY).count
    }

    /// Share of the different blocks that were read more than once.
    pub fn share_read_again(&self) -> f64 {
        self.sample.share_read_again()
    }

    /// What the largest useful cache avoids: all reads but the first of each block. `None` without reads.
    pub fn read_again(&self) -> Option<Avoided> {
        (self.reads() > 0).then(|| self.avoided(f64::INFINITY))
    }

    /// The curve: one row a power of two, from the first size that avoids anything to the first that avoids all that
    /// any size can. Empty where no block was read twice.
    pub fn rows(&self) -> Vec<Avoided> {
        let Some(all) = self.read_again().filter(|all| all.reads > 0.0) else { return Vec::new() };
        let last = (self.sample.distance_max() + 1.0).log2().ceil().clamp(0.0, 62.0) as u32;
        let rows = (0..=last).map(|bits| self.avoided(f64::from(bits).exp2()));
        let least = SHARE_MIN.min(all.share / 2.0);
        let rows: Vec<Avoided> = rows.skip_while(|row| row.share < least).collect();
        rows[rows.len().saturating_sub(ROWS_MAX as usize)..].to_vec()
    }

    fn avoided(&self, blocks: f64) -> Avoided {
        let missed = self.missed(blocks);
        let (reads, time) = (self.reads() as f64, self.sample.time);
        let avoided = (reads - missed.count).clamp(0.0, reads);
        Avoided {
            blocks: blocks as u64,
            reads: avoided,
            share: avoided / reads,
            share_error: self.share_error(blocks),
            time: Ticks((time - missed.time).clamp(0.0, time.max(0.0)) as i64),
        }
    }

    fn missed(&self, blocks: f64) -> Reads {
        self.sample.groups.iter().fold(Reads::default(), |sum, group| {
            let missed = group.missed(blocks);
            Reads { count: sum.count + missed.count, time: sum.time + missed.time }
        })
    }

    /// Two errors together: which blocks the sample took, seen in how its groups differ; and that a distance is
    /// counted in sampled blocks, which moves the curve along the axis of sizes.
    fn share_error(&self, blocks: f64) -> f64 {
        let share = self.sampled_share();
        if share >= 1.0 {
            return 0.0;
        }
        let reads_of_group = self.reads() as f64 / GROUPS as f64;
        let missed = |blocks: f64| self.missed(blocks).count / self.reads() as f64;
        let of_groups: Vec<f64> =
            self.sample.groups.iter().map(|group| group.missed(blocks).count / reads_of_group).collect();
        let mean = of_groups.iter().sum::<f64>() / GROUPS as f64;
        let squares: f64 = of_groups.iter().map(|share| (share - mean).powi(2)).sum();
        let of_blocks = ERRORS_IN_BOUND * (squares / (GROUPS * (GROUPS - 1)) as f64).sqrt();
        let shift = if blocks.is_finite() { 2.0 * ((1.0 - share) / (blocks * share).max(1.0)).sqrt() } else { 0.0 };
        let of_distance = (missed(blocks / (1.0 + shift)) - missed(blocks * (1.0 + shift))) / 2.0;
        // The distance of a block within one sampled block cannot be known at all.
        let unresolved = missed(0.0) - missed(1.0 / share);
        let floor = if blocks < 1.0 / share { unresolved.abs() } else { 0.0 };
        of_blocks.hypot(of_distance).max(floor).min(1.0)
    }

    /// Adds what one line says.
    pub fn add(&mut self, block_wait: &BlockWait, elapsed: Ticks) {
        match block_wait.kind {
            BlockWaitKind::SingleBlock | BlockWaitKind::MultiBlock | BlockWaitKind::ParallelRead => {}
            BlockWaitKind::DirectRead | BlockWaitKind::DirectReadTemporary => return self.past_cache.add(block_wait),
            BlockWaitKind::DirectWrite | BlockWaitKind::DirectWriteTemporary => return,
            BlockWaitKind::Buffer | BlockWaitKind::Grant => return,
        }
        let (Some(first), Some(blocks)) = (block_wait.address, block_wait.blocks) else {
            return self.without_address.add(block_wait);
        };
        let time = elapsed.0.max(0) as f64 / f64::from(blocks);
        for offset in 0..i64::from(blocks) {
            let Some(block) = first.block.checked_add(offset) else { break };
            self.sample.read(BlockAddress { file: first.file, block }, time);
        }
    }
}

#[cfg(test)]
mod tests;
