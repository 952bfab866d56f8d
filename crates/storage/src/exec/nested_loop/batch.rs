//! A batch of outer rows is gathered, their keys looked up, and what is missing of the rows that they lead to read in
//! one request, each block once; then the rows, in the order of the outer ones.
//!
//! `fetch` says what happens while a batch is on its way: the rows of the one before are handed on, or it is awaited,
//! as in the published batches.

use super::work::Work;
use crate::btree::probe::Hit;
use crate::error::StorageError;
use crate::page::access::ReadAhead;

pub(super) fn run<A: ReadAhead>(
    work: &mut Work<'_, '_, A>,
    size: usize,
    fetch: impl Fn(&mut Work<'_, '_, A>, &[Hit]) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    let mut hits = Vec::new();
    while work.has_more() {
        work.look_up_next(size, &mut hits)?;
        fetch(work, &hits)?;
        hits.clear();
    }
    work.finish()
}
