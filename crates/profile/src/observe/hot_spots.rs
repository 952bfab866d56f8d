//! The blocks and objects that most of an event's time was waited for, in little room.
//!
//! Of each event the few keys with most time are kept. A key that finds no room takes the place of the one with least
//! time and inherits its sum as an error: what is said of a key is its sum without that error, so never too much
//! ("space saving", Metwally and others, 2005). A key with more than a fifteenth of the time is never lost.

use crate::event::block_wait::{BlockAddress, BlockWait};
use crate::event::{EventIndex, Ticks};
use crate::tables::growing::entry;

/// Keys of an event that are kept.
const KEYS: usize = 16;

/// A block that was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HotBlock {
    /// Where it is.
    pub address: BlockAddress,
    /// The object that the wait names.
    pub object: Option<i64>,
    /// The number of its class, where the wait names it.
    pub class: Option<i64>,
}

/// What was waited for, with the time that was surely waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HotSpot<K> {
    /// What.
    pub key: K,
    /// Waits, at least.
    pub count: u64,
    /// Their time, at least.
    pub total: Ticks,
}

/// Blocks and objects by event.
#[derive(Clone, Debug, Default)]
pub struct HotSpots {
    events: Vec<Option<Box<EventSpots>>>,
}

#[derive(Clone, Debug, Default)]
struct EventSpots {
    objects: Keys<i64>,
    blocks: Keys<HotBlock>,
}

/// The keys that are kept. Waits come by the ten million and most blocks are new, so that a key is looked for by its
/// hash, and the least time is found without a look at keys.
#[derive(Clone, Debug)]
struct Keys<K> {
    hashes: [u32; KEYS],
    totals: [Ticks; KEYS],
    kept: Vec<Kept<K>>,
    /// The place that was found last: waits for one object come in runs.
    last: usize,
}

#[derive(Clone, Copy, Debug)]
struct Kept<K> {
    key: K,
    count: u64,
    error: Ticks,
}

impl<K> Default for Keys<K> {
    fn default() -> Keys<K> {
        Keys { hashes: [0; KEYS], totals: [Ticks::ZERO; KEYS], kept: Vec::new(), last: 0 }
    }
}

impl<K: Copy + PartialEq> Keys<K> {
    #[inline]
    fn add(&mut self, key: K, hash: u32, time: Ticks) {
        let place = match self.find(key, hash) {
            Some(place) => {
                self.kept[place].count += 1;
                place
            }
            None if self.kept.len() < KEYS => {
                self.kept.push(Kept { key, count: 1, error: Ticks::ZERO });
                self.kept.len() - 1
            }
            None => {
                let least = self.least();
                self.kept[least] = Kept { key, count: 1, error: self.totals[least] };
                least
            }
        };
        self.hashes[place] = hash;
        self.totals[place] += time;
        self.last = place;
    }

    #[inline]
    fn find(&self, key: K, hash: u32) -> Option<usize> {
        if self.kept.get(self.last).is_some_and(|kept| kept.key == key) {
            return Some(self.last);
        }
        // All at once, and without a branch for each.
        let same = self.hashes.iter().enumerate();
        let mut same = same.fold(0_u32, |same, (place, known)| same | u32::from(*known == hash) << place);
        while same != 0 {
            let place = same.trailing_zeros() as usize;
            if self.kept.get(place).is_some_and(|kept| kept.key == key) {
                return Some(place);
            }
            same &= same - 1;
        }
        None
    }

    /// The first place with the least time.
    #[inline]
    fn least(&self) -> usize {
        let mut least = 0;
        for place in 1..KEYS {
            least = if self.totals[place] < self.totals[least] { place } else { least };
        }
        least
    }

    fn sure(&self) -> impl Iterator<Item = HotSpot<K>> + '_ {
        let spot = |(kept, total): (&Kept<K>, &Ticks)| HotSpot {
            key: kept.key,
            count: kept.count,
            total: *total - kept.error,
        };
        self.kept.iter().zip(&self.totals).map(spot)
    }
}

/// Mixes numbers into a few bits that differ where they do.
#[inline]
fn mixed(numbers: [i64; 3]) -> u32 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |hash: u64, number: &i64| (hash.rotate_left(23) ^ *number as u64).wrapping_mul(ODD);
    (numbers.iter().fold(0, mix) >> 32) as u32
}

impl HotSpots {
    /// Adds a wait for a block.
    #[inline]
    pub(crate) fn add(&mut self, event: EventIndex, object: Option<i64>, elapsed: Ticks, block_wait: &BlockWait) {
        let spots = entry(&mut self.events, event.0 as usize).get_or_insert_default();
        let object = object.filter(|object| *object > 0);
        if let Some(object) = object {
            spots.objects.add(object, mixed([object, 0, 0]), elapsed);
        }
        if let Some(address) = block_wait.address {
            let hash = mixed([address.file, address.block, object.unwrap_or_default()]);
            spots.blocks.add(HotBlock { address, object, class: block_wait.class }, hash, elapsed);
        }
    }

    /// The object with most time of these events.
    pub fn object(&self, events: impl Iterator<Item = EventIndex>) -> Option<HotSpot<i64>> {
        most(self.of(events).flat_map(|spots| spots.objects.sure()))
    }

    /// The block with most time of these events.
    pub fn block(&self, events: impl Iterator<Item = EventIndex>) -> Option<HotSpot<HotBlock>> {
        most(self.of(events).flat_map(|spots| spots.blocks.sure()))
    }

    fn of(&self, events: impl Iterator<Item = EventIndex>) -> impl Iterator<Item = &EventSpots> {
        events.filter_map(|event| self.events.get(event.0 as usize)?.as_deref())
    }
}

/// The key with most time, that of several events added up.
fn most<K: Copy + PartialEq>(spots: impl Iterator<Item = HotSpot<K>>) -> Option<HotSpot<K>> {
    let mut sums: Vec<HotSpot<K>> = Vec::new();
    for spot in spots {
        match sums.iter_mut().find(|sum| sum.key == spot.key) {
            Some(sum) => {
                sum.count += spot.count;
                sum.total += spot.total;
            }
            None => sums.push(spot),
        }
    }
    sums.into_iter().max_by_key(|sum| sum.total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::tests::{context, hear, wait};

    #[test]
    fn a_block_that_holds_most_is_found_among_thousands_and_never_overstated() {
        let context = context(&[("db file sequential read", &["file#", "block#", "blocks"])]);
        let mut spots = HotSpots::default();
        for number in 0..10_000 {
            let block = if number % 2 == 0 { 7 } else { 100 + number };
            let mut wait = wait(0, 10, [4, block, 1]);
            wait.object = Some(if number % 4 == 3 { 1_000 + number } else { 55 });
            hear(&context, &wait, |block_wait, time| spots.add(wait.event, wait.object, time, block_wait));
        }
        let events = || std::iter::once(EventIndex(0));
        let block = spots.block(events()).unwrap();
        assert_eq!(block.key.address, BlockAddress { file: 4, block: 7 });
        let micros = block.total.micros();
        assert!((49_000.0..=50_000.0).contains(&micros), "{micros}");
        let object = spots.object(events()).unwrap();
        assert_eq!(object.key, 55);
        assert!((74_000.0..=75_000.0).contains(&object.total.micros()), "{object:?}");
        assert_eq!(spots.block(std::iter::once(EventIndex(9))), None);
    }
}
