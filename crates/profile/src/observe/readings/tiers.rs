//! Tiers: which level really served the reads, inferred from the modes of their latency.
//!
//! A trace records how long a read took and not which level served it. Several modes in the latencies mean several
//! tiers; how long the reads of a mode took suggests which tier it is.

use crate::event::Ticks;
use crate::observe::readings::latency::LatencyDistribution;
use crate::observe::readings::modes::{Modes, Weighted, modes};

/// Longest typical read in µs from the host's memory, system call and copy included. A published case: 40 µs from the
/// file-system cache, against 478 µs and more from the storage's cache behind a network.
const FILE_SYSTEM_CACHE_MICROS_MAX: f64 = 100.0;

/// Longest typical read in µs that is no seek of a disk.
const STORAGE_CACHE_MICROS_MAX: f64 = 2000.0;

/// What each further block of a request adds to these in µs: a copy at 3 GB/s, a transfer at 1 GB/s.
const FILE_SYSTEM_CACHE_MICROS_PER_BLOCK: f64 = 3.0;
const STORAGE_CACHE_MICROS_PER_BLOCK: f64 = 8.0;

measure::words! {
    /// What probably answered.
    pub enum TierLabel ("tier") {
        /// The memory of the database's own host
        FileSystemCache = "file-system-cache",
        /// The memory (or flash) of the storage, behind an adapter or a network
        StorageCache = "storage-cache",
        /// A disk that had to seek
        Disk = "disk",
    }
}

impl TierLabel {
    /// The label of reads with this typical time in µs and this number of blocks.
    pub fn of_read(micros: f64, blocks: f64) -> TierLabel {
        let further = (blocks - 1.0).max(0.0);
        if micros <= FILE_SYSTEM_CACHE_MICROS_MAX + further * FILE_SYSTEM_CACHE_MICROS_PER_BLOCK {
            TierLabel::FileSystemCache
        } else if micros <= STORAGE_CACHE_MICROS_MAX + further * STORAGE_CACHE_MICROS_PER_BLOCK {
            TierLabel::StorageCache
        } else {
            TierLabel::Disk
        }
    }
}

/// One hill of the latency of reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Tier {
    /// What probably answered.
    pub label: TierLabel,
    /// How many reads.
    pub count: u64,
    /// Their time.
    pub time: Ticks,
    /// The latency in µs that is nearest to the most frequent one on a logarithmic scale.
    pub mode_micros: f64,
    /// The valley below which the reads lie, in µs; none for the slowest tier.
    pub below_micros: Option<f64>,
}

impl Tier {
    /// Mean latency in µs.
    pub fn mean_micros(&self) -> f64 {
        self.time.micros() / self.count.max(1) as f64
    }
}

/// The tiers of `reads`, which have `blocks` blocks in the mean, fastest first: one where the latency has one hill,
/// none where nothing was read. Their counts and times add up to the whole.
pub fn tiers(reads: &LatencyDistribution, blocks: f64) -> Vec<Tier> {
    let step = reads.step_micros();
    // A read of no time at all took less than a step.
    let typical = |micros: f64| if micros > 0.0 { micros } else { step / 2.0 };
    let buckets: Vec<_> = reads.buckets().collect();
    let value =
        |bucket: &crate::observe::readings::latency::Bucket| typical(bucket.time.micros() / bucket.count as f64);
    let weighted: Vec<Weighted> =
        buckets.iter().map(|bucket| Weighted { value: value(bucket), count: bucket.count }).collect();
    let Modes { hills, valleys } = modes(&weighted, step);
    // A rounded value is spread over its step, so that the top of the hill may be a latency that no read had.
    let nearest = |hill: f64| {
        let distance = |value: &f64| (value / hill).ln().abs();
        weighted.iter().map(|one| one.value).min_by(|one, other| distance(one).total_cmp(&distance(other)))
    };
    let hills: Vec<f64> = hills.into_iter().map(|hill| nearest(hill).unwrap_or(hill)).collect();
    let tier = |(index, hill): (usize, &f64)| Tier {
        label: TierLabel::of_read(*hill, blocks),
        count: 0,
        time: Ticks::ZERO,
        mode_micros: *hill,
        below_micros: valleys.get(index).copied(),
    };
    let mut tiers: Vec<Tier> = hills.iter().enumerate().map(tier).collect();
    for bucket in &buckets {
        let index = valleys.partition_point(|valley| *valley <= value(bucket));
        if let Some(tier) = tiers.get_mut(index) {
            tier.count += bucket.count;
            tier.time = Ticks(tier.time.0.saturating_add(bucket.time.0));
        }
    }
    tiers
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::random::SplitMix64;

    fn reads(parts: &[(i64, i64, u64)]) -> LatencyDistribution {
        let mut random = SplitMix64::new(7);
        let mut distribution = LatencyDistribution::default();
        for (low, high, count) in parts {
            for _ in 0..*count {
                // The middle of three, so that the part has a hill and not a table mountain.
                let mut drawn = [0; 3].map(|_| low + random.below((high - low) as u64) as i64);
                drawn.sort_unstable();
                distribution.record(Ticks::from_micros(drawn[1]));
            }
        }
        distribution
    }

    #[test]
    fn tiers_add_up_to_all_reads_and_say_what_answered() {
        let reads = reads(&[(20, 60, 3000), (300, 900, 1000), (3000, 15_000, 2000)]);
        let tiers = tiers(&reads, 1.0);
        let labels: Vec<TierLabel> = tiers.iter().map(|tier| tier.label).collect();
        assert_eq!(labels, [TierLabel::FileSystemCache, TierLabel::StorageCache, TierLabel::Disk]);
        assert_eq!(tiers.iter().map(|tier| tier.count).collect::<Vec<_>>(), [3000, 1000, 2000]);
        assert_eq!(tiers.iter().map(|tier| tier.time).sum::<Ticks>(), reads.time());
        assert!((35.0..45.0).contains(&tiers[0].mean_micros()));
    }

    #[test]
    fn published_reads_of_several_blocks_get_the_labels_that_their_author_found() {
        let label = |micros| TierLabel::of_read(micros, 8.0);
        assert_eq!(label(40.5), TierLabel::FileSystemCache);
        assert_eq!([478.4, 700.0, 1410.25].map(label), [TierLabel::StorageCache; 3]);
    }

    #[test]
    fn reads_of_no_time_are_in_a_tier_too() {
        let mut reads = reads(&[(3000, 15_000, 100)]);
        (0..100).for_each(|_| reads.record(Ticks::ZERO));
        let tiers = tiers(&reads, 1.0);
        assert_eq!(tiers.iter().map(|tier| tier.count).sum::<u64>(), 200);
        assert_eq!(tiers[0].label, TierLabel::FileSystemCache);
        assert!(super::tiers(&LatencyDistribution::default(), 1.0).is_empty());
    }
}
