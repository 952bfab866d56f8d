//! In-memory columns: the rows of a table turned by ninety degrees and packed into bits.
//!
//! A column is cut into units of [`UNIT_ROWS`] rows. Each unit chooses its own encoding from its own values, knows
//! its least and its greatest value, and is scanned by a [`Kernel`] of the processor at hand. Units live in memory
//! only: they are made from rows and are never written to or read from a disk.
//!
//! Codes lie in bit planes: the lowest bits of 512 rows fill one line of 64 bytes, the next bits the next line, and so
//! on. A comparison then takes one instruction a plane for 512 rows, whatever the width, and no byte is spent on
//! padding a code to a width that the processor likes. Decision 3 in docs/decisions/ has the variants that were
//! measured.

mod bitmap;
mod budget;
mod builder;
mod chunk;
mod dictionary;
mod encoding;
mod filter;
mod heap_table;
mod kernel;
mod line;
mod planes;
mod predicate;
mod runs;
mod scan;
mod seal;
mod table;
#[cfg(test)]
mod tests;
mod texts;
mod unit;
mod worker_pool;

pub use budget::Budget;
pub use builder::TableBuilder;
pub use kernel::Kernel;
pub use line::{LINE_BYTES, LINE_ROWS, Line, UNIT_ROWS};
pub use predicate::ValueRange;
pub use scan::{Question, Scan, Scanned, ZoneMaps};
pub use table::{ColumnSummary, ColumnTable, EncodingShare, Forecast};
pub use unit::Unit;
pub use worker_pool::WorkerPool;
