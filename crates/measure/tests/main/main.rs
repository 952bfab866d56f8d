//! The tests of this crate from outside, as one program.

// What stands next to the tests of these files is called by them alone.
#![allow(clippy::unwrap_used)]

mod document;
mod run_document;
mod store;
