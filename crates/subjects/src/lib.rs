//! On what an experiment is run: the embedded engine, SQLite, or a PostgreSQL server.
//!
//! A subject does what an experiment asks and returns what that took; it judges nothing and prints nothing. [`Places`]
//! holds the table of subjects.

pub mod access_paths;
mod by_statements;
pub mod engine;
pub mod error;
pub mod forecast;
pub mod huge_pages;
mod leftovers;
pub mod logical_reads;
mod memory_share;
pub mod nested_loops;
pub mod opening;
mod page_cache;
pub mod place;
pub mod places;
pub mod postgres;
pub mod progress;
pub mod round_trip;
pub mod sqlite;
pub mod subject;
#[cfg(test)]
mod tests;

pub use access_paths::AccessPaths;
pub use error::SubjectError;
pub use forecast::Forecast;
pub use leftovers::{left_on_servers, sweep};
pub use logical_reads::LogicalReads;
pub use nested_loops::NestedLoops;
pub use opening::{Environment, Opening, Progress, Recorder};
pub use place::{Offer, Opener, Place};
pub use places::Places;
pub use round_trip::RoundTrip;
pub use subject::{Closing, Subject};
