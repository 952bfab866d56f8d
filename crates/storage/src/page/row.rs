//! The row: a column count and, for each column, a length and its bytes.
//!
//! There is no table of offsets: a reader of column N walks N-1 lengths, as in the databases whose cost this
//! engine is the floor of. The byte map is in docs/formats.md. Reading many rows of a page fast is the business of
//! [`crate::page::walk`]; this file is the plain codec.

use thiserror::Error;

/// The longest value whose length takes one byte.
pub const SHORT_LENGTH_MAX: usize = 250;

/// The length byte that announces two more bytes of length.
pub const LONG_LENGTH: u8 = 0xFE;

/// The length byte of a column without a value.
pub const NULL: u8 = 0xFF;

/// The largest number of columns.
pub const COLUMNS_MAX: usize = 255;

/// A column's value: `None` is null.
pub type Value<'a> = Option<&'a [u8]>;

/// What is wrong with the bytes of a row.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum RowDamage {
    /// A row has at least its column count.
    #[error("it has no bytes")]
    Empty,
    /// A column does not end within the row.
    #[error("its column {0} reaches beyond its end")]
    BeyondEnd(u8),
    /// A length that no encoder writes: 251 to 253, or three bytes where one is enough.
    #[error("its column {0} has a length that is not encoded as it should be")]
    Length(u8),
    /// Bytes behind the last column.
    #[error("{0} bytes follow its last column")]
    Rest(usize),
}

/// Bytes that a value of `length` bytes takes in a row, with its length.
pub fn encoded_value_bytes(length: usize) -> usize {
    if length <= SHORT_LENGTH_MAX { 1 + length } else { 3 + length }
}

/// Appends the row with these columns to `out`.
///
/// Panics beyond [`COLUMNS_MAX`] columns or 65 535 bytes in one of them: no page holds such a row.
pub fn encode(columns: &[Value<'_>], out: &mut Vec<u8>) {
    assert!(columns.len() <= COLUMNS_MAX, "{} columns in a row", columns.len());
    out.push(columns.len() as u8);
    for column in columns {
        match column {
            None => out.push(NULL),
            Some(value) => encode_value(value, out),
        }
    }
}

fn encode_value(value: &[u8], out: &mut Vec<u8>) {
    let (head, length) = length_head(value.len());
    out.extend_from_slice(&head[..length]);
    out.extend_from_slice(value);
}

/// The bytes of a value's length, and how many of them count. Panics beyond 65 535 bytes.
#[inline]
pub(crate) fn length_head(length: usize) -> ([u8; 3], usize) {
    if length <= SHORT_LENGTH_MAX {
        return ([length as u8, 0, 0], 1);
    }
    let [low, high] = u16::try_from(length).expect("a value longer than any page").to_le_bytes();
    ([LONG_LENGTH, low, high], 3)
}

/// One row, seen through its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowView<'a> {
    bytes: &'a [u8],
}

impl<'a> RowView<'a> {
    /// The row that these bytes hold. Nothing is checked: damaged bytes give fewer columns, never a panic.
    pub fn new(bytes: &'a [u8]) -> RowView<'a> {
        RowView { bytes }
    }

    /// The row as it is stored.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// How many columns the row says it has.
    pub fn column_count(&self) -> u8 {
        self.bytes.first().copied().unwrap_or(0)
    }

    /// The values from the first column on.
    pub fn columns(&self) -> Columns<'a> {
        let rest = self.bytes.get(1..).unwrap_or(&[]);
        Columns { rest, left: self.column_count() }
    }

    /// The value of column `number`, counted from 1 as in SQL; `None` where the row has no such column.
    ///
    /// Walks `number - 1` lengths.
    pub fn column(&self, number: u8) -> Option<Value<'a>> {
        self.columns().nth(usize::from(number).checked_sub(1)?)
    }

    /// Says what is wrong with the row, if anything is. A row that passes has all its columns within its bytes.
    pub fn check(&self) -> Result<(), RowDamage> {
        if self.bytes.is_empty() {
            return Err(RowDamage::Empty);
        }
        let mut columns = self.columns();
        for number in 1..=self.column_count() {
            if columns.next().is_none() {
                return Err(columns.damage(number));
            }
        }
        match columns.rest.len() {
            0 => Ok(()),
            rest => Err(RowDamage::Rest(rest)),
        }
    }
}

/// The values of a row, in order. It ends early where the row is damaged.
#[derive(Clone, Debug)]
pub struct Columns<'a> {
    rest: &'a [u8],
    left: u8,
}

