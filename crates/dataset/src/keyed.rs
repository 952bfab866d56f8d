//! Keyed rows for a join: a key each, from 1 on, a value, and filler; a chosen part of them lies out of key order.
//!
//! Whether a row is out of order is drawn for each row by itself, and these rows hold each other's keys. So every key
//! stands there once, whatever the part, and any row can be made without those before it.

use measure::random::{Permutation, SplitMix64, mix};

use crate::column::{Column, ColumnType};
use crate::letters::eight;
use crate::refused::Refused;
use crate::row::{ROW_BYTES_MAX, Row, packed_text_bytes};

/// The column of the key, from 1.
pub const KEY: u8 = 1;

/// The column of the value, from 1: a number that follows from the key.
pub const VALUE: u8 = 2;

/// The columns of a row.
pub static SCHEMA: [Column; 3] = [
    Column::new("key", ColumnType::Number, false),
    Column::new("value", ColumnType::Number, false),
    Column::new("filler", ColumnType::Text, false),
];

/// Bytes of a number at most.
const NUMBER_BYTES: u32 = 8;

/// Bytes of key and value together, as they count in the nominal length of a row.
const NUMBERS_BYTES: u32 = 2 * NUMBER_BYTES;

/// Most bytes of filler of a row: a count, two numbers with their lengths, and the filler's length are taken off.
pub const PAD_MAX: u32 = ROW_BYTES_MAX as u32 - 1 - 2 * (1 + NUMBER_BYTES) - 3;

/// Values lie below this.
pub const VALUES: u64 = 1 << 40;

/// What the rows look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyedShape {
    /// Per cent of the rows that are out of key order, 0 to 100.
    pub rand: u8,
    /// Bytes of filler of a row.
    pub pad: u32,
}

impl KeyedShape {
    /// The shape whose rows have this nominal length; [`KeyedShape::check`] refuses one that cannot be.
    pub(crate) fn of_row_length(row_length: u32, rand: u8) -> KeyedShape {
        KeyedShape { rand, pad: row_length.checked_sub(NUMBERS_BYTES).unwrap_or(u32::MAX) }
    }

    /// Bytes of all columns of a row, each number at its longest.
    pub(crate) fn nominal_row_length(self) -> u32 {
        self.pad.saturating_add(NUMBERS_BYTES)
    }

    /// Bytes of the longest packed row.
    pub(crate) fn packed_bytes_max(self) -> usize {
        1 + 2 * (1 + NUMBER_BYTES as usize) + packed_text_bytes(self.pad.min(PAD_MAX) as usize)
    }

    /// Errors where no row has this shape, with what to ask for instead.
    pub fn check(self) -> Result<(), Refused> {
        let KeyedShape { rand, pad } = self;
        if rand > 100 {
            return Err(Refused(format!("{rand} per cent of the rows cannot be out of order")));
        }
        if pad > PAD_MAX {
            let reason = format!("a row with {pad} bytes of filler does not fit into a page; {PAD_MAX} bytes do");
            return Err(Refused(reason));
        }
        Ok(())
    }
}

/// The rows of one table.
#[derive(Clone, Debug)]
pub struct KeyedRows {
    seed: u64,
    shape: KeyedShape,
    order: Permutation,
}

impl KeyedRows {
    /// A table of `rows` rows. Errors for a shape that no row has.
    pub fn new(shape: KeyedShape, rows: u64, seed: u64) -> Result<KeyedRows, Refused> {
        shape.check()?;
        let seed = mix(seed);
        Ok(KeyedRows { seed, shape, order: Permutation::new(rows, &mut SplitMix64::new(seed)) })
    }

    /// The key of row `number`, counted from 0.
    ///
    /// A row in its place has the key `number + 1`. The others exchange theirs: the order of all rows is followed from
    /// one row to the next until it comes to one that is out of place too. As many steps on average as there are rows
    /// for one that is out of place, so that a row takes one on average.
    pub fn key(&self, number: u64) -> i64 {
        let mut from = number;
        if self.is_out_of_place(number) {
            from = self.order.at(from);
            while !self.is_out_of_place(from) {
                from = self.order.at(from);
            }
        }
        from as i64 + 1
    }

    /// The value that belongs to a key.
    pub fn value(&self, key: i64) -> i64 {
        (mix(self.seed ^ key as u64) % VALUES) as i64
    }

    /// Makes row `number`, counted from 0.
    pub fn fill(&self, number: u64, row: &mut Row) {
        let key = self.key(number);
        let pad = self.shape.pad as usize;
        let mut random = SplitMix64::new(self.seed ^ number);
        row.clear();
        row.push_number(key);
        row.push_number(self.value(key));
        row.push_text_of(|out| {
            let end = out.len() + pad;
            while out.len() < end {
                let letters = eight(random.next_u64()).to_le_bytes();
                out.extend_from_slice(&letters[..letters.len().min(end - out.len())]);
            }
        });
    }

    fn is_out_of_place(&self, number: u64) -> bool {
        mix(self.seed.rotate_left(32) ^ number) % 100 < u64::from(self.shape.rand)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Value;
    use proptest::prelude::*;

    fn shape(rand: u8, pad: u32) -> KeyedShape {
        KeyedShape { rand, pad }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn every_key_stands_there_once_and_as_many_out_of_place_as_asked_for(
            rand in 0..=100_u8, rows in 1..3000_u64, seed: u64,
        ) {
            let keyed = KeyedRows::new(shape(rand, 0), rows, seed).unwrap();
            let mut keys: Vec<i64> = (0..rows).map(|number| keyed.key(number)).collect();
            let moved = keys.iter().zip(1..).filter(|(key, place)| **key != *place).count() as f64;
            let expected = rows as f64 * f64::from(rand) / 100.0;
            // A drawn count, and an order of few may leave some where they were.
            prop_assert!((moved - expected).abs() <= 6.0 * expected.sqrt() + 4.0, "{moved} of {expected}");
            keys.sort_unstable();
            prop_assert_eq!(keys, (1..=rows as i64).collect::<Vec<i64>>());
        }

        #[test]
        fn a_row_holds_its_key_the_value_of_it_and_filler_of_the_length_asked_for(
            rand in 0..=100_u8, pad in 0..=PAD_MAX, number in 0..500_u64,
        ) {
            let keyed = KeyedRows::new(shape(rand, pad), 500, 3).unwrap();
            let mut row = Row::default();
            keyed.fill(number, &mut row);
            prop_assert!(row.packed_bytes() <= ROW_BYTES_MAX);
            let values: Vec<Value<'_>> = row.values().collect();
            let key = keyed.key(number);
            prop_assert_eq!(&values[..2], &[Value::Number(key), Value::Number(keyed.value(key))][..]);
            let Value::Text(filler) = values[2] else { panic!("{:?}", values[2]) };
            prop_assert_eq!(filler.len() as u32, pad);
        }
    }

    #[test]
    fn a_shape_that_fits_no_page_is_refused_with_one_that_does() {
        assert!(shape(0, PAD_MAX).check().is_ok());
        assert!(shape(0, PAD_MAX + 1).check().unwrap_err().to_string().contains(&format!("{PAD_MAX} bytes do")));
        assert!(shape(101, 0).check().is_err());
        assert!(KeyedShape::of_row_length(3, 1).check().is_err(), "what no shape has is refused");
    }
}
