//! Keys: numbers and texts, as bytes whose order is the order of the keys.
//!
//! A number is eight bytes, the highest first, its sign bit turned around, so that the lowest number begins with zeros.
//! A text is its own bytes: the order is that of their values, which for UTF-8 is the order of the code points.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::error::StorageError;
use crate::page::id::{PageId, RowId, SegmentId};

/// The longest key. A node then holds at least seven entries of the longest kind, so a node that is full can always be
/// split into two that are not.
pub const KEY_BYTES_MAX: usize = 1000;

/// Bytes of a number.
pub const NUMBER_BYTES: usize = 8;

/// What the keys of an index are, by the number that stands in its nodes; all of them are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum KeyKind {
    /// Whole numbers of 64 bits.
    Number = 1,
    /// Bytes, up to [`KEY_BYTES_MAX`] of them.
    Text = 2,
}

impl KeyKind {
    pub(crate) fn of_code(code: u8) -> Option<KeyKind> {
        [KeyKind::Number, KeyKind::Text].into_iter().find(|kind| *kind as u8 == code)
    }
}

/// A key as its user knows it. Null is none: rows without a value are not in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key<'a> {
    /// A number.
    Number(i64),
    /// A text.
    Text(&'a [u8]),
}

impl<'a> Key<'a> {
    /// The bytes as which the key is stored in an index of `kind`.
    ///
    /// Errors with [`StorageError::Parameters`] for a key of another kind, and for one of more than [`KEY_BYTES_MAX`]
    /// bytes.
    pub fn encode(self, kind: KeyKind) -> Result<EncodedKey<'a>, StorageError> {
        match (self, kind) {
            (Key::Number(number), KeyKind::Number) => Ok(EncodedKey::Number(encode_number(number))),
            (Key::Text(text), KeyKind::Text) if text.len() > KEY_BYTES_MAX => Err(StorageError::Parameters(format!(
                "a key of {} bytes cannot be indexed; {KEY_BYTES_MAX} bytes can",
                text.len()
            ))),
            (Key::Text(text), KeyKind::Text) => Ok(EncodedKey::Text(text)),
            (Key::Number(_), KeyKind::Text) => {
                Err(StorageError::Parameters("a number was given to an index of texts".into()))
            }
            (Key::Text(_), KeyKind::Number) => {
                Err(StorageError::Parameters("a text was given to an index of numbers".into()))
            }
        }
    }
}

/// A key as it is stored.
#[derive(Clone, Copy, Debug)]
pub enum EncodedKey<'a> {
    /// Of a number.
    Number([u8; NUMBER_BYTES]),
    /// Of a text.
    Text(&'a [u8]),
}

impl Deref for EncodedKey<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            EncodedKey::Number(bytes) => bytes,
            EncodedKey::Text(text) => text,
        }
    }
}

pub(super) fn encode_number(number: i64) -> [u8; NUMBER_BYTES] {
    (number as u64 ^ 1 << 63).to_be_bytes()
}

/// The address of a row without its segment, which is the table's: page number in the upper bits, slot in the lower 16.
/// Its order is the order of the rows in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place(pub(crate) u64);

impl Place {
    /// Before every row.
    pub(crate) const FIRST: Place = Place(0);
    /// Behind every row: no address has this many bits.
    pub(crate) const BEYOND: Place = Place(u64::MAX);

    #[inline]
    pub(crate) fn new(page: u32, slot: u16) -> Place {
        Place(u64::from(page) << 16 | u64::from(slot))
    }

    pub(crate) fn of(row: RowId) -> Place {
        Place::new(row.page.number, row.slot)
    }

    #[inline]
    pub(crate) fn page(self) -> u32 {
        (self.0 >> 16) as u32
    }

    #[inline]
    pub(crate) fn slot(self) -> u16 {
        self.0 as u16
    }

    /// The address in the table of this segment.
    #[inline]
    pub(crate) fn row(self, segment: SegmentId) -> RowId {
        RowId { page: PageId { segment, number: self.page() }, slot: self.slot() }
    }
}

/// How many bytes both begin with.
pub(crate) fn common_bytes(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn stored_numbers_have_the_order_of_the_numbers(one in any::<i64>(), other in any::<i64>()) {
            prop_assert_eq!(encode_number(one).cmp(&encode_number(other)), one.cmp(&other));
        }
    }

    #[test]
    fn the_lowest_and_the_highest_number_stand_at_the_ends() {
        assert_eq!((encode_number(i64::MIN), encode_number(i64::MAX)), ([0; 8], [255; 8]));
        assert_eq!((encode_number(-1), encode_number(0)), ((u64::MAX >> 1).to_be_bytes(), (1_u64 << 63).to_be_bytes()));
    }

    #[test]
    fn a_key_that_is_too_long_or_of_the_wrong_kind_says_so() {
        let refusal = |key: Key<'_>, kind| key.encode(kind).unwrap_err().to_string();
        assert!(Key::Text(&[7; KEY_BYTES_MAX]).encode(KeyKind::Text).is_ok());
        assert!(refusal(Key::Text(&[7; KEY_BYTES_MAX + 1]), KeyKind::Text).contains("a key of 1001 bytes"));
        assert!(refusal(Key::Text(b"x"), KeyKind::Number).contains("index of numbers"));
        assert!(refusal(Key::Number(1), KeyKind::Text).contains("index of texts"));
    }

    #[test]
    fn a_place_keeps_the_order_and_the_address_of_its_row() {
        let row = |number, slot| RowId { page: PageId { segment: SegmentId(3), number }, slot };
        let rows = [row(0, 0), row(0, 65_535), row(1, 0), row(u32::MAX, 65_535)];
        assert!(rows.windows(2).all(|pair| Place::of(pair[0]) < Place::of(pair[1])));
        assert!(rows.iter().all(|row| Place::of(*row).row(SegmentId(3)) == *row && Place::of(*row) < Place::BEYOND));
    }
}
