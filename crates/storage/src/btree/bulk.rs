//! The bulk build: a tree from entries in order, every page written once, in the order of the pages.
//!
//! One node of every level is under way; memory is a page a level, however large the tree. A leaf is written when the
//! first entry of the next one is known, because only then it is known how many nodes above it are full and go before
//! that next leaf, and so which number it will have. The root is the last page.

use serde::{Deserialize, Serialize};

use super::entries::{Entries, Growth, NewEntry, NodeHead, separator};
use super::key::{EncodedKey, KeyKind, Place};
use super::node::{NO_LINK, field};
use crate::error::StorageError;
use crate::page::id::{PAGE_SIZE, PageId, RowId, SegmentId};
use crate::page::{PageBytes, PageMut};

/// How full leaves may be asked to be, in percent. Nodes above them are always filled: they take a hundredth.
pub const FILL_PERCENT: std::ops::RangeInclusive<u8> = 50..=100;

/// What a tree is built with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkSettings {
    /// What the keys are.
    pub keys: KeyKind,
    /// How full leaves become, in percent; see [`FILL_PERCENT`].
    pub fill_percent: u8,
    /// The segment that the pages name as theirs.
    pub segment: SegmentId,
}

/// What was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Built {
    /// Pages; the last one is the root.
    pub pages: u32,
    /// Leaves among them.
    pub leaves: u32,
    /// Levels, leaves included.
    pub height: u8,
    /// Entries.
    pub entries: u64,
    /// How often the row of an entry stands in another page than the row of the entry before, the first one counted:
    /// between the pages that rows are in (the keys are in the order of the table) and the number of rows.
    pub clustering_factor: u64,
}

/// A tree under way. Pages are handed to the sink sealed, number 0 first.
pub struct Bulk<S> {
    settings: BulkSettings,
    leaf_bytes_max: usize,
    sink: S,
    page: Box<PageBytes>,
    leaf: Entries,
    growth: Growth,
    /// What separates the leaf under way from the one before; `None` in the first.
    leaf_low: Option<Separator>,
    upper: Vec<Upper>,
    built: Built,
    page_before: Option<u32>,
}

/// A key and a row between two nodes.
#[derive(Clone, Debug)]
struct Separator {
    key: Vec<u8>,
    place: Place,
}

/// The node under way of a level above the leaves.
#[derive(Debug, Default)]
struct Upper {
    /// What separates it from the node before; `None` in the first of its level.
    low: Option<Separator>,
    first_child: Option<u32>,
    entries: Entries,
    growth: Growth,
}

impl<S: FnMut(&PageBytes) -> Result<(), StorageError>> Bulk<S> {
    /// An empty tree. Errors with [`StorageError::Parameters`] for a fill that cannot be.
    pub fn new(settings: BulkSettings, sink: S) -> Result<Bulk<S>, StorageError> {
        let fill = settings.fill_percent;
        if !FILL_PERCENT.contains(&fill) {
            let (low, high) = (FILL_PERCENT.start(), FILL_PERCENT.end());
            return Err(StorageError::Parameters(format!("leaves are filled to {low} to {high} %, not to {fill} %")));
        }
        Ok(Bulk {
            settings,
            leaf_bytes_max: field::BODY + (PAGE_SIZE - field::BODY) * usize::from(fill) / 100,
            sink,
            page: Box::new([0; PAGE_SIZE]),
            leaf: Entries::default(),
            growth: Growth::default(),
            leaf_low: None,
            upper: Vec::new(),
            built: Built { pages: 0, leaves: 0, height: 1, entries: 0, clustering_factor: 0 },
            page_before: None,
        })
    }

    /// Adds an entry. Errors with [`StorageError::Parameters`] when it does not come after the one before, otherwise as
    /// the sink.
    pub(crate) fn push(&mut self, key: &[u8], place: Place) -> Result<(), StorageError> {
        if let Some(last) = self.leaf.len().checked_sub(1)
            && (self.leaf.key(last), self.leaf.place(last)) >= (key, place)
        {
            let reason = format!("entry {} of an index does not come after the one before", self.built.entries);
            return Err(StorageError::Parameters(reason));
        }
        let (mut growth, bytes) = self.growth.with(&self.leaf, key, 0, self.settings.keys);
        if bytes > self.leaf_bytes_max && self.leaf.len() > 0 {
            self.finish_leaf(Some((key, place)))?;
            growth = Growth::default().with(&self.leaf, key, 0, self.settings.keys).0;
        }
        self.leaf.push(NewEntry { key, place, child: 0 });
        self.growth = growth;
        self.built.entries += 1;
        if self.page_before != Some(place.page()) {
            self.built.clustering_factor += 1;
            self.page_before = Some(place.page());
        }
        Ok(())
    }

