//! A table in columns.

use std::fmt;

use super::budget::Taken;
use super::chunk::{self, Chunk, bytes_of};
use super::dictionary::making_bytes;
use super::line::UNIT_ROWS;
use super::seal::collecting_bytes;
use super::unit::Unit;
use crate::error::StorageError;

/// A column: its units and the memory that they lie in.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) spec: dataset::Column,
    pub(super) units: Vec<Unit>,
    pub(super) chunks: Vec<Chunk>,
    /// What its builders took from their budget; given back with the column.
    pub(super) taken: Vec<Taken>,
}

/// A table in memory, column by column. All columns are cut into units at the same rows.
#[derive(Debug)]
pub struct ColumnTable {
    pub(super) columns: Vec<Column>,
    /// The first row of each unit, and behind the last unit the number of rows.
    pub(super) starts: Vec<u64>,
}

/// How a column came out.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSummary {
    /// Its name.
    pub name: String,
    /// Every way in which its units are kept; the first unit's way first.
    pub encodings: Vec<EncodingShare>,
    /// Bytes of its units.
    pub bytes: u64,
    /// Bytes of the same values in rows, with a length byte each.
    pub plain_bytes: u64,
    /// Rows without a value.
    pub nulls: u64,
}

/// Units of a column that are kept in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodingShare {
    /// The way's name, as of [`Unit::encoding`].
    pub encoding: &'static str,
    /// How their nulls are kept.
    pub nulls: &'static str,
    /// How many units.
    pub units: usize,
    /// Bits of their codes, the least and the greatest number; `None` where there are no codes in planes.
    pub widths: Option<(usize, usize)>,
}

impl EncodingShare {
    fn of(unit: &Unit) -> EncodingShare {
        let widths = unit.width().map(|width| (width, width));
        EncodingShare { encoding: unit.encoding(), nulls: unit.null_encoding(), units: 1, widths }
    }

    /// Adds a unit; `false` where it is kept in another way.
    fn add(&mut self, other: EncodingShare) -> bool {
        if (self.encoding, self.nulls) != (other.encoding, other.nulls) {
            return false;
        }
        self.units += other.units;
        let both = self.widths.zip(other.widths);
        self.widths = both.map(|((least, most), (width, _))| (least.min(width), most.max(width)));
        true
    }
}

impl fmt::Display for EncodingShare {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.encoding)?;
        match self.widths {
            Some((least, most)) if least == most => write!(out, ", {least} bit{}", if least == 1 { "" } else { "s" })?,
            Some((least, most)) => write!(out, ", {least} to {most} bits")?,
            None => {}
        }
        write!(out, "; {}", self.nulls)
    }
}

impl ColumnSummary {
    /// How many times smaller the column is than its values in rows; `None` for a column without bytes.
    pub fn compression_ratio(&self) -> Option<f64> {
        (self.bytes > 0).then(|| self.plain_bytes as f64 / self.bytes as f64)
    }
}

/// What a table of more rows of the same kind would take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// Bytes of the columns, at most.
    pub table_bytes: u64,
    /// Bytes that each building thread takes besides while it collects and seals units.
    pub building_bytes: u64,
}

impl ColumnTable {
    pub(super) fn new(columns: Vec<Column>) -> Result<ColumnTable, StorageError> {
        let lengths = |column: &Column| column.units.iter().map(Unit::rows).collect::<Vec<_>>();
        let first = columns.first().map(lengths).unwrap_or_default();
        if let Some(other) = columns.iter().find(|column| lengths(column) != first) {
            let rows: usize = lengths(other).iter().sum();
            let name = &other.spec.name;
            let reason = format!("column {name} has {rows} rows and the first column {}", first.iter().sum::<usize>());
            return Err(StorageError::Parameters(reason));
        }
        let mut starts = vec![0];
        for rows in first {
            starts.push(starts[starts.len() - 1] + rows as u64);
        }
        Ok(ColumnTable { columns, starts })
    }

