//! Places in lists: of queries, of plans, of turns.

use measure::sorting;

/// Each once, the least first.
pub(super) fn distinct(places: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut places: Vec<usize> = places.collect();
    sorting::ascending(&mut places);
    places.dedup();
    places
}
