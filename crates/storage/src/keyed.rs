//! Rows for a join: a key each, from 1 on, a value, and filler; a chosen part of them lies out of the keys' order.
//!
//! Which rows are out of order is drawn for each row by itself, and these rows hold each other's keys. So every key
//! stands there once, whatever the part, and any page can be made without those before it.

use std::ops::Range;

use measure::random::{Permutation, SplitMix64, mix};

use crate::error::StorageError;
use crate::number;
use crate::page::{PAGE_ROOM, PageMut, ROW_BYTES_MAX, SLOT_BYTES};
use crate::row::{self, encoded_value_bytes};

/// The column of the key, from 1.
pub const KEY: u8 = 1;

/// The column of the value, from 1: a number that follows from the key.
pub const VALUE: u8 = 2;

/// Columns of a row.
pub const COLUMNS: u32 = 3;

/// Bytes of key and value together, as they count in the nominal length of a row.
const NUMBERS_BYTES: u32 = 16;

/// Most bytes of filler of a row.
pub const PAD_MAX: u32 = (ROW_BYTES_MAX - 1 - 2 * (1 + number::BYTES_MAX) - 3) as u32;

/// Values lie below this.
const VALUES: u64 = 1 << 40;

/// What the rows look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyedShape {
    /// Per cent of the rows that are out of the order of the keys, 0 to 100.
    pub rand: u8,
    /// Bytes of filler of a row.
    pub pad: u32,
}

impl KeyedShape {
    /// The shape whose rows have this nominal length. One that cannot be is refused by [`KeyedShape::check`].
    pub(crate) fn of_row_length(row_length: u32, rand: u8) -> KeyedShape {
        KeyedShape { rand, pad: row_length.checked_sub(NUMBERS_BYTES).unwrap_or(u32::MAX) }
    }

    /// Bytes of all columns of a row, numbers as they are at most.
    pub(crate) fn nominal_row_length(self) -> u32 {
        self.pad.saturating_add(NUMBERS_BYTES)
    }

    /// How many rows every page but the last holds. At least one.
    pub fn rows_per_page(self) -> u32 {
        let numbers = 2 * encoded_value_bytes(number::BYTES_MAX);
        let row = 1 + numbers + encoded_value_bytes(self.pad.min(PAD_MAX) as usize);
        (PAGE_ROOM / (row + SLOT_BYTES)) as u32
    }

    /// Says what is wrong with the shape, and what to ask for instead.
    pub fn check(self) -> Result<(), StorageError> {
        let KeyedShape { rand, pad } = self;
        if rand > 100 {
            return Err(StorageError::Parameters(format!("{rand} per cent of the rows cannot be out of order")));
        }
        if pad > PAD_MAX {
            let reason = format!("a row with {pad} bytes of filler does not fit into a page; {PAD_MAX} bytes do");
            return Err(StorageError::Parameters(reason));
        }
        Ok(())
    }
}

/// Makes the rows of one table.
#[derive(Clone, Debug)]
pub struct KeyedGenerator {
    seed: u64,
    shape: KeyedShape,
    order: Permutation,
}

