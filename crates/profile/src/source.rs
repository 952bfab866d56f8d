//! Where calls and waits come from: a folder and a row of the table for each source.

pub(crate) mod clock;
mod contract;
pub mod oracle;
pub mod period;
pub mod postgres_log;
pub(crate) mod recognised;
pub mod recorded;
pub mod sampled;
mod session_clock;
pub(crate) mod unread;

pub use contract::{
    BindValues, FileHeader, Finished, Input, Meter, Progress, ReadOptions, Reading, Source, SourceFile, SourceRow,
    SourceSettings, Unmeasured,
};

/// The sources. An input belongs to the first row that recognises it, and to the last one where none does: that one
/// says what the input is instead.
pub const SOURCES: &[SourceRow] = &[postgres_log::ROW, recorded::ROW, oracle::ROW];
