//! Codes as bit planes, and how they are packed.

use super::line::{LINE_ROWS, Line};

/// Bits of the widest code.
pub(super) const WIDTH_MAX: usize = 64;

/// Bits that the codes up to `code_max` need.
pub(super) fn width_of(code_max: u64) -> usize {
    (u64::BITS - code_max.leading_zeros()) as usize
}

/// Groups of [`LINE_ROWS`] that `rows` rows take.
pub(super) fn groups_of(rows: usize) -> usize {
    rows.div_ceil(LINE_ROWS)
}

/// Packed codes: for each group of rows one line a bit, the lowest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planes<'a> {
    lines: &'a [Line],
    width: usize,
}

impl<'a> Planes<'a> {
    /// Codes of `width` bits. Panics beyond [`WIDTH_MAX`].
    pub(super) fn new(lines: &'a [Line], width: usize) -> Planes<'a> {
        assert!(width <= WIDTH_MAX, "codes of {width} bits");
        Planes { lines, width }
    }

    /// The lines of a group. Panics beyond the last one.
    #[inline(always)]
    pub(super) fn group(&self, group: usize) -> &'a [Line] {
        &self.lines[group * self.width..][..self.width]
    }

    /// The greatest code that the width holds.
    pub(super) fn code_max(&self) -> u64 {
        u64::MAX.checked_shr((WIDTH_MAX - self.width) as u32).unwrap_or(0)
    }

    /// The planes of the groups from `group` on.
    pub(super) fn from(&self, group: usize) -> Planes<'a> {
        Planes { lines: &self.lines[group * self.width..], width: self.width }
    }
}

/// Packs the codes of `rows` rows into `lines`, `width` bits each; rows beyond the last have the code 0.
///
/// Panics when there are not as many lines as the rows need. Bits of a code above `width` are dropped.
pub(super) fn pack(rows: usize, width: usize, code: impl Fn(usize) -> u64, lines: &mut [Line]) {
    assert_eq!(lines.len(), groups_of(rows) * width, "lines for {rows} codes of {width} bits");
    if width == 0 {
        return;
    }
    for (group, lines) in lines.chunks_exact_mut(width).enumerate() {
        for word in 0..LINE_ROWS / 64 {
            let first = group * LINE_ROWS + word * 64;
            let mut square = std::array::from_fn(|row| if first + row < rows { code(first + row) } else { 0 });
            transpose(&mut square);
            for (line, bits) in lines.iter_mut().zip(square) {
                line.as_chunks_mut().0[word] = bits.to_le_bytes();
            }
        }
    }
}

/// Turns 64 words of 64 bits so that bit `c` of word `r` becomes bit `r` of word `c`.
///
/// Six rounds that swap squares of half the size each (Warren, Hacker's Delight, second edition, section 7-3).
fn transpose(square: &mut [u64; 64]) {
    let mut size = 32;
    let mut low = u64::from(u32::MAX);
    while size > 0 {
        for block in square.chunks_exact_mut(2 * size) {
            let (upper, lower) = block.split_at_mut(size);
            for (upper, lower) in upper.iter_mut().zip(lower) {
                let swapped = (*upper >> size ^ *lower) & low;
                *upper ^= swapped << size;
                *lower ^= swapped;
            }
        }
        size /= 2;
        low ^= low << size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::random::mix;
    use proptest::prelude::*;

    impl Planes<'_> {
        /// The code of a row. Panics beyond the last group.
        pub(in crate::column) fn code(&self, row: usize) -> u64 {
            let lines = self.group(row / LINE_ROWS);
            let (byte, bit) = (row % LINE_ROWS / 8, row % 8);
            lines.iter().enumerate().fold(0, |code, (plane, line)| code | u64::from(line[byte] >> bit & 1) << plane)
        }
    }

    #[test]
    fn a_square_is_turned_bit_by_bit() {
        let before: [u64; 64] = std::array::from_fn(|row| mix(row as u64));
        let mut after = before;
        transpose(&mut after);
        for (row, column) in (0..64).flat_map(|row| (0..64).map(move |column| (row, column))) {
            assert_eq!(after[column] >> row & 1, before[row] >> column & 1, "{row} {column}");
        }
    }

    #[test]
    fn a_width_holds_its_greatest_code_and_no_greater_one() {
        for (code, width) in [(0, 0), (1, 1), (2, 2), (255, 8), (256, 9), (u64::MAX >> 1, 63), (u64::MAX, 64)] {
            assert_eq!(width_of(code), width, "{code}");
        }
    }

    proptest! {
        #[test]
        fn codes_come_back_as_they_were_packed(rows in 0..1500_usize, width in 0..=WIDTH_MAX, seed in any::<u64>()) {
            let mask = u64::MAX.checked_shr((WIDTH_MAX - width) as u32).unwrap_or(0);
            let code = |row: usize| mix(seed ^ row as u64) & mask;
            let mut lines = vec![[0xA5; 64]; groups_of(rows) * width];
            pack(rows, width, code, &mut lines);
            let planes = Planes::new(&lines, width);
            for row in 0..rows {
                prop_assert_eq!(planes.code(row), code(row));
            }
            for row in rows..groups_of(rows) * LINE_ROWS {
                prop_assert_eq!(planes.code(row), 0);
            }
        }
    }
}