    /// Puts parts of a table, built one after the other or side by side, behind each other.
    ///
    /// A part's last unit stays as short as it is: parts of whole units ([`UNIT_ROWS`]) are the best. Errors
    /// where the parts have not the same columns.
    pub fn join(parts: impl IntoIterator<Item = ColumnTable>) -> Result<ColumnTable, StorageError> {
        let mut parts = parts.into_iter();
        let mut columns = parts.next().map_or_else(Vec::new, |first| first.columns);
        for part in parts {
            if !columns.iter().map(|column| &column.spec).eq(part.columns.iter().map(|column| &column.spec)) {
                return Err(StorageError::Parameters("parts of one table have the same columns".into()));
            }
            columns.iter_mut().zip(part.columns).for_each(|(column, other)| column.append(other));
        }
        ColumnTable::new(columns)
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.starts[self.starts.len() - 1]
    }

    /// Number of units that each column has.
    pub fn units(&self) -> usize {
        self.starts.len() - 1
    }

    /// Bytes that the table takes from the system: all units, and the room that is left in their chunks.
    pub fn bytes(&self) -> u64 {
        self.columns.iter().map(Column::bytes).sum()
    }

    /// How each column came out.
    pub fn summary(&self) -> Vec<ColumnSummary> {
        self.columns.iter().map(Column::summary).collect()
    }

    /// What `rows` rows of this kind would take: what these took, in proportion, with the room that huge pages leave
    /// unused at most. `None` without rows.
    ///
    /// The more rows this table has, the better: with one unit or more the dictionaries are counted as they will be.
    pub fn forecast(&self, rows: u64) -> Option<Forecast> {
        let here = self.rows();
        let scaled = |bytes: u64| (bytes as f64 * rows as f64 / here as f64).ceil() as u64;
        let unit_rows = rows.min(UNIT_ROWS as u64) as usize;
        let collecting = |column: &Column| {
            let plain: u64 = column.units.iter().map(Unit::plain_bytes).sum();
            let text_bytes = plain as f64 / here as f64 * unit_rows as f64;
            collecting_bytes(column.spec.kind, unit_rows, text_bytes as usize)
        };
        let column_bytes = |column: &Column| {
            let plain = column.units.iter().map(Unit::plain_memory).sum();
            let lines: u64 = column.units.iter().map(Unit::bytes).sum::<u64>() - plain;
            scaled(plain) + chunk::bytes_at_most(scaled(lines))
        };
        let building = self.columns.iter().map(collecting).sum::<usize>() + making_bytes(unit_rows);
        (here > 0).then(|| Forecast {
            table_bytes: self.columns.iter().map(column_bytes).sum(),
            building_bytes: building as u64,
        })
    }

    pub(super) fn column(&self, index: usize) -> Result<&Column, StorageError> {
        let reason = || format!("the table has {} columns and no column {index}", self.columns.len());
        self.columns.get(index).ok_or_else(|| StorageError::Parameters(reason()))
    }
}

impl Column {
    /// Puts another column behind this one.
    fn append(&mut self, other: Column) {
        let chunks_before = self.chunks.len();
        self.chunks.extend(other.chunks);
        self.taken.extend(other.taken);
        self.units.extend(other.units.into_iter().map(|unit| unit.moved_by(chunks_before)));
    }

    fn bytes(&self) -> u64 {
        bytes_of(&self.chunks) + self.units.iter().map(Unit::plain_memory).sum::<u64>()
    }

    fn summary(&self) -> ColumnSummary {
        let mut encodings: Vec<EncodingShare> = Vec::new();
        for share in self.units.iter().map(EncodingShare::of) {
            if !encodings.iter_mut().any(|known| known.add(share)) {
                encodings.push(share);
            }
        }
        ColumnSummary {
            name: self.spec.name.to_string(),
            encodings,
            bytes: self.units.iter().map(Unit::bytes).sum(),
            plain_bytes: self.units.iter().map(Unit::plain_bytes).sum(),
            nulls: self.units.iter().map(|unit| unit.nulls() as u64).sum(),
        }
    }
}
