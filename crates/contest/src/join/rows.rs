//! The rows that the engine and PostgreSQL have, and which keys of them a turn takes.

use subjects::nested_loops::InnerTable;
pub(crate) use subjects::postgres::inner_rows::JoinKeys as Keys;

/// Rows in an order of their own, as long as the published ones: seven to a block of either.
pub(crate) fn table(rows: u64) -> InnerTable {
    InnerTable { rows, pad: 1000, rand: 100 }
}
