//! One key, its rows, the next key: every block that is missing is waited for before anything else is known.

use super::work::Work;
use crate::btree::probe::Wanted;
use crate::error::StorageError;
use crate::page::access::ReadAhead;

/// Outer rows from one look at the stop flag to the next: on a hard disk, about a second.
const ROWS_BETWEEN_CHECKS: u32 = 64;

pub(super) fn run<A: ReadAhead>(work: &mut Work<'_, '_, A>) -> Result<(), StorageError> {
    let mut hits = Vec::new();
    for (number, key) in (0_u32..).zip(work.join.outer) {
        if number.is_multiple_of(ROWS_BETWEEN_CHECKS) {
            work.unless_stopped()?;
        }
        match key {
            Some(key) => work.probe.look_up(Wanted::new(number, *key), &mut hits)?,
            None => work.nulls += 1,
        }
        work.hand_on(&hits)?;
        hits.clear();
    }
    Ok(())
}
