//! A map of bounded size: where it is full, it forgets what was not used for longest.

use std::collections::HashMap;
use std::hash::Hash;

/// Part of the entries that is forgotten at once: to find them takes a look at all.
const FORGOTTEN: usize = 4;

/// Entries by their keys, each with the number of its last use: never more than `MOST`, which is 1 at least.
#[derive(Debug, Default)]
pub(crate) struct Recent<K, V, const MOST: usize> {
    entries: HashMap<K, (V, u64)>,
    uses: u64,
}

impl<K: Eq + Hash, V, const MOST: usize> Recent<K, V, MOST> {
    /// The value of a key. To look at it is no use.
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|(value, _)| value)
    }

    /// Notes that a key is used; gives its value.
    pub(crate) fn touch(&mut self, key: &K) -> Option<&V> {
        let (value, used) = self.entries.get_mut(key)?;
        self.uses += 1;
        *used = self.uses;
        Some(&*value)
    }

    /// Takes an entry, which is a use of it.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        if self.entries.len() >= MOST && !self.entries.contains_key(&key) {
            self.forget();
        }
        self.uses += 1;
        self.entries.insert(key, (value, self.uses));
    }

    /// Forgets a quarter of the entries, and one at least.
    fn forget(&mut self) {
        let mut uses: Vec<u64> = self.entries.values().map(|(_, used)| *used).collect();
        uses.sort_unstable();
        if let Some(last) = uses.get(uses.len() / FORGOTTEN).copied() {
            self.entries.retain(|_, (_, used)| *used > last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl<K, V, const MOST: usize> Recent<K, V, MOST> {
        pub(crate) fn count(&self) -> usize {
            self.entries.len()
        }
    }

    #[test]
    fn what_is_used_again_and_again_outlives_thousands_of_others() {
        let mut recent = Recent::<i32, &str, 16>::default();
        recent.insert(-1, "kept");
        for key in 0..5_000 {
            assert_eq!(recent.touch(&-1), Some(&"kept"), "{key}");
            recent.insert(key, "other");
            assert!(recent.entries.len() <= 16, "{key}");
        }
        assert_eq!((recent.get(&0), recent.get(&4_999)), (None, Some(&"other")));
    }

    #[test]
    fn a_map_of_one_holds_the_newest() {
        let mut recent = Recent::<i32, i32, 1>::default();
        (0..9).for_each(|key| recent.insert(key, key));
        assert_eq!((recent.entries.len(), recent.get(&8)), (1, Some(&8)));
        assert_eq!(recent.touch(&7), None);
    }
}
