//! The tests of this crate from outside, as one program.

// What stands next to the tests of these files is called by them alone.
#![allow(clippy::unwrap_used)]

mod accessibility;
mod browser;
mod documents;
mod golden;
mod names;
mod old_runs;
mod pages;
