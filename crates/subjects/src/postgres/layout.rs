//! A table of the experiment on logical I/O on a PostgreSQL server: its rows, and its size, computed before it is made.
//!
//! Source: PostgreSQL's manual, chapter "Database Page Layout".

use dataset::DataSet;
use dataset::uniform::RowShape;
use measure::quantity::grouped;

use super::copy_text;
use crate::by_statements;
use crate::logical_reads::{Cell, SubjectError};
use crate::subject::TABLE_SEED;

/// The head of a page, and the pointer to a row in it.
const PAGE_HEAD_BYTES: u64 = 24;
const ROW_POINTER_BYTES: u64 = 4;
/// The head of a row without nulls, aligned.
const ROW_HEAD_BYTES: u64 = 24;
/// The longest value with a head of one byte; longer ones have four, aligned.
const SHORT_VALUE_MAX: u64 = 126;
/// The head of an entry of an index, and its pointer.
const INDEX_ENTRY_BYTES: u64 = 8 + 4;

/// What a page of a B-tree keeps for its head with three pointers and for its end, and an entry for its pointer into
/// the table. Source: `BTMaxItemSize` in PostgreSQL's `nbtree.h`.
const INDEX_PAGE_BYTES: u64 = 40 + 16;
const INDEX_POINTER_BYTES: u64 = 8;
/// The heads of an entry and of a long value in it.
const INDEX_LONG_VALUE_BYTES: u64 = 8 + 4;

/// What a page takes besides its only row.
const WHOLE_ROW_HEAD_BYTES: u64 = 32;

/// Bytes of a block of almost every server, and the most blocks of a table. Source: the same, "PostgreSQL Limits".
pub(super) const USUAL_BLOCK_BYTES: u64 = 8192;
pub(super) const BLOCKS_MAX: u64 = 4_294_967_295;

/// Most bytes of a row that a server with these blocks is asked to keep whole in its page: in larger blocks as many as
/// in the usual ones, so that all servers take the same rows.
fn whole_row_max(block_bytes: u64) -> u64 {
    block_bytes.min(USUAL_BLOCK_BYTES) - WHOLE_ROW_HEAD_BYTES
}

/// The same of its values.
pub(super) fn whole_values_max(block_bytes: u64) -> u64 {
    whole_row_max(block_bytes) - ROW_HEAD_BYTES
}

/// The option of a table whose rows stay whole in their page, as the engine's do: `toast_tuple_target` at its largest.
/// Without it, values of rows beyond a quarter of a page are compressed or moved away.
pub(super) fn whole_rows(block_bytes: u64) -> String {
    format!("toast_tuple_target = {}", whole_row_max(block_bytes))
}

/// The longest value in an entry of a B-tree, which takes a third of a page at most: 2692 bytes in a page of 8 KiB.
fn key_length_max(block_bytes: u64) -> u64 {
    (block_bytes - INDEX_PAGE_BYTES) / 3 / 8 * 8 - INDEX_POINTER_BYTES - INDEX_LONG_VALUE_BYTES
}

/// Where a value of this many bytes ends in a row, behind its head, if the value before it ends at `start`.
pub(super) fn end_of_value(start: u64, bytes: u64) -> u64 {
    if bytes <= SHORT_VALUE_MAX { start + 1 + bytes } else { start.next_multiple_of(4) + 4 + bytes }
}

/// Rows with values of this many bytes that a block holds.
pub(super) fn rows_a_block(value_bytes: u64, block_bytes: u64) -> u64 {
    let row = (ROW_HEAD_BYTES + value_bytes).next_multiple_of(8) + ROW_POINTER_BYTES;
    ((block_bytes - PAGE_HEAD_BYTES) / row).max(1)
}

/// The table of a cell on a server.
#[derive(Clone, Debug)]
pub struct Layout {
    data: DataSet,
    cell: Cell,
}

impl Layout {
    /// The layout of a cell; an error where no table can have this shape.
    pub fn of(cell: Cell) -> Result<Layout, SubjectError> {
        let Cell { row_length, columns, payload } = cell;
        let data = DataSet::uniform(RowShape { row_length, columns }, payload, TABLE_SEED);
        data.rows()?;
        let layout = Layout { data, cell };
        layout.check(USUAL_BLOCK_BYTES)?;
        match layout.blocks(USUAL_BLOCK_BYTES) > BLOCKS_MAX {
            true => Err(SubjectError::Parameters(format!(
                "{} rows of {cell} are more than a table holds on PostgreSQL: ask for a smaller --payload",
                grouped(layout.rows())
            ))),
            false => Ok(layout),
        }
    }

    /// An error where a server with these blocks does not keep the rows whole.
    pub(super) fn check(&self, block_bytes: u64) -> Result<(), SubjectError> {
        let (bytes, most) = (self.value_bytes(), whole_values_max(block_bytes));
        match bytes > most {
            true => Err(SubjectError::Parameters(format!(
                "rows of {} take {} bytes on PostgreSQL with what it stores before each column, and it keeps none of \
                 more than {} bytes whole in its page: ask for shorter rows",
                self.cell,
                grouped(bytes),
                grouped(most)
            ))),
            false => Ok(()),
        }
    }

    /// The cell.
    pub fn cell(&self) -> Cell {
        self.cell
    }

    /// The table's name in the schema.
    pub fn name(&self) -> String {
        format!("rows_{}_{}", self.cell.row_length, self.cell.columns)
    }

