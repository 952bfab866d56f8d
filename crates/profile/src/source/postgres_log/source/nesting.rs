//! Statements that ran inside others: an inner one waits for its caller, or becomes a call without a parent.
//!
//! A function's statements are logged before the statement that called it, whose figures include theirs: an entry with
//! a context waits for the next shallower entry of its session, and is taken off it where it ran inside.

use std::collections::HashSet;

use super::call_stack::names_in;
use super::execution::{Execution, Inner};
use super::state::LogSource;
use crate::event::{Observer, Root, SessionIndex, Ticks};

/// Inner statements of all sessions that wait for their callers; with one more, all are given up as calls without a
/// parent.
pub(super) const WAITING_MAX: usize = 1_000_000;

impl LogSource {
    /// Gives up all inner statements that wait, of sessions that have ended too.
    pub(super) fn give_up_waiting(&mut self, observer: &mut dyn Observer) {
        self.waiting = 0;
        for index in 0..self.states.len() {
            let waiting = std::mem::take(&mut self.states[index].waiting);
            waiting.values().flatten().for_each(|inner| self.root(SessionIndex(index as u32), inner, observer));
        }
    }

    /// An execution's figures without those of the statements that ran inside it, which are claimed. What waited and
    /// ran inside no statement of the client has no caller in the log: it is a `CALL` or `DO`, which no plan is written
    /// of, or failed.
    pub(super) fn without_inner(&mut self, execution: &Execution<'_>, observer: &mut dyn Observer) -> Inner {
        let (session, outer) = (execution.session, &execution.inner);
        let mut own = *outer;
        let Some(deeper) = outer.depth.checked_add(1) else { return own };
        let claimed = self.states[session.0 as usize].waiting.split_off(&deeper);
        if claimed.is_empty() {
            return own;
        }
        // A statement in a function calls what stands further inside than the function that the client called.
        let is_of_client = outer.depth == 0;
        let names = if is_of_client { names_in(&execution.document.query) } else { HashSet::default() };
        let is_named = |inner: &Inner| inner.function.is_some_and(|function| names.contains(&function));
        let can_call = |inner: &Inner| !(is_of_client && inner.is_of_block);
        for (depth, mut waiting) in claimed {
            let mut claim = |inner: &Inner| {
                let fits = can_call(inner) && inner.cost.elapsed <= own.cost.elapsed;
                let is_inside = fits && (inner.began_within(outer) || is_named(inner));
                if is_inside {
                    own.take_off(inner);
                }
                is_inside
            };
            // Statements of one depth follow one another: those inside are the last ones.
            let first = waiting.iter().rposition(|inner| !claim(inner)).map_or(0, |last| last + 1);
            self.waiting -= waiting.len() - first;
            waiting.truncate(first);
            // What ran before this one in the same function waits for the caller of both.
            if outer.depth > 0 && !waiting.is_empty() {
                self.states[session.0 as usize].waiting.insert(depth, waiting);
            } else {
                self.waiting -= waiting.len();
                waiting.iter().for_each(|inner| self.root(session, inner, observer));
            }
        }
        let is_below = |time: &Ticks| time.0 < 0;
        self.summary.io_below_zero += own.io.iter().filter(|time| is_below(time)).count() as u64;
        own
    }

    fn root(&mut self, session: SessionIndex, inner: &Inner, observer: &mut dyn Observer) {
        let call = self.running_call(&self.context.sessions[session.0 as usize].id);
        self.orphan(session, inner, call.is_some_and(|call| inner.began_within(&call)), observer);
    }

    /// An inner statement without a caller with a plan; `is_of_call` where a `CALL` or `DO` is known to have run it.
    pub(super) fn orphan(
        &mut self,
        session: SessionIndex,
        inner: &Inner,
        is_of_call: bool,
        observer: &mut dyn Observer,
    ) {
        self.summary.orphans += 1;
        self.summary.orphans_of_calls += u64::from(is_of_call);
        self.emit_root(session, inner, observer);
    }

