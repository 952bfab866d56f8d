//! The bytes of a segment's file as the segment. They may be anything: what is not whole is refused before it is
//! decoded, and what no recorder writes is refused while it is.

use std::collections::HashMap;
use std::fs::File;
use std::hash::Hash;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;

use crate::columns::{
    ACCOUNT, BLOCKED, BLOCKS, COLUMNS, COLUMNS_WITHOUT_READS, Cell, Column, Get, HIDDEN, LOOKS, LOST, Line, OWN,
    OWN_SESSION, READ, RECORDER, REQUEST, SAMPLE, STATEMENT, TRACING,
};
use crate::encode::{CHECKED_FROM, CHECKSUM_AT, HEAD_KEY, MARK, MARK_AT, head_of, shape};
use crate::named_columns::{self, END_MAX, end_of};
use crate::pages;
use crate::segment::{
    ACCOUNT_MAX, Blocked, Blocks, Counted, Head, Looks, Lost, Process, ROWS_MAX, Read as FileRead, ReadSums,
    Reader as FromFile, Request, Sample, Segment, Statement, TEXTS_MAX, Tracing,
};

/// Greatest file of a segment: a recorder ends one long before.
const BYTES_MAX: u64 = 256 << 20;

/// Longest segment, and most seconds of a row: a recorder ends a segment after a minute.
const SECONDS_MAX: i64 = 120;

/// Longest time of a row, in nanoseconds: a recorder takes a stall of the machine for lost that is much shorter. A time
/// that is lost may be much longer.
const TIME_MAX: i64 = 3_600 * 1_000_000_000;
const LOST_MAX: i64 = 100 * 366 * 24 * TIME_MAX;

/// Greatest sum of the times of all rows, and of their seconds: no sum of many segments overflows, and no small file
/// stands for endless work.
const TIMES_MAX: i64 = 1 << 54;
const ALL_SECONDS_MAX: i64 = 1 << 24;

/// Greatest sum in one row over several sessions, of nanoseconds or bytes.
const SUM_MAX: i64 = 1 << 52;

/// Greatest sum of the calls, blocks and bytes of all rows.
const AMOUNT_MAX: i64 = 1 << 50;

/// Greatest sum of all that the server counted of statements. Of one that is seen for the first time, it may have
/// counted for years.
const COUNTED_MAX: i64 = 1 << 56;

/// Times of the wall clock that a calendar has: the years from 1 to 9999, in microseconds since 1970.
const CLOCKS: std::ops::RangeInclusive<i64> = -62_135_596_800_000_000..=253_402_207_200_000_000;

/// Values that are decoded at a time.
const BATCH: usize = 4096;

/// Why a segment is not read, as the end of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// It does not begin as a segment does.
    #[error("it is not a segment of a recording; unpack it first if it is an archive of segments, or compressed")]
    Foreign,
    /// It was changed or cut after it was written.
    #[error("it is damaged: its bytes are not those that were written ({0} bytes)")]
    Changed(usize),
    /// It is larger than any segment.
    #[error("it is larger than any segment: {0} bytes; unpack it first if it is an archive of segments")]
    TooLarge(u64),
    /// A later version wrote it.
    #[error("it has columns that this version does not know: a newer readpath wrote it")]
    Newer,
    /// It holds what no recorder writes.
    #[error("it is damaged: {0}")]
    Unsound(String),
}

/// Whether bytes begin as those of a segment do.
pub fn is_segment(head: &[u8]) -> bool {
    head.get(MARK_AT..CHECKSUM_AT).is_some_and(|mark| mark == MARK)
}

/// Reads a file.
///
/// # Errors
/// Where it cannot be read, or is damaged: the error's text is the end of a sentence.
pub fn read(path: &Path) -> io::Result<(Segment, u64)> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let damaged = |damage: Damage| io::Error::new(io::ErrorKind::InvalidData, damage);
    if length > BYTES_MAX {
        return Err(damaged(Damage::TooLarge(length)));
    }
    let mut bytes = Vec::with_capacity(length as usize);
    file.by_ref().take(BYTES_MAX).read_to_end(&mut bytes)?;
    decode(bytes).map(|segment| (segment, length)).map_err(damaged)
}

