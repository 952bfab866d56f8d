//! Sorting what is shown: one sort of places serves lists of every type, so that the program does not hold a sort of
//! some kilobytes for each of a hundred lists. Where a sort is measured, or its list is long, the library's own is
//! quicker.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::Hash;

/// Sorts by a key; equal items keep their order.
pub fn by_key<T, K: Ord>(items: &mut [T], mut key: impl FnMut(&T) -> K) {
    by(items, |one, other| key(one).cmp(&key(other)));
}

/// Sorts by a comparison; equal items keep their order.
pub fn by<T>(items: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    let places = places(items.len(), &mut |one, other| compare(&items[one], &items[other]));
    arrange(places, &mut |one, other| items.swap(one, other));
}

/// Sorts in ascending order.
pub fn ascending<T: Ord>(items: &mut [T]) {
    by(items, T::cmp);
}

/// A set of these items, put in one by one: collecting it sorts a list of its own type.
pub fn set<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(items);
    set
}

/// Each of these items once, in the order of their first appearance.
pub fn each_once<T: Clone + Eq + Hash>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = HashSet::new();
    items.into_iter().filter(|item| seen.insert(item.clone())).collect()
}

/// A map of these pairs, put in one by one; the last of a key stays.
pub fn map<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(pairs);
    map
}

/// For each place of the sorted list, the place of its item now.
fn places(count: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|one, other| compare(*one, *other));
    places
}

/// Brings every item to its place by swaps, one cycle of places after the other.
fn arrange(mut places: Vec<usize>, swap: &mut dyn FnMut(usize, usize)) {
    for start in 0..places.len() {
        let mut at = start;
        loop {
            let from = std::mem::replace(&mut places[at], at);
            if from == start {
                break;
            }
            swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_list_is_sorted_as_the_library_sorts_it(list in prop::collection::vec((0u8..20, any::<u8>()), 0..200)) {
            let (mut ours, mut theirs) = (list.clone(), list.clone());
            by_key(&mut ours, |(key, _)| *key);
            theirs.sort_by_key(|(key, _)| *key);
            prop_assert_eq!(&ours, &theirs, "equal items changed their order");
            by(&mut ours, |one, other| other.cmp(one));
            theirs.sort_by(|one, other| other.cmp(one));
            prop_assert_eq!(&ours, &theirs);
            ascending(&mut ours);
            theirs.sort();
            prop_assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn a_long_list_turned_around_takes_one_swap_an_item() {
        let (count, mut swaps) = (100_000, 0);
        arrange((0..count).map(|at| (at + count - 1) % count).collect(), &mut |_, _| swaps += 1);
        assert_eq!(swaps, count - 1);
    }
}
