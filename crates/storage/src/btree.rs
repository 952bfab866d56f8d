//! The index: a B+tree of keys and row addresses over the pages of the pool.
//!
//! | file | what it decides |
//! | --- | --- |
//! | `key.rs` | what a key is, and its order as bytes |
//! | `node.rs` | what a node page looks like, how it is checked and searched |
//! | `entries.rs` | how a node is written |
//! | `bulk.rs` | how a whole tree is built from entries in order |
//! | `sort.rs` | how entries in no order become such |
//! | `tree.rs` | look-ups and scans in key order |
//! | `probe.rs`, `lanes.rs` | look-ups of many keys: level by level, side by side |
//! | `stored.rs` | indexes on the disk: whole or not at all, named in the manifest |
//!
//! A tree is built once and then only read, by any number of threads.

pub mod bulk;
mod entries;
pub mod key;
mod lanes;
pub mod node;
pub(crate) mod probe;
pub mod sort;
pub mod stored;
pub mod tree;

pub use bulk::{Built, Bulk, BulkSettings};
pub use key::{KEY_BYTES_MAX, Key, KeyKind};
pub use tree::{BTree, LeafWalk, TreePlace};

#[cfg(test)]
mod tests;
