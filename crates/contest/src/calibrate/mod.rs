//! The constants that `readpath calibrate` advises, held against the server's own, against those that are advised
//! everywhere and against all that were measured, on data and queries that none of them was fitted to.

pub(crate) mod command;
mod data;
mod judgement;
mod plans;
mod sets;
