//! Text out of random bits: letters `a` to `p`, four bits each.

/// Letters of one 64-bit random word.
pub(crate) const LETTERS_PER_WORD: usize = 16;

/// The low half of every byte of a word.
const LOW_HALVES: u64 = 0x0F0F_0F0F_0F0F_0F0F;

/// The letter `a` in every byte of a word.
const LETTERS: u64 = 0x6161_6161_6161_6161;

/// Eight letters: the low half of each byte, the lowest byte first.
#[inline]
pub(crate) fn eight(word: u64) -> u64 {
    (word & LOW_HALVES) + LETTERS
}

/// Sixteen letters: the low halves of all bytes, then the high halves.
#[inline]
pub(crate) fn sixteen(word: u64) -> u128 {
    u128::from(eight(word)) | u128::from(eight(word >> 4)) << 64
}
