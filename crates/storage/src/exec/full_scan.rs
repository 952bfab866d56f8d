//! The full scan: every block of the table in order, every row to the column that is counted.

use std::ops::Range;

use crate::error::StorageError;
use crate::exec::count;
use crate::exec::question::{Answer, Question};
use crate::heap::scan::Window;
use crate::heap::table::HeapTable;
use crate::page::PageView;
use crate::page::access::PageAccess;

/// Answers from a range of pages, one get each; several threads take a range each.
///
/// Pages that come next are got before this one is walked, as in [`crate::heap::scan::scan`].
pub fn full_scan<A: PageAccess>(
    access: &A,
    table: &HeapTable,
    pages: Range<u32>,
    question: &Question,
) -> Result<Answer, StorageError> {
    let mut answer = Answer::default();
    let mut window = Window::over(access, table, pages);
    while let Some(page) = window.advance()? {
        let view = PageView::verified(&page);
        answer += match window.held.back() {
            Some(later) => count::count_ahead(view, later, question),
            None => count::count(view, question),
        };
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::catalog::table::TableSpec;
    use crate::exec::question::{Comparison, Operator};
    use crate::tests::memory_pages::MemoryPages;
    use dataset::DataSet;

    #[test]
    fn every_block_is_got_once_and_parts_add_up_to_the_whole() {
        let rows = 4321;
        let (memory, table) = MemoryPages::with_table(&TableSpec::new("customers", DataSet::customers(rows, 1)), 0);
        let comparison = Comparison { column: 5, operator: Operator::Greater, constant: 1950 };
        let question = Question { comparison: Some(comparison), counted: 23 };
        let whole = full_scan(&memory, &table, 0..table.pages(), &question).unwrap();
        assert_eq!((whole.rows, memory.gets.load(Ordering::Relaxed)), (rows, u64::from(table.pages())));
        assert!((rows / 3..rows * 2 / 3).contains(&whole.count), "{}", whole.count);
        let mut parts = Answer::default();
        for part in [0..10, 10..11, 11..table.pages()] {
            parts += full_scan(&memory, &table, part, &question).unwrap();
        }
        assert_eq!(parts, whole);
    }
}
