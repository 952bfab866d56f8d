//! The operators: one file for each way to answer a question.

pub mod count;
pub mod full_scan;
pub mod index_scan;
pub mod nested_loop;
pub mod question;
mod row_queue;
pub mod unit_scan;
