//! A segment as the bytes of its file.
//!
//! A file is written from memory in one go: it is a few hundred KiB, and its checksum stands at its beginning.

use std::sync::Arc;

use measure::Parameters;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as PhysicalType, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};
use serde_json::json;

use crate::column_chunk::{ColumnChunk, ColumnPlace};
use crate::columns::{COLUMNS, Column, Get, Line, lines};
use crate::named_columns::{END_MAX, end_of};
use crate::segment::{Head, ROWS_MAX, Segment, TEXTS_MAX};

/// What stands behind the four bytes with which every Parquet file begins: the mark of a segment, and then the CRC-32C
/// of all bytes behind itself. Parquet's readers follow the places that the end of the file names, and pass over it.
pub(crate) const MARK: &[u8; 24] = b"readpath-recording-001\n\n";
pub(crate) const MARK_AT: usize = 4;
pub(crate) const CHECKSUM_AT: usize = MARK_AT + MARK.len();
pub(crate) const CHECKED_FROM: usize = CHECKSUM_AT + 4;

/// The key under which the head of a segment stands in the end of its file.
pub(crate) const HEAD_KEY: &str = "readpath";

/// Numbers that are small and of many values: without a dictionary, and byte by byte, most of them are nothing.
const SPLIT: [&str; 6] = ["looks", "time_ns", "queued_ns", "read_time_ns", "queue_ns", "service_ns"];

/// How hard the compression tries. Measured on an hour of 50 busy sessions: see `docs/method.md`.
const ZSTD_LEVEL: i32 = 3;

/// The bytes of the file.
///
/// # Errors
/// Where the writer of Parquet refuses, or where it is more than what is read of a segment: no file is written that no
/// reader takes.
pub fn encode(segment: &Segment) -> std::result::Result<Vec<u8>, String> {
    if !i64::try_from(segment.rows()).is_ok_and(|rows| rows <= ROWS_MAX) {
        return Err(format!("a segment has more than the {ROWS_MAX} rows that are read of one"));
    }
    if COLUMNS.iter().any(|column| texts_bytes(column, segment) > TEXTS_MAX) {
        return Err(format!("a segment has more than the {} MiB of texts that are read of one", TEXTS_MAX >> 20));
    }
    encode_columns(segment, &COLUMNS)
}

fn encode_columns(segment: &Segment, columns: &[Column]) -> std::result::Result<Vec<u8>, String> {
    let mut bytes = parquet(segment, columns).map_err(|error| error.to_string())?;
    if end_of(&bytes).is_none_or(|end| end.len() > END_MAX) {
        return Err(format!("the server's address is longer than the {} KiB that a segment has for it", END_MAX >> 10));
    }
    let checksum = crc32c::crc32c(&bytes[CHECKED_FROM..]);
    bytes[CHECKSUM_AT..CHECKED_FROM].copy_from_slice(&checksum.to_le_bytes());
    Ok(bytes)
}

/// Bytes of the texts of a column, over all rows.
fn texts_bytes(column: &Column, segment: &Segment) -> usize {
    match column.get {
        Get::Text(get) => lines(segment).map(|line| get(&line).len()).sum(),
        Get::Moment(_) | Get::OptionalMoment(_) | Get::Number(_) => 0,
    }
}

fn parquet(segment: &Segment, columns: &[Column]) -> Result<Vec<u8>> {
    let fields = columns.iter().map(field).collect::<Result<Vec<_>>>()?;
    let schema = Type::group_type_builder("recording").with_fields(fields).build()?;
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties(&segment.head)?))?;
    writer.write_all(MARK).and_then(|()| writer.write_all(&[0; CHECKED_FROM - CHECKSUM_AT]))?;
    let places = ColumnPlace::all(&writer);
    let mut group = writer.next_row_group()?;
    for (column, place) in columns.iter().zip(places) {
        encoded(column, segment, &place)?.append(&mut group)?;
    }
    group.close()?;
    writer.into_inner()
}

fn properties(head: &Head) -> Result<WriterProperties> {
    let split = |builder: parquet::file::properties::WriterPropertiesBuilder, name: &str| {
        let path = ColumnPath::from(name);
        builder
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::BYTE_STREAM_SPLIT)
    };
    let builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_key_value_metadata(Some(vec![KeyValue::new(HEAD_KEY.to_string(), head_text(head))]))
        .set_created_by(concat!("readpath ", env!("CARGO_PKG_VERSION")).into());
    Ok(SPLIT.into_iter().fold(builder, split).build())
}

fn head_text(head: &Head) -> String {
    let Head { number, begin, end, subject } = head;
    json!({ "number": number, "begin": begin, "end": end, "subject": subject }).to_string()
}

/// The head of a segment, from the end of its file.
pub(crate) fn head_of(text: &str) -> Option<Head> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let subject: Parameters = value.get("subject")?.as_object()?.clone().into_iter().collect();
    let number = |key: &str| value.get(key)?.as_i64();
    Some(Head { number: value.get("number")?.as_u64()?, begin: number("begin")?, end: number("end")?, subject })
}

fn field(column: &Column) -> Result<Arc<Type>> {
    let (physical, logical, repetition) = shape(column);
    let builder = Type::primitive_type_builder(column.name, physical).with_logical_type(logical);
    builder.with_repetition(repetition).build().map(Arc::new)
}

