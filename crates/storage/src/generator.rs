//! Rows made from numbers: the same seed and row number give the same bytes on every machine and in every version.
//!
//! The columns are of equal length as far as that goes and together as long as asked for, as in the experiment that
//! this engine repeats: 5 columns and 2500 bytes are 5 columns of 500. Their text is letters `a` to `p`, four random
//! bits each.

use measure::random::mix;

use crate::error::StorageError;
use crate::page::{PAGE_ROOM, ROW_BYTES_MAX, SLOT_BYTES};
use crate::row::{COLUMNS_MAX, LONG_LENGTH, SHORT_LENGTH_MAX, encoded_value_bytes};

/// Bytes of text that one 64-bit random word gives.
const TEXT_BYTES_PER_WORD: usize = 16;

/// The increment of SplitMix64, as in [`measure::random::SplitMix64`].
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// The low half of every byte of a word.
const LOW_HALVES: u64 = 0x0F0F_0F0F_0F0F_0F0F;

/// The letter `a` in every byte of a word.
const LETTERS: u64 = 0x6161_6161_6161_6161;

/// What a row looks like, whatever it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowShape {
    /// Bytes of all columns together.
    pub row_length: u32,
    /// Number of columns.
    pub columns: u32,
}

impl RowShape {
    /// The length of each column: equal, and where the division leaves a rest, one more in the first columns.
    pub fn column_lengths(self) -> impl Iterator<Item = usize> {
        let (each, rest) = (self.row_length / self.columns.max(1), self.row_length % self.columns.max(1));
        (0..self.columns).map(move |column| (each + u32::from(column < rest)) as usize)
    }

    /// Bytes of the row as it is stored, with its column count and lengths.
    pub fn encoded_bytes(self) -> usize {
        1 + self.column_lengths().map(encoded_value_bytes).sum::<usize>()
    }

    /// How many such rows a page holds.
    pub fn rows_per_page(self) -> u32 {
        (PAGE_ROOM / (self.encoded_bytes() + SLOT_BYTES)) as u32
    }

    /// Says what is wrong with the shape, and what to ask for instead.
    pub fn check(self) -> Result<(), StorageError> {
        let RowShape { row_length, columns } = self;
        let refused = |reason: String| Err(StorageError::Parameters(reason));
        if columns == 0 || columns as usize > COLUMNS_MAX {
            return refused(format!("a row has 1 to {COLUMNS_MAX} columns, not {columns}"));
        }
        if row_length == 0 {
            return refused("a row has at least 1 byte, not 0".into());
        }
        if row_length < columns {
            return refused(format!(
                "{columns} columns do not fit into a row of {row_length} bytes, because each takes at least one; ask \
                 for rows of {columns} bytes or more, or for at most {row_length} columns"
            ));
        }
        // The comparison with the page's size keeps the sum below from overflowing.
        if row_length as usize > ROW_BYTES_MAX || self.encoded_bytes() > ROW_BYTES_MAX {
            let noun = if columns == 1 { "column" } else { "columns" };
            let longest = ROW_BYTES_MAX - 1 - 3 * columns as usize;
            return refused(format!(
                "a row of {row_length} bytes in {columns} {noun} does not fit into a page; {longest} bytes do"
            ));
        }
        Ok(())
    }
}

/// Makes the rows of one table.
#[derive(Clone, Debug)]
pub struct RowGenerator {
    seed: u64,
    shape: RowShape,
    row_bytes: usize,
    /// The column count and the lengths in their places, in whole stretches of text; zeros elsewhere.
    heads: Vec<u128>,
    /// Ones where text stands.
    text_mask: Vec<u128>,
}

impl RowGenerator {
    /// A generator of rows of this shape. Errors with [`StorageError::Parameters`] for a shape that cannot be.
    pub fn new(seed: u64, shape: RowShape) -> Result<RowGenerator, StorageError> {
        shape.check()?;
        let row_bytes = shape.encoded_bytes();
        let mut heads_bytes = vec![0; row_bytes.next_multiple_of(TEXT_BYTES_PER_WORD)];
        let mut mask_bytes = vec![u8::MAX; heads_bytes.len()];
        for (at, byte) in heads(shape) {
            heads_bytes[at] = byte;
            mask_bytes[at] = 0;
        }
        let words = |bytes: &[u8]| bytes.as_chunks().0.iter().map(|chunk| u128::from_le_bytes(*chunk)).collect();
        let (heads, text_mask) = (words(&heads_bytes), words(&mask_bytes));
        Ok(RowGenerator { seed: mix(seed), shape, row_bytes, heads, text_mask })
    }

    /// What the rows look like.
    pub fn shape(&self) -> RowShape {
        self.shape
    }

