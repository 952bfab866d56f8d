//! What is done with the bytes of a columnar unit that may be anything: shared by the tests and the fuzz target.

use dataset::ColumnType;
use dataset::DataSet;
use storage::catalog::{TableInfo, TableSpec};
use storage::exec::question::{Answer, Comparison, Operator, Question};
use storage::exec::unit_scan::unit_scan;
use storage::heap::{HeapTable, PageAccess};
use storage::page::id::PAGE_SIZE;
use storage::page::number;
use storage::page::row::{self, Value};
use storage::page::{PageBytes, PageKind, PageMut};
use storage::unit::Level;
use storage::unit::format::{ENTRY_BYTES, HEADER_BYTES, SECTION_BYTES_MAX, Section};
use storage::unit::section::Numbers;
use storage::unit::table::{BLOCK_BYTES, UnitPlan, UnitReader, UnitTable, fill_block};
use storage::{PageId, SegmentId, StorageError};

/// The segment of the rows that a unit is made of, and the one of its blocks.
const ROWS: SegmentId = SegmentId(1);
const UNITS: SegmentId = SegmentId(2);

/// Where the header of a unit keeps its number of columns and its own checksum, and an entry its section's.
const COLUMNS_AT: usize = 7;
const HEADER_CHECKSUM_AT: usize = 16;
const ENTRY_CHECKSUM_AT: usize = 12;

/// A value of a row: a number as it is stored, a text, or a null.
pub(crate) type Cell = Option<Vec<u8>>;

/// What the rows of a unit hold.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    /// The columns.
    pub(crate) columns: Vec<ColumnType>,
    /// Every row's values.
    pub(crate) cells: Vec<Vec<Cell>>,
}

/// A table of one unit, with the unit as it was built and what it answers.
pub(crate) struct Subject {
    table: UnitTable,
    /// The bytes of the unit.
    pub(crate) unit: Vec<u8>,
    /// The questions, and the answers of the unit as it was built.
    asked: Vec<(Question, Answer)>,
}

/// Blocks in memory; those that are not there are an error, as from a pool.
pub(crate) struct Blocks {
    segment: SegmentId,
    pages: Vec<PageBytes>,
}

impl PageAccess for Blocks {
    type Guard<'a> = &'a PageBytes;

    fn get(&self, page: PageId) -> Result<&PageBytes, StorageError> {
        let bytes = self.pages.get(page.number as usize).filter(|_| page.segment == self.segment);
        bytes.ok_or_else(|| StorageError::Parameters(format!("there is no {page}")))
    }

    fn prefetch(&self, _page: PageId) {}
}

impl Blocks {
    /// None yet, of a unit.
    pub(crate) fn new() -> Blocks {
        Blocks { segment: UNITS, pages: Vec::new() }
    }

    /// The pages that hold these rows.
    fn of_rows(rows: &Rows) -> Blocks {
        let mut blocks = Blocks { segment: ROWS, pages: Vec::new() };
        let mut stored = Vec::new();
        for cells in &rows.cells {
            let values: Vec<Value<'_>> = cells.iter().map(Option::as_deref).collect();
            stored.clear();
            row::encode(&values, &mut stored);
            let took = blocks.pages.last_mut().is_some_and(|page| PageMut::verified(page).append(&stored).is_some());
            if !took {
                let id = PageId { segment: ROWS, number: blocks.pages.len() as u32 };
                blocks.pages.push([0; PAGE_SIZE]);
                let page = blocks.pages.last_mut().expect("a page that was just added");
                PageMut::format(page, id, PageKind::Heap).append(&stored).expect("a row that fits into a page");
            }
        }
        blocks
    }

    /// Puts the bytes of a unit into blocks, in the place of those before.
    fn hold(&mut self, unit: &[u8]) {
        self.pages.resize(unit.len().div_ceil(BLOCK_BYTES), [0; PAGE_SIZE]);
        for ((number, page), part) in (0..).zip(&mut self.pages).zip(unit.chunks(BLOCK_BYTES)) {
            fill_block(page, PageId { segment: UNITS, number }, part);
        }
    }
}

