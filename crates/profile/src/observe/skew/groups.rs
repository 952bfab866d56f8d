//! Sums by key, in bounded memory.
//!
//! Every key is kept while there are few. When there are too many, the smaller half is merged into one sum. A key that
//! comes again after that starts from zero, so that its total is short by what was merged; the largest total that each
//! merge took bounds how much.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::FixedState;

use crate::event::Ticks;

/// Sums of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sums {
    /// Calls and waits.
    pub count: u64,
    /// Their time.
    pub total: Ticks,
    /// The shortest.
    pub min: Ticks,
    /// The longest.
    pub max: Ticks,
}

impl Sums {
    /// Of nothing yet.
    pub(crate) const NONE: Sums = Sums { count: 0, total: Ticks::ZERO, min: Ticks(i64::MAX), max: Ticks(i64::MIN) };

    /// Of one, or of as many as the time is the sum of: then no shortest and no longest is known.
    pub(crate) fn of(time: Ticks, sum_of: Option<u64>) -> Sums {
        match sum_of {
            None => Sums { count: 1, total: time, min: time, max: time },
            Some(count) => Sums { count, total: time, ..Sums::NONE },
        }
    }

    /// Adds `other`.
    pub(crate) fn add(&mut self, other: Sums) {
        self.count += other.count;
        self.total = Ticks(self.total.0.saturating_add(other.total.0));
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// The mean in µs.
    pub fn mean_micros(&self) -> f64 {
        self.total.micros() / self.count.max(1) as f64
    }
}

/// What was merged to bound the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The sums of all merged keys.
    pub sums: Sums,
    /// How many keys were merged; one that came again counts again.
    pub keys: u64,
    /// No key that is shown is short by more than this.
    pub shortfall_max: Ticks,
}

/// Sums by key.
#[derive(Clone, Debug)]
pub(crate) struct Groups<K> {
    keys_max: usize,
    /// In the same order in each run: of keys with equal totals it decides which are merged.
    sums: HashMap<K, Sums, FixedState>,
    merged: Merged,
}

impl<K: Copy + Eq + Hash> Groups<K> {
    /// Sums of at most this many keys, 2 at least.
    pub(crate) fn new(keys_max: usize) -> Groups<K> {
        let merged = Merged { sums: Sums::NONE, keys: 0, shortfall_max: Ticks::ZERO };
        Groups { keys_max: keys_max.max(2), sums: HashMap::default(), merged }
    }

    /// Adds to the sums of this key.
    pub(crate) fn add(&mut self, key: K, sums: Sums) {
        self.sums.entry(key).or_insert(Sums::NONE).add(sums);
        if self.sums.len() > self.keys_max {
            self.merge_smaller_half();
        }
    }

    /// All keys with their sums, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &Sums)> {
        self.sums.iter()
    }

    /// What was merged, where anything was.
    pub(crate) fn merged(&self) -> Option<Merged> {
        (self.merged.keys > 0).then_some(self.merged)
    }

    fn merge_smaller_half(&mut self) {
        let mut totals: Vec<i64> = self.sums.values().map(|sums| sums.total.0).collect();
        let middle = totals.len() / 2;
        let (_, border, _) = totals.select_nth_unstable(middle);
        let border = *border;
        // Of those at the border as many go as are needed: all may have the same total.
        let below = self.sums.values().filter(|sums| sums.total.0 < border).count();
        let mut at_border = middle - below;
        let merged = &mut self.merged;
        let mut largest = 0;
        self.sums.retain(|_, sums| {
            let goes = sums.total.0 < border || (sums.total.0 == border && at_border > 0);
            if goes {
                at_border -= usize::from(sums.total.0 == border);
                merged.sums.add(*sums);
                merged.keys += 1;
                largest = largest.max(sums.total.0);
            }
            !goes
        });
        merged.shortfall_max = Ticks(merged.shortfall_max.0.saturating_add(largest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::random::SplitMix64;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn the_heavy_ones_stay_and_the_sum_stays_whole() {
        let mut random = SplitMix64::new(11);
        let mut groups = Groups::new(200);
        let mut exact: BTreeMap<u64, Sums> = BTreeMap::new();
        for _ in 0..100_000 {
            // Ten keys have half the time, twenty thousand the rest.
            let key = if random.below(2) == 0 { random.below(10) } else { 10 + random.below(20_000) };
            let time = Ticks(1 + random.below(1000) as i64);
            groups.add(key, Sums::of(time, None));
            exact.entry(key).or_insert(Sums::NONE).add(Sums::of(time, None));
            assert!(groups.sums.len() <= 200);
        }
        let merged = groups.merged().unwrap();
        let total: Ticks = groups.iter().map(|(_, sums)| sums.total).chain([merged.sums.total]).sum();
        let count: u64 = groups.iter().map(|(_, sums)| sums.count).chain([merged.sums.count]).sum();
        assert_eq!((total, count), (exact.values().map(|sums| sums.total).sum(), 100_000));
        for key in 0..10 {
            assert_eq!(groups.sums[&key], exact[&key], "a heavy key lost something");
        }
        for (key, sums) in groups.iter() {
            assert!(exact[key].total - sums.total <= merged.shortfall_max, "{key}");
        }
    }

    #[test]
    fn of_keys_with_equal_totals_the_same_ones_are_merged_in_each_run() {
        let kept = || {
            let mut groups = Groups::new(100);
            (0..1000).for_each(|key| groups.add(key, Sums::of(Ticks(5), None)));
            groups.iter().map(|(key, _)| *key).collect::<BTreeSet<i32>>()
        };
        assert_eq!(kept(), kept());
    }

    #[test]
    fn keys_of_equal_totals_are_merged_half_by_half() {
        let mut groups = Groups::new(100);
        (0..1000).for_each(|key| groups.add(key, Sums::of(Ticks(5), None)));
        assert!((50..=100).contains(&groups.sums.len()), "{}", groups.sums.len());
        assert_eq!(groups.merged().unwrap().sums.count + groups.sums.len() as u64, 1000);
    }
}