    /// Bytes of a row as it is stored.
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Writes row `number` in its stored form to `row`.
    ///
    /// Byte `i` of the row is letter `i` of its text, unless the column count or a length stands there. Letters
    /// `16 k` to `16 k + 15` come from word `k`, which is `mix(mix(mix(seed) ^ number) + (k + 1) * GAMMA)`: first the
    /// low halves of its bytes, then the high halves.
    ///
    /// Panics when `row` is not [`row_bytes`](RowGenerator::row_bytes) long.
    pub fn fill(&self, number: u64, row: &mut [u8]) {
        assert_eq!(row.len(), self.row_bytes, "a row of another table");
        let mut state = mix(self.seed ^ number);
        let mut stretches = self.heads.iter().zip(&self.text_mask).map(|(heads, mask)| {
            state = state.wrapping_add(GAMMA);
            (text(mix(state)) & mask | heads).to_le_bytes()
        });
        // Text and heads are joined by masks: 25 single bytes written into a row of 51 took twice the time.
        let (whole, rest) = row.as_chunks_mut();
        for (chunk, stretch) in whole.iter_mut().zip(&mut stretches) {
            *chunk = stretch;
        }
        if let Some(last) = stretches.next() {
            rest.copy_from_slice(&last[..rest.len()]);
        }
    }
}

/// Where column count and lengths stand in a row of this shape, and what they are.
fn heads(shape: RowShape) -> Vec<(usize, u8)> {
    let mut heads = vec![(0, shape.columns as u8)];
    let mut at = 1;
    for length in shape.column_lengths() {
        if length <= SHORT_LENGTH_MAX {
            heads.push((at, length as u8));
        } else {
            let [low, high] = (length as u16).to_le_bytes();
            heads.extend([(at, LONG_LENGTH), (at + 1, low), (at + 2, high)]);
        }
        at += encoded_value_bytes(length);
    }
    heads
}

/// Sixteen letters out of 64 random bits; the first letter is the lowest byte.
#[inline]
fn text(word: u64) -> u128 {
    let letters = |halves: u64| u128::from((halves & LOW_HALVES) + LETTERS);
    letters(word) | letters(word >> 4) << 64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::RowView;
    use proptest::prelude::*;

    fn row(seed: u64, row_length: u32, columns: u32, number: u64) -> Vec<u8> {
        let generator = RowGenerator::new(seed, RowShape { row_length, columns }).unwrap();
        let mut row = vec![0; generator.row_bytes()];
        generator.fill(number, &mut row);
        row
    }

    #[test]
    fn the_same_numbers_give_the_same_bytes_for_ever() {
        // Computed by another program from the description of `fill`.
        assert_eq!(crc32c::crc32c(&row(1, 2500, 5, 7)), 2_791_312_280);
        assert_eq!(crc32c::crc32c(&row(42, 25, 25, 1 << 40)), 1_745_045_832);
    }

    #[test]
    fn rows_differ_by_number_and_by_seed() {
        assert_ne!(row(1, 250, 5, 0), row(1, 250, 5, 1));
        assert_ne!(row(1, 250, 5, 0), row(2, 250, 5, 0));
    }

    #[test]
    fn a_shape_that_cannot_be_says_what_to_ask_for() {
        let refusal =
            |row_length, columns| RowGenerator::new(0, RowShape { row_length, columns }).unwrap_err().to_string();
        assert!(refusal(10, 25).contains("25 columns do not fit into a row of 10 bytes"));
        assert!(refusal(10, 25).contains("ask for rows of 25 bytes"));
        assert!(refusal(100, 0).contains("1 to 255 columns"));
        assert!(refusal(1000, 256).contains("1 to 255 columns"));
        assert!(refusal(8192, 1).contains("does not fit into a page"));
        assert!(refusal(u32::MAX, 1).contains("does not fit into a page"));
    }

    proptest! {
        #[test]
        fn columns_share_the_row_length_evenly_and_hold_printable_text(
            columns in 1..=255_u32, extra in 0..7000_u32, number in any::<u64>(), seed in any::<u64>(),
        ) {
            let shape = RowShape { row_length: columns + extra, columns };
            prop_assume!(shape.check().is_ok());
            let bytes = row(seed, shape.row_length, columns, number);
            let view = RowView::new(&bytes);
            prop_assert_eq!(view.check(), Ok(()));
            let lengths: Vec<usize> = view.columns().map(|value| value.unwrap().len()).collect();
            prop_assert_eq!(lengths.len() as u32, columns);
            prop_assert_eq!(lengths.iter().sum::<usize>() as u32, shape.row_length);
            prop_assert!(lengths.iter().max().unwrap() - lengths.iter().min().unwrap() <= 1);
            let is_text = |value: &[u8]| value.iter().all(|byte| (b'a'..=b'p').contains(byte));
            prop_assert!(view.columns().all(|value| is_text(value.unwrap())));
        }
    }
}
