//! Oracle's extended SQL trace (event 10046): from bytes to records, from records to calls and waits.

pub mod account;
mod budget;
mod cursor;
pub mod record;
mod recursion;
mod registry;
mod session;
pub mod time_scale;
