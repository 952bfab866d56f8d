//! The constants that `readpath calibrate` advises, held against the server's own, against those that are advised
//! everywhere and against all that were measured, on generated data and queries.

mod bars;
pub(crate) mod command;
mod data;
pub(crate) mod plans;
mod sets;
