//! In-memory columns: the rows of a table turned by ninety degrees and packed into bits.
//!
//! A column is cut into units of [`UNIT_ROWS`] rows. Each unit chooses its own [`Encoding`] from its own values, knows
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
mod crew;
mod dictionary;
mod encoding;
mod filter;
mod heap_table;
mod kernel;
mod planes;
mod predicate;
mod runs;
mod scan;
mod seal;
mod table;
mod texts;
mod unit;
mod value;

pub use budget::Budget;
pub use builder::{ColumnBuilder, TableBuilder};
pub use crew::Crew;
pub use encoding::{CodeLayout, Domain, Encoding, NullEncoding, RUN_WEIGHT};
pub use kernel::Kernel;
pub use predicate::{Predicate, ValueRange};
pub use scan::{Question, Scan, Scanned, ZoneMaps};
pub use table::{ColumnSummary, ColumnTable, EncodingShare, Forecast};
pub use unit::Unit;
pub use value::{ColumnSpec, Datum, ValueType};

/// Rows of a unit; the last one of a part of a table may have fewer.
pub const UNIT_ROWS: usize = 1 << 19;

/// Rows whose bits of one place fill a line.
pub const LINE_ROWS: usize = 512;

/// Bytes of a line: a cache line and the widest vector.
pub const LINE_BYTES: usize = LINE_ROWS / 8;

/// 512 bits. Row `r` of a group of 512 is bit `r % 64` of the little-endian word `r / 64`.
pub type Line = [u8; LINE_BYTES];

const _: () = assert!(UNIT_ROWS.is_multiple_of(LINE_ROWS));
