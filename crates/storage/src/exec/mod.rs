//! The operators: one file for each way to answer a question.

pub mod full_scan;
pub mod index_scan;
pub mod nested_loop;
mod row_queue;
pub mod unit_scan;