    /// Its rows.
    pub fn rows(&self) -> u64 {
        self.data.count()
    }

    /// The blocks that its rows need.
    pub fn blocks(&self, block_bytes: u64) -> u64 {
        self.rows().div_ceil(rows_a_block(self.value_bytes(), block_bytes))
    }

    /// Bytes of a row's values, each with its head.
    fn value_bytes(&self) -> u64 {
        self.data.shape().column_lengths().fold(0, |end, length| end_of_value(end, length as u64))
    }

    /// Bytes of the index on the first column: its entries, and a tenth of room in each block.
    pub fn index_bytes(&self) -> u64 {
        let key = self.data.shape().column_lengths().next().unwrap_or(0) as u64;
        self.rows() * (INDEX_ENTRY_BYTES + (key + 1).next_multiple_of(8)) / 9 * 10
    }

    /// Whether the first column has an index that leads to one row, on a server with these blocks.
    pub fn has_key(&self, block_bytes: u64) -> bool {
        self.without_key(block_bytes).is_none()
    }

    /// What the first column is where it has no index that leads to one row; `None` where it has one.
    pub fn without_key(&self, block_bytes: u64) -> Option<&'static str> {
        let first = self.data.shape().column_lengths().next();
        let is_long = first.is_some_and(|length| length as u64 > key_length_max(block_bytes));
        match by_statements::has_key(&self.data) {
            false => Some("too short to tell rows apart"),
            true => is_long.then_some("too long for an index"),
        }
    }

    /// The columns, each as long as its text: `c1 varchar(50), c2 varchar(50)`.
    pub fn columns(&self) -> String {
        let lengths = self.data.shape().column_lengths();
        let columns: Vec<String> =
            (1..).zip(lengths).map(|(number, length)| format!("c{number} varchar({length})")).collect();
        columns.join(", ")
    }

    /// The rows as COPY takes them. `progress` takes how many rows of how many are made.
    pub fn chunks<'a>(
        &self,
        progress: &'a mut dyn FnMut(u64, u64),
    ) -> Result<impl Iterator<Item = Vec<u8>> + use<'a>, SubjectError> {
        Ok(copy_text::chunks(&self.data, progress)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(row_length: u32, columns: u32) -> Layout {
        Layout::of(Cell { row_length, columns, payload: 25 * 100_000 }).unwrap()
    }

    #[test]
    fn all_rows_of_the_engine_are_sent_once_and_in_order() {
        let layout = layout(25, 5);
        let mut heard = 0;
        let mut progress = |made: u64, _of: u64| heard = made;
        let sent: Vec<Vec<u8>> = layout.chunks(&mut progress).unwrap().collect();
        assert!(sent.len() > 1);
        let text = String::from_utf8(sent.concat()).unwrap();
        assert_eq!((text.lines().count(), heard), (100_000, 100_000));
        let last = text.lines().last().unwrap();
        assert_eq!(last.split('\t').map(str::len).collect::<Vec<_>>(), [5; 5]);
    }

    #[test]
    fn columns_are_as_long_as_their_text() {
        assert!(layout(26, 5).columns().starts_with("c1 varchar(6), c2 varchar(5), c3 varchar(5)"));
        assert!(layout(250, 25).has_key(8192) && !layout(25, 25).has_key(8192));
    }

    #[test]
    fn a_key_that_is_too_long_for_the_blocks_of_this_server_has_no_index() {
        for (block_bytes, longest) in [(4096, 1324), (8192, 2692), (16_384, 5420)] {
            assert_eq!(layout(longest, 1).without_key(block_bytes), None);
            assert_eq!(layout(longest + 1, 1).without_key(block_bytes), Some("too long for an index"));
        }
    }

    #[test]
    fn rows_that_the_blocks_of_this_server_do_not_hold_whole_are_refused_and_its_tables_are_asked_for_no_more() {
        assert_eq!(
            [4096, 8192, 32_768].map(whole_rows),
            [4064, 8160, 8160].map(|most| format!("toast_tuple_target = {most}"))
        );
        assert!(layout(4036, 1).check(4096).is_ok() && layout(8132, 1).check(32_768).is_ok());
        let refused = layout(4037, 1).check(4096).unwrap_err().to_string();
        assert!(refused.contains("ask for shorter rows") && refused.contains("4\u{202f}040"), "{refused}");
    }

    #[test]
    fn a_row_that_would_be_compressed_or_moved_away_is_refused() {
        let of = |row_length, columns| Layout::of(Cell { row_length, columns, payload: 1 << 20 });
        assert!(of(8132, 1).is_ok() && of(8000, 25).is_ok());
        for (row_length, columns) in [(8133, 1), (8074, 25)] {
            let refused = of(row_length, columns).unwrap_err().to_string();
            assert!(refused.contains("ask for shorter rows") && refused.contains("8\u{202f}136"), "{refused}");
        }
    }

    #[test]
    fn a_payload_whose_bytes_no_number_holds_is_refused_and_not_forecast_as_a_small_one() {
        let of = |payload| Layout::of(Cell { row_length: 25, columns: 25, payload });
        let refused = of(u64::MAX).unwrap_err().to_string();
        assert!(refused.ends_with("ask for a smaller --payload"), "{refused}");
        assert!(of(1 << 40).is_ok());
    }

    #[test]
    fn three_rows_of_2500_bytes_stand_in_a_block() {
        assert_eq!(layout(2500, 25).blocks(8192), 334);
    }
}
