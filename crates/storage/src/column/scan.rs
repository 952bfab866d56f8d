//! The scan: how many rows have a value in one column, and pass a predicate on another.

use std::ops::AddAssign;

use super::kernel::{Kernel, Mask};
use super::predicate::ValueRange;
use super::table::{Column, ColumnTable};
use super::unit::{Found, Unit};
use crate::error::StorageError;
use crate::exec::question;

/// COUNT of a column, with or without a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// The column whose values are counted, from 0.
    pub counted: usize,
    /// Which rows: those whose number in this column, from 0, passes. `None` is all rows.
    pub predicate: Option<(usize, ValueRange)>,
}

/// The question that all access paths are asked, whose columns are counted from 1.
impl From<&question::Question> for Question {
    fn from(asked: &question::Question) -> Question {
        // Column 0 is none, and turns into one that no table has.
        let index = |number: u8| usize::from(number).wrapping_sub(1);
        let predicate = |comparison: question::Comparison| {
            let (low, high) = comparison.bounds();
            (index(comparison.column), ValueRange::between(low, high))
        };
        Question { counted: index(asked.counted), predicate: asked.comparison.map(predicate) }
    }
}

/// Whether a unit may be answered from its least and greatest value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneMaps {
    /// It may.
    On,
    /// The codes of every row are read: this shows what the scan itself costs.
    Off,
}

/// How a scan is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// Which machine instructions.
    pub kernel: Kernel,
    /// Whether units may be skipped.
    pub zone_maps: ZoneMaps,
}

/// What a scan found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scanned {
    /// The answer.
    pub count: u64,
    /// Rows of the units that were looked at or answered for.
    pub rows: u64,
    /// Bytes that were read: codes, dictionaries, bitmaps of nulls.
    pub bytes: u64,
    /// Units whose codes were read.
    pub units_read: u64,
    /// Units that their least and greatest value answered for.
    pub units_skipped: u64,
    /// Units that their number of nulls answered for.
    pub units_counted: u64,
}

impl AddAssign for Scanned {
    fn add_assign(&mut self, other: Scanned) {
        self.count += other.count;
        self.rows += other.rows;
        self.bytes += other.bytes;
        self.units_read += other.units_read;
        self.units_skipped += other.units_skipped;
        self.units_counted += other.units_counted;
    }
}

/// A question whose columns are found.
pub(super) struct Plan<'a> {
    counted: &'a Column,
    asked: Option<(&'a Column, ValueRange)>,
    /// Whether the predicate is about the counted column itself.
    is_same: bool,
    scan: Scan,
}

impl<'a> Plan<'a> {
    pub(super) fn new(table: &'a ColumnTable, question: &Question, scan: Scan) -> Result<Plan<'a>, StorageError> {
        if !scan.kernel.is_available() {
            let reason = format!("this processor has no {} kernel", scan.kernel.name());
            return Err(StorageError::Parameters(reason));
        }
        let asked = question.predicate.map(|(column, range)| table.column(column).map(|found| (found, range)));
        let is_same = question.predicate.is_some_and(|(column, _)| column == question.counted);
        Ok(Plan { asked: asked.transpose()?, counted: table.column(question.counted)?, is_same, scan })
    }

    pub(super) fn add(&self, mut sum: Scanned, unit: usize) -> Result<Scanned, StorageError> {
        sum += self.unit(unit)?;
        Ok(sum)
    }

    fn unit(&self, index: usize) -> Result<Scanned, StorageError> {
        let counted = &self.counted.units[index];
        let not_null = (counted.rows - counted.nulls) as u64;
        let answered = |count| Scanned { count, rows: counted.rows as u64, ..Scanned::default() };
        let Some((column, predicate)) = self.asked else {
            return Ok(Scanned { units_counted: 1, ..answered(not_null) });
        };
        let unit = &column.units[index];
        if let Some(count) = self.skipped(unit, predicate, not_null) {
            return Ok(Scanned { units_skipped: 1, ..answered(count) });
        }
        let Found { count, bytes } = self.read(column, unit, predicate, counted)?;
        Ok(Scanned { units_read: 1, bytes, ..answered(count) })
    }

    /// The answer of the zone map, where it has one.
    fn skipped(&self, unit: &Unit, predicate: ValueRange, not_null: u64) -> Option<u64> {
        if self.scan.zone_maps == ZoneMaps::Off {
            return None;
        }
        let (min, max) = unit.zone?;
        match predicate.verdict(min, max)? {
            false => Some(0),
            true if unit.nulls == 0 || self.is_same => Some(not_null),
            true => None,
        }
    }

    fn read(&self, column: &Column, unit: &Unit, predicate: ValueRange, counted: &Unit) -> Result<Found, StorageError> {
        // A column's own nulls are in its own mask already.
        let mask = if self.is_same { Some(Mask::all()) } else { counted.mask(&self.counted.chunks) };
        let Some(mask) = mask else { return Ok(Found::default()) };
        let mut found = unit.count(&column.chunks, self.scan.kernel, predicate, mask).ok_or_else(|| {
            let name = &column.spec.name;
            StorageError::Parameters(format!("column {name} holds texts, and numbers are compared"))
        })?;
        if !self.is_same {
            found.bytes += counted.mask_bytes();
        }
        Ok(found)
    }
}
