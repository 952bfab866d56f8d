//! What the unit tests of several modules share.

pub(crate) mod index_entries;
pub(crate) mod memory_pages;
pub(crate) mod stored_files;
