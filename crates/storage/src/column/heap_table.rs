//! Making columns of a heap table: every page is got once, by one of several threads.

use std::ops::Range;
use std::sync::Arc;

use sys::threads::run_together;

use super::budget::Budget;
use super::builder::TableBuilder;
use super::table::ColumnTable;
use crate::error::StorageError;
use crate::heap::scan::Window;
use crate::heap::table::HeapTable;
use crate::page::PageView;
use crate::page::access::PageAccess;

impl ColumnTable {
    /// The columns of a heap table, each built from the column of the same place in the rows.
    ///
    /// Every thread makes a part of the table, in the order of the pages; a part ends with a unit that is not full.
    /// Errors as [`TableBuilder::append_row`] and as the pages do. Panics when `threads` is 0.
    pub fn of_heap<A: PageAccess + Sync>(
        access: &A,
        table: &HeapTable,
        specs: &[dataset::Column],
        threads: usize,
        budget: &Arc<Budget>,
    ) -> Result<ColumnTable, StorageError> {
        let parts = run_together(page_ranges(table.pages(), threads), |pages| {
            move || part_of_heap(access, table, pages, specs, budget)
        })?;
        ColumnTable::join(parts.into_iter().collect::<Result<Vec<_>, _>>()?)
    }
}

fn part_of_heap<A: PageAccess>(
    access: &A,
    table: &HeapTable,
    pages: Range<u32>,
    specs: &[dataset::Column],
    budget: &Arc<Budget>,
) -> Result<ColumnTable, StorageError> {
    let share = f64::from(pages.end - pages.start) / f64::from(table.pages().max(1));
    let rows = (table.rows() as f64 * share).ceil() as usize;
    let mut builder = TableBuilder::new(specs, rows, budget)?;
    let mut window = Window::over(access, table, pages);
    while let Some(page) = window.advance()? {
        builder.append_page(PageView::verified(&page))?;
    }
    builder.finish()
}

/// The pages of each thread: equally many, and what does not divide is spread.
fn page_ranges(pages: u32, threads: usize) -> impl ExactSizeIterator<Item = Range<u32>> {
    assert!(threads > 0, "someone has to make the columns");
    let start = move |thread: usize| (u64::from(pages) * thread as u64 / threads as u64) as u32;
    (0..threads).map(move |thread| start(thread)..start(thread + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::table::TableSpec;
    use crate::column::tests::reading::Datum;
    use crate::column::{Kernel, Question, Scan, ZoneMaps};
    use crate::exec::question::{Comparison, Operator};
    use crate::exec::{full_scan, question};
    use crate::page::number;
    use crate::page::row::Value;
    use crate::tests::memory_pages::MemoryPages;
    use dataset::customers::SCHEMA;
    use dataset::{ColumnType, DataSet};

    const ROWS: u64 = 5000;

    fn customers(threads: usize) -> (MemoryPages, HeapTable, ColumnTable) {
        let (memory, heap) = MemoryPages::with_table(&TableSpec::new("customers", DataSet::customers(ROWS, 1)), 0);
        let budget = Arc::new(Budget::new(1 << 30));
        let columns = ColumnTable::of_heap(&memory, &heap, &SCHEMA, threads, &budget).unwrap();
        (memory, heap, columns)
    }

    fn datum<'a>(spec: &dataset::Column, value: Value<'a>) -> Datum<'a> {
        match (value, spec.kind) {
            (None, _) => Datum::Null,
            (Some(text), ColumnType::Text) => Datum::Text(text),
            (Some(bytes), _) => Datum::Integer(number::decode(bytes).unwrap()),
        }
    }

    #[test]
    fn every_value_of_the_heap_is_in_its_column_in_its_row() {
        for threads in [1, 3] {
            let (memory, heap, columns) = customers(threads);
            assert_eq!(columns.rows(), ROWS);
            let mut number = 0;
            for page in 0..heap.pages() {
                let page = memory.get(heap.page(page)).unwrap();
                for row in PageView::verified(&page).rows() {
                    for (index, (spec, value)) in SCHEMA.iter().zip(row.columns()).enumerate() {
                        assert_eq!(columns.value(index, number), Some(datum(spec, value)), "{number} {spec:?}");
                    }
                    number += 1;
                }
            }
            assert_eq!(number, ROWS);
        }
    }

    #[test]
    fn a_scan_of_columns_answers_as_a_scan_of_the_rows_they_were_made_of() {
        let (memory, heap, columns) = customers(2);
        let operators =
            [Operator::Greater, Operator::GreaterOrEqual, Operator::Less, Operator::LessOrEqual, Operator::Equal];
        let comparisons = operators.into_iter().flat_map(|operator| {
            [(1, 0), (1, 2500), (5, 1950), (10, 51_000), (16, 5000), (20, 0), (21, i64::MAX), (5, i64::MIN)]
                .map(|(column, constant)| Some(Comparison { column, operator, constant }))
        });
        for comparison in comparisons.chain([None]) {
            for counted in [23, 6, 20, 1] {
                let asked = question::Question { comparison, counted };
                let expected = full_scan::full_scan(&memory, &heap, 0..heap.pages(), &asked).unwrap();
                for zone_maps in [ZoneMaps::On, ZoneMaps::Off] {
                    let scan = Scan { kernel: Kernel::best(), zone_maps };
                    let found = columns.with_workers(2, |all| all.scan(&Question::from(&asked), scan)).unwrap();
                    assert_eq!((found.rows, found.count), (expected.rows, expected.count), "{asked:?} {zone_maps:?}");
                }
            }
        }
    }

    #[test]
    fn pages_are_divided_without_a_gap() {
        for (pages, threads) in [(0, 2), (1, 3), (10, 3), (u32::MAX, 7)] {
            let ranges: Vec<_> = page_ranges(pages, threads).collect();
            assert_eq!((ranges[0].start, ranges[threads - 1].end), (0, pages));
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
    }
}
