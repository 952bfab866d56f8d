//! Whole numbers in rows: as few bytes as hold them, two's complement, lowest byte first; zero has no bytes.

/// The most bytes of a number.
pub const BYTES_MAX: usize = 8;

/// The bytes of `value` and how many of them count.
#[inline]
pub fn encode(value: i64) -> ([u8; BYTES_MAX], usize) {
    // Bits that differ from the sign, and the sign itself.
    let bits = if value == 0 { 0 } else { 65 - (value ^ (value >> 63)).leading_zeros() as usize };
    (value.to_le_bytes(), bits.div_ceil(8).min(BYTES_MAX))
}

/// The number in `bytes`; `None` beyond [`BYTES_MAX`] bytes: no encoder writes that.
#[inline]
pub fn decode(bytes: &[u8]) -> Option<i64> {
    if bytes.len() > BYTES_MAX {
        return None;
    }
    let mut whole = [0; BYTES_MAX];
    whole[..bytes.len()].copy_from_slice(bytes);
    let unused = 64 - 8 * bytes.len() as u32;
    // The shifts carry the sign into the bytes that were not stored.
    Some(i64::from_le_bytes(whole).checked_shl(unused).unwrap_or(0) >> unused.min(63))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_edges_of_each_length_come_back() {
        for (value, length) in [(0, 0), (1, 1), (-1, 1), (127, 1), (128, 2), (-128, 1), (-129, 2), (1 << 31, 5)] {
            let (bytes, used) = encode(value);
            assert_eq!((used, decode(&bytes[..used])), (length, Some(value)), "{value}");
        }
        for value in [i64::MIN, i64::MAX] {
            let (bytes, used) = encode(value);
            assert_eq!((used, decode(&bytes[..used])), (8, Some(value)));
        }
        assert_eq!(decode(&[0; 9]), None);
    }

    proptest! {
        #[test]
        fn every_number_comes_back(value in any::<i64>(), shift in 0..64_u32) {
            let (bytes, used) = encode(value >> shift);
            prop_assert_eq!(decode(&bytes[..used]), Some(value >> shift));
        }
    }
}
