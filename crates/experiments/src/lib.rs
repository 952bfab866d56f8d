//! What is asked: one file or folder an experiment, each with its parameters, its procedure, its cases and its
//! findings.
//!
//! An experiment measures through `device` and `sys`, hands finished cases to a [`journal::Journal`], and says in
//! findings what its numbers mean. It renders nothing and does not know where runs are kept.

pub mod calibrate;
pub mod counters;
pub mod disk;
pub mod error;
mod events;
pub mod join;
pub mod journal;
pub mod ladder;
mod last_cache;
pub mod lio;
pub mod machine;
pub mod own_cost;
pub mod reading;
pub mod region;
pub mod roundtrip;
mod sampling;
pub mod scan;
mod subject_run;
mod with_defaults;

pub use error::ExperimentError;
pub use journal::{Journal, Stop};
pub use machine::Machine;
