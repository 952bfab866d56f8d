//! Which rows of a unit have a value, a bit a row.

use super::kernel::Mask;
use super::line::{LINE_ROWS, Line};

/// Bits collected row by row, in the layout of a [`Line`].
#[derive(Clone, Debug, Default)]
pub(super) struct BitmapBuilder {
    words: Vec<u64>,
    rows: usize,
    ones: usize,
}

impl BitmapBuilder {
    /// Room for this many rows.
    pub(super) fn with_room(rows: usize) -> BitmapBuilder {
        BitmapBuilder { words: Vec::with_capacity(rows.div_ceil(64)), rows: 0, ones: 0 }
    }

    /// Appends the bit of the next row.
    #[inline]
    pub(super) fn push(&mut self, is_set: bool) {
        let bit = self.rows % 64;
        if bit == 0 {
            self.words.push(0);
        }
        if let Some(word) = self.words.last_mut() {
            *word |= u64::from(is_set) << bit;
        }
        self.rows += 1;
        self.ones += usize::from(is_set);
    }

    /// Rows so far.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Rows whose bit is set.
    pub(super) fn ones(&self) -> usize {
        self.ones
    }

    /// Whether the bit of a row is set. Panics beyond the last row.
    pub(super) fn is_set(&self, row: usize) -> bool {
        self.words[row / 64] >> (row % 64) & 1 == 1
    }

    /// Forgets all rows and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.words.clear();
        (self.rows, self.ones) = (0, 0);
    }

    /// Writes the bits to as many lines as [`super::planes::groups_of`] the rows; bits beyond the last row are 0.
    pub(super) fn write(&self, lines: &mut [Line]) {
        for (index, line) in lines.iter_mut().enumerate() {
            for (word, bytes) in line.as_chunks_mut().0.iter_mut().enumerate() {
                *bytes = self.words.get(index * LINE_ROWS / 64 + word).copied().unwrap_or(0).to_le_bytes();
            }
        }
    }
}

/// How many of the rows `start..end` are in both masks. Panics beyond the last line.
pub(super) fn count_between(masks: [Mask<'_>; 2], start: usize, end: usize) -> u64 {
    let mut count = 0;
    let mut row = start;
    while row < end {
        let next = ((row / 64 + 1) * 64).min(end);
        let [first, second] = masks.map(|mask| mask.line(row / LINE_ROWS).as_chunks().0[row % LINE_ROWS / 64]);
        let both = u64::from_le_bytes(first) & u64::from_le_bytes(second);
        let rows = u64::MAX >> (64 - (next - row));
        count += u64::from((both >> (row % 64) & rows).count_ones());
        row = next;
    }
    count
}
