//! Columnar units: the same answers as from rows, at every level; damage is named and never counted.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use dataset::ColumnType;
use dataset::DataSet;
use dataset::customers::SCHEMA;
use measure::random::SplitMix64;
use measure::words::Word;
use proptest::prelude::*;
use storage::catalog::{TableInfo, TableSpec};
use storage::exec::count;
use storage::exec::question::{Answer, Comparison, Operator, Question};
use storage::exec::unit_scan::unit_scan;
use storage::heap::loader::build_page;
use storage::heap::rows::TableRows;
use storage::heap::{HeapTable, PageAccess};
use storage::page::id::PAGE_SIZE;
use storage::page::number;
use storage::page::row;
use storage::page::{PageBytes, PageKind, PageMut, PageView};
use storage::unit::Level;
use storage::unit::format::Section;
use storage::unit::table::{UnitPlan, UnitTable, fill_block};
use storage::{PageId, SegmentId, StorageError};

use crate::damaged::unit::texts;

const ROWS: SegmentId = SegmentId(0);
const UNITS: SegmentId = SegmentId(1);

/// Pages in memory, with the counts of a gate.
#[derive(Default)]
struct Blocks {
    pages: HashMap<PageId, Box<PageBytes>>,
    gets: AtomicU64,
    revisits: AtomicU64,
}

impl PageAccess for Blocks {
    type Guard<'a> = &'a PageBytes;

    fn get(&self, page: PageId) -> Result<&PageBytes, StorageError> {
        self.gets.fetch_add(1, Ordering::Relaxed);
        self.pages.get(&page).map(Box::as_ref).ok_or_else(|| StorageError::Parameters(format!("there is no {page}")))
    }

    fn prefetch(&self, _page: PageId) {}

    fn pinned_revisit(&self) {
        self.revisits.fetch_add(1, Ordering::Relaxed);
    }
}

impl Blocks {
    fn customers(rows: u64) -> (Blocks, HeapTable) {
        let spec = TableSpec::new("customers", DataSet::customers(rows, 5));
        let info = TableInfo::planned(&spec, ROWS).unwrap();
        let maker = TableRows::of(&spec).unwrap();
        let mut blocks = Blocks::default();
        for number in 0..info.pages {
            let mut bytes = Box::new([0; PAGE_SIZE]);
            build_page(&info, &maker, number, &mut bytes);
            blocks.pages.insert(PageId { segment: ROWS, number }, bytes);
        }
        (blocks, HeapTable::new(&info, ROWS))
    }

    /// Builds the units and puts their blocks beside the rows.
    fn with_units(mut self, table: &HeapTable, columns: &[ColumnType], level: Level) -> (Blocks, UnitTable) {
        let plan = UnitPlan { segment: UNITS, first_block: 0, columns, level };
        let units = self.add_units(table, 0..table.pages(), &plan);
        (self, units)
    }

    /// Builds the units of some pages and puts their blocks beside the rows.
    fn add_units(&mut self, table: &HeapTable, pages: Range<u32>, plan: &UnitPlan<'_>) -> UnitTable {
        let mut made = Vec::new();
        let units = UnitTable::build_part(self, table, pages, plan, &mut |number, part| {
            let mut bytes = Box::new([0; PAGE_SIZE]);
            fill_block(&mut bytes, PageId { segment: UNITS, number }, part);
            made.push((PageId { segment: UNITS, number }, bytes));
            Ok(())
        });
        self.pages.extend(made);
        units.unwrap()
    }

    /// The answer from the rows, by the plain codec.
    fn expected(&self, question: &Question) -> Answer {
        let mut answer = Answer::default();
        for (_, bytes) in self.pages.iter().filter(|(id, _)| id.segment == ROWS) {
            answer += count::count_plain(PageView::verified(bytes), question);
        }
        answer
    }
}

fn customer_columns() -> Vec<ColumnType> {
    SCHEMA.iter().map(|column| column.kind).collect()
}

fn questions() -> Vec<Question> {
    let compare = |column, operator, constant| Some(Comparison { column, operator, constant });
    [
        compare(1, Operator::Greater, 0),
        compare(5, Operator::Greater, 1950),
        compare(16, Operator::LessOrEqual, 4500),
        compare(20, Operator::Equal, 0),
        compare(1, Operator::Less, i64::MIN),
        None,
    ]
    .map(|comparison| Question { comparison, counted: 23 })
    .to_vec()
}

