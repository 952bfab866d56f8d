//! The pointer chase: what one dependent load costs from a footprint of a given size.
//!
//! Every cache line of the footprint holds the address of another one, and a walk along these addresses comes through
//! all lines before it returns to the first. The next address is known only when the load before it has finished, so
//! loads cannot overlap, and the order is random, so that no prefetcher can guess it. The probe finds no cache sizes
//! and draws no staircase: it measures one footprint.

use std::hint::black_box;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

use measure::Nanos;
use measure::random::{Permutation, SplitMix64};

use super::region::{Pages, Region};
use crate::time::Clock;

/// Bytes of a cache line, and so of a node: x86-64 and most aarch64. Where lines are 128 bytes, two nodes share one and
/// half the loads of a small footprint hit a line just fetched; with a random order that matters for no large one.
pub const LINE: usize = 64;

/// Lines linked between two looks at the flag that stops the linking: a few milliseconds of work.
const LINES_BETWEEN_LOOKS: u64 = 1 << 18;

/// Loads in one turn of the walking loop: the counter costs a cycle, against 64 loads of four cycles or more each.
const LOADS_PER_TURN: u64 = 64;

/// A ring of addresses through all lines of a footprint, and a place on it.
#[derive(Debug)]
pub struct Chase {
    region: Region,
    footprint: usize,
    place: NonNull<Node>,
}

/// One cache line. The rest of the line is never read: fetching it is what costs.
#[repr(C, align(64))]
struct Node {
    next: NonNull<Node>,
}

const _: () = assert!(size_of::<Node>() == LINE);

// SAFETY: `place` and all addresses in the nodes point into `region`, which the chase owns alone and which moves with
// it; the mapping itself stays where it is.
unsafe impl Send for Chase {}

impl Chase {
    /// Lays a ring through `footprint` bytes, rounded down to whole lines of 64 bytes; `seed` sets its order.
    ///
    /// The walk touches exactly the footprint, although the memory under it is rounded up to huge pages. Linking
    /// takes 0.2 to 0.7 s a GiB (least for powers of two); touching memory that a hypervisor has not backed before may
    /// take longer than that. Errors when the footprint is below one line, or when there is no room.
    pub fn new(footprint: usize, pages: Pages, seed: u64) -> io::Result<Chase> {
        Chase::new_unless_stopped(footprint, pages, seed, &AtomicBool::new(false))
    }

