//! The node: a page of an index, read.
//!
//! Not a slotted page: what a search and a scan read stands in arrays, one beside the other. A search looks at the
//! *heads* first, the next four bytes of each key behind what all keys of the node begin with, as numbers in one array
//! of at most 13 lines: six steps in cache lines that the steps before have mostly brought. (LeanStore keeps such heads
//! in its slots, and its numbers per node stand a third as dense.) A scan in key order reads the row addresses as two
//! arrays from one end to the other, and compares no key but at its two ends. A number whose upper four bytes all
//! numbers of the node share takes ten bytes with its row, where a slot, a key and an address took 20.
//!
//! The byte map is in docs/formats.md. Everything is checked once, by [`NodeView::verify`], when the page comes from a
//! disk; [`NodeView::verified`] checks nothing but cannot be led out of the page all the same.

use std::cmp::Ordering;
use std::fmt;

use super::key::{KEY_BYTES_MAX, KeyKind, NUMBER_BYTES, Place};
use crate::page;
use crate::page::id::{PAGE_SIZE, PageId, RowId, SegmentId};
use crate::page::{Damage, PageBytes, PageKind, PageView};

/// Where the fields of a node stand, in bytes from the start of the page; those of every page come before them.
pub mod field {
    /// Height above the leaves; 0 in a leaf; u8.
    pub const LEVEL: usize = 24;
    /// What the keys are: 1 numbers, 2 texts; u8.
    pub const KEYS: usize = 25;
    /// Bytes that all keys begin with; u16.
    pub const PREFIX: usize = 26;
    /// In a leaf the next leaf, all ones in the last; above, the child before the first entry. A page number; u32.
    pub const LINK: usize = 28;
    /// Zeros; 8 bytes.
    pub const RESERVED: usize = 32;
    /// The arrays: heads, pages, children, slots, ends; then the prefix and the tails.
    pub const BODY: usize = 40;
}

/// Bytes of a key that stand in its head.
pub(super) const HEAD_BYTES: usize = 4;

/// Bits of an entry of the array of ends that say where a tail ends; the others say how long its head is.
pub(super) const END_BITS: u32 = 13;
const _: () = assert!(1 << END_BITS == PAGE_SIZE);

/// The link of the last leaf.
pub(super) const NO_LINK: u32 = u32::MAX;

/// The highest level of a root: a tree of the longest keys with every page of a segment has eleven.
pub(crate) const LEVEL_MAX: u8 = 31;

/// What decides where the parts of a node stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Whether rows are at the entries, not nodes.
    pub(super) is_leaf: bool,
    /// What the keys are.
    pub(super) keys: KeyKind,
    /// Bytes that all keys begin with.
    pub(super) prefix: usize,
    /// Number of entries.
    pub(super) entries: usize,
}

impl Shape {
    /// Bytes of one entry in the arrays.
    pub(super) fn entry_bytes(&self) -> usize {
        let child = if self.is_leaf { 0 } else { 4 };
        let end = if self.keys == KeyKind::Text { 2 } else { 0 };
        HEAD_BYTES + 4 + child + 2 + end
    }

    /// Bytes of a number behind prefix and head; of a text unknown.
    pub(super) fn number_tail(&self) -> usize {
        NUMBER_BYTES.saturating_sub(self.prefix + HEAD_BYTES)
    }

    /// Where the parts stand.
    pub(super) fn layout(&self) -> Layout {
        let count = self.entries;
        let places = field::BODY + HEAD_BYTES * count;
        let children = places + 4 * count;
        let slots = children + if self.is_leaf { 0 } else { 4 * count };
        let ends = slots + 2 * count;
        let prefix = field::BODY + self.entry_bytes() * count;
        Layout { places, children, slots, ends, prefix, tails: prefix + self.prefix }
    }
}

/// Where the parts of a node begin; each ends where the next begins, but ends and children may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) places: usize,
    pub(super) children: usize,
    pub(super) slots: usize,
    pub(super) ends: usize,
    pub(super) prefix: usize,
    pub(super) tails: usize,
}

