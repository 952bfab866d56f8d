//! The cells of the comparison: which rows there are, and what of them is touched.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use dataset::DataSet;
use dataset::uniform::RowShape;
use storage::catalog::TableSpec;
use storage::page::row::encoded_value_bytes;
use storage::page::{SLOT_BYTES, field};

/// The engine's default seed; the rows' text depends on it, their lengths do not.
const SEED: u64 = 1;

/// Bytes of a block on both sides.
pub(crate) const BLOCK_BYTES: u64 = 8192;

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;

/// The head of a PostgreSQL page, and the pointer to a row in it.
const PAGE_HEAD_BYTES: u64 = 24;
const ROW_POINTER_BYTES: u64 = 4;
/// The head of a row without nulls, aligned.
const ROW_HEAD_BYTES: u64 = 24;
/// The longest value with a head of one byte; longer ones have four, aligned.
const SHORT_VALUE_MAX: u64 = 126;

/// One shape of row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    /// Bytes of all columns together.
    pub(crate) row_length: u32,
    /// Number of columns.
    pub(crate) columns: u32,
}

measure::words! {
    /// What a scan touches.
    pub(crate) enum Touch ("touch") {
        /// Every row, and nothing in it.
        Rows = "rows",
        /// The last column of every row.
        LastColumn = "last column",
    }
}

/// Both, in the order in which they are measured.
pub(crate) const TOUCHES: [Touch; 2] = [Touch::Rows, Touch::LastColumn];

impl Cell {
    pub(crate) fn new(row_length: u32, columns: u32) -> Cell {
        Cell { row_length, columns }
    }

    /// The table of this cell as the engine makes it.
    pub(crate) fn spec(self, payload: u64) -> TableSpec {
        let Cell { row_length, columns } = self;
        TableSpec::new(&self.table(), DataSet::uniform(RowShape { row_length, columns }, payload, SEED))
    }

    /// The question about it: `250 x 5, last column`.
    pub(crate) fn question(self, touch: Touch) -> String {
        format!("{self}, {}", touch.name())
    }

    /// The table's name in PostgreSQL.
    pub(crate) fn table(self) -> String {
        format!("rows_{}_{}", self.row_length, self.columns)
    }

    /// The share of a block's lines that the engine has to read for it.
    pub(crate) fn lines_touched(self, touch: Touch) -> f64 {
        let spec = self.spec(0);
        let (shape, rows) = (spec.data.shape(), spec.rows_per_page() as usize);
        let head = |place: Range<usize>| place.start - (encoded_value_bytes(place.len()) - place.len());
        let walked: Vec<usize> = match touch {
            Touch::Rows => vec![0],
            Touch::LastColumn => std::iter::once(0).chain(shape.places().map(head)).collect(),
        };
        let directory = 0..field::DIRECTORY + SLOT_BYTES * rows;
        let row_starts = (1..=rows).map(|row| BLOCK_BYTES as usize - row * shape.encoded_bytes());
        let in_rows = row_starts.flat_map(|start| walked.iter().map(move |at| start + at));
        let lines: HashSet<usize> = directory.chain(in_rows).map(|at| at / LINE_BYTES).collect();
        lines.len() as f64 / (BLOCK_BYTES as usize / LINE_BYTES) as f64
    }

    /// Blocks that PostgreSQL needs for `rows` rows, from its page layout.
    pub(crate) fn postgres_blocks(self, rows: u64) -> u64 {
        let shape = self.spec(0).data.shape();
        let values = shape.column_lengths().fold(0_u64, |end, length| match length as u64 {
            short if short <= SHORT_VALUE_MAX => end + 1 + short,
            long => end.next_multiple_of(4) + 4 + long,
        });
        let row = (ROW_HEAD_BYTES + values).next_multiple_of(8) + ROW_POINTER_BYTES;
        rows.div_ceil(((BLOCK_BYTES - PAGE_HEAD_BYTES) / row).max(1))
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} x {}", self.row_length, self.columns)
    }
}

impl Touch {
    /// What PostgreSQL is asked to count.
    pub(crate) fn counted(self, cell: Cell) -> String {
        match self {
            Touch::Rows => "count(*)".into(),
            Touch::LastColumn => format!("count(c{})", cell.columns),
        }
    }

    /// The value of the parameter `touch` in the engine's run document.
    pub(crate) fn parameter(self, cell: Cell) -> String {
        match self {
            Touch::Rows => "rows".into(),
            Touch::LastColumn => format!("column-{}", cell.columns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_follow_from_the_page_layout() {
        // 24 + 4 + 2500 bytes, a pointer of 4: three to a page.
        assert_eq!(Cell::new(2500, 1).postgres_blocks(7), 3);
        // 24 + 25 * 2 bytes rounded to 80, a pointer: 97 to a page.
        assert_eq!(Cell::new(25, 25).postgres_blocks(98), 2);
        assert_eq!(Cell::new(25, 25).postgres_blocks(97), 1);
    }

    #[test]
    fn a_walk_to_the_last_of_short_columns_touches_every_line_and_a_look_at_long_rows_few() {
        let touched = |row_length, columns, touch| Cell::new(row_length, columns).lines_touched(touch);
        assert_eq!(touched(25, 25, Touch::Rows), 1.0);
        assert_eq!(touched(250, 25, Touch::LastColumn), 1.0);
        // The header with the directory, and a line a row.
        assert_eq!(touched(2500, 1, Touch::Rows), 4.0 / 128.0);
        assert!(touched(250, 1, Touch::LastColumn) < 0.5);
    }

    #[test]
    fn the_last_column_is_named_by_its_number() {
        let cell = Cell::new(250, 25);
        assert_eq!(Touch::LastColumn.parameter(cell), "column-25");
        assert_eq!(Touch::LastColumn.counted(cell), "count(c25)");
    }
}