impl KeyedGenerator {
    /// The rows of a table with so many. Errors with [`StorageError::Parameters`] for a shape that cannot be.
    pub fn new(shape: KeyedShape, rows: u64, seed: u64) -> Result<KeyedGenerator, StorageError> {
        shape.check()?;
        let seed = mix(seed);
        Ok(KeyedGenerator { seed, shape, order: Permutation::new(rows, &mut SplitMix64::new(seed)) })
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

    /// The value beside a key.
    pub fn value(&self, key: i64) -> i64 {
        (mix(self.seed ^ key as u64) % VALUES) as i64
    }

    fn is_out_of_place(&self, number: u64) -> bool {
        mix(self.seed.rotate_left(32) ^ number) % 100 < u64::from(self.shape.rand)
    }

    /// Appends rows `rows` to a page that is empty.
    pub(crate) fn fill_page(&self, rows: Range<u64>, page: &mut PageMut<'_>) {
        let mut bytes = Vec::new();
        let mut pad = vec![0; self.shape.pad as usize];
        for number in rows {
            let key = self.key(number);
            let mut random = SplitMix64::new(self.seed ^ number);
            for chunk in pad.chunks_mut(8) {
                let letters = (random.next_u64() & 0x0F0F_0F0F_0F0F_0F0F) + 0x6161_6161_6161_6161;
                chunk.copy_from_slice(&letters.to_le_bytes()[..chunk.len()]);
            }
            let (key_bytes, key_length) = number::encode(key);
            let (value_bytes, value_length) = number::encode(self.value(key));
            bytes.clear();
            row::encode(&[Some(&key_bytes[..key_length]), Some(&value_bytes[..value_length]), Some(&pad)], &mut bytes);
            page.append(&bytes).expect("a page has room for the rows of a page");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{TableInfo, TableSpec};
    use crate::page::{PageKind, PageView};
    use crate::page_id::{PAGE_SIZE, PageId, SegmentId};
    use crate::table_rows::TableRows;
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
            let generator = KeyedGenerator::new(shape(rand, 0), rows, seed).unwrap();
            let mut keys: Vec<i64> = (0..rows).map(|number| generator.key(number)).collect();
            let moved = keys.iter().zip(1..).filter(|(key, place)| **key != *place).count() as f64;
            let expected = rows as f64 * f64::from(rand) / 100.0;
            // A drawn count, and an order of few may leave some where they were.
            prop_assert!((moved - expected).abs() <= 6.0 * expected.sqrt() + 4.0, "{moved} of {expected}");
            keys.sort_unstable();
            prop_assert_eq!(keys, (1..=rows as i64).collect::<Vec<i64>>());
        }

        #[test]
        fn every_page_has_room_for_its_rows(pad in 0..=PAD_MAX, rand in 0..=100_u8, page in 0..5_u32) {
            let spec = TableSpec::keyed("t", shape(rand, pad), 1 << 50, 3);
            let per_page = u64::from(spec.rows_per_page());
            let spec = TableSpec::keyed("t", shape(rand, pad), 5 * per_page, 3);
            let info = TableInfo::planned(&spec, SegmentId(0)).unwrap();
            prop_assert_eq!((info.pages, info.rows), (5, 5 * per_page));
            let mut bytes = [0; PAGE_SIZE];
            crate::loader::build_page(&info, &TableRows::of(&spec).unwrap(), page, &mut bytes);
            let id = PageId { segment: SegmentId(0), number: page };
            prop_assert!(PageView::verify(&bytes, id).is_ok());
            prop_assert_eq!(PageView::verified(&bytes).kind(), Some(PageKind::Heap));
            let generator = KeyedGenerator::new(shape(rand, pad), info.rows, 3).unwrap();
            for (row, at) in PageView::verified(&bytes).rows().zip(u64::from(page) * per_page..) {
                let column = |of| row.column(of).flatten().and_then(number::decode);
                prop_assert_eq!(column(KEY), Some(generator.key(at)));
                prop_assert_eq!(column(VALUE), Some(generator.value(generator.key(at))));
            }
        }
    }

    #[test]
    fn a_shape_that_fits_no_page_is_refused_with_one_that_does() {
        assert!(shape(0, PAD_MAX).check().is_ok() && shape(0, PAD_MAX).rows_per_page() == 1);
        assert!(shape(0, PAD_MAX + 1).check().unwrap_err().to_string().contains(&format!("{PAD_MAX} bytes do")));
        assert!(shape(101, 0).check().is_err());
        let spec = TableSpec { row_length: 3, ..TableSpec::keyed("t", shape(1, 0), 10, 1) };
        assert!(spec.pages().is_err(), "what no shape has is refused");
        assert_eq!(shape(100, 1000).rows_per_page(), 7);
    }
}
