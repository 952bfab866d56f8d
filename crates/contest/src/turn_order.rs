//! Who runs first in a pair.

/// The order of the contenders in a pair: it turns around from pair to pair, so that none is always first.
pub(crate) fn order(pair_index: u64, contenders: usize) -> Vec<usize> {
    let forward = 0..contenders;
    if pair_index.is_multiple_of(2) { forward.collect() } else { forward.rev().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_turns_around_from_pair_to_pair() {
        assert_eq!((order(0, 3), order(1, 3), order(2, 3)), (vec![0, 1, 2], vec![2, 1, 0], vec![0, 1, 2]));
    }
}