/// The bytes of a key behind the prefix of a node: four of them as a number, and the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Suffix<'a> {
    /// The first four bytes, the first one highest; zeros stand for those that are not there.
    pub(super) head: u32,
    /// How many of the four are there.
    pub(super) head_bytes: usize,
    /// What follows.
    pub(super) tail: &'a [u8],
}

impl<'a> Suffix<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Suffix<'a> {
        let head_bytes = bytes.len().min(HEAD_BYTES);
        let (first, tail) = bytes.split_at(head_bytes);
        let mut head = [0; HEAD_BYTES];
        head[..head_bytes].copy_from_slice(first);
        Suffix { head: u32::from_be_bytes(head), head_bytes, tail }
    }

    /// The order of the bytes. Of equal heads with tails of equal bytes the one that is shorter comes first: what the
    /// other has beyond it are zeros.
    fn order(&self, other: &Suffix<'_>) -> Ordering {
        let heads = self.head.cmp(&other.head);
        heads.then_with(|| self.tail.cmp(other.tail)).then_with(|| self.head_bytes.cmp(&other.head_bytes))
    }
}

/// A node to read.
#[derive(Clone, Copy)]
pub struct NodeView<'a> {
    bytes: &'a PageBytes,
    shape: Shape,
    layout: Layout,
}

impl fmt::Debug for NodeView<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("NodeView");
        shown.field("id", &self.id()).field("level", &self.level()).field("shape", &self.shape).finish_non_exhaustive()
    }
}

