//! Uniform rows: text columns of equal length, as in the experiment on logical reads that this program repeats.
//!
//! The columns are of equal length as far as that goes and together as long as asked for: 5 columns and 2500 bytes are
//! 5 columns of 500. Their text is letters `a` to `p`, four random bits each.
//!
//! The letters of a row are one stream, and the columns stand in it with gaps: one letter before the first column, and
//! before each column one more, three where it is longer than 250. A format that stores a column count and lengths
//! there can lay them over the stream and make a whole row in one pass.

use std::ops::Range;

use measure::random::mix;

use crate::letters::{LETTERS_PER_WORD, sixteen};
use crate::refused::Refused;
use crate::row::{COLUMNS_MAX, ROW_BYTES_MAX, Row, length_bytes, packed_text_bytes};

/// The increment of SplitMix64, as in [`measure::random::SplitMix64`].
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Length and number of the columns.
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

    /// Where each column stands in the letters of a row.
    pub fn places(self) -> impl Iterator<Item = Range<usize>> {
        let mut end = 1;
        self.column_lengths().map(move |length| {
            let start = end + length_bytes(length);
            end = start + length;
            start..end
        })
    }

    /// Bytes of a packed row, as [`Row::packed_bytes`] counts them; this many letters of its stream are in use.
    pub fn encoded_bytes(self) -> usize {
        1 + self.column_lengths().map(packed_text_bytes).sum::<usize>()
    }

    /// Errors where no row has this shape, with what to ask for instead.
    pub fn check(self) -> Result<(), Refused> {
        let RowShape { row_length, columns } = self;
        let refused = |reason: String| Err(Refused(reason));
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
        // The comparison with the longest row keeps the sum below from overflowing.
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

/// The rows of one table.
#[derive(Clone, Debug)]
pub struct UniformRows {
    seed: u64,
    shape: RowShape,
}

impl UniformRows {
    /// Rows of this shape. Errors for a shape that no row has.
    pub fn new(shape: RowShape, seed: u64) -> Result<UniformRows, Refused> {
        shape.check()?;
        Ok(UniformRows { seed: mix(seed), shape })
    }

    /// Length and number of the columns.
    pub fn shape(&self) -> RowShape {
        self.shape
    }

    /// The letters of row `number`, 16 at a time, the first one in the lowest byte; as many as one takes.
    ///
    /// Letters `16 k` to `16 k + 15` come from word `k`, which is `mix(mix(mix(seed) ^ number) + (k + 1) * GAMMA)`:
    /// first the low halves of its bytes, then the high halves.
    #[inline]
    pub fn letters(&self, number: u64) -> impl Iterator<Item = u128> + use<> {
        let mut state = mix(self.seed ^ number);
        std::iter::repeat_with(move || {
            state = state.wrapping_add(GAMMA);
            sixteen(mix(state))
        })
    }

    /// Makes row `number`, counted from 0.
    pub fn fill(&self, number: u64, row: &mut Row) {
        let words = self.shape.encoded_bytes().div_ceil(LETTERS_PER_WORD);
        let write =
            |out: &mut Vec<u8>| self.letters(number).take(words).for_each(|word| out.extend(word.to_le_bytes()));
        row.set_texts(write, self.shape.places());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Value;
    use proptest::prelude::*;

    fn texts(seed: u64, shape: RowShape, number: u64) -> Vec<Vec<u8>> {
        let mut row = Row::default();
        UniformRows::new(shape, seed).unwrap().fill(number, &mut row);
        assert_eq!(row.packed_bytes(), shape.encoded_bytes());
        let text = |value| match value {
            Value::Text(text) => text.to_vec(),
            other => panic!("{other:?}"),
        };
        row.values().map(text).collect()
    }

    const SHAPE: RowShape = RowShape { row_length: 250, columns: 5 };

    #[test]
    fn rows_differ_by_number_and_by_seed() {
        assert_ne!(texts(1, SHAPE, 0), texts(1, SHAPE, 1));
        assert_ne!(texts(1, SHAPE, 0), texts(2, SHAPE, 0));
    }

    #[test]
    fn a_shape_that_cannot_be_says_what_to_ask_for() {
        let refusal = |row_length, columns| RowShape { row_length, columns }.check().unwrap_err().to_string();
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
            let texts = texts(seed, shape, number);
            let lengths: Vec<usize> = texts.iter().map(Vec::len).collect();
            prop_assert_eq!(lengths.len() as u32, columns);
            prop_assert_eq!(lengths.iter().sum::<usize>() as u32, shape.row_length);
            prop_assert!(lengths.iter().max().unwrap() - lengths.iter().min().unwrap() <= 1);
            prop_assert!(texts.concat().iter().all(|byte| (b'a'..=b'p').contains(byte)));
        }
    }
}
