//! Single values read back out of columns, which no scan does.

use crate::column::ColumnTable;
use crate::column::chunk::Chunk;
use crate::column::line::LINE_ROWS;
use crate::column::planes::Planes;
use crate::column::unit::{Codes, Content, Meaning, Unit, Validity};

/// A value as a column gives it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Datum<'a> {
    Null,
    Integer(i64),
    Text(&'a [u8]),
}

impl ColumnTable {
    /// The value of a column in a row, both counted from 0; `None` beyond the last.
    pub(crate) fn value(&self, column: usize, row: u64) -> Option<Datum<'_>> {
        let column = self.columns.get(column)?;
        let index = self.starts.partition_point(|start| *start <= row).checked_sub(1)?;
        let unit = column.units.get(index)?;
        Some(value(unit, &column.chunks, (row - self.starts[index]) as usize))
    }
}

fn value<'a>(unit: &'a Unit, chunks: &'a [Chunk], row: usize) -> Datum<'a> {
    let is_there = match &unit.validity {
        Validity::All => true,
        Validity::None => false,
        Validity::Bitmap(place) => place.of(chunks)[row / LINE_ROWS][row % LINE_ROWS / 8] >> (row % 8) & 1 == 1,
    };
    match &unit.content {
        _ if !is_there => Datum::Null,
        Content::Nothing => Datum::Null,
        Content::Texts(texts) => Datum::Text(texts.get(row)),
        Content::Coded { meaning, codes } => meant(meaning, code(codes, chunks, row)),
    }
}

fn code(codes: &Codes, chunks: &[Chunk], row: usize) -> u64 {
    match codes {
        Codes::Planes { place, width } => Planes::new(place.of(chunks), *width).code(row),
        Codes::Runs(runs) => runs.code(row),
    }
}

fn meant(meaning: &Meaning, code: u64) -> Datum<'_> {
    match meaning {
        Meaning::Distance(base) => Datum::Integer((*base as u64).wrapping_add(code) as i64),
        Meaning::Integer(entries) => Datum::Integer(entries[code as usize]),
        Meaning::Text(entries) => Datum::Text(entries.get(code as usize)),
    }
}
