//! What a column holds, and how a row's bytes say it.

use dataset::{Column, ColumnType};

use crate::error::StorageError;
use crate::page::number;

/// The kind of a column's values, and the form that they have in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// A whole number as [`crate::page::number`] writes it, or the same in more bytes, at most 8. Dates are numbers of
    /// days.
    Number,
    /// A whole number without a sign, below 2^63: 1 to 8 bytes, little-endian.
    Unsigned,
    /// A whole number in the digits of ASCII, with `-` before it where it is negative.
    Decimal,
    /// Bytes, compared one by one as unsigned numbers.
    Text,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub value_type: ValueType,
}

impl From<&Column> for ColumnSpec {
    fn from(column: &Column) -> ColumnSpec {
        let value_type = match column.kind {
            ColumnType::Number | ColumnType::Date => ValueType::Number,
            ColumnType::Text => ValueType::Text,
        };
        ColumnSpec { name: column.name.clone().into(), value_type }
    }
}

/// A value as a column gives it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Datum<'a> {
    /// Null.
    Null,
    /// A number, or a date as a number of days.
    Integer(i64),
    /// A text.
    Text(&'a [u8]),
}

impl ValueType {
    /// The number that a row's bytes are; `None` where they are none, or for a text.
    #[inline]
    pub fn integer(self, bytes: &[u8]) -> Option<i64> {
        match self {
            ValueType::Number => number::decode(bytes),
            ValueType::Unsigned => little_endian(bytes).and_then(|word| i64::try_from(word).ok()),
            ValueType::Decimal => str::from_utf8(bytes).ok().filter(|text| !text.starts_with('+'))?.parse().ok(),
            ValueType::Text => None,
        }
    }

    /// [`integer`](ValueType::integer), or what is wrong with the bytes.
    pub(super) fn integer_of(self, name: &str, bytes: &[u8]) -> Result<i64, StorageError> {
        self.integer(bytes).ok_or_else(|| {
            StorageError::Parameters(format!("column {name} holds numbers ({self:?}), and {bytes:02x?} is none"))
        })
    }
}

/// 1 to 8 bytes as a number.
#[inline]
fn little_endian(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() || bytes.len() > 8 {
        return None;
    }
    Some(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_sign_in_every_length() {
        for (bytes, value) in [(&[0xFF][..], -1), (&[0x80], -128), (&[0xFF, 0x7F], 32767), (&[0, 0, 0x80], -8_388_608)]
        {
            assert_eq!(ValueType::Number.integer(bytes), Some(value));
        }
        assert_eq!(ValueType::Number.integer(&[]), Some(0));
        assert_eq!(ValueType::Number.integer(&i64::MIN.to_le_bytes()), Some(i64::MIN));
        assert_eq!(ValueType::Unsigned.integer(&[0xFF]), Some(255));
        assert_eq!(ValueType::Unsigned.integer(&i64::MAX.to_le_bytes()), Some(i64::MAX));
        assert_eq!(ValueType::Decimal.integer(b"-9223372036854775808"), Some(i64::MIN));
    }

    #[test]
    fn bytes_that_are_no_number_are_refused_and_named() {
        for (value_type, bytes) in [
            (ValueType::Number, &[0; 9][..]),
            (ValueType::Unsigned, &[]),
            (ValueType::Unsigned, &u64::MAX.to_le_bytes()),
            (ValueType::Decimal, b""),
            (ValueType::Decimal, b"+1"),
            (ValueType::Decimal, b"9223372036854775808"),
            (ValueType::Decimal, &[0xFF]),
        ] {
            let message = value_type.integer_of("cust_id", bytes).unwrap_err().to_string();
            assert!(message.contains("cust_id"), "{message}");
        }
    }
}
