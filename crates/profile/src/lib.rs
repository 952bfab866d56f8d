//! Where the time went: calls and waits out of traces, the accounting that adds up, and the tables of a profile.
//!
//! The path of a trace: input (bytes in chunks) → scanner (bytes to records) → accounting (records to calls and waits
//! that know their session, statement and parent) → observers (tables, miss curve, skew, export). The scanner knows
//! nothing of sessions; the accounting knows nothing of text; an observer knows nothing of trace files.

pub mod block_wait;
pub mod class_sums;
pub mod collector;
pub mod document;
pub mod findings;
pub mod folding;
pub mod group;
pub mod histogram;
pub mod input;
pub mod instruments;
mod log_survey;
pub mod miss_curve;
pub mod observer;
pub mod oracle;
mod plan;
pub mod postgres;
pub mod readings;
mod session_statements;
pub mod skew;
pub mod sorted_list;
pub mod survey;
pub mod synthetic;
pub mod tables;
pub mod ticks;

#[cfg(test)]
mod synthetic_wait;
