//! What a walk along the leaves of an index gives.

use std::ops::Bound;

use crate::btree::{BTree, Key};
use crate::error::StorageError;
use crate::page::access::PageAccess;
use crate::page::id::RowId;

/// The entries between two keys, each with its key as it is stored.
pub(crate) fn entries<A: PageAccess>(
    access: &A,
    tree: &BTree,
    bounds: (Bound<Key<'_>>, Bound<Key<'_>>),
) -> Result<Vec<(Vec<u8>, RowId)>, StorageError> {
    let mut found = Vec::new();
    let mut leaves = tree.range(access, bounds)?;
    while let Some((node, span)) = leaves.next_leaf()? {
        for index in span {
            let mut key = Vec::new();
            let row = node.entry_into(index, tree.table(), &mut key).unwrap();
            found.push((key, row));
        }
    }
    Ok(found)
}

/// The rows of one key, in the order of the table.
pub(crate) fn rows_of<A: PageAccess>(access: &A, tree: &BTree, key: Key<'_>) -> Result<Vec<RowId>, StorageError> {
    let found = entries(access, tree, (Bound::Included(key), Bound::Included(key)))?;
    Ok(found.into_iter().map(|(_, row)| row).collect())
}
