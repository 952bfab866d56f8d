//! Which calls a call contains: those that ended within it, one or more levels deeper.
//!
//! A trace writes a call when it has ended, so that children stand before their parent. Calls wait here until a call
//! of lesser depth takes them as children, or shows that their parent was never traced.

use crate::event::{Cost, Merge, StatementIndex, Ticks};

/// How much earlier than its parent a child may seem to start: clocks are read at slightly different places.
const TOLERANCE: Ticks = Ticks::from_micros(100);

/// From this number on, waiting entries are folded. Job traces have tens of millions of calls without a parent, and one
/// PL/SQL call can have as many children. A depth has 16 bits, so that with folds large enough half of a full list
/// goes.
const FOLD_ABOVE: usize = 1 << 17;

/// Capacity in entries that is kept when none waits.
const ROOM_KEPT: usize = 1 << 10;

/// Calls of one depth that wait for a parent: one call, or neighbours that were folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// Their depth, at least 1.
    pub(crate) depth: u16,
    /// How many calls.
    pub(crate) calls: u64,
    /// Start of the one that started first.
    pub(crate) first_start: Ticks,
    /// Start of the one that started last.
    pub(crate) last_start: Ticks,
    /// Their sums, their own children included.
    pub(crate) inclusive: Cost,
    /// Their statement; `None` for a fold of several.
    pub(crate) statement: Option<StatementIndex>,
}

/// What a call that waited turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claimed {
    /// A child of the call that claims.
    Child,
    /// A call whose parent was not traced.
    Orphan,
}

/// What a call claimed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Claim {
    /// Sum over its children.
    pub(crate) children: Cost,
    /// Calls in folds that it could not take apart.
    pub(crate) straddled: u64,
}

/// The calls of one session that wait for a parent.
///
/// A call at depth d settles all deeper ones, so that depths never fall from the bottom to the top: a stack.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recursion {
    waiting: Vec<Waiting>,
    /// Most calls of a fold. It doubles where folds of this size no longer make room, so that all folds are
    /// about equally small: folding in pairs without a limit would end with half of all calls in the oldest one.
    fold_calls: u64,
}

impl Recursion {
    /// Settles every call deeper than `depth`: those that started within the call that starts at `start` are its
    /// children, the others orphans. Without a start all are children. `settle` hears each.
    pub(crate) fn claim(
        &mut self,
        depth: u16,
        start: Option<Ticks>,
        mut settle: impl FnMut(Claimed, &Waiting),
    ) -> Claim {
        let mut claim = Claim::default();
        claim.children.cpu = Some(Ticks::ZERO);
        let earliest = start.map(|start| start - TOLERANCE);
        while let Some(top) = self.waiting.last().copied().filter(|top| top.depth > depth) {
            self.waiting.pop();
            match earliest {
                Some(earliest) if top.first_start < earliest => {
                    claim.straddled += if top.last_start >= earliest { top.calls } else { 0 };
                    settle(Claimed::Orphan, &top);
                }
                _ => {
                    claim.children.merge(&top.inclusive);
                    settle(Claimed::Child, &top);
                }
            }
        }
        if self.waiting.is_empty() {
            self.fold_calls = 0;
            // A trace of many sessions would hold the room of the longest list of each.
            if self.waiting.capacity() > ROOM_KEPT {
                self.waiting = Vec::new();
            }
        }
        claim
    }

    /// Lets a call wait for its parent.
    pub(crate) fn push(&mut self, depth: u16, start: Ticks, inclusive: Cost, statement: StatementIndex) {
        if self.waiting.len() >= FOLD_ABOVE {
            self.fold();
        }
        let statement = Some(statement);
        self.waiting.push(Waiting { depth, calls: 1, first_start: start, last_start: start, inclusive, statement });
    }

