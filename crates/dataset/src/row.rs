//! One row: its values in the order of the columns.

use std::ops::Range;

/// The longest row of a data set, as [`Row::packed_bytes`] counts: it fits into one page of 8 KiB in every subject.
pub const ROW_BYTES_MAX: usize = 8150;

/// The most columns of a row.
pub const COLUMNS_MAX: usize = 255;

/// The longest value whose length takes one byte in [`Row::packed_bytes`].
pub(crate) const SHORT_LENGTH_MAX: usize = 250;

/// A value of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// No value.
    Null,
    /// A number, or the days of a date.
    Number(i64),
    /// The bytes of a text.
    Text(&'a [u8]),
}

/// Where the value of a column is.
#[derive(Clone, Copy, Debug)]
enum Cell {
    Null,
    Number(i64),
    /// From and to in the row's text.
    Text(u32, u32),
}

/// A row, to be filled again and again.
#[derive(Clone, Debug, Default)]
pub struct Row {
    cells: Vec<Cell>,
    text: Vec<u8>,
    packed_bytes: usize,
}

impl Row {
    /// The values in the order of the columns.
    #[inline]
    pub fn values(&self) -> impl ExactSizeIterator<Item = Value<'_>> {
        self.cells.iter().map(|cell| match *cell {
            Cell::Null => Value::Null,
            Cell::Number(number) => Value::Number(number),
            Cell::Text(from, to) => Value::Text(&self.text[from as usize..to as usize]),
        })
    }

    /// Bytes of the row when it is packed: one for the number of columns, and for each value a length and its bytes.
    /// The length takes three bytes above 250 and otherwise one; a number takes as few bytes as hold it.
    pub fn packed_bytes(&self) -> usize {
        self.packed_bytes
    }

    pub(crate) fn clear(&mut self) {
        self.cells.clear();
        self.text.clear();
        self.packed_bytes = 1;
    }

    #[inline]
    pub(crate) fn push_null(&mut self) {
        self.cells.push(Cell::Null);
        self.packed_bytes += 1;
    }

    #[inline]
    pub(crate) fn push_number(&mut self, number: i64) {
        self.cells.push(Cell::Number(number));
        self.packed_bytes += 1 + number_bytes(number);
    }

    #[inline]
    pub(crate) fn push_text(&mut self, text: &[u8]) {
        self.push_text_of(|out| out.extend_from_slice(text));
    }

    /// Adds a text that `write` appends to the bytes it is given.
    #[inline]
    pub(crate) fn push_text_of(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let from = self.text.len();
        write(&mut self.text);
        self.push_place(from..self.text.len());
    }

    /// Adds texts that stand at these places of the bytes that `write` appends to an empty row.
    pub(crate) fn set_texts(&mut self, write: impl FnOnce(&mut Vec<u8>), places: impl Iterator<Item = Range<usize>>) {
        self.clear();
        write(&mut self.text);
        places.for_each(|place| self.push_place(place));
    }

    #[inline]
    fn push_place(&mut self, place: Range<usize>) {
        self.packed_bytes += packed_text_bytes(place.len());
        self.cells.push(Cell::Text(place.start as u32, place.end as u32));
    }
}

/// Bytes of a packed text of this length.
pub(crate) fn packed_text_bytes(length: usize) -> usize {
    length_bytes(length) + length
}

/// Bytes of the length of a packed text.
pub(crate) fn length_bytes(length: usize) -> usize {
    if length <= SHORT_LENGTH_MAX { 1 } else { 3 }
}

/// How few bytes hold a number in two's complement; zero takes none.
#[inline]
fn number_bytes(value: i64) -> usize {
    // Bits that differ from the sign, and the sign itself.
    let bits = if value == 0 { 0 } else { 65 - (value ^ (value >> 63)).leading_zeros() as usize };
    bits.div_ceil(8).min(size_of::<i64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_back_as_it_was_filled_and_is_as_long_as_its_values() {
        let mut row = Row::default();
        for _ in 0..2 {
            row.clear();
            row.push_number(300);
            row.push_text(b"ab");
            row.push_null();
            row.push_text(&[b'l'; 251]);
            let expected = [Value::Number(300), Value::Text(b"ab"), Value::Null, Value::Text(&[b'l'; 251])];
            assert_eq!(row.values().collect::<Vec<_>>(), expected);
            assert_eq!(row.packed_bytes(), 1 + 3 + 3 + 1 + 254);
        }
    }
}
