//! The tree: look-ups and scans in key order, over the pages of a `PageAccess`.
//!
//! Entries are pairs of a key and a row; a key may have any number of rows, a pair stands there once. A tree is built
//! once and never changed, so its readers need no latches besides the pins of their pages.
//!
//! Nodes are looked at as hostile even here: their pages are whole, but a link may lead anywhere. Going down, the level
//! must fall by one with every step; going along the leaves, the entries must rise. So every way through the tree ends.

use std::ops::{Bound, Range};
use std::path::PathBuf;

use super::bulk::{Built, Bulk, BulkSettings};
use super::key::{Key, KeyKind, Place};
use super::node::NodeView;
use crate::error::StorageError;
use crate::page::access::{PageAccess, PageUpdate};
use crate::page::id::{PageId, RowId, SegmentId};
use crate::page::{Damage, PageBytes, PageKind, PageView};

/// An index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BTree {
    place: TreePlace,
    keys: KeyKind,
    built: Built,
}

/// Where a tree stands and what it is an index of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreePlace {
    /// The segment of its nodes, by the number that the store of its pages uses.
    pub segment: SegmentId,
    /// The segment of the rows, likewise.
    pub table: SegmentId,
    /// What errors call it: the name of its file.
    pub name: PathBuf,
}

impl BTree {
    /// A tree that was built into the pages of `place`, to be read only.
    pub fn new(place: TreePlace, keys: KeyKind, built: Built) -> BTree {
        BTree { place, keys, built }
    }

    /// A tree in a segment that lives in memory, of the entries that `fill` adds in order. Its pages are made there by
    /// [`PageUpdate::create`].
    ///
    /// Errors as [`Bulk::add`], and when the segment or the pool has no room.
    pub fn create_from<A: PageUpdate>(
        access: &A,
        place: TreePlace,
        settings: BulkSettings,
        fill: impl FnOnce(&mut dyn FnMut(Key<'_>, RowId) -> Result<(), StorageError>) -> Result<(), StorageError>,
    ) -> Result<BTree, StorageError> {
        let settings = BulkSettings { segment: place.segment, ..settings };
        let mut number = 0;
        let mut bulk = Bulk::new(settings, |bytes: &PageBytes| {
            access.create(PageId { segment: settings.segment, number })?.copy_from_slice(bytes);
            number += 1;
            Ok(())
        })?;
        fill(&mut |key, row| bulk.add(key.encode(settings.keys)?, row))?;
        Ok(BTree::new(place, settings.keys, bulk.finish()?))
    }

    /// What its keys are.
    pub fn keys(&self) -> KeyKind {
        self.keys
    }

    /// The segment of its nodes.
    pub fn segment(&self) -> SegmentId {
        self.place.segment
    }

    /// The segment of its rows.
    pub fn table(&self) -> SegmentId {
        self.place.table
    }

    /// What it consists of.
    pub fn built(&self) -> Built {
        self.built
    }

    /// The page number of the root.
    pub(super) fn root(&self) -> u32 {
        self.built.pages.saturating_sub(1)
    }

    /// The entries between two keys, in the order of key and row.
    ///
    /// Errors for keys that are no keys of this index, and as the gets of the nodes on the way.
    pub fn range<'t, A: PageAccess>(
        &'t self,
        access: &'t A,
        (lower, upper): (Bound<Key<'_>>, Bound<Key<'_>>),
    ) -> Result<LeafWalk<'t, A>, StorageError> {
        let (lowest, place) = match lower {
            Bound::Unbounded => (Vec::new(), Place::FIRST),
            Bound::Included(key) => (key.encode(self.keys)?.to_vec(), Place::FIRST),
            Bound::Excluded(key) => (key.encode(self.keys)?.to_vec(), Place::BEYOND),
        };
        let end = match upper {
            Bound::Unbounded => None,
            Bound::Included(key) => Some((key.encode(self.keys)?.to_vec(), Place::BEYOND)),
            Bound::Excluded(key) => Some((key.encode(self.keys)?.to_vec(), Place::FIRST)),
        };
        self.walk_from(access, (&lowest, place), end)
    }

