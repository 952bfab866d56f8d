//! Look-ups of single keys, one after the other or many at once, for callers with keys of their own.
//!
//! The leaf of the last key stays pinned: a key that lies between two others of it costs no get. Many keys go down
//! level by level: the nodes that a level needs and that are not cached are read in one go, and the searches go side
//! by side (`lanes.rs`).

use super::key::{Key, NUMBER_BYTES, Place};
use super::lanes::{self, LANES};
use super::node::NodeView;
use super::tree::BTree;
use crate::error::StorageError;
use crate::page::access::ReadAhead;
use crate::page::id::PageId;

/// A row that a key has led to, and the number of that key among those that were asked for.
pub(crate) type Hit = (Place, u32);

/// A key to look up: its number among all, and its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) number: u32,
    key: [u8; NUMBER_BYTES],
}

impl Wanted {
    pub(crate) fn new(number: u32, key: i64) -> Wanted {
        Wanted { number, key: super::key::encode_number(key) }
    }
}

/// Reads of many pages at once, and what they brought.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gathered {
    /// Requests that brought a block at least.
    pub(crate) requests: u64,
    /// Blocks that they brought.
    pub(crate) blocks: u64,
}

impl Gathered {
    /// Requests that were waited for, where `blocks` came in all: the others came one by one.
    pub(crate) fn requests_for(&self, blocks: u64) -> u64 {
        self.requests + (blocks - self.blocks)
    }

    /// Asks for the pages that are not cached, in one request, and does not wait for them.
    pub(crate) fn ask<A: ReadAhead>(&mut self, access: &A, pages: &[PageId]) -> Result<(), StorageError> {
        let blocks = access.ask_ahead(pages)?;
        self.requests += u64::from(blocks > 0);
        self.blocks += blocks;
        Ok(())
    }

    /// Brings the pages that are not cached, at most `at_once` in one request.
    pub(crate) fn load<A: ReadAhead>(
        &mut self,
        access: &A,
        pages: &[PageId],
        at_once: usize,
    ) -> Result<(), StorageError> {
        for request in pages.chunks(at_once.max(1)) {
            let before = access.blocks_read();
            access.load_many(request)?;
            let blocks = access.blocks_read() - before;
            self.requests += u64::from(blocks > 0);
            self.blocks += blocks;
        }
        Ok(())
    }
}

/// Looks keys up in one index of numbers.
pub(crate) struct Probe<'a, A: ReadAhead + 'a> {
    access: &'a A,
    tree: &'a BTree,
    /// Most nodes that are asked for at once.
    at_once: usize,
    /// The leaf that was used last.
    leaf: Option<(u32, A::Guard<'a>)>,
    /// Gets of nodes.
    pub(crate) gets: u64,
    /// Searches in a node that was still held.
    pub(crate) revisits: u64,
    /// Keys that led to no row.
    pub(crate) unmatched: u64,
    /// Nodes that were read many at once.
    pub(crate) gathered: Gathered,
    /// Nodes that were read, those included.
    pub(crate) blocks: u64,
    /// The node of each key at the level that is being searched.
    nodes: Vec<u32>,
    missing: Vec<PageId>,
}

impl<'a, A: ReadAhead> Probe<'a, A> {
    /// Errors when the keys of the index are no numbers. At most `at_once` nodes are asked for in one go.
    pub(crate) fn new(access: &'a A, tree: &'a BTree, at_once: usize) -> Result<Probe<'a, A>, StorageError> {
        Key::Number(0).encode(tree.keys())?;
        Ok(Probe {
            access,
            tree,
            at_once,
            leaf: None,
            gets: 0,
            revisits: 0,
            unmatched: 0,
            gathered: Gathered::default(),
            blocks: 0,
            nodes: Vec::new(),
            missing: Vec::new(),
        })
    }

    /// Appends the rows of one key to `hits`, in the order of the table. One node after the other is got.
    pub(crate) fn look_up(&mut self, wanted: Wanted, hits: &mut Vec<Hit>) -> Result<(), StorageError> {
        let found = hits.len();
        let held = self.leaf.take();
        if let Some((number, page)) = held.filter(|(_, page)| NodeView::verified(page).surrounds(&wanted.key)) {
            self.revisits += 1;
            self.access.pinned_revisit();
            let leaf = NodeView::verified(&page);
            push_hits(leaf, leaf.entries_before(&wanted.key, Place::FIRST), &wanted, hits);
            self.leaf = Some((number, page));
        } else {
            let before = self.access.blocks_read();
            self.descend(wanted, hits)?;
            self.blocks += self.access.blocks_read() - before;
        }
        self.unmatched += u64::from(hits.len() == found);
        Ok(())
    }

    fn descend(&mut self, wanted: Wanted, hits: &mut Vec<Hit>) -> Result<(), StorageError> {
        let mut number = self.tree.root();
        for level in (0..self.tree.built().height).rev() {
            self.gets += 1;
            let page = self.access.get(self.tree.page(number))?;
            let node = self.tree.node(&page, number, level)?;
            if level == 0 {
                let found = hits.len();
                if push_hits(node, node.entries_before(&wanted.key, Place::FIRST), &wanted, hits) {
                    hits.truncate(found);
                    drop(page);
                    return self.walk(wanted, hits);
                }
                self.leaf = Some((number, page));
                break;
            }
            number = node.child_of_number(node.entries_up_to(&wanted.key, Place::FIRST));
        }
        Ok(())
    }

