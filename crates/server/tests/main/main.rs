//! The tests of this crate from outside, as one program.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "a test that cannot run prints why")]

mod given_server;
mod private_servers;
mod silent_servers;
