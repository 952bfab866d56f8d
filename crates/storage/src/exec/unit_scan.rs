//! The scan of hybrid columnar units: of every unit, the sections of two columns and nothing else.

use std::ops::Range;

use crate::error::StorageError;
use crate::exec::question::{Answer, Comparison, Question};
use crate::page::access::PageAccess;
use crate::unit::format::{Section, UnitDamage};
use crate::unit::section::Numbers;
use crate::unit::table::{UnitReader, UnitTable};
use dataset::ColumnType;

/// Buffers that are used again from unit to unit.
#[derive(Default)]
struct Buffers {
    packed: Vec<u8>,
    raw: Vec<u8>,
    /// A bit for every row that passes.
    passes: Vec<u64>,
}

/// Answers from a range of units; several threads take a range each.
///
/// Errors with [`StorageError::BadUnit`] for the first damaged one, and with [`StorageError::Parameters`] for a column
/// that there is not.
pub fn unit_scan<A: PageAccess>(
    access: &A,
    table: &UnitTable,
    units: Range<usize>,
    question: &Question,
) -> Result<Answer, StorageError> {
    check_columns(table, question)?;
    let mut answer = Answer::default();
    let mut buffers = Buffers::default();
    for index in units {
        answer += count_unit(&mut table.open(access, index)?, question, &mut buffers)?;
    }
    Ok(answer)
}

fn check_columns(table: &UnitTable, question: &Question) -> Result<(), StorageError> {
    let refused = |reason: String| Err(StorageError::Parameters(reason));
    if let Some(comparison) = question.comparison
        && table.columns().get(from_zero(comparison.column)?) == Some(&ColumnType::Text)
    {
        return refused(format!("column {} holds texts, and numbers are compared", comparison.column));
    }
    let last = question.counted.max(question.comparison.map_or(0, |comparison| comparison.column));
    if from_zero(last)? >= table.columns().len() {
        return refused(format!("the table has {} columns and no column {last}", table.columns().len()));
    }
    Ok(())
}

fn count_unit<A: PageAccess>(
    unit: &mut UnitReader<'_, A>,
    question: &Question,
    buffers: &mut Buffers,
) -> Result<Answer, StorageError> {
    let rows = unit.rows() as usize;
    buffers.passes.clear();
    buffers.passes.resize(rows.div_ceil(64), u64::MAX);
    // Behind the last row there is nothing to pass.
    if let (Some(last), 1..) = (buffers.passes.last_mut(), rows % 64) {
        *last = (1 << (rows % 64)) - 1;
    }
    if let Some(comparison) = question.comparison {
        compare(unit, &comparison, buffers)?;
        strike_nulls(unit, comparison.column, buffers)?;
    }
    strike_nulls(unit, question.counted, buffers)?;
    let count = buffers.passes.iter().map(|word| u64::from(word.count_ones())).sum();
    Ok(Answer { rows: rows as u64, count })
}

/// The column as units count them, from 0.
fn from_zero(column: u8) -> Result<usize, StorageError> {
    usize::from(column).checked_sub(1).ok_or_else(|| StorageError::Parameters("columns are counted from 1".into()))
}

/// Leaves the rows whose number passes. A null's place is struck by its own section.
fn compare<A: PageAccess>(
    unit: &mut UnitReader<'_, A>,
    comparison: &Comparison,
    buffers: &mut Buffers,
) -> Result<(), StorageError> {
    let column = from_zero(comparison.column)?;
    let Buffers { packed, raw, passes } = buffers;
    unit.section(column, Section::Values, packed, raw)?;
    let rows = unit.rows() as usize;
    let damaged = |reason| unit.damaged(UnitDamage::Column { column: column + 1, reason });
    let numbers = Numbers::parse(raw, rows).map_err(damaged)?;
    let (low, high) = comparison.bounds();
    numbers.between(low, high, passes);
    Ok(())
}

/// Strikes the rows that have no value in a column.
fn strike_nulls<A: PageAccess>(
    unit: &mut UnitReader<'_, A>,
    column: u8,
    buffers: &mut Buffers,
) -> Result<(), StorageError> {
    let column = from_zero(column)?;
    let Buffers { packed, raw, passes } = buffers;
    unit.section(column, Section::Nulls, packed, raw)?;
    if raw.is_empty() {
        return Ok(());
    }
    if raw.len() != (unit.rows() as usize).div_ceil(8) {
        let reason = "it has not as many null bits as rows";
        return Err(unit.damaged(UnitDamage::Column { column: column + 1, reason }));
    }
    for (word, bytes) in passes.iter_mut().zip(raw.chunks(8)) {
        let mut nulls = [0; 8];
        nulls[..bytes.len()].copy_from_slice(bytes);
        *word &= !u64::from_le_bytes(nulls);
    }
    Ok(())
}
