//! Oracle's extended SQL trace (event 10046): from bytes to records, from records to calls and waits.

pub mod account;
mod budget;
mod call;
mod chunk;
mod clock;
mod cursor;
mod fields;
pub(crate) mod line;
mod mark;
mod plan;
pub mod probe;
pub mod read;
pub mod record;
mod recursion;
mod registry;
pub mod scan;
mod session;
mod statement;
pub(crate) mod tail;
pub mod time_scale;
mod trace_files;
mod wait;

pub use trace_files::ROW;
