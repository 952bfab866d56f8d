//! On what an experiment is run: the embedded engine, or a PostgreSQL server.
//!
//! A subject does what an experiment asks of it and tells what that took; it judges nothing and prints nothing.

pub mod access_engine;
pub mod access_paths;
pub mod engine;
pub mod error;
pub mod join_engine;
pub mod logical_reads;
pub mod nested_loops;
pub mod postgres;

pub use access_paths::AccessPaths;
pub use error::SubjectError;
pub use logical_reads::LogicalReads;
pub use nested_loops::NestedLoops;
