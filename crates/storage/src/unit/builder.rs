//! Rows in, the bytes of a unit out.

use dataset::ColumnType;

use super::format::{COLUMNS_MAX, Entry, Header, ROWS_MAX, SECTION_BYTES_MAX};
use super::level::Level;
use super::section;
use crate::error::StorageError;
use crate::page::number;
use crate::page::row::RowView;

/// The values of one column that wait for their unit.
#[derive(Debug)]
struct Gathered {
    are_null: Vec<bool>,
    values: Values,
}

/// A place for every row, also for a null.
#[derive(Debug)]
enum Values {
    Numbers(Vec<Option<i64>>),
    /// Two bytes of length each, and all texts in a row.
    Texts {
        lengths: Vec<u8>,
        bytes: Vec<u8>,
    },
}

impl Gathered {
    fn new(kind: ColumnType) -> Gathered {
        let values = match kind {
            ColumnType::Number | ColumnType::Date => Values::Numbers(Vec::new()),
            ColumnType::Text => Values::Texts { lengths: Vec::new(), bytes: Vec::new() },
        };
        Gathered { are_null: Vec::new(), values }
    }

    /// Whether the column can hold these bytes.
    fn takes(&self, value: Option<&[u8]>) -> bool {
        match (&self.values, value) {
            (_, None) => true,
            (Values::Numbers(_), Some(bytes)) => number::decode(bytes).is_some(),
            (Values::Texts { .. }, Some(bytes)) => u16::try_from(bytes.len()).is_ok(),
        }
    }

    fn push(&mut self, value: Option<&[u8]>) {
        self.are_null.push(value.is_none());
        match &mut self.values {
            Values::Numbers(numbers) => numbers.push(value.and_then(number::decode)),
            Values::Texts { lengths, bytes } => {
                let value = value.unwrap_or_default();
                lengths.extend_from_slice(&(value.len() as u16).to_le_bytes());
                bytes.extend_from_slice(value);
            }
        }
    }

    /// Nulls and values as raw bytes, in this order; the column is empty afterwards.
    fn sections(&mut self) -> [Vec<u8>; 2] {
        let nulls = section::nulls(&std::mem::take(&mut self.are_null));
        let values = match &mut self.values {
            Values::Numbers(numbers) => section::numbers(&std::mem::take(numbers)),
            Values::Texts { lengths, bytes } => {
                let mut raw = std::mem::take(lengths);
                raw.append(bytes);
                raw
            }
        };
        [nulls, values]
    }
}

/// Gathers rows until there are enough for a unit.
#[derive(Debug)]
pub struct UnitBuilder {
    level: Level,
    columns: Vec<Gathered>,
    rows: u32,
}

impl UnitBuilder {
    /// A builder of units with these columns. Errors with [`StorageError::Parameters`] for too many or none.
    pub fn new(level: Level, columns: &[ColumnType]) -> Result<UnitBuilder, StorageError> {
        if columns.is_empty() || columns.len() > COLUMNS_MAX {
            let reason = format!("a unit has 1 to {COLUMNS_MAX} columns, not {}", columns.len());
            return Err(StorageError::Parameters(reason));
        }
        Ok(UnitBuilder { level, columns: columns.iter().copied().map(Gathered::new).collect(), rows: 0 })
    }

    /// Rows that are waiting.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Whether there are enough rows for a unit of this level.
    pub fn is_full(&self) -> bool {
        self.rows >= self.level.rows_per_unit().min(ROWS_MAX)
    }

    /// Adds a row. Columns that it has not are null; more than the unit has, and a number column whose bytes are no
    /// number, are errors with [`StorageError::Parameters`], and nothing of the row is added.
    pub fn append(&mut self, row: RowView<'_>) -> Result<(), StorageError> {
        if usize::from(row.column_count()) > self.columns.len() {
            let reason = format!("a row of {} columns is not one of {}", row.column_count(), self.columns.len());
            return Err(StorageError::Parameters(reason));
        }
        if let Some(column) = self.columns.iter().zip(row.columns()).position(|(column, value)| !column.takes(value)) {
            return Err(StorageError::Parameters(format!("column {} of a row holds no number", column + 1)));
        }
        let mut values = row.columns();
        self.columns.iter_mut().for_each(|column| column.push(values.next().flatten()));
        self.rows += 1;
        Ok(())
    }

    /// The unit of the rows that wait; there are none afterwards. `None` where there were none.
    ///
    /// Errors with [`StorageError::Parameters`] where a column takes more than a section may.
    pub fn finish(&mut self) -> Result<Option<Vec<u8>>, StorageError> {
        if self.rows == 0 {
            return Ok(None);
        }
        let mut entries = Vec::with_capacity(2 * self.columns.len());
        let mut body = Vec::new();
        let head = Header::bytes_for(self.columns.len());
        for (index, gathered) in self.columns.iter_mut().enumerate() {
            for raw in gathered.sections() {
                let too_large = || StorageError::Parameters(format!("column {} of a unit is too large", index + 1));
                let raw_bytes = u32::try_from(raw.len()).ok().filter(|bytes| *bytes <= SECTION_BYTES_MAX);
                let raw_bytes = raw_bytes.ok_or_else(too_large)?;
                let stored = section::compress(self.level.codec(), raw);
                let offset = u32::try_from(head + body.len()).map_err(|_| too_large())?;
                let checksum = crc32c::crc32c(&stored);
                entries.push(Entry { offset, stored: stored.len() as u32, raw: raw_bytes, checksum });
                body.extend_from_slice(&stored);
            }
        }
        let bytes = u32::try_from(head + body.len());
        let bytes = bytes.map_err(|_| StorageError::Parameters("a unit is larger than 4 GiB".into()))?;
        let mut unit = Header { level: self.level, rows: self.rows, bytes, entries }.to_bytes();
        unit.append(&mut body);
        self.rows = 0;
        Ok(Some(unit))
    }
}
