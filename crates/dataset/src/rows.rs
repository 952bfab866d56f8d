//! The rows of a data set, whatever they hold.

use std::ops::Range;

use crate::customers::CustomerRows;
use crate::keyed::KeyedRows;
use crate::row::Row;
use crate::uniform::UniformRows;

/// Makes the rows of one table.
#[derive(Clone, Debug)]
pub enum Rows {
    /// Text columns of equal length.
    Uniform(UniformRows),
    /// Customers.
    Customers(CustomerRows),
    /// Rows with a key each.
    Keyed(KeyedRows),
}

impl Rows {
    /// Makes these rows, counted from 0 and all below the number of rows, one after the other.
    pub fn each(&self, numbers: Range<u64>, mut take: impl FnMut(&Row)) {
        let mut row = Row::default();
        match self {
            Rows::Uniform(rows) => numbers.for_each(|number| {
                rows.fill(number, &mut row);
                take(&row);
            }),
            Rows::Keyed(rows) => numbers.for_each(|number| {
                rows.fill(number, &mut row);
                take(&row);
            }),
            Rows::Customers(rows) => rows.each(numbers, take),
        }
    }

    /// The uniform rows, for a format that makes them in one pass out of their letters.
    pub fn uniform(&self) -> Option<&UniformRows> {
        match self {
            Rows::Uniform(rows) => Some(rows),
            _ => None,
        }
    }
}