    /// All entries of a stored key.
    pub(super) fn range_of_bytes<'t, A: PageAccess>(
        &'t self,
        access: &'t A,
        key: &[u8],
    ) -> Result<LeafWalk<'t, A>, StorageError> {
        self.walk_from(access, (key, Place::FIRST), Some((key.to_vec(), Place::BEYOND)))
    }

    fn walk_from<'t, A: PageAccess>(
        &'t self,
        access: &'t A,
        (lowest, place): (&[u8], Place),
        end: Option<(Vec<u8>, Place)>,
    ) -> Result<LeafWalk<'t, A>, StorageError> {
        let mut walk = LeafWalk { tree: self, access, held: None, next: None, first: None, end, last: None, gets: 0 };
        walk.begin(lowest, place)?;
        Ok(walk)
    }

    /// The page of a node.
    pub(super) fn page(&self, number: u32) -> PageId {
        PageId { segment: self.segment(), number }
    }

    /// Looks at a page as the node of this tree at `level`. Errors with [`StorageError::BadPage`] when it is another.
    pub(super) fn node<'a>(&self, bytes: &'a PageBytes, number: u32, level: u8) -> Result<NodeView<'a>, StorageError> {
        let node = NodeView::verified(bytes);
        if PageView::verified(bytes).kind() != Some(PageKind::Index) || node.keys() != Some(self.keys) {
            return Err(self.damaged(number, "it is no node of this index".into()));
        }
        if node.level() != level {
            return Err(self.damaged(number, format!("it has level {} and should have {level}", node.level())));
        }
        Ok(node)
    }

    /// An error about a page of this index.
    pub(super) fn damaged(&self, number: u32, reason: String) -> StorageError {
        StorageError::BadPage { file: self.place.name.clone(), page: self.page(number), reason }
    }
}

/// A walk along the leaves, from the first entry of a range to its last.
#[derive(Debug)]
pub struct LeafWalk<'t, A: PageAccess + 't> {
    tree: &'t BTree,
    access: &'t A,
    /// The leaf whose entries were given last.
    held: Option<A::Guard<'t>>,
    /// The number of the leaf to come.
    next: Option<u32>,
    /// The first leaf, which the way down has led to, and its first entry of the range; until it is given.
    first: Option<(A::Guard<'t>, usize)>,
    /// The first key and row beyond the range.
    end: Option<(Vec<u8>, Place)>,
    /// The last entry of the leaf before.
    last: Option<(Vec<u8>, Place)>,
    gets: u64,
}

impl<'t, A: PageAccess> LeafWalk<'t, A> {
    /// Gets of nodes so far.
    pub fn gets(&self) -> u64 {
        self.gets
    }

    /// Goes down to the leaf where this key and row belong.
    fn begin(&mut self, key: &[u8], place: Place) -> Result<(), StorageError> {
        let (tree, access) = (self.tree, self.access);
        let mut number = tree.root();
        for level in (0..tree.built.height).rev() {
            self.gets += 1;
            let page = access.get(tree.page(number))?;
            let node = tree.node(&page, number, level)?;
            if level == 0 {
                let first = node.entries_before(key, place);
                self.next = Some(number);
                self.first = Some((page, first));
                break;
            }
            number = node.child_of_number(node.entries_up_to(key, place));
        }
        Ok(())
    }

    /// The next leaf with entries of the range, and which of its entries they are: at least one. The leaf is held until
    /// the next call.
    pub fn next_leaf(&mut self) -> Result<Option<(NodeView<'_>, Range<usize>)>, StorageError> {
        loop {
            // Let go of the leaf before, so that one pin is enough.
            self.held = None;
            let Some(number) = self.next.take() else { return Ok(None) };
            let (page, first) = match self.first.take() {
                Some(arrived) => arrived,
                None => {
                    self.gets += 1;
                    (self.access.get(self.tree.page(number))?, 0)
                }
            };
            let span = self.arrive(&page, number, first)?;
            if span.is_empty() {
                continue;
            }
            let page = self.held.insert(page);
            return Ok(Some((NodeView::verified(page), span)));
        }
    }

    /// The entries of a leaf that belong to the range; whether and where it goes on is known then.
    fn arrive(&mut self, page: &PageBytes, number: u32, first: usize) -> Result<Range<usize>, StorageError> {
        let node = self.tree.node(page, number, 0)?;
        let count = node.entries();
        // No leaf before another one is empty: a walk along such links would not end either.
        if count == 0 && node.next_leaf().is_some() {
            return Err(self.tree.damaged(number, Damage::Chain.to_string()));
        }
        self.check_rise(node, number)?;
        let stop = match &self.end {
            Some((key, place)) => node.entries_before(key, *place),
            None => count,
        };
        if stop == count {
            self.next = node.next_leaf();
        }
        if let Some(last) = count.checked_sub(1)
            && self.next.is_some()
        {
            let (key, place) = self.last.get_or_insert_default();
            node.key_into(last, key);
            *place = node.place(last);
        }
        Ok(first..stop.max(first))
    }

    /// Whether a leaf comes after the one before. A walk along hostile links would not end otherwise.
    fn check_rise(&mut self, node: NodeView<'_>, number: u32) -> Result<(), StorageError> {
        let Some((key, place)) = &self.last else { return Ok(()) };
        let rises = node.entries() > 0 && node.entries_up_to(key, *place) == 0;
        if rises {
            return Ok(());
        }
        Err(self.tree.damaged(number, Damage::Chain.to_string()))
    }
}
