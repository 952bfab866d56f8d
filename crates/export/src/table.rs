//! One Parquet file: rows are kept by column until a row group is full, and then written.

use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use crate::schema::{Column, Kind, Table};

/// Rows of a row group at most: some ten megabytes while they are kept.
const ROWS_MAX: usize = 1 << 16;

/// Bytes of text of a row group at most, as far as texts come one by one.
const TEXT_BYTES_MAX: usize = 8 << 20;

/// One value of a row.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    Integer(i64),
    Optional(Option<i64>),
    Text(ByteArray),
    Flag(bool),
}

/// The values of a column that wait for their row group.
#[derive(Debug)]
enum Values {
    Integer(Vec<i64>),
    Optional(Vec<i64>, Vec<i16>),
    Text(Vec<ByteArray>),
    Flag(Vec<bool>),
}

/// A file that is being written.
pub(crate) struct TableWriter {
    writer: SerializedFileWriter<BufWriter<File>>,
    values: Vec<Values>,
    rows: usize,
    text_bytes: usize,
}

impl TableWriter {
    /// Begins the file of a table.
    pub(crate) fn new(table: &Table, file: File) -> Result<TableWriter> {
        let fields: Result<Vec<_>> = table.columns.iter().map(field).collect();
        let schema = Type::group_type_builder(table.name).with_fields(fields?).build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_created_by(concat!("readpath ", env!("CARGO_PKG_VERSION")).into())
            .build();
        let writer = SerializedFileWriter::new(BufWriter::new(file), Arc::new(schema), Arc::new(properties))?;
        let values = table.columns.iter().map(|column| Values::of(column.1)).collect();
        Ok(TableWriter { writer, values, rows: 0, text_bytes: 0 })
    }

    /// Adds a row: one cell a column, in their order and of their kind.
    pub(crate) fn push<const N: usize>(&mut self, row: [Cell; N]) -> Result<()> {
        assert_eq!(N, self.values.len(), "a row has one cell a column");
        for (values, cell) in self.values.iter_mut().zip(row) {
            values.push(cell);
        }
        self.rows += 1;
        if self.rows >= ROWS_MAX || self.text_bytes >= TEXT_BYTES_MAX { self.flush() } else { Ok(()) }
    }

    /// Adds to the bytes of text that are kept, for texts that no other row shares.
    pub(crate) fn note_text(&mut self, bytes: usize) {
        self.text_bytes += bytes;
    }

    /// Ends the row group.
    pub(crate) fn flush(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for values in &mut self.values {
            let Some(mut column) = group.next_column()? else {
                return Err(ParquetError::General("the row group has too few columns".into()));
            };
            values.write(&mut column)?;
            column.close()?;
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

impl Values {
    fn of(kind: Kind) -> Values {
        match kind {
            Kind::Integer => Values::Integer(Vec::new()),
            Kind::OptionalInteger => Values::Optional(Vec::new(), Vec::new()),
            Kind::Text => Values::Text(Vec::new()),
            Kind::Flag => Values::Flag(Vec::new()),
        }
    }

    fn push(&mut self, cell: Cell) {
        match (self, cell) {
            (Values::Integer(values), Cell::Integer(value)) => values.push(value),
            (Values::Optional(values, levels), Cell::Optional(value)) => {
                values.extend(value);
                levels.push(i16::from(value.is_some()));
            }
            (Values::Text(values), Cell::Text(value)) => values.push(value),
            (Values::Flag(values), Cell::Flag(value)) => values.push(value),
            (values, cell) => panic!("{cell:?} is no value of the column {values:?}"),
        }
    }

    fn write(&mut self, column: &mut SerializedColumnWriter<'_>) -> Result<()> {
        match self {
            Values::Integer(values) => {
                column.typed::<Int64Type>().write_batch(values, None, None)?;
                values.clear();
            }
            Values::Optional(values, levels) => {
                column.typed::<Int64Type>().write_batch(values, Some(levels), None)?;
                values.clear();
                levels.clear();
            }
            Values::Text(values) => {
                column.typed::<ByteArrayType>().write_batch(values, None, None)?;
                values.clear();
            }
            Values::Flag(values) => {
                column.typed::<BoolType>().write_batch(values, None, None)?;
                values.clear();
            }
        }
        Ok(())
    }
}

fn field((name, kind): &Column) -> Result<Arc<Type>> {
    let (physical, logical, repetition) = match kind {
        Kind::Integer => (PhysicalType::INT64, None, Repetition::REQUIRED),
        Kind::OptionalInteger => (PhysicalType::INT64, None, Repetition::OPTIONAL),
        Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED),
        Kind::Flag => (PhysicalType::BOOLEAN, None, Repetition::REQUIRED),
    };
    let builder = Type::primitive_type_builder(name, physical).with_logical_type(logical);
    builder.with_repetition(repetition).build().map(Arc::new)
}

fn external(error: io::Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}