    /// Hands out all that wait, in the order of the trace: no parent will come.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Waiting> + '_ {
        self.waiting.drain(..)
    }

    /// Makes room for at least a quarter of the list.
    fn fold(&mut self) {
        loop {
            self.merge_neighbours();
            if self.waiting.len() <= FOLD_ABOVE / 4 * 3 {
                return;
            }
            self.fold_calls = self.fold_calls.max(1).saturating_mul(2);
        }
    }

    /// Merges neighbours of one depth into folds that are not too large.
    fn merge_neighbours(&mut self) {
        let limit = self.fold_calls;
        self.waiting.dedup_by(|next, fold| {
            let is_mergeable = next.depth == fold.depth && next.calls + fold.calls <= limit;
            if is_mergeable {
                fold.calls += next.calls;
                fold.first_start = fold.first_start.min(next.first_start);
                fold.last_start = fold.last_start.max(next.last_start);
                fold.inclusive.merge(&next.inclusive);
                fold.statement = fold.statement.filter(|statement| next.statement == Some(*statement));
            }
            is_mergeable
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: StatementIndex = StatementIndex(1);

    fn no_orphan(claimed: Claimed, _: &Waiting) {
        assert_eq!(claimed, Claimed::Child);
    }

    fn cost(elapsed: i64) -> Cost {
        Cost { cpu: Some(Ticks(elapsed / 2)), elapsed: Ticks(elapsed), physical_reads: 1, ..Cost::default() }
    }

    #[test]
    fn calls_that_began_before_their_would_be_parent_are_no_children_of_it() {
        let mut recursion = Recursion::default();
        recursion.push(1, Ticks::from_micros(0), cost(10), ONE);
        recursion.push(1, Ticks::from_micros(900), cost(20), ONE);
        recursion.push(2, Ticks::from_micros(950), cost(30), ONE);
        let mut orphans = Vec::new();
        let claim = recursion.claim(0, Some(Ticks::from_micros(1000)), |claimed, waiting| {
            if claimed == Claimed::Orphan {
                orphans.push(*waiting);
            }
        });
        assert_eq!(claim.children.elapsed, Ticks(50), "a start 100 µs early is still inside");
        assert_eq!(orphans.len(), 1);
        assert_eq!(orphans[0].inclusive, cost(10));
        assert_eq!(recursion.drain().count(), 0);
    }

    #[test]
    fn siblings_and_shallower_calls_keep_waiting() {
        let mut recursion = Recursion::default();
        recursion.push(1, Ticks(0), cost(10), ONE);
        recursion.push(3, Ticks(1), cost(20), ONE);
        let claim = recursion.claim(1, Some(Ticks(0)), no_orphan);
        assert_eq!(claim.children.elapsed, Ticks(20), "a grandchild without its parent is a descendant");
        assert_eq!(recursion.drain().map(|waiting| waiting.depth).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn a_fold_of_several_statements_is_none_of_them() {
        let mut recursion = Recursion::default();
        for number in 0..3 * FOLD_ABOVE {
            recursion.push(1, Ticks(number as i64), cost(10), StatementIndex((number % 2) as u32));
        }
        let mut calls = [0; 2];
        recursion.claim(0, Some(Ticks(0)), |_, waiting| {
            calls[usize::from(waiting.statement.is_some())] += waiting.calls;
        });
        assert_eq!(calls[0] + calls[1], 3 * FOLD_ABOVE as u64);
        assert!(calls.iter().all(|calls| *calls > 0), "{calls:?}");
    }

    #[test]
    fn ten_million_children_fit_in_memory_and_add_up() {
        let mut recursion = Recursion::default();
        let calls = 10_000_000;
        for number in 0..calls {
            recursion.push(1, Ticks(number), cost(10), ONE);
            assert!(recursion.waiting.len() <= FOLD_ABOVE);
        }
        let claim = recursion.claim(0, Some(Ticks(0)), no_orphan);
        assert_eq!((claim.children.elapsed, claim.straddled), (Ticks(10 * calls), 0));
        assert_eq!(claim.children.physical_reads, calls);
    }

    #[test]
    fn a_parent_that_begins_within_a_fold_is_said_and_off_by_little() {
        let mut recursion = Recursion::default();
        let calls = 5_000_000_i64;
        for number in 0..calls {
            recursion.push(1, Ticks::from_micros(1000 * number), cost(10), ONE);
        }
        let middle = calls / 2 + 1;
        let mut orphans = 0;
        let claim = recursion.claim(0, Some(Ticks::from_micros(1000 * middle)), |claimed, waiting| {
            orphans += if claimed == Claimed::Orphan { waiting.calls } else { 0 };
        });
        assert!((1..=128).contains(&claim.straddled), "{}", claim.straddled);
        let more = orphans - middle as u64;
        assert!((1..=128).contains(&more), "{more} children were taken for orphans");
    }

    #[test]
    fn more_depths_than_entries_fold_without_end() {
        let mut recursion = Recursion::default();
        for depth in 1..=u16::MAX {
            recursion.push(depth, Ticks(0), cost(1), ONE);
        }
        for _ in 0..3 * FOLD_ABOVE {
            recursion.push(u16::MAX, Ticks(0), cost(1), ONE);
        }
        assert!(recursion.waiting.len() <= FOLD_ABOVE);
        let all: Ticks = recursion.drain().map(|waiting| waiting.inclusive.elapsed).sum();
        assert_eq!(all, Ticks(65_535 + 3 * FOLD_ABOVE as i64));
    }
}
