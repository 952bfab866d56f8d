//! The rows of a table, whatever stands in them, page by page.

use std::ops::Range;

use crate::customers::CustomerGenerator;
use crate::error::StorageError;
use crate::generator::RowGenerator;
use crate::keyed::{KeyedGenerator, KeyedShape};
use crate::manifest::{Content, TableSpec};
use crate::page::PageMut;

/// Makes the rows of one table.
#[derive(Clone, Debug)]
pub enum TableRows {
    /// Rows of equal length.
    Uniform(RowGenerator),
    /// Customers.
    Customers(CustomerGenerator),
    /// Rows with a key each.
    Keyed(KeyedGenerator),
}

impl TableRows {
    /// The rows of a table. Errors with [`StorageError::Parameters`] for a shape that cannot be.
    pub fn of(spec: &TableSpec) -> Result<TableRows, StorageError> {
        Ok(match spec.content {
            Content::Uniform => TableRows::Uniform(RowGenerator::new(spec.seed, spec.shape())?),
            Content::Customers => TableRows::Customers(CustomerGenerator::new(spec.seed)),
            Content::Keyed { rand } => {
                let shape = KeyedShape::of_row_length(spec.row_length, rand);
                TableRows::Keyed(KeyedGenerator::new(shape, spec.rows(), spec.seed)?)
            }
        })
    }

    /// Appends these rows of the table, which are those of one page, to an empty page.
    ///
    /// Panics when the page has no room for them: the caller asks for as many as the table has in a page.
    pub(crate) fn fill_page(&self, rows: Range<u64>, page: &mut PageMut<'_>) {
        match self {
            TableRows::Uniform(generator) => {
                for row in rows {
                    let place = page.reserve(generator.row_bytes()).expect("a page has room for the rows of a page");
                    generator.fill(row, place);
                }
            }
            TableRows::Customers(generator) => generator.fill_page(rows, page, &mut Vec::new()),
            TableRows::Keyed(generator) => generator.fill_page(rows, page),
        }
    }
}
