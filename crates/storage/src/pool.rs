//! The buffer pool: pages of files, and pages that live in memory only, in frames of fixed memory.
//!
//! A [`Pool`] is shared by all threads; each of them asks it through a [`Session`] of its own. What a get costs:
//!
//! 1. one load of the page's translation word (`word.rs`): an array of 8 bytes a page, indexed by the page's number, so
//!    there is no hash table to search and no chain to walk;
//! 2. one atomic exchange on that word, which pins the page; another one when the [`Pinned`] is dropped;
//! 3. one addition to the session's own counter.
//!
//! There is no lock on this way, and no line that other threads write unless they ask for the same page. Misses take
//! one lock to choose a frame, for well under a microsecond where the read takes some 80.
//!
//! | file | what it decides |
//! | --- | --- |
//! | `word.rs` | who may touch which page |
//! | `replacement.rs` | which page leaves |
//! | `frames.rs`, `flights.rs`, `pinned.rs`, `words.rs` | where bytes and words stand; all unsafe code of the pool |
//! | `segment.rs` | where pages come from |
//! | `claim.rs`, `load.rs`, `ahead.rs` | how they come: one, a range, many, many while the session works |
//! | `gate.rs` | what is counted |
//! | `settings.rs`, `buffer_pool.rs`, `session.rs` | what a pool is made with, the pool, a thread's way in |
//! | `wait.rs` | how a thread waits for a page that another thread holds |
//!
//! The pool never writes to a disk. A page that was changed is dirty and stays in memory until its segment is
//! discarded.

mod access;
mod ahead;
mod atomic;
mod buffer_pool;
mod claim;
mod flights;
mod frames;
mod gate;
mod load;
mod pinned;
mod replacement;
mod segment;
mod session;
mod settings;
#[cfg(test)]
mod tests;
mod wait;
mod word;
mod words;

pub use buffer_pool::Pool;
pub use gate::GateCounts;
pub use pinned::{Pinned, PinnedMut};
pub use segment::Verifier;
pub use session::Session;
pub use settings::{FRAMES_MIN, PoolSettings};
