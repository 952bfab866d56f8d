//! The catalog: which tables and indexes a data directory holds, and how their files are kept.
//!
//! | file | what it decides |
//! | --- | --- |
//! | `table.rs`, `index.rs` | what is known of a table and of an index |
//! | `manifest.rs` | how that is written down, whole or not at all |
//! | `directory.rs` | who may change or empty a directory |
//! | `segment_file.rs` | how a data file is made, checked and removed |

pub mod directory;
pub mod index;
pub mod manifest;
pub(crate) mod segment_file;
pub mod table;

pub use directory::{DirectoryLock, DirectoryUse, LOCK_FILE};
pub use index::{IndexInfo, IndexSpec};
pub use manifest::{MANIFEST_FILE, MANIFEST_FORMAT, Manifest};
pub use segment_file::segment_file;
pub use table::{TableInfo, TableSpec, TableState};
