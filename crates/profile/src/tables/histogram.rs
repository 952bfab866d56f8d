//! The histogram of a wait event: a bucket a power of two, as many as lie between the first and the last filled one.

use crate::event::{Merge, Ticks, merged};

/// Buckets of a histogram of waits: below 1 µs, then one a power of two up to 2^62 µs.
pub const HISTOGRAM_BUCKETS: usize = 64;

/// Waits with the blocks that they moved: those of one file, or of one bucket of a histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockSums {
    /// How many waits.
    pub count: u64,
    /// Their time.
    pub total: Ticks,
    /// Blocks they moved, where the event has such a parameter.
    pub blocks: u64,
}

merged! {
    BlockSums: count, total, blocks;
}

/// Bucket 0 holds waits below 1 µs, bucket `n` those from 2^(n-1) µs up to, and without, 2^n µs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// The bucket that stands first in the list.
    first: u8,
    buckets: Vec<BlockSums>,
}

impl Histogram {
    /// Adds waits to a bucket.
    #[inline]
    pub(crate) fn add(&mut self, bucket: usize, more: &BlockSums) {
        match self.buckets.get_mut(bucket.wrapping_sub(usize::from(self.first))) {
            Some(known) => known.merge(more),
            None => self.reach(bucket).merge(more),
        }
    }

    /// The filled buckets with their numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &BlockSums)> {
        let first = usize::from(self.first);
        let numbered = self.buckets.iter().enumerate().map(move |(place, bucket)| (first + place, bucket));
        numbered.filter(|(_, bucket)| bucket.count > 0)
    }

    /// Makes the list long enough to hold a bucket, and no longer.
    #[cold]
    fn reach(&mut self, bucket: usize) -> &mut BlockSums {
        let bucket = bucket % HISTOGRAM_BUCKETS;
        let (first, end) = match self.buckets.len() {
            0 => (bucket, bucket + 1),
            length => (bucket.min(usize::from(self.first)), (bucket + 1).max(usize::from(self.first) + length)),
        };
        let mut buckets = Vec::with_capacity(end - first);
        buckets.resize(end - first, BlockSums::default());
        let before = usize::from(self.first).saturating_sub(first);
        if !self.buckets.is_empty() {
            buckets[before..before + self.buckets.len()].copy_from_slice(&self.buckets);
        }
        self.buckets = buckets;
        self.first = first as u8;
        &mut self.buckets[bucket - first]
    }
}

impl Merge for Histogram {
    fn merge(&mut self, other: &Histogram) {
        other.iter().for_each(|(bucket, more)| self.add(bucket, more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_wait_is_in_its_bucket(waits in prop::collection::vec((0usize..HISTOGRAM_BUCKETS, 1u64..9), 0..60)) {
            let mut histogram = Histogram::default();
            let mut plain = [0; HISTOGRAM_BUCKETS];
            for (bucket, count) in waits {
                histogram.add(bucket, &BlockSums { count, ..BlockSums::default() });
                plain[bucket] += count;
            }
            let filled = plain.iter().copied().enumerate().filter(|(_, count)| *count > 0);
            prop_assert!(filled.eq(histogram.iter().map(|(bucket, filled)| (bucket, filled.count))));
        }
    }

    #[test]
    fn one_filled_bucket_takes_the_room_of_one() {
        let mut histogram = Histogram::default();
        histogram.add(40, &BlockSums { count: 1, ..BlockSums::default() });
        assert_eq!(histogram.buckets.capacity(), 1);
    }
}
