//! The embedded engine as a subject.

pub mod access_paths;
mod logical_reads;
pub mod nested_loops;
mod pass;
mod place;
mod team;
#[cfg(test)]
pub(crate) mod tests;

pub use logical_reads::{Engine, check_cell};
pub use place::EnginePlace;