impl Subject {
    /// The table whose only unit holds these rows.
    pub(crate) fn new(rows: &Rows, level: Level) -> Subject {
        let blocks = Blocks::of_rows(rows);
        let mut info =
            TableInfo::planned(&TableSpec::new("t", DataSet::customers(43, 1)), ROWS).expect("a small table");
        info.pages = blocks.pages.len() as u32;
        let plan = UnitPlan { segment: UNITS, first_block: 0, columns: &rows.columns, level };
        let mut unit = Vec::new();
        let table = UnitTable::build(&blocks, &HeapTable::new(&info, ROWS), &plan, &mut |_, part| {
            unit.extend_from_slice(part);
            Ok(())
        });
        let table = table.expect("rows that can be");
        assert_eq!(table.units(), 1, "more rows than a unit takes");
        let mut subject = Subject { table, unit, asked: Vec::new() };
        let mut blocks = Blocks::new();
        blocks.hold(&subject.unit);
        let answer = |question| (question, unit_scan(&blocks, &subject.table, 0..1, &question).expect("a whole unit"));
        subject.asked = questions(rows).into_iter().map(answer).collect();
        for (question, answer) in &subject.asked {
            assert_eq!(answer.count, count_cells(rows, question), "{question:?}");
        }
        subject
    }
}

/// Each column counted, and compared with its first number in every way.
fn questions(rows: &Rows) -> Vec<Question> {
    let operators =
        [Operator::Greater, Operator::GreaterOrEqual, Operator::Less, Operator::LessOrEqual, Operator::Equal];
    let last = rows.columns.len() as u8;
    let mut questions = Vec::new();
    for (column, kind) in (1..=last).zip(&rows.columns) {
        questions.push(Question { comparison: None, counted: column });
        if *kind == ColumnType::Number {
            let mut values = rows.cells.iter().filter_map(|cells| cells[usize::from(column) - 1].as_deref());
            let constant = values.next().and_then(number::decode).unwrap_or(0);
            let compare = |operator| Some(Comparison { column, operator, constant });
            questions.extend(operators.map(|operator| Question { comparison: compare(operator), counted: last }));
        }
    }
    questions
}

/// The answer from the rows themselves.
fn count_cells(rows: &Rows, question: &Question) -> u64 {
    let value = |cells: &[Cell], column: u8| cells[usize::from(column) - 1].clone();
    let passes = |cells: &&Vec<Cell>| {
        question.comparison.is_none_or(|comparison| {
            value(cells, comparison.column)
                .is_some_and(|bytes| comparison.accepts(number::decode(&bytes).expect("a number")))
        }) && value(cells, question.counted).is_some()
    };
    rows.cells.iter().filter(passes).count() as u64
}

/// Opens a unit, reads a column of it and asks it a question. Panics when a promise is broken; the first error is
/// returned.
///
/// `turn` decides which column is read and what is asked. Bytes that are not `legitimised` but damaged by chance must
/// be refused, or answer as the unit did before.
pub(crate) fn judge(
    subject: &Subject,
    blocks: &mut Blocks,
    unit: &[u8],
    turn: u64,
    is_legitimised: bool,
) -> Result<(), StorageError> {
    blocks.hold(unit);
    let table = &subject.table;
    let (question, before) = subject.asked[(turn % subject.asked.len() as u64) as usize];
    let answer = unit_scan(blocks, table, 0..1, &question);
    match (&answer, table.open(blocks, 0)) {
        (Ok(answer), Ok(mut reader)) => {
            assert!(is_legitimised || *answer == before, "damage was counted: {answer:?} instead of {before:?}");
            let slowly = count_slowly(&mut reader, &question).expect("what a scan can read can be read");
            assert_eq!(answer.count, slowly, "{question:?}");
        }
        (Err(_), Ok(mut reader)) => assert!(count_slowly(&mut reader, &question).is_err(), "{question:?}: {answer:?}"),
        (Ok(_), Err(error)) => panic!("a unit that was refused gave an answer: {error}"),
        (Err(_), Err(_)) => {}
    }
    let mut reader = table.open(blocks, 0)?;
    let column = (turn % table.columns().len() as u64) as usize;
    read(&mut reader, column, table.columns()[column])?;
    answer.map(drop)
}