    /// As `push`, for a key that was encoded and the address of its row.
    pub fn add(&mut self, key: EncodedKey<'_>, row: RowId) -> Result<(), StorageError> {
        self.push(&key, Place::of(row))
    }

    /// What was built so far; the leaf under way counts in the entries alone.
    pub(super) fn so_far(&self) -> Built {
        self.built
    }

    /// Writes what is under way, and the root.
    pub fn finish(mut self) -> Result<Built, StorageError> {
        self.finish_leaf(None)?;
        let mut level = 1;
        while self.built.leaves > 1 && level <= self.upper.len() {
            let number = self.built.pages;
            let mut node = std::mem::take(&mut self.upper[level - 1]);
            let (low, mut full) = (node.low.take(), Vec::new());
            // Before it is written: the numbers of those that are full follow its own.
            if level < self.upper.len() {
                self.add_child(level + 1, low, number, &mut full);
            }
            self.write_all(vec![(level, node)])?;
            self.write_all(full)?;
            self.built.height = level as u8 + 1;
            level += 1;
        }
        Ok(self.built)
    }

    /// Writes the leaf under way and the nodes above that are full with it. `next` is the entry that the next leaf
    /// begins with.
    fn finish_leaf(&mut self, next: Option<(&[u8], Place)>) -> Result<(), StorageError> {
        let number = self.built.pages;
        let mut full = Vec::new();
        let low = self.leaf_low.take();
        self.add_child(1, low, number, &mut full);
        let link = match next {
            Some(_) => number + 1 + full.len() as u32,
            None => NO_LINK,
        };
        let head = NodeHead { id: self.page_id(number), level: 0, keys: self.settings.keys, link };
        self.leaf.write(head, &mut self.page);
        self.built.leaves += 1;
        self.hand_over()?;
        self.write_all(full)?;
        if let (Some(next), Some(last)) = (next, self.leaf.len().checked_sub(1)) {
            let (key, place) = separator((self.leaf.key(last), self.leaf.place(last)), next, self.settings.keys);
            self.leaf_low = Some(Separator { key: key.to_vec(), place });
        }
        self.leaf.clear();
        self.growth = Growth::default();
        Ok(())
    }

    /// Adds a node to the one under way at `level`, which goes to `full` when it has no room for it, and so on upwards.
    /// The numbers follow the page that is under way.
    fn add_child(&mut self, level: usize, low: Option<Separator>, child: u32, full: &mut Vec<(usize, Upper)>) {
        if self.upper.len() < level {
            self.upper.push(Upper::default());
        }
        let keys = self.settings.keys;
        let upper = &mut self.upper[level - 1];
        let Some(separator) = low else {
            upper.first_child = Some(child);
            return;
        };
        let (growth, bytes) = upper.growth.with(&upper.entries, &separator.key, level as u8, keys);
        if bytes <= PAGE_SIZE {
            upper.entries.push(NewEntry { key: &separator.key, place: separator.place, child });
            upper.growth = growth;
            return;
        }
        let fresh = Upper { low: Some(separator), first_child: Some(child), ..Upper::default() };
        let mut done = std::mem::replace(upper, fresh);
        let low = done.low.take();
        full.push((level, done));
        let number = self.built.pages + full.len() as u32;
        self.add_child(level + 1, low, number, full);
    }

    fn write_all(&mut self, nodes: Vec<(usize, Upper)>) -> Result<(), StorageError> {
        for (level, node) in nodes {
            let head = NodeHead {
                id: self.page_id(self.built.pages),
                level: level as u8,
                keys: self.settings.keys,
                link: node.first_child.unwrap_or(NO_LINK),
            };
            node.entries.write(head, &mut self.page);
            self.hand_over()?;
        }
        Ok(())
    }

    fn hand_over(&mut self) -> Result<(), StorageError> {
        PageMut::verified(&mut self.page).seal();
        (self.sink)(&self.page)?;
        // The last number is no page's: as a link it says that there is none.
        let next = self.built.pages.checked_add(1).filter(|next| *next < NO_LINK);
        self.built.pages = next.ok_or_else(|| StorageError::Parameters("an index of 32 TiB cannot be".into()))?;
        Ok(())
    }

    fn page_id(&self, number: u32) -> PageId {
        PageId { segment: self.settings.segment, number }
    }
}
