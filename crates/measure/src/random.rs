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

/// Factor of a permutation's rounds: 2^64 over the golden ratio, an odd number without a pattern in its bits; and its
/// inverse modulo 2^64, and so modulo every smaller power of two.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
const FACTOR_INVERSE: u64 = inverse(FACTOR);

/// A bijection of `0..count` that looks random, needs no memory and can be computed both ways.
///
/// Each of three rounds adds a key, multiplies by an odd number and folds the high bits down, all of it reversible
/// modulo a power of two; results outside the range are sent through again until they fall inside ("cycle walking",
/// Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002), fewer than two passes on average.
#[derive(Clone, Debug)]
pub struct Permutation {
    count: u64,
    mask: u64,
    fold: u32,
    keys: [u64; 3],
}

impl Permutation {
    /// The bijection of `0..count` that the next three numbers of `random` pick.
    pub fn new(count: u64, random: &mut SplitMix64) -> Permutation {
        // Of two bits and more, at least half are folded: then folding twice gives back the number.
        let bits = (u64::BITS - count.saturating_sub(1).leading_zeros()).max(2);
        let mask = u64::MAX >> (u64::BITS - bits);
        Permutation { count, mask, fold: bits.div_ceil(2), keys: std::array::from_fn(|_| random.next_u64()) }
    }

    /// How many numbers it orders.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number at a position below the count.
    #[inline]
    pub fn at(&self, position: u64) -> u64 {
        let mut value = position;
        loop {
            for key in self.keys {
                value = value.wrapping_add(key) & self.mask;
                value = value.wrapping_mul(FACTOR) & self.mask;
                value ^= value >> self.fold;
            }
            if value < self.count {
                return value;
            }
        }
    }

    /// The position of a number below the count: undoes [`Permutation::at`].
    #[inline]
    pub fn position_of(&self, number: u64) -> u64 {
        let mut value = number;
        loop {
            for key in self.keys.iter().rev() {
                value ^= value >> self.fold;
                value = value.wrapping_mul(FACTOR_INVERSE).wrapping_sub(*key) & self.mask;
            }
            if value < self.count {
                return value;
            }
        }
    }

    /// All numbers in order of their positions.
    pub fn into_numbers(self) -> impl Iterator<Item = u64> {
        (0..self.count).map(move |position| self.at(position))
    }
}

/// The inverse of an odd number modulo 2^64.
///
/// An odd number is its own inverse modulo 8; each step of Newton's method doubles the correct bits: 3, 6, 12, 24, 48,
/// 96.
const fn inverse(odd: u64) -> u64 {
    let mut guess = odd;
    let mut correct_bits = 3;
    while correct_bits < u64::BITS {
        guess = guess.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(guess)));
        correct_bits *= 2;
    }
    guess
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    fn order(count: u64, seed: u64) -> Vec<u64> {
        Permutation::new(count, &mut SplitMix64::new(seed)).into_numbers().collect()
    }

    proptest! {
        #[test]
        fn position_and_number_undo_each_other(count in 1u64..u64::MAX, seed: u64, place: u64) {
            let order = Permutation::new(count, &mut SplitMix64::new(seed));
            let position = place % count;
            let number = order.at(position);
            prop_assert!(number < count);
            prop_assert_eq!(order.position_of(number), position);
        }
    }

    #[test]
    fn an_order_holds_every_number_once_and_differs_by_seed() {
        for count in [0, 1, 2, 3, 4, 5, 100, 1000, 4096, 4097] {
            let mut numbers = order(count, 1);
            assert!(count < 100 || numbers != order(count, 2));
            assert!(count < 100 || !numbers.is_sorted());
            numbers.sort_unstable();
            assert_eq!(numbers, (0..count).collect::<Vec<u64>>());
        }
    }

    #[test]
    fn a_seed_gives_the_same_order_in_every_version() {
        // Kept runs name their seed, and --seed repeats their order.
        assert_eq!(order(10, 7), [6, 9, 5, 3, 2, 8, 0, 7, 1, 4]);
    }

    #[test]
    fn neighbours_in_an_order_are_no_neighbouring_numbers() {
        let near = order(100_000, 7).windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 100).count();
        // In a true shuffle two numbers of 100 000 are that near with probability 0.002.
        assert!(near < 400, "{near} of 100000");
    }
}