/// The types of a column. Moments are UTC and not marked as such: a reader of marked ones needs a database of time
/// zones, which DuckDB in Python does not bring.
pub(crate) fn shape(column: &Column) -> (PhysicalType, Option<LogicalType>, Repetition) {
    let moment = || Some(LogicalType::timestamp(false, TimeUnit::MICROS));
    match column.get {
        Get::Moment(_) => (PhysicalType::INT64, moment(), Repetition::REQUIRED),
        Get::OptionalMoment(_) => (PhysicalType::INT64, moment(), Repetition::OPTIONAL),
        Get::Number(_) => (PhysicalType::INT64, None, Repetition::OPTIONAL),
        Get::Text(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED),
    }
}

fn encoded(column: &Column, segment: &Segment, place: &ColumnPlace) -> Result<ColumnChunk> {
    match column.get {
        Get::Moment(get) => {
            let values: Vec<i64> = lines(segment).map(|line| get(&line)).collect();
            place.encode::<Int64Type>(&values, None)
        }
        Get::OptionalMoment(get) | Get::Number(get) => {
            let values = || lines(segment).map(|line| get(&line));
            let levels: Vec<i16> = values().map(|value| i16::from(value.is_some())).collect();
            let present: Vec<i64> = values().flatten().collect();
            place.encode::<Int64Type>(&present, Some(&levels))
        }
        Get::Text(get) => place.encode::<ByteArrayType>(&texts(segment, get), None),
    }
}

/// The texts of a column. Most rows have the text of the row before, of which then only the count of references grows.
fn texts(segment: &Segment, get: for<'a> fn(&Line<'a>) -> &'a str) -> Vec<ByteArray> {
    let mut last: Option<(&str, ByteArray)> = None;
    let mut texts = Vec::with_capacity(segment.rows());
    for line in lines(segment) {
        let text = get(&line);
        let is_same = last.as_ref().is_some_and(|(known, _)| *known == text);
        if !is_same {
            last = Some((text, ByteArray::from(text)));
        }
        texts.extend(last.as_ref().map(|(_, value)| value.clone()));
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::COLUMNS_WITHOUT_READS;
    use crate::decode;
    use crate::segment::{Lost, Sample, Statement, Tracing};

    /// A segment of this many rows, each of which has the same text of half a MiB.
    fn with_long_texts(rows: usize) -> Segment {
        let lost = Lost { at: 1_795_428_900_000_000, time: 1, reason: "x".repeat(512 << 10).into() };
        Segment { lost: vec![lost; rows], ..Segment::default() }
    }

    #[test]
    fn a_long_text_that_stands_in_each_row_is_refused_before_it_is_copied_for_each_and_no_recorder_writes_it() {
        assert_eq!(decode(encode(&with_long_texts(20)).unwrap()).unwrap().lost.len(), 20);
        let many = with_long_texts(520);
        let small = encode_columns(&many, &COLUMNS).unwrap();
        assert!(small.len() < 100_000, "{} bytes", small.len());
        let refused = decode(small).unwrap_err().to_string();
        assert!(refused.contains("longer texts than"), "{refused}");
        let unwritten = encode(&many).unwrap_err();
        assert!(unwritten.contains("more than the 256 MiB of texts"), "{unwritten}");
    }

    #[test]
    fn texts_that_have_no_room_are_left_out_beginning_with_those_of_the_least_time() {
        let statement = |bytes: usize| Statement { text: "x".repeat(bytes).into(), ..Statement::default() };
        let sample = |statement: u32, time: i64| Sample { statement, time, ..Sample::default() };
        let mut segment = Segment {
            statements: [0, 400, 300, 200].map(statement).into(),
            samples: vec![sample(1, 5), sample(2, 7), sample(1, 6), sample(3, 9)],
            ..Segment::default()
        };
        let lengths = |segment: &Segment| segment.statements.iter().map(|one| one.text.len()).collect::<Vec<_>>();
        assert_eq!((segment.leave_out_texts(900), lengths(&segment)), (0, vec![0, 400, 300, 200]));
        assert_eq!((segment.leave_out_texts(500), lengths(&segment)), (2, vec![0, 400, 0, 0]));
    }

    #[test]
    fn a_segment_of_a_recorder_that_recorded_no_reads_is_read() {
        let lost = vec![Lost { at: 1_795_428_900_000_000, time: 7, reason: "the server went away".into() }];
        let written =
            Segment { lost, tracing: Some(Tracing { records: 5, lost: 1, reason: "".into() }), ..Segment::default() };
        let of_columns =
            |segment: &Segment, columns: usize| decode(encode_columns(segment, &COLUMNS[..columns]).unwrap());
        let without_reads = Segment { tracing: None, ..written.clone() };
        assert!(of_columns(&without_reads, COLUMNS_WITHOUT_READS).unwrap() == without_reads);
        assert!(of_columns(&written, COLUMNS_WITHOUT_READS).is_err(), "no recorder wrote such a row");
        assert!(of_columns(&without_reads, COLUMNS_WITHOUT_READS + 1).is_err());
        assert!(of_columns(&written, COLUMNS.len()).unwrap() == written);
    }

    #[test]
    fn a_segment_of_a_newer_version_is_not_called_damaged() {
        let more: Vec<Column> = COLUMNS.into_iter().chain([Column { name: "later", get: Get::Text(|_| "") }]).collect();
        let refused = decode(encode_columns(&Segment::default(), &more).unwrap()).unwrap_err();
        assert_eq!(refused, crate::Damage::Newer);
        assert!(!refused.to_string().contains("damaged"), "{refused}");
        let mut other = COLUMNS;
        other[0].name = "other";
        assert!(matches!(decode(encode_columns(&Segment::default(), &other).unwrap()), Err(crate::Damage::Unsound(_))));
    }
}
