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
}

#[derive(Debug)]
enum Values {
    /// INT64, never null.
    Integer(Vec<i64>),
    /// INT64, null where the source does not say; with the levels of its definition.
    Optional(Vec<i64>, Vec<i16>),
    /// UTF-8 text, empty where the source does not say.
    Text(Vec<ByteArray>),
    /// BOOLEAN.
    Flag(Vec<bool>),
    /// UTF-8 text, null where it is not known.
    OptionalText(Vec<ByteArray>, Vec<i16>),
    /// DOUBLE, null where it is not known.
    OptionalReal(Vec<f64>, Vec<i16>),
    /// BOOLEAN, null where it is not known.
    OptionalFlag(Vec<bool>, Vec<i16>),
    /// TIMESTAMP in microseconds, null where it is not known. It is not marked as UTC, although it is: a reader of
    /// marked ones needs a database of time zones, which DuckDB in Python does not bring.
    OptionalMoment(Vec<i64>, Vec<i16>),
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
    fn column(&mut self, name: &'static str, new: fn() -> Values) -> &mut Values {
        if self.at == self.columns.len() {
            self.columns.push(Column { name, values: new() });
        }
        let column = &mut self.columns[self.at];
        assert_eq!(column.name, name, "all rows of a table have the same columns");
        self.at += 1;
        &mut column.values
    }

    pub(crate) fn integer(&mut self, name: &'static str, value: i64) {
        if let Values::Integer(values) = self.column(name, || Values::Integer(Vec::new())) {
            values.push(value);
        }
    }

    /// A count; those of a trace are below 2^63, because they are read as such.
    pub(crate) fn count(&mut self, name: &'static str, count: u64) {
        self.integer(name, i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub(crate) fn optional(&mut self, name: &'static str, value: Option<i64>) {
        if let Values::Optional(values, levels) = self.column(name, || Values::Optional(Vec::new(), Vec::new())) {
            push(values, levels, value);
        }
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
        if let Values::Text(values) = self.column(name, || Values::Text(Vec::new())) {
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
        if let Values::Flag(values) = self.column(name, || Values::Flag(Vec::new())) {
            values.push(value);
        }
    }

    /// A value that may be null, of whatever type.
    pub(crate) fn nullable(&mut self, name: &'static str, value: &Nullable<'_>) {
        if let Nullable::Text(Some(text)) = value {
            self.text_bytes += text.len();
        }
        let new: fn() -> Values = match value {
            Nullable::Integer(_) => || Values::Optional(Vec::new(), Vec::new()),
            Nullable::Real(_) => || Values::OptionalReal(Vec::new(), Vec::new()),
            Nullable::Text(_) => || Values::OptionalText(Vec::new(), Vec::new()),
            Nullable::Flag(_) => || Values::OptionalFlag(Vec::new(), Vec::new()),
            Nullable::Moment(_) => || Values::OptionalMoment(Vec::new(), Vec::new()),
        };
        match (self.column(name, new), value) {
            (Values::Optional(values, levels), Nullable::Integer(value))
            | (Values::OptionalMoment(values, levels), Nullable::Moment(value)) => push(values, levels, *value),
            (Values::OptionalReal(values, levels), Nullable::Real(value)) => push(values, levels, *value),
            (Values::OptionalFlag(values, levels), Nullable::Flag(value)) => push(values, levels, *value),
            (Values::OptionalText(values, levels), Nullable::Text(value)) => {
                push(values, levels, value.as_deref().map(|text| ByteArray::from(&*without_nul(text))));
            }
            _ => {}
        }
    }
}

/// A text with another letter for NUL, which programs in C leave at the end of some: PostgreSQL has it in no text, and
/// refuses all rows of a file for one.
pub(crate) fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

fn push<T>(values: &mut Vec<T>, levels: &mut Vec<i16>, value: Option<T>) {
    levels.push(i16::from(value.is_some()));
    values.extend(value);
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
    columns.iter_mut().for_each(|column| column.values.clear());
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
            column.values.encoded(&place)?.append(&mut group)?;
            column.values.clear();
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
    pub fn kind(&self) -> &'static str {
        match self.values {
            Values::Integer(_) => "INT64",
            Values::Optional(..) => "INT64, null",
            Values::Text(_) => "STRING",
            Values::Flag(_) => "BOOLEAN",
            Values::OptionalText(..) => "STRING, null",
            Values::OptionalReal(..) => "DOUBLE, null",
            Values::OptionalFlag(..) => "BOOLEAN, null",
            Values::OptionalMoment(..) => "TIMESTAMP, null",
        }
    }
}

impl Values {
    fn clear(&mut self) {
        match self {
            Values::Integer(values) => values.clear(),
            Values::Optional(values, _) | Values::OptionalMoment(values, _) => values.clear(),
            Values::Text(values) | Values::OptionalText(values, _) => values.clear(),
            Values::Flag(values) | Values::OptionalFlag(values, _) => values.clear(),
            Values::OptionalReal(values, _) => values.clear(),
        }
        match self {
            Values::Optional(_, levels)
            | Values::OptionalMoment(_, levels)
            | Values::OptionalText(_, levels)
            | Values::OptionalFlag(_, levels)
            | Values::OptionalReal(_, levels) => levels.clear(),
            Values::Integer(_) | Values::Text(_) | Values::Flag(_) => {}
        }
    }

    fn encoded(&self, place: &ColumnPlace) -> Result<ColumnChunk> {
        match self {
            Values::Integer(values) => place.encode::<Int64Type>(values, None),
            Values::Optional(values, levels) | Values::OptionalMoment(values, levels) => {
                place.encode::<Int64Type>(values, Some(levels))
            }
            Values::Text(values) => place.encode::<ByteArrayType>(values, None),
            Values::Flag(values) => place.encode::<BoolType>(values, None),
            Values::OptionalText(values, levels) => place.encode::<ByteArrayType>(values, Some(levels)),
            Values::OptionalReal(values, levels) => place.encode::<DoubleType>(values, Some(levels)),
            Values::OptionalFlag(values, levels) => place.encode::<BoolType>(values, Some(levels)),
        }
    }
}

fn field(column: &Column) -> Result<Arc<Type>> {
    let moment = || LogicalType::timestamp(false, TimeUnit::MICROS);
    let (physical, logical, repetition) = match column.values {
        Values::Integer(_) => (PhysicalType::INT64, None, Repetition::REQUIRED),
        Values::Optional(..) => (PhysicalType::INT64, None, Repetition::OPTIONAL),
        Values::Text(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED),
        Values::Flag(_) => (PhysicalType::BOOLEAN, None, Repetition::REQUIRED),
        Values::OptionalText(..) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String), Repetition::OPTIONAL),
        Values::OptionalReal(..) => (PhysicalType::DOUBLE, None, Repetition::OPTIONAL),
        Values::OptionalFlag(..) => (PhysicalType::BOOLEAN, None, Repetition::OPTIONAL),
        Values::OptionalMoment(..) => (PhysicalType::INT64, Some(moment()), Repetition::OPTIONAL),
    };
    let builder = Type::primitive_type_builder(column.name, physical).with_logical_type(logical);
    builder.with_repetition(repetition).build().map(Arc::new)
}

fn external(error: io::Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}
