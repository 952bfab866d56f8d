//! How many different things there were, in bounded memory: beyond a number of them, those of a part of all hashes.

use std::collections::HashSet;

use foldhash::fast::FixedState;

/// Most hashes that are kept: 64 KiB. With a half of them the count is off by at most 4.3 %, 19 of 20 times.
const KEPT_MAX: usize = 4096;

/// Two-sided factor of an error that holds 19 of 20 times.
const NINETEEN_OF_TWENTY: f64 = 1.96;

/// Different hashes.
#[derive(Clone, Debug, Default)]
pub(super) struct Distinct {
    kept: HashSet<u64, FixedState>,
    /// Hashes are kept whose highest bits, this number of them, are zero.
    bits: u32,
}

impl Distinct {
    /// Adds a hash, which has to be spread over all numbers.
    pub(super) fn add(&mut self, hash: u64) {
        if !self.keeps(hash) || !self.kept.insert(hash) {
            return;
        }
        while self.kept.len() > KEPT_MAX {
            self.bits += 1;
            let bits = self.bits;
            self.kept.retain(|hash| hash.leading_zeros() >= bits);
        }
    }

    fn keeps(&self, hash: u64) -> bool {
        hash.leading_zeros() >= self.bits
    }

    /// How many there were.
    pub(super) fn count(&self) -> u64 {
        (self.kept.len() as u64) << self.bits
    }

    /// How far the count may be off, 19 of 20 times.
    pub(super) fn error(&self) -> u64 {
        match self.bits {
            0 => 0,
            bits => (NINETEEN_OF_TWENTY * (self.kept.len() as f64).sqrt() * (1_u64 << bits) as f64) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sketch::spread;
    use super::*;

    #[test]
    fn few_are_counted_and_many_are_estimated_near_the_stated_error() {
        for count in [0, 1, 4096, 5000, 100_000, 1_000_000] {
            let mut distinct = Distinct::default();
            for block in 0..count {
                distinct.add(spread(block));
                distinct.add(spread(block));
            }
            let off = distinct.count().abs_diff(count);
            // Some of these would be beyond it where one of twenty is.
            assert!(off <= 2 * distinct.error(), "{} of {count}, ± {}", distinct.count(), distinct.error());
            assert!(distinct.kept.len() <= KEPT_MAX);
            assert_eq!(distinct.error() == 0, count <= KEPT_MAX as u64);
        }
    }
}
