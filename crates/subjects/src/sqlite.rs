//! SQLite as a subject, in this process: tables of an experiment in a file of our own, or the tables of a given file,
//! which is only read.

pub mod access_paths;
mod database;
mod given_file;
mod load;
pub mod logical_reads;
pub mod nested_loops;
mod page_gets;
pub mod place;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use database::FOLDER_PREFIX;
