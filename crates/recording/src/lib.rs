//! A recording of a running server: a folder of segments.
//!
//! A [`Segment`] holds what the sessions of a server did for about a minute, as sums by second. It is one Parquet file,
//! whose columns stand in `columns` and in `docs/events.md`. A file appears whole or not at all, and carries its
//! checksum; what is damaged is refused before anything of it is decoded. Nothing here samples, and nothing here knows
//! what the sums mean.

mod column_chunk;
mod columns;
mod decode;
mod encode;
mod folder;
mod name;
mod named_columns;
mod pages;
mod segment;

pub use column_chunk::{ColumnChunk, ColumnPlace};
pub use columns::{COLUMNS, Column};
pub use decode::{Damage, decode, is_segment, read};
pub use encode::encode;
pub use folder::{Folder, FolderError, Limits, NotRemoved, NotWritten, segments};
pub use name::SegmentName;
pub use segment::{
    ACCOUNT_MAX, Blocked, Blocks, Counted, Head, Looks, Lost, Own, Process, Read, ReadSums, Reader, Request, Sample,
    Segment, Statement, Tracing,
};
