//! How many different things there were, in a kilobyte that can be written down and put together with others:
//! HyperLogLog (Flajolet and others, 2007).

/// Bits of a hash that choose a register, and how many registers there are. An estimate is off by 1.04 / √1024, 3.3 %,
/// in one standard deviation.
const INDEX_BITS: u32 = 10;
const REGISTERS: usize = 1 << INDEX_BITS;
const DEVIATION: f64 = 1.04 / 32.0;

/// Two-sided factor of an error that holds 19 of 20 times.
const NINETEEN_OF_TWENTY: f64 = 1.96;

/// The constant for this number of registers.
const ALPHA: f64 = 0.7213 / (1.0 + 1.079 / REGISTERS as f64);

/// The letter of a register of 0: registers up to 54 are letters that can be seen.
const LETTER: u8 = b'0';
const REGISTER_MAX: u8 = 64 - INDEX_BITS as u8;

/// Different hashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::source) struct Sketch {
    registers: Vec<u8>,
}

impl Default for Sketch {
    fn default() -> Sketch {
        Sketch { registers: vec![0; REGISTERS] }
    }
}

impl Sketch {
    /// Adds a hash, which has to be spread over all numbers.
    pub(in crate::source) fn add(&mut self, hash: u64) {
        let place = (hash >> (64 - INDEX_BITS)) as usize;
        // Zeros before the first one of the other bits, and that one.
        let rank = ((hash << INDEX_BITS).leading_zeros() as u8 + 1).min(REGISTER_MAX);
        self.registers[place] = self.registers[place].max(rank);
    }

    /// Adds those of another sketch.
    pub(in crate::source) fn merge(&mut self, other: &Sketch) {
        for (register, other) in self.registers.iter_mut().zip(&other.registers) {
            *register = (*register).max(*other);
        }
    }

    /// How many there were.
    pub(in crate::source) fn count(&self) -> u64 {
        let registers = REGISTERS as f64;
        let harmonic: f64 = self.registers.iter().map(|register| (-f64::from(*register)).exp2()).sum();
        let raw = ALPHA * registers * registers / harmonic;
        let empty = self.registers.iter().filter(|register| **register == 0).count() as f64;
        // The registers that are still empty count few elements more closely.
        let count = if raw <= 2.5 * registers && empty > 0.0 { registers * (registers / empty).ln() } else { raw };
        count.round() as u64
    }

    /// How far the count may be off, 19 of 20 times.
    pub(in crate::source) fn error(&self) -> u64 {
        (NINETEEN_OF_TWENTY * DEVIATION * self.count() as f64).ceil() as u64
    }

    /// As a text: a letter a register.
    pub(in crate::source) fn text(&self) -> String {
        self.registers.iter().map(|register| char::from(LETTER + register)).collect()
    }

    /// From its text; `None` where that is none.
    pub(in crate::source) fn of_text(text: &str) -> Option<Sketch> {
        let register = |letter: u8| letter.checked_sub(LETTER).filter(|register| *register <= REGISTER_MAX);
        let registers: Vec<u8> = text.bytes().map(register).collect::<Option<_>>()?;
        (registers.len() == REGISTERS).then_some(Sketch { registers })
    }
}

/// Spreads the number of a block over all numbers (the finalizer of SplitMix64). Recordings hold what comes of it.
pub(in crate::source) fn spread(block: u64) -> u64 {
    let mut hash = block.wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(blocks: std::ops::Range<u64>) -> Sketch {
        let mut sketch = Sketch::default();
        blocks.for_each(|block| sketch.add(spread(block)));
        sketch
    }

    #[test]
    fn what_is_counted_in_parts_is_near_the_stated_error_and_counted_once() {
        for count in [0, 1, 10, 400, 2_000, 3_000, 5_000, 100_000, 1_000_000] {
            let mut sketch = of(0..count * 2 / 3);
            sketch.merge(&of(count / 3..count));
            let off = sketch.count().abs_diff(count);
            // Some of these would be beyond it where one of twenty is.
            assert!(off <= 2 * sketch.error(), "{} of {count}, ± {}", sketch.count(), sketch.error());
            assert_eq!(Sketch::of_text(&sketch.text()), Some(sketch));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_text_that_is_no_sketch_is_none(text in "[ -~é]{0,1100}") {
            if let Some(sketch) = Sketch::of_text(&text) {
                prop_assert!(text.len() == REGISTERS && sketch.count() < u64::MAX / 8);
            }
        }
    }
}
