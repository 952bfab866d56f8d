//! Inserts, with splits. They change pages in memory only: into an index that lives there, never into one on a disk.
//!
//! An insert takes the tree for itself. What it will write is made beside the tree first; then every page is held that
//! will be written, and only then the first is. So an insert that fails, for want of a frame or because of a damaged
//! node, leaves the tree as it was.

use super::bulk::{Built, Bulk, BulkSettings};
use super::entries::{Entries, NODE_BYTES_MAX, NewEntry, NodeHead, separator};
use super::key::{Key, KeyKind, Place};
use super::node::NO_LINK;
use super::tree::{BTree, TreePlace};
use crate::error::StorageError;
use crate::page::PageBytes;
use crate::page::access::PageUpdate;
use crate::page::id::{PAGE_SIZE, PageId, RowId};

/// A node on the way from the root to a leaf, and which of its children was taken.
struct Step {
    number: u32,
    child: usize,
}

/// Pages to be written by an insert.
struct Plan {
    pages: Vec<(u32, Box<PageBytes>)>,
    /// Those among them that are new.
    fresh: Vec<u32>,
}

/// What a split adds to the node above: a separator and the new node behind it.
struct Added {
    key: Vec<u8>,
    place: Place,
    child: u32,
}

impl BTree {
    /// An empty tree in a segment that lives in memory. Its pages are made there by [`PageUpdate::create`].
    pub fn create<A: PageUpdate>(access: &A, place: TreePlace, keys: KeyKind) -> Result<BTree, StorageError> {
        let settings = BulkSettings { keys, fill_percent: 100, segment: place.segment };
        BTree::create_from(access, place, settings, |_| Ok(()))
    }

    /// A tree in a segment that lives in memory, of the entries that `fill` adds in order.
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
            access.create(PageId { segment: place.segment, number })?.copy_from_slice(bytes);
            number += 1;
            Ok(())
        })?;
        fill(&mut |key, row| bulk.add(key.encode(settings.keys)?, row))?;
        let built: Built = bulk.finish()?;
        Ok(BTree { takes_inserts: true, ..BTree::new(place, settings.keys, built) })
    }

    /// Adds a pair of a key and a row; `false` when it was there already.
    ///
    /// Errors with [`StorageError::Parameters`] for a tree that lies on a disk, for a row of another segment than the
    /// table's, and for a key that cannot be. When it errs the tree is as it was.
    pub fn insert<A: PageUpdate>(&mut self, access: &A, key: Key<'_>, row: RowId) -> Result<bool, StorageError> {
        if !self.takes_inserts {
            let name = self.name.display();
            return Err(StorageError::Parameters(format!(
                "{name} lies on a disk and takes no inserts: build it in memory"
            )));
        }
        if row.page.segment != self.table {
            let (theirs, ours) = (row.page.segment.0, self.table.0);
            return Err(StorageError::Parameters(format!("a row of segment {theirs} is none of the table's ({ours})")));
        }
        let key = key.encode(self.keys)?;
        let entry = NewEntry { key: &key, place: Place::of(row), child: 0 };
        let (path, leaf) = self.path_to(access, entry)?;
        let mut plan = Plan { pages: Vec::new(), fresh: Vec::new() };
        let planned = self.plan(access, entry, (&path, leaf), &mut plan);
        let outcome = match planned {
            Ok(Some(root)) => self.carry_out(access, &plan).map(|()| Some(root)),
            other => other,
        };
        match outcome {
            Ok(Some(root)) => {
                self.height += u8::from(root != self.root);
                // The first new page of an insert is a leaf.
                self.leaves += u32::from(!plan.fresh.is_empty());
                self.root = root;
                self.entries += 1;
                self.clustering_factor = None;
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(error) => {
                self.spare.append(&mut plan.fresh);
                Err(error)
            }
        }
    }

    /// The nodes above the leaf where an entry belongs, from the root on, and the leaf.
    fn path_to<A: PageUpdate>(&self, access: &A, entry: NewEntry<'_>) -> Result<(Vec<Step>, u32), StorageError> {
        let mut path = Vec::new();
        let mut number = self.root;
        for level in (1..=self.root_level()).rev() {
            let page = access.get(self.page(number))?;
            let node = self.node(&page, number, level)?;
            let child = node.entries_up_to(entry.key, entry.place);
            path.push(Step { number, child });
            number = node.child_of_number(child);
        }
        Ok((path, number))
    }

    /// Makes the pages that the insert will write. Returns the root that the tree will have, or `None` when the entry
    /// is there already.
    fn plan<A: PageUpdate>(
        &mut self,
        access: &A,
        entry: NewEntry<'_>,
        (path, leaf): (&[Step], u32),
        plan: &mut Plan,
    ) -> Result<Option<u32>, StorageError> {
        let mut entries = Entries::default();
        let (index, link) = {
            let page = access.get(self.page(leaf))?;
            let node = self.node(&page, leaf, 0)?;
            let index = node.entries_before(entry.key, entry.place);
            if node.entries_up_to(entry.key, entry.place) > index {
                return Ok(None);
            }
            entries.read(node);
            (index, node.link())
        };
        entries.insert(index, entry);
        let mut added = self.split_or_not(access, plan, &entries, Growing { number: leaf, level: 0, link, index })?;
        for (level, step) in (1_u8..).zip(path.iter().rev()) {
            let Some(new) = added.take() else { return Ok(Some(self.root)) };
            let link = {
                let page = access.get(self.page(step.number))?;
                let node = self.node(&page, step.number, level)?;
                entries.read(node);
                node.link()
            };
            entries
                .insert(step.child.min(entries.len()), NewEntry { key: &new.key, place: new.place, child: new.child });
            let growing = Growing { number: step.number, level, link, index: step.child };
            added = self.split_or_not(access, plan, &entries, growing)?;
        }
        let Some(new) = added else { return Ok(Some(self.root)) };
        let root = self.fresh_page(access, plan)?;
        entries.clear();
        entries.push(NewEntry { key: &new.key, place: new.place, child: new.child });
        let head = NodeHead { id: self.page(root), level: self.height, keys: self.keys, link: self.root };
        plan.pages.push((root, written(&entries, 0..1, head)));
        Ok(Some(root))
    }

    /// Plans a node of these entries, or two where they do not fit into one.
    fn split_or_not<A: PageUpdate>(
        &mut self,
        access: &A,
        plan: &mut Plan,
        entries: &Entries,
        node: Growing,
    ) -> Result<Option<Added>, StorageError> {
        let (count, keys, level) = (entries.len(), self.keys, node.level);
        let head = |number, link| NodeHead { id: self.page(number), level, keys, link };
        if entries.node_bytes(0..count, level, keys) <= NODE_BYTES_MAX {
            plan.pages.push((node.number, written(entries, 0..count, head(node.number, node.link))));
            return Ok(None);
        }
        let cut = node.cut(entries, keys);
        let right_number = self.fresh_page(access, plan)?;
        let head = |number, link| NodeHead { id: self.page(number), level, keys, link };
        if level == 0 {
            plan.pages.push((node.number, written(entries, 0..cut, head(node.number, right_number))));
            plan.pages.push((right_number, written(entries, cut..count, head(right_number, node.link))));
            let at = |index| (entries.key(index), entries.place(index));
            let (key, place) = separator(at(cut - 1), at(cut), keys);
            return Ok(Some(Added { key: key.to_vec(), place, child: right_number }));
        }
        // Above the leaves the entry at the cut goes up, and its child becomes the first of the right node.
        plan.pages.push((node.number, written(entries, 0..cut, head(node.number, node.link))));
        plan.pages.push((right_number, written(entries, cut + 1..count, head(right_number, entries.child(cut)))));
        Ok(Some(Added { key: entries.key(cut).to_vec(), place: entries.place(cut), child: right_number }))
    }

    /// The number of a page that is in no tree.
    fn fresh_page<A: PageUpdate>(&mut self, access: &A, plan: &mut Plan) -> Result<u32, StorageError> {
        let number = match self.spare.pop() {
            Some(number) => number,
            None => {
                drop(access.create(self.page(self.pages))?);
                self.pages += 1;
                self.pages - 1
            }
        };
        plan.fresh.push(number);
        Ok(number)
    }

    /// Writes the pages of a plan: all of them or none.
    fn carry_out<A: PageUpdate>(&self, access: &A, plan: &Plan) -> Result<(), StorageError> {
        let mut held = Vec::with_capacity(plan.pages.len());
        for (number, _) in &plan.pages {
            held.push(access.get_mut(self.page(*number))?);
        }
        for (page, (_, bytes)) in held.iter_mut().zip(&plan.pages) {
            page.copy_from_slice(&bytes[..]);
        }
        Ok(())
    }
}

