//! One Parquet file: rows are kept by column until a row group is full, and then written.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as PhysicalType, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use profile::event::Ticks;
use recording::{ColumnChunk, ColumnPlace};

/// Rows of a row group at most: some ten megabytes while they are kept.
const ROWS_MAX: usize = 1 << 16;

/// Bytes of text of a row group at most, as far as texts come one by one.
const TEXT_BYTES_MAX: usize = 8 << 20;

/// A column with the values that wait for their row group.
#[derive(Debug)]
pub struct Column {
    /// Its name; what it means stands in `docs/events.md` and `docs/rows.md`.
    pub name: &'static str,
    values: Values,
    /// The levels of definition of values that may be null: where the source does not say, or it is not known.
    levels: Option<Vec<i16>>,
}

/// Values that are there.
#[derive(Debug)]
enum Values {
    /// INT64.
    Integer(Vec<i64>),
    /// TIMESTAMP in microseconds. It is not marked as UTC, although it is: a reader of marked ones needs a database of
    /// time zones, which DuckDB in Python does not bring.
    Moment(Vec<i64>),
    /// UTF-8 text; one that is never null is empty where the source does not say.
    Text(Vec<ByteArray>),
    /// BOOLEAN.
    Flag(Vec<bool>),
    /// DOUBLE.
    Real(Vec<f64>),
}

/// A value that may be null.
#[derive(Clone, Debug)]
pub(crate) enum Nullable<'a> {
    Integer(Option<i64>),
    Real(Option<f64>),
    Text(Option<Cow<'a, str>>),
    Flag(Option<bool>),
    /// Microseconds since 1970 in UTC.
    Moment(Option<i64>),
}

/// A row that is being written: one value a column, in their order. The first row of all makes the columns.
pub(crate) struct Row<'a> {
    columns: &'a mut Vec<Column>,
    at: usize,
    text_bytes: usize,
    is_out_of_range: bool,
}

