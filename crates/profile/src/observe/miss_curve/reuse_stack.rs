//! Reuse distances: how many other blocks were read since a block was read last.
//!
//! Blocks stand in the order of their last reads, in a row of slots; the distance is the number of taken slots behind.
//! When the slots run out, the blocks move together. Source: R. L. Mattson et al., "Evaluation techniques for storage
//! hierarchies", 1970 (one pass for all sizes of an LRU cache).

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;

/// Slots for each block that stands in them: the more, the rarer they move together.
const SLOTS_PER_BLOCK: usize = 2;

/// Fewest slots.
const SLOTS_MIN: usize = 1024;

/// Factor by which the capacity that is kept exceeds the need.
const ROOM_KEPT: usize = 4;

/// What is known of a block.
#[derive(Clone, Copy, Debug)]
struct Place {
    slot: u32,
    is_read_again: bool,
}

/// Blocks in the order of their last reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReuseStack {
    /// By the hash of its address: of 131 072 blocks two have one hash in one of a thousand million traces.
    places: HashMap<u64, Place, RandomState>,
    taken: TakenSlots,
    next: usize,
    bytes_max: usize,
}

impl ReuseStack {
    /// Notes a read of the block of this hash and returns how many other blocks were read since its last read; `None`
    /// for its first.
    pub(crate) fn read(&mut self, hash: u64) -> Option<usize> {
        if self.next == self.taken.slots() {
            self.move_together();
        }
        let slot = self.next;
        let distance = match self.places.entry(hash) {
            Entry::Vacant(entry) => {
                entry.insert(Place { slot: slot as u32, is_read_again: false });
                None
            }
            Entry::Occupied(mut entry) => {
                let place = entry.get_mut();
                let last = std::mem::replace(&mut place.slot, slot as u32) as usize;
                place.is_read_again = true;
                self.taken.free(last);
                Some(self.taken.behind(last))
            }
        };
        self.taken.take(slot);
        self.next += 1;
        distance
    }

    /// How many blocks stand in the order.
    pub(crate) fn blocks(&self) -> usize {
        self.places.len()
    }

    /// The most bytes that were ever held.
    pub(crate) fn bytes_max(&self) -> usize {
        self.bytes_max.max(self.bytes())
    }

    fn bytes(&self) -> usize {
        // The table is a power of two and at most seven eighths full, with a byte of control for each entry.
        let entries = (self.places.capacity() * 8 / 7).next_power_of_two();
        entries * (size_of::<(u64, Place)>() + 1) + self.taken.bytes()
    }

    /// How many of them were read more than once.
    pub(crate) fn blocks_read_again(&self) -> usize {
        self.places.values().filter(|place| place.is_read_again).count()
    }

    /// The hashes of the blocks.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = u64> + '_ {
        self.places.keys().copied()
    }

    /// Forgets the blocks whose hash is `limit` or more.
    pub(crate) fn forget_from(&mut self, limit: u64) {
        self.bytes_max = self.bytes_max();
        let taken = &mut self.taken;
        self.places.retain(|hash, place| {
            let stays = *hash < limit;
            if !stays {
                taken.free(place.slot as usize);
            }
            stays
        });
        // A sample that has become small gives its room to the rest of the profile.
        if self.places.capacity() > ROOM_KEPT * self.places.len().max(SLOTS_MIN) {
            self.places.shrink_to(SLOTS_PER_BLOCK * self.places.len());
        }
        self.move_together();
    }

    fn move_together(&mut self) {
        let blocks = self.places.len();
        for place in self.places.values_mut() {
            place.slot = (blocks - 1 - self.taken.behind(place.slot as usize)) as u32;
        }
        let slots = (blocks * SLOTS_PER_BLOCK).next_power_of_two().max(SLOTS_MIN);
        self.taken = TakenSlots::with_first(blocks, slots);
        self.next = blocks;
    }
}

/// Which slots are taken: a bit each, and how many are in blocks of words and in groups of blocks.
#[derive(Clone, Debug, Default)]
struct TakenSlots {
    words: Vec<u64>,
    blocks: Vec<u32>,
    groups: Vec<u32>,
}

/// Slots of a word, words of a block, and blocks of a group: a count steps over as few of each.
const WORD: usize = 64;
const WORDS: usize = 8;
const BLOCKS: usize = 16;

impl TakenSlots {
    /// `slots` slots, of which the first ones are taken.
    fn with_first(taken: usize, slots: usize) -> TakenSlots {
        let groups = slots.div_ceil(WORD * WORDS * BLOCKS);
        let words = slots / WORD;
        let mut all = TakenSlots { words: vec![0; words], blocks: vec![0; groups * BLOCKS], groups: vec![0; groups] };
        (0..taken).for_each(|slot| all.take(slot));
        all
    }

    /// How many slots there are.
    fn slots(&self) -> usize {
        self.words.len() * WORD
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.words) + size_of_val(&*self.blocks) + size_of_val(&*self.groups)
    }

    fn take(&mut self, slot: usize) {
        self.words[slot / WORD] |= 1 << (slot % WORD);
        self.blocks[slot / (WORD * WORDS)] += 1;
        self.groups[slot / (WORD * WORDS * BLOCKS)] += 1;
    }

    fn free(&mut self, slot: usize) {
        self.words[slot / WORD] &= !(1 << (slot % WORD));
        self.blocks[slot / (WORD * WORDS)] -= 1;
        self.groups[slot / (WORD * WORDS * BLOCKS)] -= 1;
    }

    /// How many slots behind this one are taken.
    fn behind(&self, slot: usize) -> usize {
        let (word, block) = (slot / WORD, slot / (WORD * WORDS));
        let group = block / BLOCKS;
        let own = (self.words[word] >> (slot % WORD) >> 1).count_ones();
        let words = self.words[word + 1..((block + 1) * WORDS)].iter().map(|word| word.count_ones());
        let blocks = self.blocks[block + 1..(group + 1) * BLOCKS].iter();
        let groups = self.groups[group + 1..].iter();
        (own + words.sum::<u32>() + blocks.sum::<u32>() + groups.sum::<u32>()) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::random::SplitMix64;

    impl ReuseStack {
        /// Places that memory is held for.
        pub(crate) fn places_capacity(&self) -> usize {
            self.places.capacity().max(self.taken.slots())
        }
    }

    #[test]
    fn distances_are_those_of_a_list_in_the_order_of_last_reads() {
        let mut random = SplitMix64::new(5);
        for universe in [1, 3, 50, 1500] {
            let mut stack = ReuseStack::default();
            let mut list: Vec<u64> = Vec::new();
            for _ in 0..20_000.min(universe * 400) {
                let block = random.below(universe);
                let expected = list.iter().rev().position(|other| *other == block);
                list.retain(|other| *other != block);
                list.push(block);
                assert_eq!(stack.read(block), expected);
            }
            assert_eq!(stack.blocks(), list.len());
        }
    }

    #[test]
    fn what_is_forgotten_leaves_the_order_of_the_rest() {
        let mut stack = ReuseStack::default();
        for block in 0..10 {
            assert_eq!(stack.read(block), None);
        }
        stack.forget_from(5);
        assert_eq!(stack.blocks(), 5);
        assert_eq!(stack.read(0), Some(4));
        assert_eq!(stack.read(1), Some(4));
        assert_eq!(stack.read(1), Some(0));
        assert_eq!(stack.read(7), None);
        assert_eq!(stack.blocks_read_again(), 2);
    }
}
