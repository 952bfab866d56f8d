//! Entries of a node before they are one: a list that grows, is measured, and is written to a page. Equal entries give
//! equal pages, without gaps.

use super::key::{KeyKind, Place, common_bytes};
use super::node::{END_BITS, HEAD_BYTES, Shape, Suffix, field};
use crate::page;
use crate::page::id::PageId;
use crate::page::{PageBytes, PageKind, PageMut};

/// What a node says besides its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeHead {
    pub(super) id: PageId,
    pub(super) level: u8,
    pub(super) keys: KeyKind,
    pub(super) link: u32,
}

/// One entry: where its key stands, its row, and above the leaves the node that it leads to.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key_start: u32,
    key_bytes: u16,
    place: Place,
    child: u32,
}

/// An entry with its key, to be put into a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NewEntry<'a> {
    pub(super) key: &'a [u8],
    pub(super) place: Place,
    pub(super) child: u32,
}

/// Entries in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries {
    keys: Vec<u8>,
    list: Vec<Entry>,
}

impl Entries {
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.list.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn key(&self, index: usize) -> &[u8] {
        let entry = &self.list[index];
        &self.keys[entry.key_start as usize..][..usize::from(entry.key_bytes)]
    }

    pub(super) fn place(&self, index: usize) -> Place {
        self.list[index].place
    }

    pub(super) fn push(&mut self, entry: NewEntry<'_>) {
        let (key_start, key_bytes) = (self.keys.len() as u32, entry.key.len() as u16);
        self.keys.extend_from_slice(entry.key);
        self.list.push(Entry { key_start, key_bytes, place: entry.place, child: entry.child });
    }

    /// Bytes that all keys begin with. They are in order, so the first and the last decide.
    fn prefix(&self) -> usize {
        self.len().checked_sub(1).map_or(0, |last| common_bytes(self.key(0), self.key(last)))
    }

    /// Writes a node of the entries; its checksum is left to [`PageMut::seal`]. Panics beyond the page: the caller has
    /// measured.
    pub(super) fn write(&self, head: NodeHead, bytes: &mut PageBytes) {
        let is_leaf = head.level == 0;
        let shape = Shape { is_leaf, keys: head.keys, prefix: self.prefix(), entries: self.len() };
        let layout = shape.layout();
        PageMut::format(bytes, head.id, PageKind::Index);
        bytes[field::LEVEL] = head.level;
        bytes[field::KEYS] = head.keys as u8;
        page::put(bytes, field::PREFIX, (shape.prefix as u16).to_le_bytes());
        page::put(bytes, field::LINK, head.link.to_le_bytes());
        bytes[field::RESERVED..field::BODY].fill(0);
        if self.len() > 0 {
            bytes[layout.prefix..layout.tails].copy_from_slice(&self.key(0)[..shape.prefix]);
        }
        let mut tail_end = 0;
        for (at, Entry { place, child, .. }) in self.list.iter().enumerate() {
            let suffix = Suffix::new(&self.key(at)[shape.prefix..]);
            page::put(bytes, field::BODY + HEAD_BYTES * at, suffix.head.to_le_bytes());
            page::put(bytes, layout.places + 4 * at, place.page().to_le_bytes());
            page::put(bytes, layout.slots + 2 * at, place.slot().to_le_bytes());
            if !shape.is_leaf {
                page::put(bytes, layout.children + 4 * at, child.to_le_bytes());
            }
            bytes[layout.tails + tail_end..][..suffix.tail.len()].copy_from_slice(suffix.tail);
            tail_end += suffix.tail.len();
            if head.keys == KeyKind::Text {
                let packed = tail_end | suffix.head_bytes << END_BITS;
                page::put(bytes, layout.ends + 2 * at, (packed as u16).to_le_bytes());
            }
        }
        page::put(bytes, page::field::SLOTS, (self.len() as u16).to_le_bytes());
        page::put(bytes, page::field::FREE_START, ((layout.tails + tail_end) as u16).to_le_bytes());
    }
}

/// How large a node would be to which entries are added one after the other, in order.
///
/// Only the new key is looked at, but where the prefix becomes shorter.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Growth {
    prefix: usize,
    tails: usize,
}

impl Growth {
    /// The size of a node of all entries of `entries` and one more, and the growth to go on with when it is added.
    pub(super) fn with(self, entries: &Entries, key: &[u8], level: u8, keys: KeyKind) -> (Growth, usize) {
        let count = entries.len() + 1;
        let prefix = if entries.len() == 0 { key.len() } else { common_bytes(&entries.key(0)[..self.prefix], key) };
        let shape = Shape { is_leaf: level == 0, keys, prefix, entries: count };
        let tail = |key: &[u8]| key.len().saturating_sub(prefix + HEAD_BYTES);
        let tails = match keys {
            KeyKind::Number => count * shape.number_tail(),
            KeyKind::Text if prefix == self.prefix => self.tails + tail(key),
            KeyKind::Text => (0..entries.len()).map(|index| tail(entries.key(index))).sum::<usize>() + tail(key),
        };
        (Growth { prefix, tails }, shape.layout().tails + tails)
    }
}

/// What separates two neighbouring nodes: not greater than the first entry of the right one, greater than all of the
/// left one, and of a text as short as that can be. (Bayer and Unterauer, "Prefix B-trees", TODS 1977.)
pub(super) fn separator<'a>(left: (&[u8], Place), right: (&'a [u8], Place), keys: KeyKind) -> (&'a [u8], Place) {
    let (left_key, (right_key, right_place)) = (left.0, right);
    debug_assert!((left_key, left.1) < (right_key, right_place));
    if left_key == right_key {
        return (right_key, right_place);
    }
    match keys {
        KeyKind::Number => (right_key, Place::FIRST),
        KeyKind::Text => (&right_key[..=common_bytes(left_key, right_key)], Place::FIRST),
    }
}