impl<'a> NodeView<'a> {
    /// Checks a page that comes from a disk, and that it is the page it was read for.
    ///
    /// What passes has all its parts within the page, one behind the other, no key longer than [`KEY_BYTES_MAX`], and
    /// its entries in order, each once.
    pub fn verify(bytes: &'a PageBytes, expected: PageId) -> Result<NodeView<'a>, Damage> {
        let page = PageView::verified(bytes);
        page.check_origin(expected)?;
        if page.kind() != Some(PageKind::Index) {
            return Err(Damage::Kind(bytes[page::field::KIND]));
        }
        let view = NodeView::verified(bytes);
        if view.has_sound_header() && view.has_sound_ends() {
            view.check_order().map(|()| view)
        } else {
            Err(Damage::Node)
        }
    }

    /// Looks at a page that [`NodeView::verify`] has passed, or that this module has written.
    ///
    /// Other bytes give entries of no meaning, but neither a panic nor an access outside of the page.
    #[inline]
    pub fn verified(bytes: &'a PageBytes) -> NodeView<'a> {
        let mut shape = Shape {
            is_leaf: bytes[field::LEVEL] == 0,
            keys: KeyKind::of_code(bytes[field::KEYS]).unwrap_or(KeyKind::Text),
            prefix: usize::from(page::u16_at(bytes, field::PREFIX)),
            entries: 0,
        };
        let room = PAGE_SIZE - field::BODY;
        shape.entries = usize::from(page::u16_at(bytes, page::field::SLOTS)).min(room / shape.entry_bytes());
        NodeView { bytes, shape, layout: shape.layout() }
    }

    /// Which page this is.
    pub fn id(&self) -> PageId {
        PageView::verified(self.bytes).id()
    }

    /// Height above the leaves.
    pub fn level(&self) -> u8 {
        self.bytes[field::LEVEL]
    }

    /// What the keys are; `None` in a page that is no node.
    pub fn keys(&self) -> Option<KeyKind> {
        KeyKind::of_code(self.bytes[field::KEYS])
    }

    /// Number of entries.
    #[inline]
    pub fn entries(&self) -> usize {
        self.shape.entries
    }

    /// In a leaf the page number of the next leaf; `None` in the last, and above the leaves.
    pub fn next_leaf(&self) -> Option<u32> {
        let link = self.link();
        (self.shape.is_leaf && link != NO_LINK).then_some(link)
    }

    /// The link as it stands there.
    pub(super) fn link(&self) -> u32 {
        page::u32_at(self.bytes, field::LINK)
    }

    /// The node that entry `index` leads to. Zero in a leaf, and where there is no such entry.
    pub(super) fn child(&self, index: usize) -> u32 {
        if self.shape.is_leaf { 0 } else { self.u32_of(self.layout.children, index) }
    }

    /// The rows at the entries of `range`, in key order.
    #[inline]
    pub(crate) fn places(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = Place> + use<'a> {
        let pages = self.array::<4>(self.layout.places).get(range.clone()).unwrap_or(&[]);
        let slots = self.array::<2>(self.layout.slots).get(range).unwrap_or(&[]);
        pages.iter().zip(slots).map(|(page, slot)| Place::new(u32::from_le_bytes(*page), u16::from_le_bytes(*slot)))
    }

    /// The row at entry `index`.
    pub(crate) fn place(&self, index: usize) -> Place {
        self.places(index..index + 1).next().unwrap_or_default()
    }

    /// Puts the stored key of entry `index` into `key`; it is empty where there is no such entry.
    pub(crate) fn key_into(&self, index: usize, key: &mut Vec<u8>) {
        key.clear();
        if index < self.shape.entries {
            let suffix = self.suffix(index);
            key.extend_from_slice(self.prefix());
            key.extend_from_slice(&suffix.head.to_be_bytes()[..suffix.head_bytes]);
            key.extend_from_slice(suffix.tail);
        }
    }

    /// The row at entry `index`, in the table of this segment, and its stored key into `key`; `None`, and no key, where
    /// there is no such entry.
    pub fn entry_into(&self, index: usize, table: SegmentId, key: &mut Vec<u8>) -> Option<RowId> {
        self.key_into(index, key);
        (index < self.shape.entries).then(|| self.place(index).row(table))
    }

    /// How many entries come before this stored key and row.
    pub fn position(&self, key: &[u8], row: RowId) -> usize {
        self.entries_before(key, Place::of(row))
    }

    /// How many entries come before this key and row.
    pub(crate) fn entries_before(&self, key: &[u8], place: Place) -> usize {
        match self.behind_prefix(key) {
            Ok(suffix) => {
                let lowest = self.heads().partition_point(|head| u32::from_le_bytes(*head) < suffix.head);
                self.settle(lowest, &suffix, place)
            }
            Err(before) => before,
        }
    }

    /// Whether entries of other keys stand on both sides of where this key's stand: then all of its entries are here.
    pub(crate) fn surrounds(&self, key: &[u8]) -> bool {
        let (Some(last), Ok(suffix)) = (self.shape.entries.checked_sub(1), self.behind_prefix(key)) else {
            return false;
        };
        self.suffix(0).order(&suffix) == Ordering::Less && self.suffix(last).order(&suffix) == Ordering::Greater
    }

    /// The key behind what all keys of the node begin with. Where it does not begin with that, all entries come before
    /// it or none does: the number of those that do.
    #[inline]
    pub(super) fn behind_prefix<'k>(&self, key: &'k [u8]) -> Result<Suffix<'k>, usize> {
        let prefix = self.prefix();
        match key.get(..prefix.len()) {
            Some(start) if start == prefix => Ok(Suffix::new(&key[prefix.len()..])),
            _ if key < prefix => Err(0),
            _ => Err(self.shape.entries),
        }
    }

