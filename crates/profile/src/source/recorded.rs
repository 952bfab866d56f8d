//! Recordings: what a flight recorder kept of a server's samples and of its reads, and how it is summed up.
//!
//! The way there: looks → [`Sums`] → segments. The way back: segments → the accounting of samples → observers. What a
//! segment has lost is the order of samples within a second, and how many executions there were.

mod answers;
mod read_sums;
mod replay;
mod replayed_reads;
mod source;
mod sums;

pub use source::{IDENTIFIER, MACHINE, ROW, is_other_server, server_of};
pub use sums::{Sums, SumsSettings, add_counters, name_relations, rename_event};
