//! Tables: heaps of rows in pages, without an order.
//!
//! | file | what it decides |
//! | --- | --- |
//! | `table.rs` | where pages and rows are |
//! | `scan.rs`, `result.rs` | how they are read, in order or by address, and what that took |
//! | `versions.rs` | changes, undo, and reading as of an earlier change |
//! | `rows.rs`, `loader.rs` | how a data set becomes a table on the disk |

pub mod loader;
pub mod result;
pub mod rows;
pub mod scan;
pub mod table;
pub mod versions;

pub use result::ScanResult;
pub use scan::{Fetch, Scan, fetch_by_rowid, full_scan, scan};
pub use table::HeapTable;

pub use crate::page::access::PageAccess;