/// Reads a column; what its sections promise is checked.
fn read(reader: &mut UnitReader<'_, Blocks>, column: usize, kind: ColumnType) -> Result<(), StorageError> {
    let (mut packed, mut raw) = (Vec::new(), Vec::new());
    reader.section(column, Section::Nulls, &mut packed, &mut raw)?;
    reader.section(column, Section::Values, &mut packed, &mut raw)?;
    assert!(raw.len() <= SECTION_BYTES_MAX as usize, "a section of {} bytes", raw.len());
    let rows = reader.rows() as usize;
    if kind == ColumnType::Text
        && let Some(texts) = texts(&raw, rows)
    {
        let (count, bytes) = texts.iter().fold((0, 0), |(count, bytes), text| (count + 1, bytes + text.len()));
        assert_eq!((count, bytes), (rows, raw.len() - 2 * rows), "texts that are not all there");
    }
    Ok(())
}

/// The texts of a raw section of this many rows, in their order, a null's empty; `None` where it is no such section.
pub(crate) fn texts(raw: &[u8], rows: usize) -> Option<Vec<&[u8]>> {
    let (lengths, mut rest) = raw.split_at_checked(2 * rows)?;
    let mut texts = Vec::with_capacity(rows);
    for length in lengths.as_chunks::<2>().0 {
        let (text, behind) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        texts.push(text);
        rest = behind;
    }
    rest.is_empty().then_some(texts)
}

/// The answer value by value.
fn count_slowly(reader: &mut UnitReader<'_, Blocks>, question: &Question) -> Result<u64, String> {
    let rows = reader.rows() as usize;
    let (mut packed, mut raw) = (Vec::new(), Vec::new());
    let mut passes = vec![true; rows];
    if let Some(comparison) = question.comparison {
        let column = usize::from(comparison.column) - 1;
        reader.section(column, Section::Values, &mut packed, &mut raw).map_err(|error| error.to_string())?;
        let numbers = Numbers::parse(&raw, rows)?;
        (0..rows).for_each(|row| passes[row] = comparison.accepts(numbers.value(row)));
    }
    for column in question.comparison.map(|comparison| comparison.column).into_iter().chain([question.counted]) {
        let column = usize::from(column) - 1;
        reader.section(column, Section::Nulls, &mut packed, &mut raw).map_err(|error| error.to_string())?;
        if !raw.is_empty() && raw.len() != rows.div_ceil(8) {
            return Err("null bits that are not as many as the rows".into());
        }
        (0..rows).for_each(|row| passes[row] &= raw.get(row / 8).is_none_or(|byte| byte >> (row % 8) & 1 == 0));
    }
    Ok(passes.into_iter().filter(|passes| *passes).count() as u64)
}

/// Puts the checksums of a unit right, as far as it has sections, so that what stands behind them is judged.
pub(crate) fn legitimise(unit: &mut [u8]) {
    let entries = unit.get(COLUMNS_AT).map_or(0, |columns| 2 * usize::from(*columns));
    for entry in 0..entries {
        let at = HEADER_BYTES + entry * ENTRY_BYTES;
        let Some(place) = unit.get(at..at + 8) else { return };
        let number = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize);
        let (offset, stored) = (number(place), number(&place[4..]));
        if let Some(section) = unit.get(offset..offset.saturating_add(stored)) {
            let checksum = crc32c::crc32c(section);
            unit[at + ENTRY_CHECKSUM_AT..at + ENTRY_BYTES].copy_from_slice(&checksum.to_le_bytes());
        }
    }
    let head = HEADER_BYTES + entries * ENTRY_BYTES;
    if unit.len() >= head {
        let before = crc32c::crc32c(&unit[..HEADER_CHECKSUM_AT]);
        let checksum = crc32c::crc32c_append(before, &unit[HEADER_BYTES..head]);
        unit[HEADER_CHECKSUM_AT..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    }
}
