//! Which block is read next: at random without repetition, or in sequence.

use measure::random::{Permutation, SplitMix64};

/// The order in which the blocks of a span are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Every block once in an order that the seed decides, then again in another order.
    ///
    /// Without repetition, because whatever cached a block at its first read serves the second.
    Random,
    /// Ascending, from the span's start again after its end.
    Sequential,
    /// Each read this many bytes behind the one before, from a random start, and again from one after the span's end:
    /// what a seek over that distance costs.
    Apart(u64),
}

impl Pattern {
    /// The name on the command line and in run documents.
    pub fn name(self) -> &'static str {
        match self {
            Pattern::Random => "random",
            Pattern::Sequential => "sequential",
            Pattern::Apart(_) => "apart",
        }
    }
}

/// A piece of a device, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

impl Span {
    /// Whole blocks of `block_size` bytes that fit.
    pub fn blocks(self, block_size: usize) -> u64 {
        self.length / block_size as u64
    }

    /// The part number `index` of `parts` equal ones, cut at whole blocks; the last one takes what is left.
    pub fn part(self, index: u64, parts: u64, block_size: usize) -> Span {
        let per_part = self.blocks(block_size) / parts * block_size as u64;
        let offset = per_part * index;
        let length = if index + 1 == parts { self.length - offset } else { per_part };
        Span { offset: self.offset + offset, length }
    }
}

/// Which of several readings of the same blocks this is. Each begins with a part of their order that it has to itself,
/// because whatever cached a block for one would serve another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its number, from 0 on.
    pub index: u64,
    /// How many there are.
    pub of: u64,
}

impl Turn {
    /// The only one.
    pub const ONLY: Turn = Turn { index: 0, of: 1 };
}

/// An endless sequence of byte offsets.
#[derive(Clone, Debug)]
pub struct Offsets {
    span: Span,
    block_size: u64,
    round: u64,
    repeats: bool,
    next: u64,
    order: Order,
}

#[derive(Clone, Debug)]
enum Order {
    Sequential,
    Random { permutation: Permutation, keys: SplitMix64 },
    Apart { step: u64, keys: SplitMix64 },
}

impl Offsets {
    /// The offsets of `pattern` over the whole blocks of `span`. Panics when no block fits: the plan is checked before.
    ///
    /// With a working set of N blocks, only the first N of the order are read, again and again in the
    /// same order: the second time they are as hot as anything below can make them.
    pub fn new(pattern: Pattern, span: Span, block_size: usize, seed: u64, working_set: Option<u64>) -> Offsets {
        let blocks = span.blocks(block_size);
        assert!(blocks > 0, "a span holds at least one block");
        let order = match pattern {
            Pattern::Sequential => Order::Sequential,
            Pattern::Random => {
                let mut keys = SplitMix64::new(seed);
                Order::Random { permutation: Permutation::new(blocks, &mut keys), keys }
            }
            Pattern::Apart(distance) => {
                let step = (distance / block_size as u64).clamp(1, blocks);
                Order::Apart { step, keys: SplitMix64::new(seed) }
            }
        };
        let round = working_set.unwrap_or(blocks).clamp(1, blocks);
        let repeats = working_set.is_some();
        let mut offsets = Offsets { span, block_size: block_size as u64, round, repeats, next: 0, order };
        // Workers with seeds of their own do not begin in the same place.
        if let Order::Apart { step, keys } = &mut offsets.order {
            offsets.next = keys.below(*step);
        }
        offsets
    }

    /// Goes to the part of the order that a turn has to itself.
    pub fn go_to(&mut self, turn: Turn) {
        self.next += self.round / turn.of * turn.index;
    }

    /// The next byte offset.
    #[inline]
    pub fn advance(&mut self) -> u64 {
        if self.next >= self.round {
            self.begin_round();
        }
        let (block, step) = match &self.order {
            Order::Sequential => (self.next, 1),
            Order::Random { permutation, .. } => (permutation.at(self.next), 1),
            Order::Apart { step, .. } => (self.next, *step),
        };
        self.next += step;
        self.span.offset + block * self.block_size
    }

