//! Tables of a data set in a database of our own: their columns, their rows, and the bytes that they take.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dataset::{Column, ColumnType, DataSet, Row, Value};
use measure::quantity::grouped;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Statement, ToSql, params_from_iter};
use server::session::identifier;

use super::database::Database;
use crate::error::SubjectError;
use crate::opening::Progress;
use crate::progress::tenths;

/// Rows between two looks at the flag of ^C: whole groups of every data set.
const ROWS_AT_ONCE: u64 = 43 * 24;

/// What a page holds besides cells.
const PAGE_HEAD_BYTES: u64 = 12;

/// What a row takes besides its values: the pointer to its cell, its length, its number, the length of its head.
const ROW_HEAD_BYTES: u64 = 2 + 3 + 5 + 2;

/// What a value takes besides its bytes: its type with its length.
const VALUE_HEAD_BYTES: u64 = 2;

/// What an overflow page holds besides its part of a row: the number of the next one.
const OVERFLOW_HEAD_BYTES: u64 = 4;

/// A value of a data set as SQLite takes it.
struct Bound<'a>(Value<'a>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Number(number) => ValueRef::Integer(number),
            Value::Text(text) => ValueRef::Text(text),
        }))
    }
}

/// Makes a table and fills it, in the order of the rows: row N of the data set has the number N + 1. `progress` hears
/// how many are there of `what`, such as `rows into sqlite 3.54.1`.
pub(super) fn load(
    database: &Database,
    (table, data): (&str, &DataSet),
    what: &str,
    progress: &mut Progress<'_>,
    stop: &AtomicBool,
) -> Result<(), SubjectError> {
    let mut loading = tenths(progress, |made, of| {
        (format!("loading {} of {} {what}", grouped(made), grouped(of)), Duration::from_secs(1))
    });
    let (rows, schema, count) = (data.rows()?, data.schema(), data.count());
    let columns: Vec<String> = schema.iter().map(definition).collect();
    database.run(&format!("CREATE TABLE {table} ({}); BEGIN", columns.join(", ")))?;
    let places = vec!["?"; schema.len()].join(", ");
    let insert = format!("INSERT INTO {table} VALUES ({places})");
    let mut statement = database.connection().prepare(&insert).map_err(database.failed())?;
    for first in (0..count).step_by(ROWS_AT_ONCE as usize) {
        if stop.load(Ordering::Relaxed) {
            return Err(SubjectError::Stopped);
        }
        let end = (first + ROWS_AT_ONCE).min(count);
        let mut outcome = Ok(());
        rows.each(first..end, |row| {
            if outcome.is_ok() {
                outcome = insert_row(&mut statement, row);
            }
        });
        outcome.map_err(database.failed())?;
        loading(end, count);
    }
    drop(statement);
    database.run("COMMIT")
}

fn insert_row(statement: &mut Statement<'_>, row: &Row) -> rusqlite::Result<()> {
    statement.execute(params_from_iter(row.values().map(Bound))).map(drop)
}

/// Columns may be null for SQLite, although no value of theirs is: it counts a column that cannot be without looking
/// at the row.
fn definition(column: &Column) -> String {
    let kind = if column.kind == ColumnType::Text { "TEXT" } else { "INTEGER" };
    format!("{} {kind}", identifier(&column.name))
}

/// About the bytes that a table takes in pages of this size, rather more than less.
pub(super) fn table_bytes(data: &DataSet, page_bytes: u32) -> u64 {
    let columns = u64::from(data.columns);
    let row = u64::from(data.row_length) + columns * VALUE_HEAD_BYTES + ROW_HEAD_BYTES;
    rows_bytes(data.count(), row, page_bytes)
}

/// The same of a table whose only column has values of this many bytes.
pub(super) fn column_bytes(rows: u64, value_bytes: u64, page_bytes: u32) -> u64 {
    rows_bytes(rows, value_bytes + VALUE_HEAD_BYTES + ROW_HEAD_BYTES, page_bytes)
}

fn rows_bytes(rows: u64, row_bytes: u64, page_bytes: u32) -> u64 {
    let bytes = pages(rows, row_bytes, page_bytes.into()).saturating_mul(page_bytes.into());
    (bytes / 10).saturating_mul(11)
}

/// About the bytes that an index takes whose key has this many: whole pages for what its entries take of them, with a
/// fifth more, and the overflow pages of keys that are too long for a page.
pub(super) fn index_bytes(rows: u64, key_bytes: u64, page_bytes: u32) -> u64 {
    let page = u64::from(page_bytes);
    let entry = key_bytes + 2 * VALUE_HEAD_BYTES + ROW_HEAD_BYTES;
    let kept = kept_of_entry(entry, page);
    let overflow = (entry - kept).div_ceil(page - OVERFLOW_HEAD_BYTES).saturating_mul(page);
    let in_page = if kept < entry { kept + ROW_HEAD_BYTES } else { kept };
    let of_entries = (rows.saturating_mul(in_page) / 10).saturating_mul(12);
    of_entries.div_ceil(page).saturating_mul(page).saturating_add(rows.saturating_mul(overflow))
}