/// The segment in these bytes.
///
/// # Errors
/// Where they are not those of a whole one.
pub fn decode(bytes: Vec<u8>) -> Result<Segment, Damage> {
    if bytes.is_empty() {
        return Err(Damage::Changed(0));
    }
    if !is_segment(&bytes) {
        return Err(Damage::Foreign);
    }
    let said = bytes.get(CHECKSUM_AT..CHECKED_FROM).and_then(|said| said.first_chunk::<4>());
    let is_whole = said.is_some_and(|said| crc32c::crc32c(&bytes[CHECKED_FROM..]) == u32::from_le_bytes(*said));
    if !is_whole {
        return Err(Damage::Changed(bytes.len()));
    }
    // The library that reads Parquet may panic at files that were made to harm it: the checksum keeps accidents out,
    // and this what was made on purpose.
    catch_unwind(AssertUnwindSafe(|| segment(Bytes::from(bytes))))
        .unwrap_or_else(|_| Err(Damage::Unsound("its Parquet cannot be decoded".into())))
}

impl From<ParquetError> for Damage {
    fn from(error: ParquetError) -> Damage {
        Damage::Unsound(error.to_string())
    }
}

fn unsound<T>(why: &str) -> Result<T, Damage> {
    Err(Damage::Unsound(why.into()))
}

fn segment(bytes: Bytes) -> Result<Segment, Damage> {
    let Some(end) = end_of(&bytes).filter(|end| end.len() <= END_MAX) else {
        return unsound("its end, which names its columns, is longer than that of any segment");
    };
    if !named_columns::are_sound(end) {
        return unsound("its end does not name its columns as that of a segment does");
    }
    let file = ParquetMetaDataReader::new().parse_and_finish(&bytes)?;
    let about = file.file_metadata();
    let values = about.key_value_metadata().into_iter().flatten();
    let head = values.filter(|one| one.key == HEAD_KEY).find_map(|one| head_of(one.value.as_deref()?));
    let Some(head) = head.filter(is_sound) else { return unsound("it does not say when it was recorded") };
    let described = about.schema_descr();
    let is_ours = |(at, column): (usize, &Column)| {
        let (physical, _, repetition) = shape(column);
        let found = described.column(at);
        let kind = found.self_type();
        found.name() == column.name
            && found.physical_type() == physical
            && kind.get_basic_info().repetition() == repetition
            && found.max_rep_level() == 0
    };
    let columns = described.num_columns();
    let begins_with_ours = COLUMNS.iter().enumerate().take(columns).all(is_ours);
    if begins_with_ours && columns > COLUMNS.len() {
        return Err(Damage::Newer);
    }
    if !begins_with_ours || ![COLUMNS_WITHOUT_READS, COLUMNS.len()].contains(&columns) {
        return unsound("it has other columns");
    }
    if file.num_row_groups() != 1 {
        return unsound("it has several row groups");
    }
    let group = file.row_group(0);
    let rows = group.num_rows();
    if !(0..=ROWS_MAX).contains(&rows) {
        return unsound("it has more rows than any segment");
    }
    if !pages::are_sound(&bytes, group, rows.cast_unsigned()) {
        return unsound("one of its pages is not as it is written, or asks for more memory than a segment takes");
    }
    let columns = ColumnChunks { bytes: Arc::new(bytes), group, count: columns, rows: rows as usize };
    Reader::of(&columns)?.segment(head)
}

fn is_sound(head: &Head) -> bool {
    CLOCKS.contains(&head.begin)
        && CLOCKS.contains(&head.end)
        // Both are small enough for a difference.
        && (0..=SECONDS_MAX * 1_000_000).contains(&(head.end - head.begin))
}

/// A column, decoded.
enum Values {
    Numbers(Vec<Option<i64>>),
    /// Texts by their places in a list.
    Texts(Vec<u32>, Vec<Arc<str>>),
}

impl Values {
    fn cell(&self, row: usize) -> Cell<'_> {
        match self {
            Values::Numbers(values) => Cell { number: values[row], ..Cell::default() },
            Values::Texts(places, texts) => Cell { text: &texts[places[row] as usize], ..Cell::default() },
        }
    }
}

/// The columns of a file, still encoded. Their types are those of `COLUMNS`. Each is read by a reader of its own type:
/// the library's readers of whole row groups come with the decoders of all types of Parquet.
struct ColumnChunks<'a> {
    bytes: Arc<Bytes>,
    group: &'a RowGroupMetaData,
    count: usize,
    rows: usize,
}

