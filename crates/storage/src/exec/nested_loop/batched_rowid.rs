//! Rows are gathered by their addresses and sorted by these, so that blocks come in the order of the table, neighbours
//! in one read, and a block once for all of its rows. The order of the outer rows is lost within a batch. While a batch
//! is on its way, the rows of the one before are handed on.

use super::work::Work;
use crate::error::StorageError;
use crate::page::access::ReadAhead;

/// Outer rows that are looked up at once: the searches side by side gain nothing by more, and a batch of rows is
/// exceeded by no more than the rows of this many keys.
const LOOK_UPS: usize = 256;

pub(super) fn run<A: ReadAhead>(work: &mut Work<'_, '_, A>, size: usize) -> Result<(), StorageError> {
    let mut hits = Vec::new();
    // The first batch is what is looked up at once, so that the device has something to do while more is gathered.
    let mut rows = size.min(LOOK_UPS);
    while work.has_more() {
        while work.has_more() && hits.len() < rows {
            work.look_up_next((rows - hits.len()).min(LOOK_UPS), &mut hits)?;
        }
        hits.sort_unstable();
        work.fetch(&hits)?;
        hits.clear();
        rows = size;
    }
    work.finish()
}
