//! The embedded storage engine: what reading a database block costs when nothing else is in the way.
//!
//! Bottom first: page and row, pool, heap, versions, index, operators; beside them the columns in memory. It knows no
//! experiment, keeps no statistics besides the counts of its gate, and prints nothing.

pub mod btree;
pub mod checksum;
pub mod column;
pub mod count;
pub mod error;
pub mod exec;
pub mod heap;
pub mod loader;
pub mod manifest;
#[cfg(test)]
mod memory_pages;
pub mod number;
pub mod page;
pub mod page_id;
pub mod pool;
mod pool_access;
pub mod question;
pub mod row;
pub mod table_rows;
pub mod unit;
pub mod versions;
pub mod walk;

pub use error::StorageError;
pub use page_id::{PageId, RowId, SegmentId};