#[test]
fn units_of_every_level_answer_as_the_rows_do() {
    for level in Level::all() {
        // Archiving takes longest, and needs more rows for a second unit.
        let rows = u64::from(level.rows_per_unit()) + 1000;
        let (blocks, table) = Blocks::customers(rows);
        let (blocks, units) = blocks.with_units(&table, &customer_columns(), level);
        assert_eq!((units.rows(), units.units()), (rows, 2), "{level:?}");
        assert!(units.blocks() < table.pages(), "{level:?} made the table larger");
        for question in questions() {
            let answer = unit_scan(&blocks, &units, 0..units.units(), &question).unwrap();
            assert_eq!(answer, blocks.expected(&question), "{level:?} {question:?}");
        }
    }
}

#[test]
fn parts_that_several_threads_made_answer_as_one_table() {
    let (mut blocks, table) = Blocks::customers(40_000);
    let columns = customer_columns();
    let plan = |first_block| UnitPlan { segment: UNITS, first_block, columns: &columns, level: Level::QueryLow };
    let ranges = [(0..100, 0), (100..100, 5000), (100..table.pages(), 9000)];
    let parts = ranges.map(|(pages, first_block)| blocks.add_units(&table, pages, &plan(first_block)));
    let sum: u32 = parts.iter().map(UnitTable::blocks).sum();
    let units = UnitTable::join(parts.to_vec()).unwrap();
    assert_eq!((units.rows(), units.blocks()), (40_000, sum), "room that a part did not use is no block");
    for question in questions() {
        let answer = unit_scan(&blocks, &units, 0..units.units(), &question).unwrap();
        assert_eq!(answer, blocks.expected(&question), "{question:?}");
    }
    let other = blocks.add_units(&table, 0..1, &UnitPlan { level: Level::QueryHigh, ..plan(20_000) });
    assert!(UnitTable::join(vec![units, other]).is_err() && UnitTable::join(Vec::new()).is_err());
}

#[test]
fn a_scan_of_two_columns_gets_few_of_the_blocks() {
    let (blocks, table) = Blocks::customers(20_000);
    let (blocks, units) = blocks.with_units(&table, &customer_columns(), Level::QueryLow);
    blocks.gets.store(0, Ordering::Relaxed);
    unit_scan(&blocks, &units, 0..units.units(), &questions()[0]).unwrap();
    let gets = blocks.gets.load(Ordering::Relaxed);
    assert!(gets < u64::from(units.blocks()) / 4, "{gets} gets of {} blocks", units.blocks());
    assert!(blocks.revisits.load(Ordering::Relaxed) > 0, "a held block was got again");
}

#[test]
fn texts_come_back_in_the_order_of_the_rows() {
    let (blocks, table) = Blocks::customers(5000);
    let (blocks, units) = blocks.with_units(&table, &customer_columns(), Level::QueryHigh);
    let (mut packed, mut raw) = (Vec::new(), Vec::new());
    let mut reader = units.open(&blocks, 0).unwrap();
    reader.section(16, Section::Values, &mut packed, &mut raw).unwrap();
    let texts = texts(&raw, 5000).unwrap();
    let pages = (0..table.pages()).map(|number| PageView::verified(&blocks.pages[&PageId { segment: ROWS, number }]));
    let from_rows =
        pages.flat_map(|page| page.rows().map(|row| row.column(17).unwrap().unwrap().to_vec()).collect::<Vec<_>>());
    assert!(texts.into_iter().map(<[u8]>::to_vec).eq(from_rows));
}

#[test]
fn a_flipped_bit_is_named_or_lies_where_nobody_looks() {
    let (blocks, table) = Blocks::customers(3000);
    let (mut blocks, units) = blocks.with_units(&table, &customer_columns(), Level::QueryLow);
    let question = questions()[1];
    let expected = unit_scan(&blocks, &units, 0..units.units(), &question).unwrap();
    let mut random = SplitMix64::new(1);
    let mut named = 0;
    for _ in 0..20_000 {
        let id = PageId { segment: UNITS, number: random.below(u64::from(units.blocks())) as u32 };
        let (at, bit) = (random.below(PAGE_SIZE as u64) as usize, 1 << random.below(8));
        blocks.pages.get_mut(&id).unwrap()[at] ^= bit;
        match unit_scan(&blocks, &units, 0..units.units(), &question) {
            Err(StorageError::BadUnit { page, .. }) => {
                named += 1;
                // A unit is named by its first block.
                assert!(page.segment == UNITS && page.number <= id.number, "{page} for {id}");
            }
            Err(other) => panic!("{other}"),
            Ok(answer) => assert_eq!(answer, expected, "a flip at {at} of {id} was counted"),
        }
        blocks.pages.get_mut(&id).unwrap()[at] ^= bit;
    }
    assert!(named > 200, "{named} flips were named: too few to prove anything");
}