impl Row<'_> {
    /// The next column, which the first row of all makes, with these values and perhaps levels.
    fn column(&mut self, name: &'static str, new: fn() -> Values, is_nullable: bool) -> &mut Column {
        if self.at == self.columns.len() {
            self.columns.push(Column { name, values: new(), levels: is_nullable.then(Vec::new) });
        }
        let column = &mut self.columns[self.at];
        assert_eq!(column.name, name, "all rows of a table have the same columns");
        self.at += 1;
        column
    }

    pub(crate) fn integer(&mut self, name: &'static str, value: i64) {
        if let Values::Integer(values) = &mut self.column(name, || Values::Integer(Vec::new()), false).values {
            values.push(value);
        }
    }

    /// A count; those of a trace are below 2^63, because they are read as such.
    pub(crate) fn count(&mut self, name: &'static str, count: u64) {
        self.integer(name, i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub(crate) fn optional(&mut self, name: &'static str, value: Option<i64>) {
        self.nullable(name, &Nullable::Integer(value));
    }

    /// A time in nanoseconds.
    pub(crate) fn time(&mut self, name: &'static str, time: Ticks) {
        self.is_out_of_range |= time.nanos().is_none();
        self.integer(name, time.nanos().unwrap_or(0));
    }

    pub(crate) fn optional_time(&mut self, name: &'static str, time: Option<Ticks>) {
        self.is_out_of_range |= time.is_some_and(|time| time.nanos().is_none());
        self.optional(name, time.and_then(Ticks::nanos));
    }

    /// A text that many rows share.
    pub(crate) fn shared(&mut self, name: &'static str, text: &ByteArray) {
        if let Values::Text(values) = &mut self.column(name, || Values::Text(Vec::new()), false).values {
            values.push(text.clone());
        }
    }

    /// A text of this row alone.
    pub(crate) fn text(&mut self, name: &'static str, text: &str) {
        let text: &str = &without_nul(text);
        self.text_bytes += text.len();
        self.shared(name, &text.into());
    }

    pub(crate) fn flag(&mut self, name: &'static str, value: bool) {
        if let Values::Flag(values) = &mut self.column(name, || Values::Flag(Vec::new()), false).values {
            values.push(value);
        }
    }

    /// A value that may be null, of whatever type.
    pub(crate) fn nullable(&mut self, name: &'static str, value: &Nullable<'_>) {
        if let Nullable::Text(Some(text)) = value {
            self.text_bytes += text.len();
        }
        let new: fn() -> Values = match value {
            Nullable::Integer(_) => || Values::Integer(Vec::new()),
            Nullable::Real(_) => || Values::Real(Vec::new()),
            Nullable::Text(_) => || Values::Text(Vec::new()),
            Nullable::Flag(_) => || Values::Flag(Vec::new()),
            Nullable::Moment(_) => || Values::Moment(Vec::new()),
        };
        let column = self.column(name, new, true);
        let is_there = match (&mut column.values, value) {
            (Values::Integer(values), Nullable::Integer(value)) | (Values::Moment(values), Nullable::Moment(value)) => {
                push(values, *value)
            }
            (Values::Real(values), Nullable::Real(value)) => push(values, *value),
            (Values::Flag(values), Nullable::Flag(value)) => push(values, *value),
            (Values::Text(values), Nullable::Text(value)) => {
                push(values, value.as_deref().map(|text| ByteArray::from(&*without_nul(text))))
            }
            _ => return,
        };
        column.levels.iter_mut().for_each(|levels| levels.push(i16::from(is_there)));
    }
}

/// A text with another letter for NUL, which programs in C leave at the end of some: PostgreSQL has it in no text, and
/// refuses all rows of a file for one.
pub(crate) fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

/// Adds a value that may be null; whether it is there.
fn push<T>(values: &mut Vec<T>, value: Option<T>) -> bool {
    let is_there = value.is_some();
    values.extend(value);
    is_there
}

/// Why a row was not written.
pub(crate) enum Failed {
    Writer(ParquetError),
    /// A time does not fit into 64 bits of nanoseconds.
    Range,
}

impl From<ParquetError> for Failed {
    fn from(error: ParquetError) -> Failed {
        Failed::Writer(error)
    }
}

/// The columns that `sample`, any row, has.
pub(crate) fn columns(sample: impl FnOnce(&mut Row<'_>)) -> Vec<Column> {
    let mut columns = Vec::new();
    sample(&mut Row { columns: &mut columns, at: 0, text_bytes: 0, is_out_of_range: false });
    columns.iter_mut().for_each(Column::clear);
    columns
}

/// A file that is being written.
pub(crate) struct TableWriter {
    writer: SerializedFileWriter<BufWriter<File>>,
    columns: Vec<Column>,
    rows: usize,
    text_bytes: usize,
    /// Rows so far, in all row groups.
    pub(crate) rows_written: u64,
}

impl TableWriter {
    /// Begins the file of a table.
    pub(crate) fn new(name: &str, columns: Vec<Column>, file: File) -> Result<TableWriter> {
        let fields: Result<Vec<_>> = columns.iter().map(field).collect();
        let schema = Type::group_type_builder(name).with_fields(fields?).build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_created_by(concat!("readpath ", env!("CARGO_PKG_VERSION")).into())
            .build();
        let writer = SerializedFileWriter::new(BufWriter::new(file), Arc::new(schema), Arc::new(properties))?;
        Ok(TableWriter { writer, columns, rows: 0, text_bytes: 0, rows_written: 0 })
    }

    /// Adds the row that `fill` writes.
    pub(crate) fn push(&mut self, fill: impl FnOnce(&mut Row<'_>)) -> std::result::Result<(), Failed> {
        let mut row = Row { columns: &mut self.columns, at: 0, text_bytes: self.text_bytes, is_out_of_range: false };
        fill(&mut row);
        if row.is_out_of_range {
            return Err(Failed::Range);
        }
        self.text_bytes = row.text_bytes;
        self.rows += 1;
        self.rows_written += 1;
        if self.rows >= ROWS_MAX || self.text_bytes >= TEXT_BYTES_MAX {
            self.flush()?;
        }
        Ok(())
    }

    /// Ends the row group.
    pub(crate) fn flush(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let places = ColumnPlace::all(&self.writer);
        let mut group = self.writer.next_row_group()?;
        for (column, place) in self.columns.iter_mut().zip(places) {
            column.encoded(&place)?.append(&mut group)?;
            column.clear();
        }
        group.close()?;
        self.rows = 0;
        self.text_bytes = 0;
        Ok(())
    }

    /// Ends the file and brings it to the disk.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.flush()?;
        let file = self.writer.into_inner()?.into_inner().map_err(|error| external(error.into_error()))?;
        file.sync_all().map_err(external)
    }
}

impl Column {
    /// What values it holds, as the documentation names them.
    pub fn kind(&self) -> String {
        let kind = match self.values {
            Values::Integer(_) => "INT64",
            Values::Moment(_) => "TIMESTAMP",
            Values::Text(_) => "STRING",
            Values::Flag(_) => "BOOLEAN",
            Values::Real(_) => "DOUBLE",
        };
        format!("{kind}{}", if self.levels.is_some() { ", null" } else { "" })
    }

    fn clear(&mut self) {
        match &mut self.values {
            Values::Integer(values) | Values::Moment(values) => values.clear(),
            Values::Text(values) => values.clear(),
            Values::Flag(values) => values.clear(),
            Values::Real(values) => values.clear(),
        }
        self.levels.iter_mut().for_each(Vec::clear);
    }

    fn encoded(&self, place: &ColumnPlace) -> Result<ColumnChunk> {
        let levels = self.levels.as_deref();
        match &self.values {
            Values::Integer(values) | Values::Moment(values) => place.encode::<Int64Type>(values, levels),
            Values::Text(values) => place.encode::<ByteArrayType>(values, levels),
            Values::Flag(values) => place.encode::<BoolType>(values, levels),
            Values::Real(values) => place.encode::<DoubleType>(values, levels),
        }
    }
}

fn field(column: &Column) -> Result<Arc<Type>> {
    let (physical, logical) = match column.values {
        Values::Integer(_) => (PhysicalType::INT64, None),
        Values::Moment(_) => (PhysicalType::INT64, Some(LogicalType::timestamp(false, TimeUnit::MICROS))),
        Values::Text(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        Values::Flag(_) => (PhysicalType::BOOLEAN, None),
        Values::Real(_) => (PhysicalType::DOUBLE, None),
    };
    let repetition = if column.levels.is_some() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let builder = Type::primitive_type_builder(column.name, physical).with_logical_type(logical);
    builder.with_repetition(repetition).build().map(Arc::new)
}

/// The operating system's error inside the writer's, where there is one.
pub(crate) fn of_writer(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => inner.downcast::<io::Error>().map_or_else(io::Error::other, |inner| *inner),
        other => io::Error::other(other.to_string()),
    }
}

fn external(error: io::Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}
