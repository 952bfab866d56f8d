//! The tests of this crate from outside, as one program.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]
#![allow(clippy::print_stdout, reason = "a test that cannot run says so")]

mod documentation;
mod full_disk;
mod page;
mod python;
mod queries;
mod recorded;
mod runs;
mod untimed;
