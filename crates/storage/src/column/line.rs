//! The sizes that all columns share: rows of a unit, and rows of a line of bits.

/// Rows of a unit; the last one of a part of a table may have fewer.
pub const UNIT_ROWS: usize = 1 << 19;

/// Rows whose bits of one place fill a line.
pub const LINE_ROWS: usize = 512;

/// Bytes of a line: a cache line and the widest vector.
pub const LINE_BYTES: usize = LINE_ROWS / 8;

/// 512 bits. Row `r` of a group of 512 is bit `r % 64` of the little-endian word `r / 64`.
pub type Line = [u8; LINE_BYTES];

const _: () = assert!(UNIT_ROWS.is_multiple_of(LINE_ROWS));
