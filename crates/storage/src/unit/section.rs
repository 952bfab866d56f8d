//! What stands in the sections of a column: nulls as bits, numbers as offsets from the smallest, texts behind their
//! lengths.
//!
//! Numbers keep a place for a null, so that row `i` is place `i`. They are as wide as the widest offset needs: 1, 2, 4
//! or 8 bytes. A text's length takes two bytes; the texts follow in a row.

use super::format::{Entry, SECTION_BYTES_MAX, UnitDamage};
use super::level::Codec;

/// Bytes before the numbers: the width, and the smallest number.
pub(super) const NUMBERS_HEAD: usize = 9;

/// Raw bytes of a column of numbers.
pub(super) fn numbers(values: &[Option<i64>]) -> Vec<u8> {
    let present = || values.iter().flatten().copied();
    let (least, greatest) = (present().min().unwrap_or(0), present().max().unwrap_or(0));
    let spread = greatest.wrapping_sub(least) as u64;
    let width = [1, 2, 4].into_iter().find(|width| spread >> (8 * width) == 0).unwrap_or(8_usize);
    let mut raw = Vec::with_capacity(NUMBERS_HEAD + width * values.len());
    raw.push(width as u8);
    raw.extend_from_slice(&least.to_le_bytes());
    for value in values {
        let offset = value.map_or(0, |value| value.wrapping_sub(least) as u64);
        raw.extend_from_slice(&offset.to_le_bytes()[..width]);
    }
    raw
}

/// The bits of the nulls; empty where there is none.
pub(super) fn nulls(are_null: &[bool]) -> Vec<u8> {
    if !are_null.contains(&true) {
        return Vec::new();
    }
    let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
    are_null.chunks(8).map(byte).collect()
}

/// A section compressed, or as it is where that is no longer.
pub(super) fn compress(codec: Codec, raw: Vec<u8>) -> Vec<u8> {
    let packed = match codec {
        Codec::Lz4 => Some(lz4_flex::block::compress(&raw)),
        // A failure to compress is no failure: the bytes are then kept as they are.
        Codec::Zstd(level) => zstd::bulk::compress(&raw, level).ok(),
    };
    match packed {
        Some(packed) if packed.len() < raw.len() => packed,
        _ => raw,
    }
}

/// Decompresses into `out`, which is then exactly as long as the entry says.
///
/// `stored` has passed its checksum, so only a faulty or a hostile writer can fail here.
pub(super) fn decompress(codec: Codec, stored: &[u8], entry: Entry, out: &mut Vec<u8>) -> Result<(), &'static str> {
    let raw = entry.raw as usize;
    if entry.raw > SECTION_BYTES_MAX {
        return Err("a section is too large");
    }
    out.clear();
    if stored.len() == raw {
        out.extend_from_slice(stored);
        return Ok(());
    }
    out.resize(raw, 0);
    let written = match codec {
        Codec::Lz4 => lz4_flex::block::decompress_into(stored, out).ok(),
        Codec::Zstd(_) => zstd::bulk::decompress_to_buffer(stored, out).ok(),
    };
    if written == Some(raw) { Ok(()) } else { Err("a section does not decompress to its size") }
}

/// Checks the stored bytes of a section against its entry.
pub(super) fn verify(stored: &[u8], entry: Entry, column: usize) -> Result<(), UnitDamage> {
    let computed = crc32c::crc32c(stored);
    if computed != entry.checksum {
        let what = format!("column {}", column + 1);
        return Err(UnitDamage::Checksum { what, stored: entry.checksum, computed });
    }
    Ok(())
}

/// The numbers of a unit, decompressed.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'a> {
    width: usize,
    least: i64,
    offsets: &'a [u8],
}

impl<'a> Numbers<'a> {
    /// Looks at a raw section of this many rows.
    pub fn parse(raw: &'a [u8], rows: usize) -> Result<Numbers<'a>, &'static str> {
        let head = raw.get(..NUMBERS_HEAD).ok_or("its numbers have no head")?;
        let (width, offsets) = (usize::from(head[0]), &raw[NUMBERS_HEAD..]);
        if !matches!(width, 1 | 2 | 4 | 8) {
            return Err("its numbers have a width that is none");
        }
        if offsets.len() != width * rows {
            return Err("it has not as many numbers as rows");
        }
        let least = head[1..].first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes));
        let numbers = Numbers { width, least, offsets };
        // Only a hostile writer goes beyond the greatest number there is, and only near it has one to look.
        let room = i64::MAX.wrapping_sub(least) as u64;
        if u64::MAX >> (64 - 8 * width) > room && (0..rows).any(|row| numbers.offset(row) > room) {
            return Err("it has a number that is greater than any");
        }
        Ok(numbers)
    }

    /// Sets bit `i % 64` of word `i / 64` where number `i` lies within the range, ends included. `words` has a word
    /// for every 64 rows; a null's place counts as the smallest number.
    pub(crate) fn between(&self, low: i64, high: i64, words: &mut [u64]) {
        // In the numbers' own terms: offsets from the smallest are never negative.
        let above = |bound: i64| i128::from(bound) - i128::from(self.least);
        let (low, high) = (above(low), above(high));
        if low > high || high < 0 || low > i128::from(u64::MAX) {
            return words.fill(0);
        }
        let (low, high) = (low.max(0) as u64, high.min(i128::from(u64::MAX)) as u64);
        match self.width {
            1 => self.compare::<1>(low, high, words),
            2 => self.compare::<2>(low, high, words),
            4 => self.compare::<4>(low, high, words),
            _ => self.compare::<8>(low, high, words),
        }
    }

    #[inline(always)]
    fn compare<const WIDTH: usize>(&self, low: u64, high: u64, words: &mut [u64]) {
        let numbers = self.offsets.as_chunks::<WIDTH>().0;
        for (word, chunk) in words.iter_mut().zip(numbers.chunks(64)) {
            *word = chunk.iter().enumerate().fold(0, |bits, (place, bytes)| {
                let mut whole = [0; 8];
                whole[..WIDTH].copy_from_slice(bytes);
                let offset = u64::from_le_bytes(whole);
                bits | u64::from(low <= offset && offset <= high) << place
            });
        }
    }

    /// Number `row`, whether or not it is a null's place.
    pub fn value(&self, row: usize) -> i64 {
        self.least.wrapping_add(self.offset(row) as i64)
    }

    /// What number `row` is greater by than the smallest.
    fn offset(&self, row: usize) -> u64 {
        let mut whole = [0; 8];
        whole[..self.width].copy_from_slice(&self.offsets[row * self.width..][..self.width]);
        u64::from_le_bytes(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_beyond_the_greatest_is_refused_and_does_not_become_a_negative_one() {
        let edge = numbers(&[Some(i64::MAX - 3), None, Some(i64::MAX)]);
        assert_eq!(Numbers::parse(&edge, 3).unwrap().value(2), i64::MAX);
        let mut beyond = edge.clone();
        beyond[NUMBERS_HEAD + 2] += 1;
        assert_eq!(Numbers::parse(&beyond, 3).unwrap_err(), "it has a number that is greater than any");
        let both_ends = numbers(&[Some(i64::MIN), Some(i64::MAX)]);
        assert_eq!(Numbers::parse(&both_ends, 2).unwrap().value(1), i64::MAX);
    }
}
