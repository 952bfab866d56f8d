//! Places in lists: of queries, of plans, of turns.

use measure::sorting;

/// Each once, the least first.
pub(super) fn distinct(places: impl Iterator<Item = usize>) -> Vec<usize> {
    sorting::set(places).into_iter().collect()
}
