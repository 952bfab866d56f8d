//! Searches of several nodes side by side.
//!
//! A search is a chain: where it looks next depends on what it has just read, which may come from memory. Several
//! searches are several chains. They go in step, without a branch that depends on a key, so that the processor has
//! the loads of all of them under way at once.

use super::key::Place;
use super::node::{HEAD_BYTES, NodeView};

/// Searches that go side by side.
pub(super) const LANES: usize = 8;

/// Heads that no key comes behind: of a search that is decided before it begins.
const NO_HEADS: &[[u8; HEAD_BYTES]] = &[[u8::MAX; HEAD_BYTES]];

/// How many entries of each node come before its key and `place`. At most [`LANES`] nodes, and as many keys.
pub(super) fn entries_before(nodes: &[NodeView<'_>], keys: &[&[u8]], place: Place) -> [usize; LANES] {
    let (mut heads, mut targets) = ([NO_HEADS; LANES], [0; LANES]);
    for ((node, key), (heads, target)) in nodes.iter().zip(keys).zip(heads.iter_mut().zip(&mut targets)) {
        if let Ok(suffix) = node.behind_prefix(key)
            && node.entries() > 0
        {
            (*heads, *target) = (node.heads(), suffix.head);
        }
    }
    let mut before = heads_below(heads, targets);
    for ((node, key), before) in nodes.iter().zip(keys).zip(&mut before) {
        *before = match node.behind_prefix(key) {
            Ok(suffix) => node.settle(*before, &suffix, place),
            Err(all_or_none) => all_or_none,
        };
    }
    before
}

/// How many heads of each lane are below its target. No lane is empty.
///
/// Each step halves what is left of every lane, whatever the comparison says; only the lower end depends on that.
fn heads_below(heads: [&[[u8; HEAD_BYTES]]; LANES], targets: [u32; LANES]) -> [usize; LANES] {
    let mut left = heads.map(<[_]>::len);
    let mut low = [0; LANES];
    while left.iter().any(|left| *left > 1) {
        for lane in 0..LANES {
            let half = left[lane] / 2;
            let probed = u32::from_le_bytes(heads[lane][(low[lane] + half).max(1) - 1]);
            low[lane] += if probed < targets[lane] { half } else { 0 };
            left[lane] -= half;
        }
    }
    for lane in 0..LANES {
        low[lane] += usize::from(u32::from_le_bytes(heads[lane][low[lane]]) < targets[lane]);
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lanes_of_any_lengths_find_what_a_plain_search_finds(
            mut lanes in vec((vec(0..60_u32, 1..200), 0..62_u32), LANES),
        ) {
            lanes.iter_mut().for_each(|(heads, _)| heads.sort_unstable());
            let stored: Vec<Vec<[u8; 4]>> =
                lanes.iter().map(|(heads, _)| heads.iter().map(|head| head.to_le_bytes()).collect()).collect();
            let found = heads_below(
                std::array::from_fn(|lane| stored[lane].as_slice()),
                std::array::from_fn(|lane| lanes[lane].1),
            );
            for (lane, (heads, target)) in lanes.iter().enumerate() {
                prop_assert_eq!(found[lane], heads.partition_point(|head| head < target));
            }
        }
    }
}