/// The part of an index's entry that its page keeps; the rest goes to overflow pages, whole ones if possible. Source:
/// SQLite's "Database File Format", "Cell Payload Overflow Pages".
fn kept_of_entry(entry: u64, page_bytes: u64) -> u64 {
    let part = |of_255: u64| (page_bytes - PAGE_HEAD_BYTES) * of_255 / 255 - 23;
    let (most, least) = (part(64), part(32));
    let filled = least + entry.saturating_sub(least) % (page_bytes - OVERFLOW_HEAD_BYTES);
    match entry {
        short if short <= most => short,
        _ if filled <= most => filled,
        _ => least,
    }
}

fn pages(rows: u64, row_bytes: u64, page_bytes: u64) -> u64 {
    let room = page_bytes - PAGE_HEAD_BYTES;
    match room / row_bytes {
        // A row that is longer than a page takes overflow pages of its own.
        0 => rows.saturating_mul(row_bytes.div_ceil(room - OVERFLOW_HEAD_BYTES) + 1),
        rows_a_page => rows.div_ceil(rows_a_page),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::super::database::{Need, PAGE_BYTES};
    use super::*;
    use dataset::uniform::RowShape;

    fn data(row_length: u32, columns: u32) -> DataSet {
        DataSet::uniform(RowShape { row_length, columns }, 1 << 20, 1)
    }

    fn loaded(database: &Database, data: &DataSet) -> Result<(), SubjectError> {
        load(database, ("t", data), "rows", &mut |_, _| {}, &AtomicBool::new(false))
    }

    #[test]
    fn the_forecast_of_a_table_is_what_it_takes_and_a_little_more() {
        let folder = tempfile::tempdir().unwrap();
        for (row_length, columns) in [(25, 1), (25, 25), (250, 5), (2500, 25), (8000, 1)] {
            for page_bytes in [512, PAGE_BYTES, 65_536] {
                let data = data(row_length, columns);
                let database =
                    Database::create(folder.path(), page_bytes, Need::cached(1 << 20), &Arc::default()).unwrap();
                loaded(&database, &data).unwrap();
                let taken = database.pages("t").unwrap() * u64::from(page_bytes);
                let ratio = table_bytes(&data, page_bytes) as f64 / taken as f64;
                assert!(ratio > 0.99 && ratio < 1.9, "{ratio} of {row_length} bytes on pages of {page_bytes}");
            }
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_table_that_no_disk_holds_is_not_forecast_to_be_a_small_one() {
        let data = DataSet::uniform(RowShape { row_length: 2500, columns: 1 }, u64::MAX, 1);
        for page_bytes in [512, PAGE_BYTES, 65_536] {
            assert_eq!(table_bytes(&data, page_bytes), u64::MAX, "pages of {page_bytes}");
        }
        assert_eq!(index_bytes(u64::MAX, 8, PAGE_BYTES), u64::MAX);
    }

    #[test]
    fn the_forecast_of_an_index_has_the_overflow_pages_of_long_keys() {
        let folder = tempfile::tempdir().unwrap();
        for (row_length, columns) in [(25, 1), (250, 5), (2500, 25), (2500, 1), (8000, 1)] {
            for page_bytes in [512, PAGE_BYTES, 65_536] {
                let data = data(row_length, columns);
                let database =
                    Database::create(folder.path(), page_bytes, Need::cached(1 << 20), &Arc::default()).unwrap();
                loaded(&database, &data).unwrap();
                database.run("CREATE INDEX t_by_c1 ON t (c1)").unwrap();
                let taken = database.pages("t_by_c1").unwrap() * u64::from(page_bytes);
                let key = u64::from(row_length / columns);
                let ratio = index_bytes(data.count(), key, page_bytes) as f64 / taken as f64;
                assert!(ratio > 0.99 && ratio < 1.9, "{ratio} of keys of {key} bytes on pages of {page_bytes}");
            }
        }
    }

    #[test]
    fn a_disk_that_is_full_while_rows_are_loaded_is_told_with_the_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::create(folder.path(), PAGE_BYTES, Need::cached(1 << 20), &Arc::default()).unwrap();
        database.run("PRAGMA max_page_count = 10").unwrap();
        let outcome = loaded(&database, &data(250, 5));
        let sentence = outcome.unwrap_err().to_string();
        assert!(sentence.contains("no room left") && sentence.contains("TMPDIR"), "{sentence}");
        assert!(database.finish().is_ok());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
