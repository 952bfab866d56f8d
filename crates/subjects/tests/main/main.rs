//! The subjects from outside, as one program. What the kernel counts of a whole process is a program of its own.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![allow(clippy::print_stdout, reason = "a test that cannot run says why")]

mod access_paths;
mod calibration_paths;
mod engine;
mod nested_loops;
mod server_paths;
mod sqlite;
mod verification_queries;
