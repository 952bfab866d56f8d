//! Building columns, row by row or column by column.

use std::sync::Arc;

use super::bitmap::BitmapBuilder;
use super::budget::{Budget, Taken};
use super::chunk::Chunks;
use super::dictionary::making_bytes;
use super::line::{LINE_BYTES, UNIT_ROWS};
use super::planes::groups_of;
use super::seal::{Collected, Sealer, TEXT_BYTES_A_ROW};
use super::table::{Column, ColumnTable};
use super::texts::Texts;
use super::unit::Unit;
use crate::error::StorageError;
use crate::page::row::{Value, encoded_value_bytes};
use crate::page::{PageView, number};
use dataset::ColumnType;

/// Builds one column.
#[derive(Debug)]
struct ColumnBuilder {
    spec: dataset::Column,
    values: Values,
    validity: BitmapBuilder,
    plain_bytes: u64,
    sealer: Sealer,
    units: Vec<Unit>,
    /// Memory of what is being collected.
    working: Taken,
}

/// The values of the unit that is being collected.
#[derive(Debug)]
enum Values {
    Integers(Vec<i64>),
    Texts(Texts),
}

impl ColumnBuilder {
    /// A column that will have about `rows` rows; more or fewer cost memory or time, not correctness.
    ///
    /// Takes the memory of one unit at once, and errors with [`StorageError::MemoryLimit`] where the budget has less.
    fn new(spec: dataset::Column, rows: usize, budget: &Arc<Budget>) -> Result<ColumnBuilder, StorageError> {
        let unit_rows = rows.clamp(1, UNIT_ROWS);
        let mut working = Taken::nothing(budget);
        working.add(groups_of(UNIT_ROWS.min(unit_rows)) * LINE_BYTES)?;
        let values = match spec.kind {
            ColumnType::Text => {
                let bytes = unit_rows * TEXT_BYTES_A_ROW;
                working.add(unit_rows * size_of::<u32>() + bytes)?;
                Values::Texts(Texts::with_room(unit_rows, bytes))
            }
            ColumnType::Number | ColumnType::Date => {
                working.add(unit_rows * size_of::<i64>())?;
                Values::Integers(Vec::with_capacity(unit_rows))
            }
        };
        let sealer = Sealer {
            chunks: Chunks::default(),
            taken: Taken::nothing(budget),
            units_to_come: rows.div_ceil(UNIT_ROWS),
        };
        let validity = BitmapBuilder::with_room(unit_rows);
        Ok(ColumnBuilder { spec, values, validity, plain_bytes: 0, sealer, units: Vec::new(), working })
    }

    /// Appends the value of a row as the row has it; `None` is null.
    ///
    /// Errors when the bytes are no number where the column holds numbers, or where the memory is used up; the row is
    /// not appended then.
    #[inline]
    fn append(&mut self, value: Value<'_>) -> Result<(), StorageError> {
        match &mut self.values {
            Values::Integers(values) => {
                let number = value.map(|bytes| number::decode(bytes).ok_or_else(|| no_number(&self.spec.name, bytes)));
                values.push(number.transpose()?.unwrap_or(0));
            }
            Values::Texts(texts) => {
                let text = value.unwrap_or(&[]);
                let more = texts.growth_for(text.len());
                if more > 0 {
                    self.working.add(more)?;
                    texts.grow(more);
                }
                if !texts.push(text) {
                    let name = &self.spec.name;
                    let reason = format!("{UNIT_ROWS} texts of column {name} are longer than 4 GiB; shorter texts fit");
                    return Err(StorageError::Parameters(reason));
                }
            }
        }
        self.plain_bytes += value.map_or(1, |bytes| encoded_value_bytes(bytes.len())) as u64;
        self.end_row(value.is_some())
    }

    #[inline]
    fn end_row(&mut self, is_there: bool) -> Result<(), StorageError> {
        self.validity.push(is_there);
        if self.validity.rows() == UNIT_ROWS { self.seal() } else { Ok(()) }
    }

    /// Makes a unit of what was collected.
    fn seal(&mut self) -> Result<(), StorageError> {
        let mut sealing = Taken::nothing(self.working.budget());
        sealing.add(making_bytes(self.validity.rows()))?;
        let collected = Collected { validity: &self.validity, plain_bytes: self.plain_bytes };
        let unit = match &mut self.values {
            Values::Integers(values) => self.sealer.integers(&collected, values)?,
            Values::Texts(texts) => self.sealer.texts(&collected, texts)?,
        };
        self.units.push(unit);
        match &mut self.values {
            Values::Integers(values) => values.clear(),
            Values::Texts(texts) => texts.clear(),
        }
        self.validity.clear();
        self.plain_bytes = 0;
        Ok(())
    }

    /// The column, with the rows that do not fill a unit as its last unit.
    fn finish(mut self) -> Result<Column, StorageError> {
        if self.validity.rows() > 0 {
            self.seal()?;
        }
        let chunks = self.sealer.chunks.finish();
        Ok(Column { spec: self.spec, units: self.units, chunks, taken: vec![self.sealer.taken] })
    }
}

#[cold]
fn no_number(name: &str, bytes: &[u8]) -> StorageError {
    StorageError::Parameters(format!("column {name} holds numbers, and {bytes:02x?} is none"))
}

/// Builds the columns of a table, or of a part of one.
#[derive(Debug)]
pub struct TableBuilder {
    columns: Vec<ColumnBuilder>,
    rows: u64,
}

impl TableBuilder {
    /// Columns that will have about `rows` rows.
    ///
    /// Takes the memory in which one unit is collected at once, and errors with [`StorageError::MemoryLimit`] where
    /// the budget has less. [`ColumnTable::forecast`] of a small table of the same kind says what a large one takes.
    pub fn new(specs: &[dataset::Column], rows: usize, budget: &Arc<Budget>) -> Result<TableBuilder, StorageError> {
        let column = |spec: &dataset::Column| ColumnBuilder::new(spec.clone(), rows, budget);
        Ok(TableBuilder { columns: specs.iter().map(column).collect::<Result<_, _>>()?, rows: 0 })
    }

    /// Appends a row: for each column its value as the row has it; `None` is null.
    ///
    /// Errors where the row has more or fewer columns, where a value is none of its column's type, or where the memory
    /// is used up. The builder is of no use then.
    #[inline]
    pub fn append_row<'v>(&mut self, values: impl IntoIterator<Item = Value<'v>>) -> Result<(), StorageError> {
        let mut values = values.into_iter();
        for (index, column) in self.columns.iter_mut().enumerate() {
            match values.next() {
                Some(value) => column.append(value)?,
                None => return Err(self.wrong_columns(&format!("{index}"))),
            }
        }
        if values.next().is_some() {
            return Err(self.wrong_columns("more"));
        }
        self.rows += 1;
        Ok(())
    }

    /// Appends all rows of a page, with the errors of [`append_row`](TableBuilder::append_row).
    pub fn append_page(&mut self, page: PageView<'_>) -> Result<(), StorageError> {
        page.rows().try_for_each(|row| self.append_row(row.columns()))
    }

    /// The table. Errors where the columns have not equally many rows, or where the memory is used up.
    pub fn finish(self) -> Result<ColumnTable, StorageError> {
        let columns: Vec<Column> = self.columns.into_iter().map(ColumnBuilder::finish).collect::<Result<_, _>>()?;
        ColumnTable::new(columns)
    }

    fn wrong_columns(&self, found: &str) -> StorageError {
        let (row, columns) = (self.rows, self.columns.len());
        StorageError::Parameters(format!("row {row} has {found} columns and the table has {columns}"))
    }
}