impl ColumnChunks<'_> {
    fn reader<T: DataType>(&self, column: usize) -> Result<ColumnReaderImpl<T>, Damage> {
        let chunk = self.group.column(column);
        let pages = SerializedPageReader::new(Arc::clone(&self.bytes), chunk, self.rows, None)?;
        Ok(ColumnReaderImpl::new(self.group.schema_descr().column(column), Box::new(pages)))
    }

    /// All values of a column of numbers.
    fn numbers(&self, column: usize) -> Result<Values, Damage> {
        let mut reader = self.reader::<Int64Type>(column)?;
        let (mut all, mut levels, mut some) = (Vec::with_capacity(self.rows), Vec::new(), Vec::new());
        while all.len() < self.rows {
            levels.clear();
            some.clear();
            let wanted = BATCH.min(self.rows - all.len());
            let (read, _, _) = reader.read_records(wanted, Some(&mut levels), None, &mut some)?;
            if read == 0 {
                break;
            }
            let mut present = some.iter().copied();
            match levels.is_empty() {
                true => all.extend(present.map(Some)),
                false => all.extend(levels.iter().map(|level| if *level > 0 { present.next() } else { None })),
            }
        }
        Ok(Values::Numbers(all))
    }

    /// All values of a column of texts.
    fn texts(&self, column: usize) -> Result<Values, Damage> {
        let mut reader = self.reader::<ByteArrayType>(column)?;
        let (mut places, mut known, mut some) = (Vec::with_capacity(self.rows), Interned::default(), Vec::new());
        while places.len() < self.rows {
            some.clear();
            let (read, _, _) = reader.read_records(BATCH.min(self.rows - places.len()), None, None, &mut some)?;
            if read == 0 {
                break;
            }
            for text in &some {
                places.push(known.place(text)?);
            }
        }
        Ok(Values::Texts(places, known.texts))
    }
}

/// All columns of a segment.
struct Reader {
    columns: Vec<Values>,
    rows: usize,
}

impl Reader {
    /// Those of a file; what it lacks is absent from all rows.
    fn of(chunks: &ColumnChunks<'_>) -> Result<Reader, Damage> {
        let rows = chunks.rows;
        let mut columns = Vec::with_capacity(COLUMNS.len());
        for (at, column) in COLUMNS.iter().enumerate() {
            let is_there = at < chunks.count;
            let values = match column.get {
                Get::Text(_) if is_there => chunks.texts(at)?,
                Get::Text(_) => Values::Texts(vec![0; rows], vec!["".into()]),
                _ if is_there => chunks.numbers(at)?,
                _ => Values::Numbers(vec![None; rows]),
            };
            let is_one = match (&values, column.get) {
                (Values::Numbers(values), Get::Moment(_)) => values.len() == rows && values.iter().all(Option::is_some),
                (Values::Numbers(values), _) => values.len() == rows,
                (Values::Texts(values, _), _) => values.len() == rows,
            };
            if !is_one {
                return unsound("a column has fewer rows than the others");
            }
            columns.push(values);
        }
        Ok(Reader { columns, rows })
    }

    fn line(&self, row: usize) -> Line<'_> {
        let mut columns = self.columns.iter();
        Line::of(|| columns.next().map(|values| values.cell(row)).unwrap_or_default())
    }

    fn segment(&self, head: Head) -> Result<Segment, Damage> {
        let mut build = Build { segment: Segment { head, ..Segment::default() }, ..Build::default() };
        for row in 0..self.rows {
            let line = self.line(row);
            if build.add(&line).is_none() {
                return unsound(&format!("its row {} holds what no recorder writes", row + 1));
            }
        }
        Ok(build.segment)
    }
}

/// Texts, each once.
#[derive(Default)]
struct Interned {
    places: HashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
    last: Option<(ByteArray, u32)>,
    /// Bytes of the texts of all rows so far.
    bytes: usize,
}

impl Interned {
    fn place(&mut self, bytes: &ByteArray) -> Result<u32, Damage> {
        self.bytes += bytes.len();
        if self.bytes > TEXTS_MAX {
            return unsound("its rows have longer texts than those of any segment");
        }
        if let Some((_, place)) = self.last.as_ref().filter(|(known, _)| known == bytes) {
            return Ok(*place);
        }
        let Ok(text) = std::str::from_utf8(bytes.data()) else { return unsound("a text is no UTF-8") };
        let place = match self.places.get(text) {
            Some(place) => *place,
            None => {
                let place = self.texts.len() as u32;
                self.texts.push(text.into());
                self.places.insert(text.into(), place);
                place
            }
        };
        self.last = Some((bytes.clone(), place));
        Ok(place)
    }
}

