//! Seeded numbers that are the same on every machine and in every version.

/// SplitMix64: a 64-bit state, a full period of 2^64, two multiplications a number.
///
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014; constants of the
/// public-domain C version by Sebastiano Vigna.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// A sequence that depends on `seed` alone.
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64 { state: seed }
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.state)
    }

    /// A number in `0..bound`, without bias that matters here: the error is bound / 2^64.
    ///
    /// Source: Lemire, "Fast random integer generation in an interval", 2019. Panics when `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "a range needs at least one number");
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

/// The output function of SplitMix64: a bijection of 64 bits in which every input bit moves every output bit.
#[inline]
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        // First outputs for seed 1234567, as printed by Vigna's splitmix64.c.
        let mut random = SplitMix64::new(1_234_567);
        let outputs: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        assert_eq!(outputs, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn a_bounded_number_stays_below_its_bound() {
        let mut random = SplitMix64::new(1);
        assert!((0..1000).all(|_| random.below(7) < 7));
    }
}