    /// As [`new`](Chase::new); gives up with [`io::ErrorKind::Interrupted`] when `stop` is raised meanwhile.
    pub fn new_unless_stopped(footprint: usize, pages: Pages, seed: u64, stop: &AtomicBool) -> io::Result<Chase> {
        let lines = footprint / LINE;
        if lines == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a pointer chase needs at least 64 bytes"));
        }
        let region = Region::new_unless_stopped(lines * LINE, pages, stop)?;
        let place = region.start().cast::<Node>();
        let mut chase = Chase { region, footprint: lines * LINE, place };
        chase.link(&Permutation::new(lines as u64, &mut SplitMix64::new(seed)), stop)?;
        Ok(chase)
    }

    /// Mean time of one dependent load in nanoseconds, over `loads` loads (rounded up to a multiple of 64), going on
    /// where the last walk stopped.
    ///
    /// The first walk over a ring finds its latest written lines cached; footprints that fit a cache deserve one
    /// walk around before the one that counts.
    pub fn latency_ns(&mut self, clock: &Clock, loads: u64) -> f64 {
        let turns = loads.div_ceil(LOADS_PER_TURN).max(1);
        let elapsed = self.walk(clock, turns);
        elapsed.0 as f64 / (turns * LOADS_PER_TURN) as f64
    }

    /// Bytes of the ring's memory that are on huge pages; `None` if the kernel does not report them.
    pub fn huge_bytes(&self) -> Option<u64> {
        self.region.huge_bytes()
    }

    /// Number of nodes of the ring.
    pub fn lines(&self) -> u64 {
        (self.footprint / LINE) as u64
    }

    /// Writes the ring in the order of addresses.
    ///
    /// The node at index i stands at position p of the walk, and its successor is the node at position p + 1. Both
    /// ways between index and position are computed, so the stores are sequential and independent: a Sattolo shuffle
    /// does two dependent random accesses a line instead and takes seconds a GiB.
    fn link(&mut self, order: &Permutation, stop: &AtomicBool) -> io::Result<()> {
        let lines = self.lines();
        let first = self.region.start().cast::<Node>();
        for index in 0..lines {
            if index.is_multiple_of(LINES_BETWEEN_LOOKS) && stop.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let position = order.position_of(index);
            let successor = order.at(if position + 1 == lines { 0 } else { position + 1 });
            // SAFETY: `index` and `successor` are below `lines`, and `lines` nodes fit the region, which is aligned to
            // more than a line; `&mut self` makes this the only access to it.
            unsafe { first.add(index as usize).write(Node { next: first.add(successor as usize) }) };
        }
        Ok(())
    }

    fn walk(&mut self, clock: &Clock, turns: u64) -> Nanos {
        let mut place = self.place;
        let start = clock.now();
        for _ in 0..turns {
            for _ in 0..LOADS_PER_TURN {
                // SAFETY: `place` starts at a node of the ring and `link` made every `next` the address of a node of
                // the ring, inside the region that `self` owns; nothing writes there after `link`.
                place = unsafe { place.as_ref().next };
            }
            // The turn's end must be known before the next begins only to the compiler: the value stays in a register.
            place = black_box(place);
        }
        let elapsed = clock.now().since(start);
        self.place = place;
        elapsed
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// Indices in the order of the walk, until it comes back to its first node.
    fn ring(chase: &Chase) -> Vec<usize> {
        let first = chase.region.start().cast::<Node>();
        let mut indices = Vec::new();
        let mut node = first;
        loop {
            let offset = node.as_ptr() as usize - first.as_ptr() as usize;
            assert!(offset.is_multiple_of(LINE) && offset < chase.footprint, "the ring leaves its footprint");
            indices.push(offset / LINE);
            // SAFETY: the assertion above places the node within the footprint.
            node = unsafe { node.as_ref().next };
            if node == first {
                return indices;
            }
            assert!(indices.len() <= chase.footprint / LINE, "the ring has a tail that never returns");
        }
    }

    proptest! {
        #[test]
        fn the_ring_comes_through_every_line_once(lines in 1usize..5000, seed: u64) {
            let chase = Chase::new(lines * LINE, Pages::Small, seed).unwrap();
            let mut indices = ring(&chase);
            indices.sort_unstable();
            prop_assert_eq!(indices, (0..lines).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_large_ring_is_one_cycle() {
        let chase = Chase::new(48 << 20, Pages::Huge, 7).unwrap();
        assert_eq!(ring(&chase).len() as u64, chase.lines());
    }

    #[test]
    fn no_stride_is_frequent_enough_to_be_guessed() {
        for (lines, seed) in [(512, 1), (1 << 16, 2), (100_000, 3), (1 << 18, 4)] {
            let chase = Chase::new(lines * LINE, Pages::Small, seed).unwrap();
            let mut strides = HashMap::<isize, usize>::new();
            for pair in ring(&chase).windows(2) {
                *strides.entry(pair[1] as isize - pair[0] as isize).or_default() += 1;
            }
            let most = strides.values().max().unwrap();
            assert!(*most <= 8 + lines / 2000, "a stride occurs {most} times among {lines} lines");
        }
    }

    #[test]
    fn successors_on_the_same_page_are_as_rare_as_chance() {
        let lines = 1 << 18;
        let chase = Chase::new(lines * LINE, Pages::Small, 5).unwrap();
        let near = ring(&chase).windows(2).filter(|pair| pair[0] / 64 == pair[1] / 64).count();
        // By chance 64 of 2^18 lines share a page, so 64 of the steps stay on theirs, with a deviation of 8.
        assert!((16..160).contains(&near), "{near} steps stay on their page");
    }

    #[test]
    fn the_seed_alone_sets_the_order() {
        let order = |seed| ring(&Chase::new(1 << 16, Pages::Small, seed).unwrap());
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }

    #[test]
    fn a_walk_of_one_round_returns_to_its_start() {
        let mut chase = Chase::new(1 << 16, Pages::Small, 9).unwrap();
        let start = chase.place;
        let lines = chase.lines();
        assert!(chase.latency_ns(&Clock::calibrate(), lines) > 0.0);
        assert_eq!(chase.place, start);
    }

    #[test]
    fn less_than_a_line_is_refused() {
        assert_eq!(Chase::new(63, Pages::Small, 1).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_chase_may_move_to_another_thread() {
        let mut chase = Chase::new(1 << 20, Pages::Small, 3).unwrap();
        let clock = Clock::calibrate();
        let latency = std::thread::spawn(move || chase.latency_ns(&clock, 1 << 14)).join().unwrap();
        assert!(latency > 0.0);
    }
}
