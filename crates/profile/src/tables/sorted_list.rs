//! A map for few keys: a sorted list that takes hardly more room than what it holds.
//!
//! There are tens of thousands of statements with three or four kinds of calls and of waits each: a tree's node has
//! room for eleven, and a list that grows as lists do for four.

use crate::event::Merge;

/// Up to this length the list's capacity equals its length, and it is searched from its beginning.
const SHORT: usize = 8;

/// A map from `K` to `V` in ascending order of its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortedList<K, V> {
    entries: Vec<(K, V)>,
}

impl<K, V> Default for SortedList<K, V> {
    fn default() -> SortedList<K, V> {
        SortedList { entries: Vec::new() }
    }
}

impl<K: Ord + Copy, V> SortedList<K, V> {
    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many entries it holds.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// An empty list with room for a number of entries.
    pub(crate) fn with_room(entries: usize) -> SortedList<K, V> {
        SortedList { entries: Vec::with_capacity(entries) }
    }

    /// The value of a key.
    pub fn get(&self, key: K) -> Option<&V> {
        self.place(key).ok().map(|place| &self.entries[place].1)
    }

    /// All entries, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.into_iter()
    }

    /// All values, by key.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.iter().map(|(_, value)| value)
    }

    /// Forgets all entries and keeps their room.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    /// Takes the entries out, under other keys, which stand in the same order, into a list of just their room; of
    /// entries that come to have one key the sum is kept.
    pub(crate) fn take_as<L: Ord + Copy>(&mut self, of: impl Fn(K) -> L) -> SortedList<L, V>
    where
        V: Merge,
    {
        let mut entries: Vec<(L, V)> = self.entries.drain(..).map(|(key, value)| (of(key), value)).collect();
        entries.dedup_by(|(next, more), (key, sum)| {
            let is_same = next == key;
            if is_same {
                sum.merge(more);
            }
            is_same
        });
        SortedList { entries }
    }

    /// Takes all entries out, by key.
    pub(crate) fn into_entries(self) -> impl Iterator<Item = (K, V)> {
        self.entries.into_iter()
    }

    /// The value of a key, which comes into being where it is not there yet.
    #[inline]
    pub fn entry_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        let place = match self.place(key) {
            Ok(place) => place,
            Err(place) => self.insert(place, key),
        };
        &mut self.entries[place].1
    }

    /// Where a key stands, or where it would.
    #[inline]
    fn place(&self, key: K) -> Result<usize, usize> {
        if self.entries.len() > SHORT {
            return self.entries.binary_search_by_key(&key, |(known, _)| *known);
        }
        match self.entries.iter().position(|(known, _)| *known >= key) {
            Some(place) if self.entries[place].0 == key => Ok(place),
            place => Err(place.unwrap_or(self.entries.len())),
        }
    }

    #[cold]
    fn insert(&mut self, place: usize, key: K) -> usize
    where
        V: Default,
    {
        if self.entries.len() < SHORT {
            self.entries.reserve_exact(1);
        }
        self.entries.insert(place, (key, V::default()));
        place
    }
}

impl<K: Ord + Copy, V: Merge + Default> Merge for SortedList<K, V> {
    fn merge(&mut self, other: &SortedList<K, V>) {
        other.iter().for_each(|(key, more)| self.entry_or_default(*key).merge(more));
    }
}

impl<K: Ord + Copy, V: Default> FromIterator<(K, V)> for SortedList<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> SortedList<K, V> {
        let mut list = SortedList::default();
        entries.into_iter().for_each(|(key, value)| *list.entry_or_default(key) = value);
        list
    }
}

impl<'a, K, V> IntoIterator for &'a SortedList<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = std::iter::Map<std::slice::Iter<'a, (K, V)>, fn(&'a (K, V)) -> (&'a K, &'a V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter().map(|(key, value)| (key, value))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_holds_what_a_map_holds(entries in prop::collection::vec((0u16..40, any::<u32>()), 0..100)) {
            let list: SortedList<u16, u32> = entries.iter().copied().collect();
            let map: BTreeMap<u16, u32> = entries.into_iter().collect();
            prop_assert_eq!(list.len(), map.len());
            prop_assert!(list.iter().eq(map.iter()));
            prop_assert!((0..40).all(|key| list.get(key) == map.get(&key)));
        }
    }

    #[test]
    fn a_few_entries_take_their_own_room_and_no_more() {
        let list: SortedList<u16, u64> = (0..5).map(|key| (key, 0)).collect();
        assert_eq!(list.entries.capacity(), 5);
    }
}
