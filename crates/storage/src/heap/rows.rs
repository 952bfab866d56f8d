//! The rows of a data set in their stored form, page by page.

use std::ops::Range;

use dataset::uniform::{RowShape, UniformRows};
use dataset::{Row, Rows, Value};

use crate::catalog::table::TableSpec;
use crate::error::StorageError;
use crate::page::row::NULL;
use crate::page::{PageMut, number, row};

/// Bytes of a word of letters.
const WORD_BYTES: usize = size_of::<u128>();

/// Makes the rows of one table.
#[derive(Clone, Debug)]
pub struct TableRows {
    rows: Rows,
    /// Where rows are letters in one shape, how they are made in one pass.
    letters: Option<LetterRows>,
}

impl TableRows {
    /// The rows of a table. Errors with [`StorageError::Parameters`] for a shape that cannot be.
    pub fn of(spec: &TableSpec) -> Result<TableRows, StorageError> {
        let rows = spec.data.rows()?;
        let letters = rows.uniform().map(LetterRows::new);
        Ok(TableRows { rows, letters })
    }

    /// Appends these rows of the table, which are those of one page, to an empty page.
    ///
    /// Panics when the page has no room for them: the caller asks for as many as the table has in a page.
    pub(crate) fn fill_page(&self, numbers: Range<u64>, page: &mut PageMut<'_>) {
        const HAS_ROOM: &str = "a page has room for the rows of a page";
        match &self.letters {
            Some(letters) => numbers.for_each(|number| {
                letters.fill(number, page.reserve(letters.row_bytes).expect(HAS_ROOM));
            }),
            None => self.rows.each(numbers, |row| encode(row, page.reserve(row.packed_bytes()).expect(HAS_ROOM))),
        }
    }
}

