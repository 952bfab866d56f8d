//! Where the time went: calls and waits out of traces and logs, the accounting that adds up, and the tables of a
//! profile.
//!
//! The path of a trace: input (bytes in chunks) → source (scanner: bytes to records; accounting: records to calls and
//! waits that know their session, statement and parent) → observers (tables, miss curve, skew, export) → document and
//! findings. The scanner knows no sessions, the accounting knows no text, and an observer knows no source.

pub mod choice;
pub mod compare;
pub mod document;
pub mod event;
pub mod findings;
pub mod follow;
pub mod ingest;
pub mod input;
pub mod observe;
pub mod outcome;
pub mod source;
pub mod tables;