    fn begin_round(&mut self) {
        self.next = 0;
        match &mut self.order {
            Order::Sequential => {}
            Order::Random { .. } if self.repeats => {}
            Order::Random { permutation, keys } => *permutation = Permutation::new(permutation.count(), keys),
            Order::Apart { step, keys } => self.next = keys.below(*step),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round(pattern: Pattern, blocks: u64, seed: u64) -> Vec<u64> {
        let span = Span { offset: 4096, length: blocks * 512 };
        let mut offsets = Offsets::new(pattern, span, 512, seed, None);
        (0..blocks).map(|_| offsets.advance()).collect()
    }

    proptest! {
        #[test]
        fn no_block_is_read_twice_before_all_were_read(blocks in 1u64..3000, seed: u64) {
            let mut offsets = round(Pattern::Random, blocks, seed);
            offsets.sort_unstable();
            prop_assert_eq!(offsets, round(Pattern::Sequential, blocks, seed));
        }
    }

    #[test]
    fn random_order_has_no_stride_that_a_device_could_follow() {
        let offsets = round(Pattern::Random, 1 << 16, 7);
        let mut steps: Vec<i64> = offsets.windows(2).map(|pair| pair[1] as i64 - pair[0] as i64).collect();
        steps.sort_unstable();
        steps.dedup();
        assert!(steps.len() > 40_000, "only {} different distances in 65536 reads", steps.len());
    }

    #[test]
    fn a_second_round_takes_another_order() {
        let span = Span { offset: 0, length: 512 * 1000 };
        let mut offsets = Offsets::new(Pattern::Random, span, 512, 3, None);
        let first: Vec<u64> = (0..1000).map(|_| offsets.advance()).collect();
        let second: Vec<u64> = (0..1000).map(|_| offsets.advance()).collect();
        assert_ne!(first, second);
    }

    #[test]
    fn a_working_set_is_read_again_in_the_same_order() {
        let span = Span { offset: 0, length: 512 * 1000 };
        let mut offsets = Offsets::new(Pattern::Random, span, 512, 3, Some(10));
        let reads: Vec<u64> = (0..30).map(|_| offsets.advance()).collect();
        assert_eq!(reads[..10], reads[10..20]);
        assert_eq!(reads[..10], reads[20..]);
    }

    #[test]
    fn turns_do_not_read_each_others_blocks_while_there_are_enough() {
        let span = Span { offset: 0, length: 512 * 1003 };
        for pattern in [Pattern::Random, Pattern::Sequential] {
            let of_turn = |index: u64| {
                let mut offsets = Offsets::new(pattern, span, 512, 3, None);
                offsets.go_to(Turn { index, of: 10 });
                (0..100).map(|_| offsets.advance()).collect::<Vec<u64>>()
            };
            let all: std::collections::HashSet<u64> = (0..10).flat_map(of_turn).collect();
            assert_eq!(all.len(), 1000);
        }
        let mut few = Offsets::new(Pattern::Random, Span { offset: 0, length: 512 * 3 }, 512, 3, None);
        few.go_to(Turn { index: 9, of: 10 });
        assert!((0..9).all(|_| few.advance() < 512 * 3), "fewer blocks than turns are read by each");
    }

    #[test]
    fn reads_apart_keep_their_distance_until_the_end_of_the_span() {
        let span = Span { offset: 0, length: 512 * 1000 };
        let mut offsets = Offsets::new(Pattern::Apart(512 * 300), span, 512, 3, None);
        let reads: Vec<u64> = (0..300).map(|_| offsets.advance()).collect();
        let wrong = |pair: &&[u64]| pair[1] > pair[0] && pair[1] - pair[0] != 512 * 300;
        assert!(reads.iter().all(|offset| *offset < span.length));
        assert_eq!(reads.windows(2).filter(wrong).count(), 0);
    }

    #[test]
    fn workers_that_read_apart_do_not_follow_one_another_over_the_same_blocks() {
        let span = Span { offset: 0, length: 512 * 100_000 };
        let first = |seed| Offsets::new(Pattern::Apart(512 * 3000), span, 512, seed, None).advance();
        let firsts: std::collections::HashSet<u64> = (1..=8).map(first).collect();
        assert!(firsts.len() > 5, "{firsts:?}");
    }

    #[test]
    fn parts_of_a_span_cover_it_without_overlap() {
        let span = Span { offset: 512, length: 512 * 10 };
        let parts: Vec<Span> = (0..3).map(|index| span.part(index, 3, 512)).collect();
        assert_eq!(parts[0].offset, 512);
        assert!(parts.windows(2).all(|pair| pair[0].offset + pair[0].length == pair[1].offset));
        assert_eq!(parts[2].offset + parts[2].length, 512 * 11);
    }
}
