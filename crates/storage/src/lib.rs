//! The embedded storage engine: what reading a database block costs when nothing else is in the way.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `page` | pages and rows: layout, checks, fast walks |
//! | `pool` | the buffer pool with its counting gate |
//! | `catalog` | which tables and indexes a data directory holds |
//! | `heap` | tables: scans, reads by address, read-consistent versions, the bulk load |
//! | `btree` | indexes |
//! | `unit` | hybrid columnar units over pages |
//! | `column` | columns in memory with their scan kernels |
//! | `exec` | operators over all of these |
//!
//! The engine knows no experiment, keeps no statistics besides the counts of its gate, and prints nothing.

pub mod btree;
pub mod catalog;
pub mod column;
pub mod error;
pub mod exec;
pub mod heap;
pub mod page;
pub mod pool;
#[cfg(test)]
mod tests;
pub mod unit;

pub use error::StorageError;
pub use page::id::{PageId, RowId, SegmentId};