fn written(entries: &Entries, range: std::ops::Range<usize>, head: NodeHead) -> Box<PageBytes> {
    let mut bytes = Box::new([0; PAGE_SIZE]);
    entries.write(range, head, &mut bytes);
    bytes
}

/// A node that has got an entry more.
#[derive(Clone, Copy)]
struct Growing {
    number: u32,
    level: u8,
    link: u32,
    /// Which entry is the new one.
    index: usize,
}

impl Growing {
    /// Where to cut entries that do not fit into one node, so that both parts do: before this entry in a leaf, at it
    /// above.
    ///
    /// In the middle, mostly. At the end when the new entry is the last of all: keys that only grow leave full nodes
    /// behind. And beside the new entry when it does not begin as the others do: then it is the first or the last, the
    /// others were a node before, and with it their common beginning might be so short that no half of them fits.
    fn cut(self, entries: &Entries, keys: KeyKind) -> usize {
        let count = entries.len();
        let is_last_of_all = self.level == 0 && self.link == NO_LINK && self.index + 1 == count;
        let middle = entries.middle(self.level, keys);
        let first = if is_last_of_all { self.index } else { middle };
        let fits = |cut: usize| {
            let (lowest, right) = if self.level == 0 { (1, cut) } else { (0, cut + 1) };
            cut >= lowest
                && cut < count
                && entries.node_bytes(0..cut, self.level, keys) <= NODE_BYTES_MAX
                && entries.node_bytes(right..count, self.level, keys) <= NODE_BYTES_MAX
        };
        let cuts = [first, middle, self.index, self.index + 1];
        cuts.into_iter().find(|cut| fits(*cut)).expect("a node that has got one entry more can be cut into two")
    }
}