/// A segment that is put together from its rows.
#[derive(Default)]
struct Build {
    segment: Segment,
    processes: HashMap<Process, u32>,
    statements: HashMap<Arc<str>, u32>,
    events: HashMap<Arc<str>, u32>,
    readers: HashMap<FromFile, u32>,
    relations: HashMap<Arc<str>, u32>,
    /// Of all rows so far.
    time: i64,
    seconds: i64,
    amount: i64,
    counted: u64,
}

impl Build {
    /// Adds a row; `None` for one that no recorder writes.
    fn add(&mut self, line: &Line<'_>) -> Option<()> {
        if !CLOCKS.contains(&line.at) {
            return None;
        }
        if !matches!(line.record, LOST | ACCOUNT | OWN) {
            self.time += up_to(TIME_MAX, line.time.or(Some(0)))?;
            for time in [line.read_time, line.queue, line.service] {
                self.time += up_to(SUM_MAX, time.or(Some(0)))?;
            }
            for amount in [line.calls, line.blocks, line.bytes] {
                self.amount += up_to(AMOUNT_MAX, amount.or(Some(0)))?;
            }
            self.seconds += up_to(SECONDS_MAX, line.seconds.or(Some(0)))?;
        }
        if self.time > TIMES_MAX || self.seconds > ALL_SECONDS_MAX || self.amount > AMOUNT_MAX {
            return None;
        }
        match line.record {
            LOOKS => {
                let (looks, time) = (count(line.looks)?, up_to(TIME_MAX, line.time)?);
                self.segment.looks.push(Looks { at: self.within(line.at)?, looks, time });
            }
            SAMPLE => self.sample(line)?,
            STATEMENT => self.statement(line)?,
            BLOCKED => {
                let (pid, blocker) = (number(line.pid)?, number(line.blocker)?);
                self.segment.blocked.push(Blocked { at: self.within(line.at)?, pid, blocker });
            }
            LOST => {
                let time = up_to(LOST_MAX, line.time)?;
                self.segment.lost.push(Lost { at: line.at, time, reason: line.text.into() });
            }
            ACCOUNT => self.segment.account = Some(up_to(ACCOUNT_MAX, line.time)?),
            HIDDEN => self.segment.hidden = count(line.looks)?,
            OWN => self.own(line)?,
            READ => self.read(line)?,
            REQUEST => {
                let request = Request {
                    at: self.within(line.at)?,
                    seconds: seconds(line)?,
                    statement: self.known_statement(line.statement),
                    purpose: Segment::PURPOSES.iter().position(|purpose| *purpose == line.tier)? as u32,
                    sums: ReadSums { blocks: 0, time: 0, ..sums(line)? },
                };
                self.segment.requests.push(request);
            }
            BLOCKS => {
                let (reader, relation) = self.read_of(line);
                self.segment.blocks.push(Blocks { reader, relation, sketch: line.sketch.into() });
            }
            TRACING => {
                let (records, lost) = (count(line.calls)?, count(line.lost_records)?);
                self.segment.tracing = Some(Tracing { records, lost, reason: line.text.into() });
            }
            // A later recorder may have more kinds of rows.
            _ => {}
        }
        Some(())
    }

    fn own(&mut self, line: &Line<'_>) -> Option<()> {
        let (time, own) = (up_to(SUM_MAX, line.time)?, self.segment.own.get_or_insert_default());
        match line.process {
            RECORDER => own.cpu = time,
            OWN_SESSION => own.session = Some(time),
            _ => {}
        }
        Some(())
    }

    /// A second of the segment.
    fn within(&self, at: i64) -> Option<i64> {
        let Head { begin, end, .. } = self.segment.head;
        (begin - 1_000_000..=end).contains(&at).then_some(at)
    }

