//! A PostgreSQL server as a subject: the tables of an experiment in a schema of our own, and what its statements cost.

pub mod access_paths;
pub mod calibration;
pub mod catalogs;
mod cold;
mod cold_table;
pub mod copy_text;
pub mod customers;
mod displaced;
mod fetched;
pub mod inner_rows;
mod instructions;
pub mod layout;
pub mod logical_reads;
mod needs;
mod nested_loops;
pub mod notes;
pub mod place;
mod planner_paths;
mod reached;
mod read_timing;
mod round_trip;
mod row_by_row;
pub mod statement;
#[cfg(test)]
pub(crate) mod tests;
