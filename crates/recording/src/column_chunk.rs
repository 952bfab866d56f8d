//! Column chunks of a Parquet file that is written, each encoded by a writer of its own type. The library's writer of
//! whole row groups comes with the encoders of all types of Parquet, twice as many as we have columns of.

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use parquet::column::writer::{ColumnCloseResult, ColumnWriterImpl};
use parquet::data_type::DataType;
use parquet::errors::Result;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// A column of a file that is written: its type, and how it is encoded.
#[derive(Debug)]
pub struct ColumnPlace {
    column: ColumnDescPtr,
    properties: WriterPropertiesPtr,
}

impl ColumnPlace {
    /// All columns of a file, in their order.
    pub fn all<W: Write + Send>(writer: &SerializedFileWriter<W>) -> Vec<ColumnPlace> {
        let columns = writer.schema_descr().columns().iter();
        let place = |column| ColumnPlace { column: Arc::clone(column), properties: Arc::clone(writer.properties()) };
        columns.map(place).collect()
    }

    /// The chunk of one row group: values that are there, with the levels of all where some may be null.
    ///
    /// # Errors
    /// Where the library refuses them.
    pub fn encode<T: DataType>(&self, values: &[T::T], levels: Option<&[i16]>) -> Result<ColumnChunk> {
        let mut bytes = TrackedWrite::new(Vec::new());
        let pages = Box::new(SerializedPageWriter::new(&mut bytes));
        let mut column = ColumnWriterImpl::<T>::new(Arc::clone(&self.column), Arc::clone(&self.properties), pages);
        column.write_batch(values, levels, None)?;
        let closed = column.close()?;
        Ok(ColumnChunk { bytes: bytes.into_inner()?.into(), closed })
    }
}

/// One column of one row group, encoded.
#[derive(Debug)]
pub struct ColumnChunk {
    bytes: Bytes,
    closed: ColumnCloseResult,
}

impl ColumnChunk {
    /// Writes it as the next column of a row group.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn append<W: Write + Send>(self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<()> {
        group.append_column(&self.bytes, self.closed)
    }
}
