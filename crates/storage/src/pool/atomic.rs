//! The atomics under the translation word: the standard ones.
//!
//! A name of their own, so that the loom test can compile `word.rs` unchanged over loom's atomics: it puts a module of
//! this name with loom's types beside it.

pub(super) use std::sync::atomic::{AtomicU64, Ordering};