    /// How many entries come before a key and row, when those before `lowest` do. Equal keys are mostly few: the
    /// search doubles its steps.
    #[inline]
    pub(super) fn settle(&self, lowest: usize, suffix: &Suffix<'_>, place: Place) -> usize {
        let is_before = |index: usize| {
            let order = self.suffix(index).order(suffix).then_with(|| self.place(index).cmp(&place));
            order == Ordering::Less
        };
        let (mut low, mut step) = (lowest, 1);
        while low + step <= self.shape.entries && is_before(low + step - 1) {
            low += step;
            step *= 2;
        }
        let mut high = (low + step - 1).min(self.shape.entries);
        while low < high {
            let middle = low.midpoint(high);
            if is_before(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// How many entries come before this key and row or are equal to them: above the leaves, the number of the child
    /// to go to.
    pub(super) fn entries_up_to(&self, key: &[u8], place: Place) -> usize {
        self.entries_before(key, Place(place.0.saturating_add(1)))
    }

    /// The child of number `index`, of which there is one more than entries.
    pub(super) fn child_of_number(&self, index: usize) -> u32 {
        index.checked_sub(1).map_or(self.link(), |index| self.child(index))
    }

    pub(super) fn prefix(&self) -> &'a [u8] {
        self.bytes.get(self.layout.prefix..self.layout.tails).unwrap_or(&[])
    }

    #[inline]
    pub(super) fn heads(&self) -> &'a [[u8; HEAD_BYTES]] {
        self.array(field::BODY)
    }

    /// The array of this many bytes an entry that begins at `at`.
    #[inline]
    fn array<const N: usize>(&self, at: usize) -> &'a [[u8; N]] {
        self.bytes.get(at..at + N * self.shape.entries).unwrap_or(&[]).as_chunks().0
    }

    fn u32_of(&self, at: usize, index: usize) -> u32 {
        self.array(at).get(index).map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// The entry of the array of ends: where the tail ends, and how long the head is.
    fn end(&self, index: usize) -> (usize, usize) {
        let packed = self.array(self.layout.ends).get(index).map_or(0, |bytes| u16::from_le_bytes(*bytes));
        (usize::from(packed) & (PAGE_SIZE - 1), usize::from(packed >> END_BITS))
    }

    /// The key of entry `index` behind the prefix.
    fn suffix(&self, index: usize) -> Suffix<'a> {
        let head = self.u32_of(field::BODY, index);
        let (start, end, head_bytes) = match self.shape.keys {
            KeyKind::Number => {
                let tail = self.shape.number_tail();
                (tail * index, tail * (index + 1), NUMBER_BYTES.saturating_sub(self.shape.prefix))
            }
            KeyKind::Text => {
                let (end, head_bytes) = self.end(index);
                (index.checked_sub(1).map_or(0, |before| self.end(before).0), end, head_bytes)
            }
        };
        let tail = self.bytes.get(self.layout.tails + start..self.layout.tails + end).unwrap_or(&[]);
        Suffix { head, head_bytes: head_bytes.min(HEAD_BYTES), tail }
    }

    /// Whether the fields of the header fit each other and the page.
    fn has_sound_header(&self) -> bool {
        let field_of = |at| usize::from(page::u16_at(self.bytes, at));
        let count = self.shape.entries;
        let prefix_max = match self.keys() {
            None => return false,
            Some(KeyKind::Number) => NUMBER_BYTES,
            Some(KeyKind::Text) => KEY_BYTES_MAX,
        };
        let tails = match self.shape.keys {
            KeyKind::Number => count * self.shape.number_tail(),
            KeyKind::Text => count.checked_sub(1).map_or(0, |last| self.end(last).0),
        };
        self.bytes[page::field::RESERVED] == 0
            && self.bytes[field::RESERVED..field::BODY].iter().all(|byte| *byte == 0)
            && self.level() <= LEVEL_MAX
            && field_of(page::field::SLOTS) == count
            && self.shape.prefix <= if count == 0 { 0 } else { prefix_max }
            && field_of(page::field::FREE_END) == PAGE_SIZE
            && field_of(page::field::FREE_START) == self.layout.tails + tails
            && self.layout.tails + tails <= PAGE_SIZE
    }

