//! Oracle's extended SQL trace (event 10046): from bytes to records, from records to calls and waits.

mod call;
mod chunk;
mod clock;
mod fields;
mod line;
mod mark;
mod plan;
pub mod probe;
pub mod read;
pub mod record;
pub mod scan;
mod statement;
mod wait;
