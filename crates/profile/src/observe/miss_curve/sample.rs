//! A sample of the blocks that stands for all of them, with bounded memory.
//!
//! A block is in the sample when the hash of its address lies below a limit, so that all reads of a block are in it or
//! none is. While there are few blocks the limit takes all of them and distances are exact. When there are too many
//! blocks, or enough reads that following all of them would slow the reading of the trace, the limit sinks, and a
//! distance within the sample stands for that distance divided by the share of blocks that the limit takes. Source:
//! C. A. Waldspurger et al., "Efficient MRC construction with SHARDS", 2015, with the fixed size of its section 3.2 and
//! the correction SHARDS-adj of its section 5.2: what the sample has too many or too few of in reads goes to the
//! shortest distance, since it comes from a few often-read blocks.

use measure::random::mix;

use crate::event::block_wait::BlockAddress;
use crate::observe::miss_curve::reuse_stack::ReuseStack;
use crate::tables::growing::entry;

/// Groups of blocks, each a sample of its own, from whose differences the error is estimated.
pub(crate) const GROUPS: usize = 16;

/// Part of the blocks that stay when there are too many.
const KEPT: (usize, usize) = (3, 4);

/// Most reads that the large sample follows, at about 140 ns each; then the small one does, of which the blocks
/// stay in a processor's own cache.
const READS_OF_LARGE_SAMPLE: u64 = 1 << 19;

/// Most blocks of the small sample. The paper's error at this size is 0.006 on the mean of its traces.
const BLOCKS_OF_SMALL_SAMPLE: usize = 1 << 13;

/// Buckets in each power of two of the distance; every power of two is the edge of a bucket.
const BITS_PER_OCTAVE: u32 = 5;

/// Reads by reuse distance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Reads {
    /// How many, each counted as many times as it stands for.
    pub(crate) count: f64,
    /// Their time in ticks, likewise.
    pub(crate) time: f64,
}

impl Reads {
    fn add(&mut self, time: f64, weight: f64) {
        self.count += weight;
        self.time += time * weight;
    }
}

/// The reads of one group of blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    /// Reads of a block for the first time.
    pub(crate) first: Reads,
    /// Further reads, by bucket of the distance.
    pub(crate) again: Vec<Reads>,
}

impl Group {
    /// Reads that a cache of `blocks` blocks misses: first reads, and repeated reads with at least that many other
    /// blocks in between. Within a bucket they are taken as evenly spread.
    pub(crate) fn missed(&self, blocks: f64) -> Reads {
        let (mut missed, mut low) = (self.first, bucket_start(0));
        for (index, reads) in self.again.iter().enumerate() {
            let high = bucket_start(index + 1);
            let part = ((high - blocks) / (high - low)).clamp(0.0, 1.0);
            missed.count += reads.count * part;
            missed.time += reads.time * part;
            low = high;
        }
        missed
    }
}

/// Reuse distances over a sample of blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    blocks_max: usize,
    /// Blocks with a hash below this are in the sample; `None` takes all.
    limit: Option<u64>,
    stack: ReuseStack,
    pub(crate) groups: Vec<Group>,
    /// Distances go up to this.
    distance_max: f64,
    /// Reads of blocks in the sample.
    followed: u64,
    /// How many reads there were, in the sample or not.
    pub(crate) reads: u64,
    /// Their time in ticks.
    pub(crate) time: f64,
}

impl Sample {
    /// A sample of at most this many blocks, 64 at least.
    pub(crate) fn new(blocks_max: usize) -> Sample {
        Sample { blocks_max: blocks_max.max(64), groups: vec![Group::default(); GROUPS], ..Sample::default() }
    }

    /// Notes the read of a block, which took `time` ticks.
    pub(crate) fn read(&mut self, address: BlockAddress, time: f64) {
        self.reads += 1;
        self.time += time;
        let hash = mix(mix(address.file as u64) ^ address.block as u64);
        if self.limit.is_some_and(|limit| hash >= limit) {
            return;
        }
        self.followed += 1;
        let weight = 1.0 / self.share();
        // The limit looks at the upper bits, the groups at the lower ones: they know nothing of each other.
        let group = &mut self.groups[hash as usize % GROUPS];
        match self.stack.read(hash) {
            None => group.first.add(time, weight),
            Some(distance) => {
                // Half a sampled block lies between this read and the next distance that the sample can tell.
                let distance = (distance as f64 + 0.5) * weight - 0.5;
                entry(&mut group.again, bucket_of(distance)).add(time, weight);
                self.distance_max = self.distance_max.max(distance);
            }
        }
        if self.followed == READS_OF_LARGE_SAMPLE {
            self.blocks_max = self.blocks_max.min(BLOCKS_OF_SMALL_SAMPLE);
        }
        if self.stack.blocks() > self.blocks_max {
            self.lower_limit();
        }
    }