/// Writes a row in its stored form to `out`, which is as long as the row.
fn encode(row: &Row, out: &mut [u8]) {
    let mut at = 1;
    out[0] = row.values().len() as u8;
    let mut put = |bytes: &[u8]| {
        out[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    for value in row.values() {
        match value {
            Value::Null => put(&[NULL]),
            Value::Number(value) => {
                let (bytes, length) = number::encode(value);
                put(&[length as u8]);
                put(&bytes[..length]);
            }
            Value::Text(text) => {
                let (head, length) = row::length_head(text.len());
                put(&head[..length]);
                put(text);
            }
        }
    }
    assert_eq!(at, out.len(), "a row is as long as the data set says");
}

/// Makes rows of letters: the words of a row's letters, with column count and lengths laid over them.
#[derive(Clone, Debug)]
struct LetterRows {
    rows: UniformRows,
    row_bytes: usize,
    /// The column count and the lengths in their places, in whole words; zeros elsewhere.
    heads: Vec<u128>,
    /// Ones where text stands.
    text_mask: Vec<u128>,
}

impl LetterRows {
    fn new(rows: &UniformRows) -> LetterRows {
        let row_bytes = rows.shape().encoded_bytes();
        let mut heads_bytes = vec![0; row_bytes.next_multiple_of(WORD_BYTES)];
        let mut mask_bytes = vec![u8::MAX; heads_bytes.len()];
        for (at, byte) in heads(rows.shape()) {
            heads_bytes[at] = byte;
            mask_bytes[at] = 0;
        }
        let words = |bytes: &[u8]| bytes.as_chunks().0.iter().map(|chunk| u128::from_le_bytes(*chunk)).collect();
        let (heads, text_mask) = (words(&heads_bytes), words(&mask_bytes));
        LetterRows { rows: rows.clone(), row_bytes, heads, text_mask }
    }

    /// Writes row `number` in its stored form to `row`, which is [`row_bytes`](LetterRows::row_bytes) long.
    fn fill(&self, number: u64, row: &mut [u8]) {
        let layout = self.heads.iter().zip(&self.text_mask);
        let mut words = layout
            .zip(self.rows.letters(number))
            .map(|((heads, mask), letters)| (letters & mask | heads).to_le_bytes());
        // Text and heads are joined by masks: 25 single bytes written into a row of 51 took twice the time.
        let (whole, rest) = row.as_chunks_mut();
        for (chunk, word) in whole.iter_mut().zip(&mut words) {
            *chunk = word;
        }
        if let Some(last) = words.next() {
            rest.copy_from_slice(&last[..rest.len()]);
        }
    }
}

/// Where column count and lengths stand in a row of this shape, and what they are.
fn heads(shape: RowShape) -> Vec<(usize, u8)> {
    let mut heads = vec![(0, shape.columns as u8)];
    for place in shape.places() {
        let (head, length) = row::length_head(place.len());
        heads.extend((place.start - length..).zip(head[..length].iter().copied()));
    }
    heads
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::table::TableInfo;
    use crate::heap::loader::build_page;
    use crate::page::PageView;
    use crate::page::id::{PAGE_SIZE, PageId, SegmentId};
    use crate::page::row::RowView;
    use dataset::DataSet;
    use dataset::keyed::{KeyedShape, PAD_MAX};
    use proptest::prelude::*;

    fn spec(data: DataSet) -> TableSpec {
        TableSpec::new("t", data)
    }

    /// The stored rows of a table as its pages hold them; the pages are checked.
    fn stored(data: &DataSet) -> Vec<Vec<u8>> {
        let spec = spec(data.clone());
        let (info, rows) = (TableInfo::planned(&spec, SegmentId(0)).unwrap(), TableRows::of(&spec).unwrap());
        let mut stored = Vec::new();
        for number in 0..info.pages {
            let mut bytes = [0; PAGE_SIZE];
            build_page(&info, &rows, number, &mut bytes);
            let view = PageView::verify(&bytes, PageId { segment: SegmentId(0), number }).unwrap();
            stored.extend(view.rows().map(|row| row.bytes().to_vec()));
        }
        stored
    }

    fn uniform_row(seed: u64, row_length: u32, columns: u32, number: u64) -> Vec<u8> {
        let rows = UniformRows::new(RowShape { row_length, columns }, seed).unwrap();
        let letters = LetterRows::new(&rows);
        let mut row = vec![0; letters.row_bytes];
        letters.fill(number, &mut row);
        row
    }

    #[test]
    fn kept_tables_are_still_what_they_were() {
        // Computed by another program from docs/formats.md.
        assert_eq!(crc32c::crc32c(&uniform_row(1, 2500, 5, 7)), 2_791_312_280);
        assert_eq!(crc32c::crc32c(&uniform_row(42, 25, 25, 1 << 40)), 1_745_045_832);
        // Taken when the tables were laid down: the FNV-1a sums of all rows one after the other.
        let sum = |data: DataSet| {
            let bytes = stored(&data).concat();
            let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
        };
        assert_eq!(crc32c::crc32c(&stored(&DataSet::customers(8, 1))[7]), 2_525_812_764);
        assert_eq!(sum(DataSet::customers(10_000, 7)), 16_800_550_820_854_345_549);
        assert_eq!(sum(DataSet::customers(134, 1)), 5_905_568_788_806_659_976);
        assert_eq!(sum(DataSet::keyed(KeyedShape { rand: 30, pad: 300 }, 1000, 1)), 16_329_294_291_673_244_531);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn every_page_has_room_for_its_rows_and_holds_the_values_of_the_data_set(
            pad in 0..=PAD_MAX, rand in 0..=100_u8, columns in 1..=255_u32, extra in 0..7000_u32, seed: u64,
        ) {
            let shape = RowShape { row_length: columns + extra, columns };
            let keyed = DataSet::keyed(KeyedShape { rand, pad }, 100, seed);
            let uniform = DataSet::uniform(shape, 100 * u64::from(shape.row_length), seed);
            for data in [keyed, uniform, DataSet::customers(100, seed)] {
                prop_assume!(data.check().is_ok());
                let mut stored = stored(&data).into_iter();
                data.rows().unwrap().each(0..100, |row| {
                    let bytes = stored.next().unwrap();
                    assert_eq!(RowView::new(&bytes).check(), Ok(()));
                    for (value, column) in row.values().zip(RowView::new(&bytes).columns()) {
                        match value {
                            Value::Null => assert_eq!(column, None),
                            Value::Number(value) => assert_eq!(column.and_then(number::decode), Some(value)),
                            Value::Text(text) => assert_eq!(column, Some(text)),
                        }
                    }
                });
                prop_assert!(stored.next().is_none());
            }
        }
    }

    #[test]
    fn a_page_takes_as_many_rows_as_fit() {
        let keyed = |pad| spec(DataSet::keyed(KeyedShape { rand: 0, pad }, 10, 1)).rows_per_page();
        assert_eq!((keyed(PAD_MAX), keyed(1000)), (1, 7));
        assert_eq!(spec(DataSet::customers(10, 1)).rows_per_page(), 43);
    }
}
