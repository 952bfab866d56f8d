//! One key, its rows, the next key: every block that is missing is waited for before anything else is known.

use super::work::Work;
use crate::btree::probe::Wanted;
use crate::error::StorageError;
use crate::page::access::ReadAhead;

pub(super) fn run<A: ReadAhead>(work: &mut Work<'_, '_, A>) -> Result<(), StorageError> {
    let mut hits = Vec::new();
    for (number, key) in (0..).zip(work.join.outer) {
        match key {
            Some(key) => work.probe.look_up(Wanted::new(number, *key), &mut hits)?,
            None => work.nulls += 1,
        }
        work.hand_on(&hits)?;
        hits.clear();
    }
    Ok(())
}