    /// Share of all blocks that the sample takes.
    pub(crate) fn share(&self) -> f64 {
        self.limit.map_or(1.0, |limit| limit as f64 / 2f64.powi(64))
    }

    /// Blocks in the sample.
    pub(crate) fn blocks(&self) -> usize {
        self.stack.blocks()
    }

    /// The most bytes that were ever held.
    pub(crate) fn bytes_max(&self) -> usize {
        let again: usize = self.groups.iter().map(|group| group.again.capacity()).sum();
        self.stack.bytes_max() + again * size_of::<Reads>()
    }

    /// Share of the blocks of the sample that were read more than once.
    pub(crate) fn share_read_again(&self) -> f64 {
        self.stack.blocks_read_again() as f64 / self.stack.blocks().max(1) as f64
    }

    /// The longest distance of all.
    pub(crate) fn distance_max(&self) -> f64 {
        self.distance_max
    }

    fn lower_limit(&mut self) {
        let mut hashes: Vec<u64> = self.stack.hashes().collect();
        let kept = self.blocks_max * KEPT.0 / KEPT.1;
        let (_, limit, _) = hashes.select_nth_unstable(kept);
        let limit = (*limit).max(1);
        self.limit = Some(limit);
        self.stack.forget_from(limit);
    }
}

/// Distances below 2^5 have a bucket each, then each power of two has 2^5.
fn bucket_of(distance: f64) -> usize {
    // A distance stands for at most 2^58 blocks: 2^17 in a sample of at least 2^-41.
    let distance = distance as u64;
    if distance < 1 << BITS_PER_OCTAVE {
        return distance as usize;
    }
    let shift = distance.ilog2() - BITS_PER_OCTAVE;
    ((u64::from(shift) << BITS_PER_OCTAVE) + (distance >> shift)) as usize
}

/// The least distance of a bucket.
fn bucket_start(index: usize) -> f64 {
    let per_octave = 1 << BITS_PER_OCTAVE;
    if index < per_octave {
        return index as f64;
    }
    let shift = index / per_octave - 1;
    // No distance has more than 64 bits.
    (index - shift * per_octave) as f64 * (1_u64 << shift.min(63)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_distance_lies_in_its_bucket() {
        let edges = || (10..60).map(|bits| 1_u64 << bits);
        for distance in (0..2000).chain(edges().map(|edge| edge - 1)).chain(edges()) {
            let index = bucket_of(distance as f64);
            assert!(bucket_start(index) <= distance as f64, "{distance}");
            assert!(distance as f64 <= bucket_start(index + 1), "{distance}");
        }
        let starts: Vec<usize> = (0..40).map(|bits| bucket_of((1_u64 << bits) as f64)).collect();
        assert!(starts.iter().enumerate().all(|(bits, index)| bucket_start(*index) == (bits as f64).exp2()));
    }

    #[test]
    fn very_many_reads_of_a_few_blocks_are_followed_in_a_small_sample_that_still_estimates() {
        let mut sample = Sample::new(1 << 17);
        let blocks = 30_000;
        for read in 0..READS_OF_LARGE_SAMPLE as i64 + 900_000 {
            sample.read(BlockAddress { file: 1, block: read % blocks }, 1.0);
        }
        assert!(sample.blocks() <= BLOCKS_OF_SMALL_SAMPLE);
        let missed = |blocks: f64| sample.groups.iter().map(|group| group.missed(blocks).count).sum::<f64>();
        let reads = sample.reads as f64;
        // A loop over 30 000 blocks: a cache of half of them misses all reads, one of twice only the first.
        assert!((missed(15_000.0) / reads - 1.0).abs() < 0.03, "{}", missed(15_000.0) / reads);
        assert!(missed(60_000.0) / reads < 0.03, "{}", missed(60_000.0) / reads);
    }

    #[test]
    fn memory_stays_bounded_whatever_is_read() {
        let mut sample = Sample::new(1000);
        for block in 0..300_000 {
            sample.read(BlockAddress { file: block % 7, block: block * 31 }, 1.0);
            assert!(sample.blocks() <= 1000);
        }
        assert!(sample.stack.places_capacity() <= 4 * 1000);
        assert!(sample.bytes_max() < 1000 * 200, "{} bytes for a thousand blocks", sample.bytes_max());
        let share = sample.share();
        assert!((700.0..=1000.0).contains(&(300_000.0 * share)), "{share}");
        let first: f64 = sample.groups.iter().map(|group| group.first.count).sum();
        assert!((first / 300_000.0 - 1.0).abs() < 0.1, "{first}");
    }
}