    /// Appends the rows of each key to `hits`, in the order of the keys and of the table.
    pub(crate) fn look_up_many(&mut self, wanted: &[Wanted], hits: &mut Vec<Hit>) -> Result<(), StorageError> {
        let before = self.access.blocks_read();
        self.nodes.clear();
        self.nodes.resize(wanted.len(), self.tree.root());
        for level in (0..self.tree.built().height).rev() {
            self.gather()?;
            let mut held = Held::default();
            if level == 0
                && let Some((number, page)) = self.leaf.take()
            {
                held.pages.push(page);
                held.last = Some(number);
            }
            let mut done = 0;
            while done < wanted.len() {
                done += self.search_some(wanted, done, level, &mut held, hits)?;
            }
            if let (0, Some(number)) = (level, held.last) {
                self.leaf = held.pages.pop().map(|page| (number, page));
            }
        }
        self.blocks += self.access.blocks_read() - before;
        Ok(())
    }

    /// Brings the nodes that are needed now and are not cached.
    fn gather(&mut self) -> Result<(), StorageError> {
        self.missing.clear();
        let mut last = None;
        for number in &self.nodes {
            let page = self.tree.page(*number);
            if last != Some(*number) && !self.access.is_cached(page) {
                self.missing.push(page);
            }
            last = Some(*number);
        }
        self.missing.sort_unstable();
        self.missing.dedup();
        self.gathered.load(self.access, &self.missing, self.at_once)
    }

    /// Searches the nodes of the next keys, as many side by side as go, and returns how many.
    fn search_some(
        &mut self,
        wanted: &[Wanted],
        done: usize,
        level: u8,
        held: &mut Held<A::Guard<'a>>,
        hits: &mut Vec<Hit>,
    ) -> Result<usize, StorageError> {
        let end = (done + LANES).min(wanted.len());
        for number in &self.nodes[end..(end + LANES).min(wanted.len())] {
            self.access.prefetch(self.tree.page(*number));
        }
        let (places, count) = self.hold(done..end, held)?;
        let wanted = &wanted[done..done + count];
        let first = self.tree.node(&held.pages[places[0]], self.nodes[done], level)?;
        let (mut nodes, mut keys) = ([first; LANES], [wanted[0].key.as_slice(); LANES]);
        for lane in 1..count {
            nodes[lane] = self.tree.node(&held.pages[places[lane]], self.nodes[done + lane], level)?;
            keys[lane] = &wanted[lane].key;
        }
        let (nodes, keys) = (&nodes[..count], &keys[..count]);
        if level > 0 {
            // Entries up to the first row of the key: those of the child to go to come behind them.
            let before = lanes::entries_before(nodes, keys, Place(Place::FIRST.0 + 1));
            for ((node, before), number) in nodes.iter().zip(before).zip(&mut self.nodes[done..]) {
                *number = node.child_of_number(before);
            }
            return Ok(count);
        }
        let before = lanes::entries_before(nodes, keys, Place::FIRST);
        for (lane, wanted) in wanted.iter().enumerate() {
            let found = hits.len();
            if push_hits(nodes[lane], before[lane], wanted, hits) {
                hits.truncate(found);
                *held = Held::default();
                self.walk(*wanted, hits)?;
                self.unmatched += u64::from(hits.len() == found);
                return Ok(lane + 1);
            }
            self.unmatched += u64::from(hits.len() == found);
        }
        Ok(count)
    }

    /// Gets the nodes of these keys, or of the first of them when the pool has no frame for more, one at least. Returns
    /// where each stands among those that are held, and how many.
    fn hold(
        &mut self,
        keys: std::ops::Range<usize>,
        held: &mut Held<A::Guard<'a>>,
    ) -> Result<([usize; LANES], usize), StorageError> {
        let mut places = [0; LANES];
        held.pages.drain(..held.pages.len().saturating_sub(1));
        for (lane, number) in self.nodes[keys.clone()].iter().enumerate() {
            if held.last == Some(*number) {
                self.revisits += 1;
                self.access.pinned_revisit();
            } else {
                if lane == 0 {
                    *held = Held::default();
                }
                match self.access.get(self.tree.page(*number)) {
                    Ok(page) => held.pages.push(page),
                    Err(StorageError::PoolExhausted { .. }) if lane > 0 => return Ok((places, lane)),
                    Err(error) => return Err(error),
                }
                self.gets += 1;
                held.last = Some(*number);
            }
            places[lane] = held.pages.len() - 1;
        }
        Ok((places, keys.len()))
    }

    /// The rows of a key that stand in more than one leaf, or might.
    fn walk(&mut self, wanted: Wanted, hits: &mut Vec<Hit>) -> Result<(), StorageError> {
        let mut leaves = self.tree.range_of_bytes(self.access, &wanted.key)?;
        while let Some((node, span)) = leaves.next_leaf()? {
            hits.extend(node.places(span).map(|place| (place, wanted.number)));
        }
        self.gets += leaves.gets();
        Ok(())
    }
}

/// Nodes that are held for the searches under way.
struct Held<G> {
    pages: Vec<G>,
    /// The number of the last of them.
    last: Option<u32>,
}

impl<G> Default for Held<G> {
    fn default() -> Held<G> {
        Held { pages: Vec::new(), last: None }
    }
}

/// Appends the rows of a key, before whose entries `before` others stand in this leaf. Returns whether more of them may
/// stand in the next leaf.
#[inline]
fn push_hits(leaf: NodeView<'_>, before: usize, wanted: &Wanted, hits: &mut Vec<Hit>) -> bool {
    let stop = match leaf.behind_prefix(&wanted.key) {
        Ok(suffix) => leaf.settle(before, &suffix, Place::BEYOND),
        Err(_) => before,
    };
    hits.extend(leaf.places(before..stop).map(|place| (place, wanted.number)));
    stop == leaf.entries() && leaf.next_leaf().is_some()
}
