//! The reads of a server's processes as the kernel's tracepoints show them: which tier answered each.
//!
//! The path: records (`sys`) → windows of reads with the requests that were sent within → reads with their file and
//! tier. A thread of its own empties the kernel's rings; what it made of them is taken with each look.

mod events;
mod family;
mod files;
mod follower;
mod relations;
mod rings;
mod traced_server;
mod waiting;
mod window;
mod windows;

pub(crate) use follower::add_traced;
pub(crate) use traced_server::{TracedServer, TracingAnswer, TracingQuestion};
