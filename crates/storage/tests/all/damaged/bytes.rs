//! Changes that any bytes can suffer.

use measure::random::SplitMix64;

/// Puts random bytes in the place of all.
pub(crate) fn fill(bytes: &mut [u8], random: &mut SplitMix64) {
    bytes.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&random.next_u64().to_le_bytes()[..chunk.len()]));
}

/// A byte at random; `telling` are those that are likely to mean something to the decoder.
pub(crate) fn any(byte: u8, telling: &[u8], random: &mut SplitMix64) -> u8 {
    match random.below(4) {
        0 => byte ^ 1 << random.below(8),
        1 => telling.get(random.below(telling.len().max(1) as u64) as usize).map_or(byte, |telling| *telling),
        _ => random.next_u64() as u8,
    }
}
