//! Reuse distances: how many other blocks were read since a block was read last.
//!
//! Blocks stand in the order of their last reads, in a row of slots; the distance is the number of blocks in later
//! slots, which a tree of partial sums counts in the logarithm of their number. When the slots run out, the blocks
//! move together. Sources: R. L. Mattson et al., "Evaluation techniques for storage hierarchies", 1970 (one pass for
//! all sizes of an LRU cache); P. M. Fenwick, "A new data structure for cumulative frequency tables", 1994.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;

use crate::event::block_wait::BlockAddress;

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
    hash: u64,
}

/// Blocks in the order of their last reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReuseStack {
    places: HashMap<BlockAddress, Place, RandomState>,
    /// Which block stands in a slot.
    slots: Vec<Option<BlockAddress>>,
    sums: PartialSums,
    next: usize,
    bytes_max: usize,
}

impl ReuseStack {
    /// Notes a read and returns how many other blocks were read since the last read of this one; `None` for its
    /// first.
    pub(crate) fn read(&mut self, address: BlockAddress, hash: u64) -> Option<usize> {
        if self.next == self.slots.len() {
            self.move_together();
        }
        let slot = self.next;
        let blocks = self.places.len();
        let distance = match self.places.entry(address) {
            Entry::Vacant(entry) => {
                entry.insert(Place { slot: slot as u32, is_read_again: false, hash });
                None
            }
            Entry::Occupied(mut entry) => {
                let place = entry.get_mut();
                let last = std::mem::replace(&mut place.slot, slot as u32) as usize;
                place.is_read_again = true;
                self.slots[last] = None;
                let not_later = self.sums.up_to(last);
                self.sums.subtract(last);
                Some(blocks - not_later)
            }
        };
        self.slots[slot] = Some(address);
        self.sums.add(slot);
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
        entries * (size_of::<(BlockAddress, Place)>() + 1)
            + self.slots.capacity() * size_of::<Option<BlockAddress>>()
            + self.sums.sums.capacity() * size_of::<u32>()
    }

    /// How many of them were read more than once.
    pub(crate) fn blocks_read_again(&self) -> usize {
        self.places.values().filter(|place| place.is_read_again).count()
    }

    /// Places that memory is held for.
    #[cfg(test)]
    pub(crate) fn places_capacity(&self) -> usize {
        self.places.capacity().max(self.slots.capacity())
    }

    /// The hashes of the blocks.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = u64> + '_ {
        self.places.values().map(|place| place.hash)
    }

    /// Forgets the blocks whose hash is `limit` or more.
    pub(crate) fn forget_from(&mut self, limit: u64) {
        self.bytes_max = self.bytes_max();
        let slots = &mut self.slots;
        self.places.retain(|_, place| {
            let stays = place.hash < limit;
            if !stays {
                slots[place.slot as usize] = None;
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
        let mut standing: Vec<BlockAddress> = Vec::with_capacity(self.places.len());
        standing.extend(self.slots.iter().flatten());
        let slots = (self.places.len() * SLOTS_PER_BLOCK).next_power_of_two().max(SLOTS_MIN);
        if self.slots.capacity() > ROOM_KEPT * slots {
            self.slots = Vec::new();
        }
        self.slots.clear();
        self.slots.resize(slots, None);
        for (slot, address) in standing.iter().enumerate() {
            self.slots[slot] = Some(*address);
            if let Some(place) = self.places.get_mut(address) {
                place.slot = slot as u32;
            }
        }
        self.next = standing.len();
        self.sums = PartialSums::of_ones(standing.len(), slots);
    }
}

/// Fenwick's tree over slots that are taken or free.
#[derive(Clone, Debug, Default)]
struct PartialSums {
    sums: Vec<u32>,
}

impl PartialSums {
    /// `slots` slots, of which the first `taken` are taken.
    fn of_ones(taken: usize, slots: usize) -> PartialSums {
        // Node i (from 1) holds the sum of as many slots as its lowest set bit says, the last of which is slot i.
        let node = |index: usize| {
            let first = index - (index & index.wrapping_neg());
            (taken.min(index) - taken.min(first)) as u32
        };
        PartialSums { sums: (0..=slots).map(node).collect() }
    }

    /// Taken slots from the first to this one.
    fn up_to(&self, slot: usize) -> usize {
        let mut index = slot + 1;
        let mut sum = 0;
        while index > 0 {
            sum += self.sums[index] as usize;
            index &= index - 1;
        }
        sum
    }

    fn add(&mut self, slot: usize) {
        let mut index = slot + 1;
        while let Some(sum) = self.sums.get_mut(index) {
            *sum += 1;
            index += index & index.wrapping_neg();
        }
    }

    fn subtract(&mut self, slot: usize) {
        let mut index = slot + 1;
        while let Some(sum) = self.sums.get_mut(index) {
            *sum -= 1;
            index += index & index.wrapping_neg();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::random::SplitMix64;

    #[test]
    fn distances_are_those_of_a_list_in_the_order_of_last_reads() {
        let mut random = SplitMix64::new(5);
        for universe in [1, 3, 50, 1500] {
            let mut stack = ReuseStack::default();
            let mut list: Vec<i64> = Vec::new();
            for _ in 0..20_000.min(universe * 400) {
                let block = random.below(universe) as i64;
                let expected = list.iter().rev().position(|other| *other == block);
                list.retain(|other| *other != block);
                list.push(block);
                assert_eq!(stack.read(BlockAddress { file: 1, block }, 0), expected);
            }
            assert_eq!(stack.blocks(), list.len());
        }
    }

    #[test]
    fn what_is_forgotten_leaves_the_order_of_the_rest() {
        let mut stack = ReuseStack::default();
        let address = |block| BlockAddress { file: 1, block };
        for block in 0..10 {
            assert_eq!(stack.read(address(block), block as u64), None);
        }
        stack.forget_from(5);
        assert_eq!(stack.blocks(), 5);
        assert_eq!(stack.read(address(0), 0), Some(4));
        assert_eq!(stack.read(address(1), 1), Some(4));
        assert_eq!(stack.read(address(1), 1), Some(0));
        assert_eq!(stack.read(address(7), 0), None);
        assert_eq!(stack.blocks_read_again(), 2);
    }
}