    /// Whether each key lies where it should, has the length that it may have, and no bytes that say nothing. The
    /// header is sound.
    fn has_sound_ends(&self) -> bool {
        let mut end_before = 0;
        (0..self.shape.entries).all(|index| {
            let suffix = self.suffix(index);
            let mut is_sound = suffix.head.trailing_zeros() as usize >= 8 * (HEAD_BYTES - suffix.head_bytes);
            if self.shape.keys == KeyKind::Text {
                let (end, head_bytes) = self.end(index);
                is_sound &= end_before <= end && head_bytes <= HEAD_BYTES;
                is_sound &= suffix.tail.is_empty() || head_bytes == HEAD_BYTES;
                is_sound &= self.shape.prefix + head_bytes + suffix.tail.len() <= KEY_BYTES_MAX;
                end_before = end;
            }
            is_sound
        })
    }

    /// Whether the entries are in order, each once, and share no more bytes than the prefix says.
    fn check_order(&self) -> Result<(), Damage> {
        let Some(last) = self.shape.entries.checked_sub(1) else { return Ok(()) };
        let (lowest, highest) = (self.suffix(0), self.suffix(last));
        let shares_more = match last {
            0 => lowest.head_bytes > 0,
            _ => lowest.head_bytes > 0 && lowest.head >> 24 == highest.head >> 24,
        };
        if shares_more {
            return Err(Damage::Node);
        }
        let heads = self.heads();
        for index in 1..self.shape.entries {
            if u32::from_le_bytes(heads[index - 1]) < u32::from_le_bytes(heads[index]) {
                continue;
            }
            let order = self.suffix(index - 1).order(&self.suffix(index));
            if order.then_with(|| self.place(index - 1).cmp(&self.place(index))) != Ordering::Less {
                return Err(Damage::Entry(index as u16));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::entries::{Entries, Growth, NewEntry, NodeHead};
    use super::*;
    use crate::page::{PageMut, checksum};
    use measure::random::SplitMix64;
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    const ID: PageId = PageId { segment: SegmentId(3), number: 77 };

    /// A sealed node of these keys, as many of them as fit, and what it holds.
    fn node_of(
        level: u8,
        keys: KeyKind,
        model: impl IntoIterator<Item = (Vec<u8>, Place)>,
    ) -> (Box<PageBytes>, Vec<(Vec<u8>, Place)>) {
        let mut entries = Entries::default();
        let mut growth = Growth::default();
        let mut held = Vec::new();
        for (number, (key, place)) in (0..).zip(model) {
            let (grown, size) = growth.with(&entries, &key, level, keys);
            if size > PAGE_SIZE {
                break;
            }
            growth = grown;
            entries.push(NewEntry { key: &key, place, child: 1000 + number });
            held.push((key, place));
        }
        let mut bytes = Box::new([0xA5; PAGE_SIZE]);
        entries.write(NodeHead { id: ID, level, keys, link: 5 }, &mut bytes);
        PageMut::verified(&mut bytes).seal();
        (bytes, held)
    }

    fn numbers(start: i64, step: i64) -> impl Iterator<Item = (Vec<u8>, Place)> {
        (0..).map(move |number: i64| {
            let key = super::super::Key::Number(start + step * number);
            (key.encode(KeyKind::Number).unwrap().to_vec(), Place::new(number as u32, (number % 30) as u16))
        })
    }

    fn texts() -> impl Iterator<Item = (Vec<u8>, Place)> {
        (0..)
            .map(|number: u32| {
                (format!("town {:05} {}", number / 3, "x".repeat(number as usize % 7)).into_bytes(), number)
            })
            .map(|(text, number)| (text, Place::new(number, 1)))
    }

    /// A leaf of near numbers, one of far ones, a leaf of texts, and a node above of either.
    fn samples() -> Vec<Box<PageBytes>> {
        let mut sorted: Vec<(Vec<u8>, Place)> = texts().take(400).collect();
        sorted.sort();
        vec![
            node_of(0, KeyKind::Number, numbers(-300, 1)).0,
            node_of(0, KeyKind::Number, numbers(i64::MIN, 1 << 50)).0,
            node_of(0, KeyKind::Text, sorted.clone()).0,
            node_of(1, KeyKind::Number, numbers(7, 815)).0,
            node_of(2, KeyKind::Text, sorted).0,
        ]
    }

    /// A sample changed by `change` and sealed again, so that only the structure can be at fault.
    fn resealed(sample: usize, change: impl FnOnce(&mut PageBytes)) -> Damage {
        let mut bytes = samples().swap_remove(sample);
        change(&mut bytes);
        let checksum = checksum::compute(&bytes);
        page::put(&mut bytes, page::field::CHECKSUM, checksum.to_le_bytes());
        NodeView::verify(&bytes, ID).unwrap_err()
    }

    #[test]
    fn every_sampled_bit_flip_of_a_node_is_caught() {
        for mut bytes in samples() {
            assert!(NodeView::verify(&bytes, ID).is_ok());
            let mut random = SplitMix64::new(1);
            for _ in 0..20_000 {
                let bit = random.below(PAGE_SIZE as u64 * 8) as usize;
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(NodeView::verify(&bytes, ID).is_err(), "bit {bit}");
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }

    #[test]
    fn a_node_with_a_right_checksum_and_a_wrong_structure_is_refused() {
        let set = |sample, at, value: u16| resealed(sample, move |page| page::put(page, at, value.to_le_bytes()));
        for sample in 0..5 {
            assert_eq!(resealed(sample, |page| page[page::field::RESERVED] = 1), Damage::Node);
            assert_eq!(resealed(sample, |page| page[field::RESERVED + 3] = 1), Damage::Node);
            assert_eq!(resealed(sample, |page| page[field::LEVEL] = 200), Damage::Node);
            assert_eq!(resealed(sample, |page| page[field::KEYS] = 3), Damage::Node);
            assert_eq!(set(sample, page::field::SLOTS, 60_000), Damage::Node);
            assert_eq!(set(sample, page::field::SLOTS, 1), Damage::Node);
            assert_eq!(set(sample, page::field::FREE_START, 8000), Damage::Node);
            assert_eq!(set(sample, page::field::FREE_END, 8000), Damage::Node);
            assert_eq!(set(sample, field::PREFIX, 1001), Damage::Node);
        }
        for sample in 0..3 {
            assert_eq!(resealed(sample, |page| page[field::BODY + 4..field::BODY + 8].fill(255)), Damage::Entry(2));
        }
        // A head of fewer bytes than four has zeros behind them.
        assert_eq!(resealed(3, |page| page[field::BODY + 4..field::BODY + 8].fill(255)), Damage::Node);
        let beyond = NodeView::verified(&samples()[2]).layout.ends;
        assert_eq!(set(2, beyond, 5 << END_BITS), Damage::Node);
        // Tails that end before they begin.
        assert_eq!(set(2, beyond + 2 * 50, 4 << END_BITS), Damage::Node);
    }

    #[test]
    fn rows_and_nodes_are_never_taken_for_each_other() {
        let mut rows = [0; PAGE_SIZE];
        PageMut::format(&mut rows, ID, PageKind::Heap).seal();
        assert_eq!(NodeView::verify(&rows, ID).unwrap_err(), Damage::Kind(1));
        for node in samples() {
            assert_eq!(PageView::verify(&node, ID).unwrap_err(), Damage::Kind(3));
            let other = PageId { number: 78, ..ID };
            assert_eq!(NodeView::verify(&node, other).unwrap_err(), Damage::OtherPage(ID));
        }
    }

    #[test]
    fn near_numbers_take_ten_bytes_and_seven_of_the_longest_texts_fit() {
        assert_eq!(node_of(0, KeyKind::Number, numbers(1 << 20, 1)).1.len(), (PAGE_SIZE - field::BODY - 4) / 10);
        let longest = (0..).map(|number: u8| ([vec![number], vec![9; KEY_BYTES_MAX - 1]].concat(), Place::FIRST));
        assert!(node_of(1, KeyKind::Text, longest).1.len() >= 7);
    }

    #[test]
    fn texts_that_differ_only_in_zeros_at_their_end_are_kept_apart() {
        let model: Vec<(Vec<u8>, Place)> = (0..12).map(|zeros| (vec![0; zeros], Place::new(1, 1))).collect();
        let (bytes, held) = node_of(0, KeyKind::Text, model.clone());
        let node = NodeView::verify(&bytes, ID).unwrap();
        assert_eq!(held, model);
        for (index, (key, place)) in model.iter().enumerate() {
            assert_eq!((node.entries_before(key, *place), node.entries_up_to(key, *place)), (index, index + 1));
        }
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![vec(0..2_u8, 0..9), vec(any::<u8>(), 0..30), vec(7..9_u8, 900..KEY_BYTES_MAX)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn a_node_gives_back_and_finds_what_a_plain_list_holds(
            model in btree_set((text(), (0..3_u32, any::<u16>())), 0..300),
            probes in vec((text(), (0..3_u32, any::<u16>())), 20), prefix in text(), level in 0..3_u8,
        ) {
            let placed = |(key, (page, slot)): &(Vec<u8>, (u32, u16))| (key.clone(), Place::new(*page, *slot));
            let mut model: Vec<(Vec<u8>, Place)> = model.iter().map(placed).collect();
            let mut probes: Vec<(Vec<u8>, Place)> = probes.iter().map(placed).collect();
            if prefix.len() > 800 {
                model.retain(|(key, _)| key.len() < KEY_BYTES_MAX - prefix.len());
                for (key, _) in model.iter_mut().chain(probes.iter_mut().skip(5)) {
                    key.splice(0..0, prefix.clone());
                }
            }
            let (bytes, held) = node_of(level, KeyKind::Text, model);
            let node = NodeView::verify(&bytes, ID).unwrap();
            prop_assert_eq!(node.entries(), held.len());
            let mut key = Vec::new();
            for (index, (expected, place)) in held.iter().enumerate() {
                node.key_into(index, &mut key);
                prop_assert_eq!((&key, node.place(index)), (expected, *place));
                prop_assert_eq!(node.child(index), if level == 0 { 0 } else { 1000 + index as u32 });
            }
            for (key, place) in probes.iter().chain(&held) {
                let before = held.iter().filter(|entry| *entry < &(key.clone(), *place)).count();
                let up_to = held.iter().filter(|entry| *entry <= &(key.clone(), *place)).count();
                prop_assert_eq!((node.entries_before(key, *place), node.entries_up_to(key, *place)), (before, up_to));
            }
        }

        #[test]
        fn hostile_node_bytes_under_a_good_checksum_never_panic(
            sample in 0..5_usize, changes in vec((0..PAGE_SIZE, any::<u8>()), 0..20), near in any::<bool>(),
            probe in vec(any::<u8>(), 0..20),
        ) {
            let mut bytes = samples().swap_remove(sample);
            for (at, value) in changes {
                bytes[if near { 10 + at % 60 } else { at }] = value;
            }
            let checksum = checksum::compute(&bytes);
            page::put(&mut bytes, page::field::CHECKSUM, checksum.to_le_bytes());
            let verified = NodeView::verify(&bytes, ID).is_ok();
            let node = NodeView::verified(&bytes);
            let mut key = Vec::new();
            let place = Place::new(3, 3);
            let before = node.entries_before(&probe, place);
            prop_assert!(before <= node.entries() && node.places(0..node.entries()).count() == node.entries());
            for index in 0..=node.entries() {
                node.key_into(index, &mut key);
                let _ = (node.place(index), node.child(index));
                if verified && index < node.entries() {
                    prop_assert!(key.len() <= KEY_BYTES_MAX);
                    prop_assert_eq!(node.entries_before(&key, node.place(index)), index);
                }
            }
        }
    }
}
