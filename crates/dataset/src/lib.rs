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
pub use row::{COLUMNS_MAX, ROW_BYTES_MAX, Row, Value};
pub use rows::Rows;
