//! An execution with its figures, and an inner statement, which waits for the execution of its caller. Whether one ran
//! inside another, and what the other has without it, depends on the two alone.

use super::io_kind::{READ, SCAN};
use crate::event::{Cost, ScopeIndex, SessionIndex, StatementIndex, Ticks};
use crate::source::postgres_log::entry::Entry;
use crate::source::postgres_log::figures::NodeFigures;
use crate::source::postgres_log::plan::PlanDocument;

/// How much earlier than its caller an inner statement may seem to begin: entries are stamped to the millisecond, and a
/// while after the execution is over, when the plan has been written.
const NESTING_TOLERANCE: Ticks = Ticks::from_micros(10_000);
/// The same where a prefix has whole seconds.
const NESTING_TOLERANCE_SECONDS: Ticks = Ticks::from_micros(1_010_000);

/// An inner statement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inner {
    pub(super) depth: u16,
    /// The name of the function that the client's statement called, as a number; `None` where none is known.
    pub(super) function: Option<u64>,
    /// Whether the client's statement is a `DO`.
    pub(super) is_of_block: bool,
    pub(super) start: Option<Ticks>,
    pub(super) cost: Cost,
    /// By kind of I/O; below a Gather means of the processes.
    pub(super) io: [Ticks; 5],
    pub(super) io_blocks: [i64; 5],
}

/// An execution before its inner statements are taken off.
pub(super) struct Execution<'a> {
    pub(super) entry: &'a Entry,
    pub(super) document: PlanDocument,
    pub(super) figures: Vec<NodeFigures>,
    pub(super) inner: Inner,
    pub(super) session: SessionIndex,
    pub(super) statement: StatementIndex,
    pub(super) scope: ScopeIndex,
    pub(super) end: Option<Ticks>,
    pub(super) plan_hash: u64,
}

impl Inner {
    /// A `CALL` or `DO` that was over at this time, of which nothing else is known.
    pub(super) fn of_call(end: Option<Ticks>, duration: Ticks) -> Inner {
        let cost = Cost { elapsed: duration, ..Cost::default() };
        Inner { start: end.map(|end| end - duration), cost, ..Inner::default() }
    }

    /// A `CALL` or `DO` that began at this time, of which nothing else is known.
    pub(super) fn of_begun_call(start: Option<Ticks>) -> Inner {
        Inner { start, ..Inner::default() }
    }

    /// Whether it began after `outer` did, as far as their stamps tell. They do not where the server wrote the entry of
    /// `outer` late: a SELECT of a transaction is logged when its portal closes.
    pub(super) fn began_within(&self, outer: &Inner) -> bool {
        let (Some((own_start, own_end)), Some((start, end))) = (self.span(), outer.span()) else { return true };
        let is_whole_second = |time: Ticks| time.0 % Ticks::from_micros(1_000_000).0 == 0;
        let seconds = is_whole_second(own_end) && is_whole_second(end);
        let tolerance = if seconds { NESTING_TOLERANCE_SECONDS } else { NESTING_TOLERANCE };
        own_start >= start - tolerance
    }

    /// Start and end.
    pub(super) fn span(&self) -> Option<(Ticks, Ticks)> {
        self.start.map(|start| (start, start + self.cost.elapsed))
    }

    pub(super) fn take_off(&mut self, inner: &Inner) {
        let less = |from: &mut i64, what: i64| *from = from.saturating_sub(what);
        // What a trigger reads after its statement is in no node of the statement's plan.
        let at_most = |from: &mut i64, what: i64| *from = from.saturating_sub(what).max(0);
        less(&mut self.cost.elapsed.0, inner.cost.elapsed.0);
        at_most(&mut self.cost.physical_reads, inner.cost.physical_reads);
        at_most(&mut self.cost.consistent_gets, inner.cost.consistent_gets);
        let time = of_caller(self.io.map(|time| time.0), inner.io.map(|time| time.0));
        self.io.iter_mut().zip(time).for_each(|(from, what)| less(&mut from.0, what));
        let blocks = of_caller(self.io_blocks, inner.io_blocks);
        self.io_blocks.iter_mut().zip(blocks).for_each(|(from, what)| at_most(from, what));
    }
}

/// What of an inner statement is in each kind of its caller. Reads go by the node that they stand on, and the caller
/// has those of a function on the node that called it: what its one kind of reads cannot hold is in its other.
fn of_caller(caller: [i64; 5], mut inner: [i64; 5]) -> [i64; 5] {
    let too_much = [READ, SCAN].map(|kind| inner[kind].saturating_sub(caller[kind].max(0)).max(0));
    inner[READ] = inner[READ].saturating_sub(too_much[0]).saturating_add(too_much[1]);
    inner[SCAN] = inner[SCAN].saturating_sub(too_much[1]).saturating_add(too_much[0]);
    inner
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::postgres_log::source::tests::samples::{FIGURES, entry, read};

    #[test]
    fn reads_of_a_function_that_scans_are_not_counted_for_its_caller_too() {
        let context = "2026-11-21 10:45:01.000 UTC [7] me@shop CONTEXT:  PL/pgSQL function f() line 3 at PERFORM\n";
        for [of_inner, of_outer] in [["Seq Scan", "Result"], ["Index Scan", "Seq Scan"], ["Seq Scan", "Seq Scan"]] {
            let inner = entry(1000, 7, "4.000", "select inner", FIGURES).replace("Seq Scan", of_inner) + context;
            let read_more = FIGURES.replace("3.500", "3.900").replace("Blocks\": 10", "Blocks\": 12");
            let outer = entry(1002, 7, "9.000", "select f()", &read_more).replace("Seq Scan", of_outer);
            let (kept, _, summary) = read(&(inner + &outer));
            let blocks: i64 = kept.waits.iter().map(|wait| wait.parameters[0]).sum();
            let time: i64 = kept.waits.iter().map(|wait| wait.elapsed.0).sum();
            assert_eq!((blocks, Ticks(time)), (12, Ticks::from_micros(3900)), "{of_inner} in {of_outer}");
            assert_eq!((kept.waits.len(), summary.io_below_zero), (2, 0), "{of_inner} in {of_outer}");
        }
    }
}
