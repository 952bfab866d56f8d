//! The blocks and objects that most of an event's time was waited for, in little room.
//!
//! Of each event the few keys with most time are kept. A key that finds no room takes the place of the one with least
//! time and inherits its sum as an error: what is said of a key is its sum without that error, so never too much
//! ("space saving", Metwally and others, 2005). A key with more than a fifteenth of the time is never lost.

use crate::event::block_wait::{BlockAddress, BlockWait};
use crate::event::{EventIndex, Ticks, Wait};

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
    /// What may have been another key's.
    error: Ticks,
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

#[derive(Clone, Debug)]
struct Keys<K>(Vec<HotSpot<K>>);

impl<K> Default for Keys<K> {
    fn default() -> Keys<K> {
        Keys(Vec::new())
    }
}

impl<K: Copy + PartialEq> Keys<K> {
    #[inline]
    fn add(&mut self, key: K, time: Ticks) {
        if let Some(known) = self.0.iter_mut().find(|known| known.key == key) {
            known.count += 1;
            known.total += time;
            return;
        }
        if self.0.len() < KEYS {
            self.0.push(HotSpot { key, count: 1, total: time, error: Ticks::ZERO });
            return;
        }
        if let Some(least) = self.0.iter_mut().min_by_key(|known| known.total) {
            let error = least.total;
            *least = HotSpot { key, count: 1, total: error + time, error };
        }
    }

    fn sure(&self) -> impl Iterator<Item = HotSpot<K>> + '_ {
        self.0.iter().map(|spot| HotSpot { total: spot.total - spot.error, error: Ticks::ZERO, ..*spot })
    }
}

impl HotSpots {
    /// Adds a wait for a block.
    #[inline]
    pub(crate) fn add(&mut self, wait: &Wait, block_wait: &BlockWait) {
        let place = wait.event.0 as usize;
        if place >= self.events.len() {
            self.events.resize_with(place + 1, || None);
        }
        let spots = self.events[place].get_or_insert_default();
        let object = wait.object.filter(|object| *object > 0);
        if let Some(object) = object {
            spots.objects.add(object, wait.elapsed);
        }
        if let Some(address) = block_wait.address {
            spots.blocks.add(HotBlock { address, object, class: block_wait.class }, wait.elapsed);
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
            hear(&context, &wait, |block_wait, _| spots.add(&wait, block_wait));
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
