//! Reads of a server as the kernel's tracepoints show them.
//!
//! A program of its own, because the tracepoints show the reads of every server on the machine: servers of other tests
//! would fill the rings, and records would be lost. Tracing would also slow down servers that other tests time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "a skip is counted by its line")]

mod read_tiers;
mod traced_watch;
mod worker_reads;
