//! The rows that the experiments read: what they hold, in typed columns, the same for every subject.
//!
//! A [`DataSet`] names a table's rows in a few numbers; [`DataSet::rows`] makes them, any range at a time, the same
//! bytes on every machine and in every version. How a subject stores them, in pages or through SQL, is its own affair.
//!
//! | module | rows |
//! | --- | --- |
//! | `uniform` | text columns of equal length, for logical reads |
//! | `customers` | 23 columns shaped like a published table, for access paths |
//! | `keyed` | a key, a value and filler, for joins |

mod column;
pub mod customers;
mod description;
pub mod keyed;
mod letters;
mod refused;
mod row;
mod rows;
pub mod uniform;

pub use column::{Column, ColumnType};
pub use description::{Content, DataSet};
pub use refused::Refused;
pub use row::{Row, Value};
pub use rows::Rows;

/// The longest row of a data set, as [`Row::packed_bytes`] counts: it fits into one page of 8 KiB in every subject.
pub const ROW_BYTES_MAX: usize = 8150;

/// The most columns of a row.
pub const COLUMNS_MAX: usize = 255;