impl Columns<'_> {
    /// Why `next` gave nothing for column `number`.
    fn damage(&self, number: u8) -> RowDamage {
        match value_extent(self.rest) {
            Err(Misencoded) => RowDamage::Length(number),
            Ok(_) => RowDamage::BeyondEnd(number),
        }
    }
}

impl<'a> Iterator for Columns<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        self.left = self.left.checked_sub(1)?;
        let extent = value_extent(self.rest).ok()??;
        let value = self.rest.get(extent.start..extent.end)?;
        self.rest = &self.rest[extent.end..];
        Some((!extent.is_null).then_some(value))
    }
}

/// Where a value stands in the bytes that begin with its length.
struct Extent {
    start: usize,
    end: usize,
    is_null: bool,
}

/// A length that no encoder writes.
struct Misencoded;

/// The extent of the value at the start of `bytes`; `None` where not even its length is there.
fn value_extent(bytes: &[u8]) -> Result<Option<Extent>, Misencoded> {
    let Some(&first) = bytes.first() else { return Ok(None) };
    match first {
        NULL => Ok(Some(Extent { start: 1, end: 1, is_null: true })),
        LONG_LENGTH => {
            let Some(&[low, high]) = bytes.get(1..3) else { return Ok(None) };
            let length = usize::from(u16::from_le_bytes([low, high]));
            // One row has one encoding: a short value in the long form is damage.
            if length <= SHORT_LENGTH_MAX {
                return Err(Misencoded);
            }
            Ok(Some(Extent { start: 3, end: 3 + length, is_null: false }))
        }
        length if usize::from(length) <= SHORT_LENGTH_MAX => {
            Ok(Some(Extent { start: 1, end: 1 + usize::from(length), is_null: false }))
        }
        _ => Err(Misencoded),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// A row as the simplest program would keep it.
    type Model = Vec<Option<Vec<u8>>>;

    fn encoded(model: &Model) -> Vec<u8> {
        let columns: Vec<Value<'_>> = model.iter().map(Option::as_deref).collect();
        let mut bytes = Vec::new();
        encode(&columns, &mut bytes);
        bytes
    }

    fn model() -> impl Strategy<Value = Model> {
        let length = prop_oneof![4 => 0..20_usize, 1 => 245..260_usize, 1 => 0..2000_usize];
        let value = length.prop_flat_map(|length| vec(any::<u8>(), length));
        vec(proptest::option::weighted(0.8, value), 0..40)
    }

    proptest! {
        #[test]
        fn a_row_comes_back_as_it_was_written(model in model()) {
            let bytes = encoded(&model);
            let row = RowView::new(&bytes);
            prop_assert_eq!(row.check(), Ok(()));
            let back: Model = row.columns().map(|value| value.map(<[u8]>::to_vec)).collect();
            prop_assert_eq!(&back, &model);
            for (index, value) in model.iter().enumerate() {
                prop_assert_eq!(row.column(index as u8 + 1), Some(value.as_deref()));
            }
            prop_assert_eq!(row.column(0), None);
            prop_assert_eq!(row.column(model.len() as u8 + 1), None);
        }

        #[test]
        fn hostile_bytes_never_panic_and_a_checked_row_has_all_its_columns(bytes in vec(any::<u8>(), 0..600)) {
            let row = RowView::new(&bytes);
            let found = row.columns().count();
            if row.check().is_ok() {
                prop_assert_eq!(found, usize::from(row.column_count()));
            }
        }

        #[test]
        fn a_row_that_was_cut_is_damaged(model in model(), cut in any::<prop::sample::Index>()) {
            let bytes = encoded(&model);
            let kept = &bytes[..cut.index(bytes.len())];
            prop_assert!(RowView::new(kept).check().is_err());
        }
    }

    #[test]
    fn lengths_that_no_encoder_writes_are_damage() {
        for bytes in [vec![1, 251, 0], vec![1, 253], vec![1, LONG_LENGTH, 3, 0, 1, 2, 3]] {
            assert_eq!(RowView::new(&bytes).check(), Err(RowDamage::Length(1)), "{bytes:?}");
        }
        assert_eq!(RowView::new(&[1, LONG_LENGTH, 3]).check(), Err(RowDamage::BeyondEnd(1)));
        assert_eq!(RowView::new(&[1, 0, 9]).check(), Err(RowDamage::Rest(1)));
    }

    #[test]
    fn the_length_changes_its_form_between_250_and_251() {
        assert_eq!(encoded(&vec![Some(vec![0; 250])]).len(), 2 + 250);
        assert_eq!(encoded(&vec![Some(vec![0; 251])]).len(), 4 + 251);
        assert_eq!(encoded_value_bytes(250), 251);
        assert_eq!(encoded_value_bytes(251), 254);
    }
}
