//! The nested loop with an index: for each row of an outer table, the rows of an inner one that have its key.
//!
//! The inner table is asked for row by row, so each row may cost a read. What the operators differ in is how many of
//! these reads are known before the first one is waited for:
//!
//! | file | rows come in | read at once |
//! | --- | --- | --- |
//! | `one_at_a_time.rs` | the order of the outer rows | one block |
//! | `prefetch.rs` | the order of the outer rows | what is missing of the rows ahead, by a distance that adapts |
//! | `batch.rs` | the order of the outer rows | what is missing of a batch of outer rows, awaited or not |
//! | `batched_rowid.rs` | the order of the blocks, in a larger batch | the same in block order, neighbours together |
//!
//! All of them give the same rows. The outer table is a list of keys: where it comes from costs the same for all.

mod batch;
mod batched_rowid;
mod join;
mod one_at_a_time;
mod prefetch;
mod work;

pub use join::{Distance, Emit, Join, JoinResult, Method};
use work::Work;

use crate::btree::BTree;
use crate::error::StorageError;
use crate::page::access::ReadAhead;

/// Joins the outer keys with the rows of the index's table.
///
/// Errors as the gets of either, for an index whose keys are no numbers, for an entry that leads to no row, and as
/// [`StorageError::Stopped`]. Rows that `emit` has heard of before an error are rows of the join.
pub fn run<A: ReadAhead>(
    access: &A,
    tree: &BTree,
    join: &Join<'_>,
    emit: Option<Emit<'_>>,
) -> Result<JoinResult, StorageError> {
    if u32::try_from(join.outer.len()).is_err() {
        return Err(StorageError::Parameters("a join takes at most 2^32 - 1 outer rows at a time".into()));
    }
    let blocks_before = access.blocks_read();
    let mut work = Work::new(access, tree, join, emit)?;
    let outcome = match join.method {
        Method::OneAtATime => one_at_a_time::run(&mut work),
        Method::Prefetch(distance) => prefetch::run(&mut work, distance),
        Method::AwaitedBatch(size) => batch::run(&mut work, size.max(1), |work, hits| work.fetch_awaited(hits)),
        Method::Batch(size) => batch::run(&mut work, size.max(1), |work, hits| work.fetch(hits)),
        Method::BatchedRowid(size) => batched_rowid::run(&mut work, size.max(1)),
    };
    access.settle();
    outcome?;
    Ok(work.result(access.blocks_read() - blocks_before))
}