    fn sample(&mut self, line: &Line<'_>) -> Option<()> {
        let process = Process {
            pid: number(line.pid)?,
            started: line.started.filter(|started| CLOCKS.contains(started))?,
            kind: line.process.into(),
            user: line.user.into(),
            database: line.database.into(),
            application: line.application.into(),
        };
        let time = up_to(TIME_MAX, line.time)?;
        let sample = Sample {
            at: self.within(line.at)?,
            seconds: seconds(line)?,
            process: place(&mut self.processes, &mut self.segment.processes, process),
            state: Segment::STATES.iter().position(|state| *state == line.state)? as u32,
            statement: self.known_statement(line.statement),
            event: place(&mut self.events, &mut self.segment.events, line.event.into()),
            looks: count(line.looks)?,
            time,
            queued: up_to(time, line.queued)?,
        };
        self.segment.samples.push(sample);
        Some(())
    }

    fn read(&mut self, line: &Line<'_>) -> Option<()> {
        let (reader, relation) = self.read_of(line);
        let read = FileRead {
            at: self.within(line.at)?,
            seconds: seconds(line)?,
            reader,
            relation,
            tier: Segment::TIERS.iter().position(|tier| *tier == line.tier)? as u32,
            sums: ReadSums { blocks: count(line.blocks)?, time: up_to(SUM_MAX, line.read_time)?, ..sums(line)? },
            estimated: count(line.estimated)?,
        };
        self.segment.reads.push(read);
        Some(())
    }

    /// Who read, and of what.
    fn read_of(&mut self, line: &Line<'_>) -> (u32, u32) {
        let reader = FromFile { statement: self.known_statement(line.statement), process: line.process.into() };
        let reader = place(&mut self.readers, &mut self.segment.readers, reader);
        (reader, place(&mut self.relations, &mut self.segment.relations, line.relation.into()))
    }

    fn known_statement(&mut self, id: &str) -> u32 {
        if let Some(place) = self.statements.get(id) {
            return *place;
        }
        let id: Arc<str> = id.into();
        let place = self.segment.statements.len() as u32;
        self.segment.statements.push(Statement { id: Arc::clone(&id), ..Statement::default() });
        self.statements.insert(id, place);
        place
    }

    /// What the server counted of a statement.
    fn counted(&mut self, line: &Line<'_>) -> Option<Counted> {
        let amount = |value: Option<i64>| up_to(COUNTED_MAX, value).map(i64::cast_unsigned);
        let (executions, rows) = (amount(line.executions)?, amount(line.rows)?);
        let (hits, reads) = (amount(line.hits)?, amount(line.reads)?);
        self.counted += executions + rows + hits + reads;
        (self.counted <= COUNTED_MAX.cast_unsigned()).then_some(Counted { executions, rows, hits, reads })
    }

    fn statement(&mut self, line: &Line<'_>) -> Option<()> {
        let place = self.known_statement(line.statement);
        let counted = match line.executions {
            Some(_) => Some(self.counted(line)?),
            None => None,
        };
        let known = &mut self.segment.statements[place as usize];
        (known.text, known.counted) = (line.text.into(), counted);
        Some(())
    }
}

fn seconds(line: &Line<'_>) -> Option<u32> {
    line.seconds.filter(|seconds| (1..=SECONDS_MAX).contains(seconds)).map(|seconds| seconds as u32)
}

/// What reads and requests have in common.
fn sums(line: &Line<'_>) -> Option<ReadSums> {
    let (calls, bytes) = (count(line.calls).filter(|calls| *calls > 0)?, up_to(SUM_MAX, line.bytes)?.cast_unsigned());
    let (queue, service) = (up_to(SUM_MAX, line.queue)?, up_to(SUM_MAX, line.service)?);
    Some(ReadSums { calls, bytes, queue, service, ..ReadSums::default() })
}

/// The place of an entry in a list, where it stands once.
fn place<T: Clone + Eq + Hash>(places: &mut HashMap<T, u32>, list: &mut Vec<T>, entry: T) -> u32 {
    if let Some(place) = places.get(&entry) {
        return *place;
    }
    let place = list.len() as u32;
    list.push(entry.clone());
    places.insert(entry, place);
    place
}

/// A count, so small that no sum of them overflows.
fn count(value: Option<i64>) -> Option<u64> {
    value.filter(|value| (0..=1 << 40).contains(value)).map(i64::cast_unsigned)
}

fn number(value: Option<i64>) -> Option<u32> {
    value.and_then(|value| u32::try_from(value).ok())
}

fn up_to(most: i64, value: Option<i64>) -> Option<i64> {
    value.filter(|value| (0..=most).contains(value))
}