    pub(super) fn emit_root(&mut self, session: SessionIndex, inner: &Inner, observer: &mut dyn Observer) {
        if inner.start.is_none() {
            self.states[session.0 as usize].untimed += inner.cost.elapsed;
        }
        let root = Root { session, inclusive: inner.cost, depth: inner.depth, calls: 1 };
        observer.root(&self.context, &root);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::postgres_log::source::tests::samples::{FIGURES, Kept, WITHIN_F, entry, inner, read};

    #[test]
    fn an_inner_statement_is_taken_off_its_caller_and_off_no_other() {
        let context = "2026-11-21 10:45:01.000 UTC [7] me@shop CONTEXT:  PL/pgSQL function f() line 3 at PERFORM\n";
        let inner = entry(1000, 7, "4.000", "select inner", FIGURES) + context;
        let other = entry(1001, 8, "5.000", "select other", FIGURES);
        let outer = entry(1002, 7, "9.000", "select f()", FIGURES);
        let (kept, _, summary) = read(&(inner.clone() + &other + &outer));
        let elapsed: Vec<Ticks> = kept.calls.iter().map(|call| call.own.elapsed).collect();
        assert_eq!(elapsed, [4000, 5000, 5000].map(Ticks::from_micros));
        assert_eq!((kept.roots.len(), summary.orphans, kept.waits.len()), (2, 0, 2));
        // A caller that is not logged leaves it a root.
        let late = entry(9000, 7, "9.000", "select g()", FIGURES);
        let (kept, _, summary) = read(&(inner + &late));
        assert_eq!((kept.roots.len(), summary.orphans), (2, 1));
        assert_eq!(kept.calls[1].own.elapsed, Ticks::from_micros(9000));
    }

    #[test]
    fn what_a_procedure_ran_is_taken_off_no_statement_that_is_shorter() {
        let other = entry(1006, 7, "0.050", "select 1", FIGURES);
        let (kept, _, summary) = read(&(inner(1005, "3.000", WITHIN_F) + &other));
        let elapsed: Vec<Ticks> = kept.calls.iter().map(|call| call.own.elapsed).collect();
        assert_eq!(elapsed, [3000, 50].map(Ticks::from_micros));
        assert_eq!((summary.orphans, kept.calls[1].own.consistent_gets), (1, 100));
        // Of two that would fit each, the second alone does.
        let outer = entry(1010, 7, "4.000", "select f()", FIGURES);
        let (kept, _, summary) = read(&(inner(1005, "3.000", WITHIN_F) + &inner(1009, "3.500", WITHIN_F) + &outer));
        assert_eq!((kept.calls[2].own.elapsed, summary.orphans), (Ticks::from_micros(500), 1));
        assert_eq!((kept.calls[2].own.consistent_gets, kept.calls[2].own.physical_reads), (0, 0));
    }

    #[test]
    fn what_a_block_ran_is_taken_off_no_statement_after_it() {
        let block = "PL/pgSQL function inline_code_block line 3 at SQL statement";
        for block in [block, "PL/Python anonymous code block"] {
            let context = format!("SQL statement \"select inner\"\n\t{block}");
            let other = entry(1009, 7, "8.000", "select 1", FIGURES);
            let (kept, _, summary) = read(&(inner(1000, "3.000", &context) + &other));
            assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(8000), 1), "{block}");
        }
        // Within the block, a statement has what its function ran.
        let log = inner(1000, "3.000", &format!("{WITHIN_F}\n\t{block}")) + &inner(1001, "8.000", block);
        let (kept, _, summary) = read(&log);
        assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(5000), 1));
    }

    #[test]
    fn a_statement_within_a_function_calls_nothing_by_the_name_of_that_one() {
        let within = |line: &str| format!("PL/pgSQL function total() line {line}");
        let deep = inner(1000, "4.000", &format!("PL/pgSQL function g() line 2 at PERFORM\n\t{}", within("3 at IF")));
        let body = entry(1500, 7, "9.000", "select count(*) as total", FIGURES)
            + &format!("2026-11-21 10:45:01.500 UTC [7] me@shop CONTEXT:  {}\n", within("4 at SQL statement"));
        let outer = entry(1510, 7, "600.000", "select total()", FIGURES);
        let (kept, _, summary) = read(&(deep + &body + &outer));
        let elapsed: Vec<Ticks> = kept.calls.iter().map(|call| call.own.elapsed).collect();
        assert_eq!(elapsed, [4000, 9000, 587_000].map(Ticks::from_micros));
        assert_eq!(summary.orphans, 0);
    }

    #[test]
    fn a_caller_that_is_logged_late_still_has_its_inner_statements() {
        for (query, own, orphans) in
            [("select f()", 1000, 0), ("select * from Shop.F ( 1 )", 1000, 0), ("select g()", 9000, 1)]
        {
            let outer = entry(1200, 7, "9.000", query, FIGURES);
            let (kept, _, summary) = read(&(inner(1010, "8.000", WITHIN_F) + &outer));
            assert_eq!((kept.calls[1].own.elapsed, summary.orphans), (Ticks::from_micros(own), orphans), "{query}");
        }
    }

    #[test]
    fn inner_statements_that_wait_take_bounded_memory_over_all_sessions() {
        let (mut source, mut kept) = (LogSource::new(), Kept::default());
        let log = inner(1000, "1.000", WITHIN_F);
        source.waiting = WAITING_MAX - 1;
        source.read_log(log.as_bytes(), &mut kept).unwrap();
        assert_eq!(kept.roots.len(), 0);
        source.read_log(log.replace("[7]", "[8]").as_bytes(), &mut kept).unwrap();
        assert_eq!((kept.roots.len(), source.waiting, source.summary.orphans), (2, 0, 2));
    }

    #[test]
    fn a_deeper_statement_waits_for_the_caller_that_it_shares_with_the_next_one() {
        let line = "PL/pgSQL function f() line 3 at PERFORM";
        let context = |lines: &str| format!("2026-11-21 10:45:01.000 UTC [7] me@shop CONTEXT:  {lines}\n");
        let deep = entry(1000, 7, "4.000", "select deep", FIGURES) + &context(&format!("{line}\n\t{line}"));
        let body = entry(1020, 7, "1.000", "select body", FIGURES) + &context(line);
        let outer = entry(1030, 7, "40.000", "select f()", FIGURES);
        let (kept, _, summary) = read(&(deep + &body + &outer));
        let elapsed: Vec<Ticks> = kept.calls.iter().map(|call| call.own.elapsed).collect();
        assert_eq!(elapsed, [4000, 1000, 35_000].map(Ticks::from_micros));
        assert_eq!((kept.roots.len(), summary.orphans), (1, 0));
    }
}
