//! Operators: what answers a question, one file each.

pub mod index_scan;
