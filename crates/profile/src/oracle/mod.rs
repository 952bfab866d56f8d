//! Oracle's extended SQL trace (event 10046): from bytes to records, from records to calls and waits.

pub mod record;