#[test]
fn no_rows_give_no_unit_and_the_answer_nothing() {
    let (blocks, table) = Blocks::customers(1);
    let (mut blocks, units) = blocks.with_units(&table, &customer_columns(), Level::QueryLow);
    assert_eq!(units.units(), 1);
    let id = PageId { segment: ROWS, number: 0 };
    let mut bytes = Box::new([0; PAGE_SIZE]);
    PageMut::format(&mut bytes, id, PageKind::Heap).seal();
    blocks.pages.insert(id, bytes);
    let (blocks, units) = blocks.with_units(&table, &customer_columns(), Level::QueryLow);
    assert_eq!((units.units(), units.blocks(), units.rows()), (0, 0, 0));
    assert_eq!(unit_scan(&blocks, &units, 0..0, &questions()[0]).unwrap(), Answer::default());
}

#[test]
fn a_question_that_units_cannot_answer_is_refused() {
    let (blocks, table) = Blocks::customers(100);
    let (blocks, units) = blocks.with_units(&table, &customer_columns(), Level::QueryLow);
    let refused = |column, counted| {
        let comparison = Some(Comparison { column, operator: Operator::Equal, constant: 0 });
        unit_scan(&blocks, &units, 0..1, &Question { comparison, counted }).unwrap_err().to_string()
    };
    assert!(refused(2, 23).contains("column 2 holds texts"));
    assert!(refused(1, 24).contains("no column 24"));
    assert!(refused(0, 23).contains("counted from 1"));
}

/// A number, a text, a number; each may be null.
type SmallRow = (Option<i64>, Option<Vec<u8>>, Option<i64>);

fn small_rows() -> impl Strategy<Value = Vec<SmallRow>> {
    let numbers = || proptest::option::weighted(0.8, prop_oneof![-200..200_i64, any::<i64>()]);
    let texts = proptest::option::weighted(0.8, proptest::collection::vec(any::<u8>(), 0..20));
    proptest::collection::vec((numbers(), texts, numbers()), 1..200)
}

/// The page that holds these rows.
fn page_of(id: PageId, rows: &[SmallRow]) -> Box<PageBytes> {
    let encoded = |value: &Option<i64>| {
        let (bytes, length) = number::encode((*value)?);
        Some(bytes[..length].to_vec())
    };
    let mut bytes = Box::new([0; PAGE_SIZE]);
    let mut page = PageMut::format(&mut bytes, id, PageKind::Heap);
    for (first, text, last) in rows {
        let (first, last) = (encoded(first), encoded(last));
        let mut stored = Vec::new();
        row::encode(&[first.as_deref(), text.as_deref(), last.as_deref()], &mut stored);
        page.append(&stored).unwrap();
    }
    page.seal();
    bytes
}

const OPERATORS: [Operator; 5] =
    [Operator::Greater, Operator::GreaterOrEqual, Operator::Less, Operator::LessOrEqual, Operator::Equal];

proptest! {
    #[test]
    fn any_numbers_and_nulls_are_counted_as_in_rows(
        rows in small_rows(), constant in prop_oneof![-200..200_i64, any::<i64>()],
    ) {
        let mut blocks = Blocks::default();
        for (number, chunk) in (0..).zip(rows.chunks(50)) {
            let id = PageId { segment: ROWS, number };
            blocks.pages.insert(id, page_of(id, chunk));
        }
        let mut info = TableInfo::planned(&TableSpec::new("t", DataSet::customers(43, 1)), ROWS).unwrap();
        info.pages = blocks.pages.len() as u32;
        let table = HeapTable::new(&info, ROWS);
        let columns = [ColumnType::Number, ColumnType::Text, ColumnType::Number];
        let (blocks, units) = blocks.with_units(&table, &columns, Level::QueryLow);
        for operator in OPERATORS {
            for (column, counted) in [(1, 2), (3, 1), (1, 1)] {
                let question = Question { comparison: Some(Comparison { column, operator, constant }), counted };
                let answer = unit_scan(&blocks, &units, 0..units.units(), &question).unwrap();
                prop_assert_eq!(answer, blocks.expected(&question));
            }
        }
    }
}
