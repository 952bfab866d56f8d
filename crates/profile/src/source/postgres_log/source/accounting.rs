//! The accounting of one execution: its call, its waits, its plan lines, and the time of its session. It also notes
//! what a reader of the figures has to know of the plan.

use super::call_stack::{depth, function_of_client, is_of_block};
use super::execution::{Execution, Inner};
use super::fingerprint::plan_hash;
use super::io_kind::{READ, SCAN, io_of};
use super::nesting::WAITING_MAX;
use super::state::{LogSource, segment};
use crate::event::{
    Call, CallKind, Cost, EventIndex, Observer, Placement, PlanFigures, PlanLine, SessionIndex, Ticks, Wait,
};
use crate::source::postgres_log::entry::Entry;
use crate::source::postgres_log::figures::{Figures, NodeFigures, figures};
use crate::source::postgres_log::plan::{Node, PlanDocument};

/// An execution that took longer does not say when the period of the log begins: one damaged digit of a duration would
/// move that by years.
const BEGUN_BEFORE_MAX: Ticks = Ticks::from_micros(30 * 86_400 * 1_000_000);

impl LogSource {
    pub(super) fn execution(
        &mut self,
        (entry, session): (&Entry, SessionIndex),
        document: PlanDocument,
        duration: Ticks,
        observer: &mut dyn Observer,
    ) {
        self.summary.plans += 1;
        self.summary.plan_bytes += entry.bytes;
        let figures = figures(&document.nodes);
        let end = entry.time.map(Ticks::from_micros);
        if let Some(end) = end {
            self.summary.meet_zone(&entry.zone);
            // An entry is written when its execution is over.
            let begin = if duration <= BEGUN_BEFORE_MAX { end - duration } else { end };
            let [begin, end] = [begin, end].map(|at| at.0.div_euclid(Ticks::PER_MICROSECOND));
            let (first, last) = self.clocks.unwrap_or((begin, end));
            self.clocks = Some((first.min(begin), last.max(end)));
        }
        let total = figures.first().map(|node| node.inclusive).unwrap_or_default();
        let (io, io_blocks) = io_of(&document.nodes, &figures);
        let cost = Cost {
            cpu: None,
            elapsed: duration,
            physical_reads: total.blocks.read,
            consistent_gets: total.blocks.gets(),
            current_gets: 0,
        };
        let depth = depth(&entry.context);
        let (function, is_of_block) = (function_of_client(&entry.context), is_of_block(&entry.context));
        let inner = Inner { depth, function, is_of_block, start: end.map(|end| end - duration), cost, io, io_blocks };
        self.judge(&document.nodes, &figures, &inner);
        let plan_hash = plan_hash(&document.nodes);
        let execution = Execution {
            session,
            statement: self.statement(&document, depth),
            scope: self.scope(&entry.scope),
            entry,
            document,
            figures,
            inner,
            end,
            plan_hash,
        };
        self.emit(&execution, observer);
    }

    /// Notes what a reader of the figures has to know.
    fn judge(&mut self, nodes: &[Node], figures: &[NodeFigures], inner: &Inner) {
        let summary = &mut self.summary;
        let root = &nodes[0];
        if !root.is_measured {
            summary.unmeasured += 1;
            return;
        }
        summary.without_blocks += u64::from(!root.has_blocks);
        summary.without_node_times += u64::from(root.loop_time.is_none());
        summary.parallel += u64::from(figures.iter().any(|node| node.processes > 1));
        let is_below = |(node, figures): &(&Node, &NodeFigures)| {
            // Rounding to a microsecond leaves half a microsecond a loop, here and in its children.
            let rounding = node.loops.saturating_add(8).min(1 << 40) as i64 * Ticks::PER_MICROSECOND;
            figures.own.time.0 < -rounding
        };
        summary.nodes_below_zero += nodes.iter().zip(figures).filter(is_below).count() as u64;
        if !root.has_blocks {
            return;
        }
        if nodes.iter().any(|node| node.io.is_some()) {
            // Inner statements are in their caller's figures too, so only outer ones count. The blocks of parallel
            // processes are counted together, and their time is that of one.
            if inner.depth == 0 && figures.iter().all(|node| node.processes <= 1) {
                let time = inner.cost.elapsed.0.saturating_sub(inner.io[READ].0).saturating_sub(inner.io[SCAN].0);
                summary.time_without_reads = Ticks(summary.time_without_reads.0.saturating_add(time));
                summary.gets_of_timed = summary.gets_of_timed.saturating_add(inner.cost.consistent_gets);
            }
        } else {
            summary.without_io_times += u64::from(inner.cost.physical_reads > 0);
        }
    }

    fn emit(&mut self, execution: &Execution<'_>, observer: &mut dyn Observer) {
        let index = execution.session.0 as usize;
        let own = self.without_inner(execution, observer);
        self.extend_segment(execution, observer);
        let call = Call {
            number: self.calls,
            session: execution.session,
            statement: execution.statement,
            scope: execution.scope,
            kind: CallKind::Exec,
            depth: execution.inner.depth,
            end: execution.end,
            inclusive: execution.inner.cost,
            own: own.cost,
            rows: execution.document.nodes[0].rows,
            plan_hash: execution.plan_hash,
            waits: own.io.into_iter().filter(|time| time.0 > 0).sum(),
            offset: execution.entry.offset,
            ..Call::default()
        };
        self.calls += 1;
        for (event, (time, blocks)) in own.io.into_iter().zip(own.io_blocks).enumerate() {
            if time.0 > 0 {
                let wait = wait(execution, EventIndex(event as u32), time, blocks);
                observer.wait(&self.context, &wait);
            }
        }
        observer.call(&self.context, &call);
        if execution.document.nodes[0].is_measured {
            self.plan_lines(execution, observer);
        }
        if execution.inner.depth == 0 {
            self.emit_root(execution.session, &execution.inner, observer);
            return;
        }
        self.states[index].waiting.entry(execution.inner.depth).or_default().push(execution.inner);
        self.waiting += 1;
        if self.waiting > WAITING_MAX {
            self.give_up_waiting(observer);
        }
    }

    /// Lengthens the session's segment; a clock that goes back begins another.
    fn extend_segment(&mut self, execution: &Execution<'_>, observer: &mut dyn Observer) {
        let (Some(start), Some(end)) = (execution.inner.start, execution.end) else { return };
        let (session, clock) = (execution.session, &mut self.states[execution.session.0 as usize].clock);
        let ended = if clock.moves_back(end) { clock.move_back(end) } else { None };
        clock.extend(start, end);
        if let Some((first, last)) = ended {
            self.emit_segment(&segment(session, first, last), observer);
        }
    }

    fn plan_lines(&self, execution: &Execution<'_>, observer: &mut dyn Observer) {
        for (index, (node, figures)) in execution.document.nodes.iter().zip(&execution.figures).enumerate() {
            let Figures { time, blocks, .. } = figures.inclusive;
            // Below zero only in a damaged plan.
            let figures = PlanFigures {
                gets: blocks.gets().max(0),
                physical_reads: blocks.read.max(0),
                physical_writes: blocks.written.max(0),
                time,
                read_time: node.io.map(|_| figures.inclusive.io.read),
            };
            let line = PlanLine {
                statement: execution.statement,
                plan_hash: execution.plan_hash,
                id: index as u32 + 1,
                parent: node.parent.map_or(0, |parent| parent as u32 + 1),
                operation: node.operation.clone(),
                object: 0,
                rows: node.rows,
                estimated: node.expected_rows,
                starts: Some(node.loops),
                figures: Some(figures),
            };
            observer.plan_line(&self.context, &line);
        }
    }
}

/// The waits of an execution for one kind of I/O: their sum, because a plan has no single one. Somewhere within the
/// execution; a log does not say when.
fn wait(execution: &Execution<'_>, event: EventIndex, elapsed: Ticks, blocks: i64) -> Wait {
    Wait {
        session: execution.session,
        statement: execution.statement,
        scope: execution.scope,
        event,
        elapsed,
        sum_of: Some(u64::try_from(blocks).unwrap_or(0).max(1)),
        placement: Placement::Inside(CallKind::Exec),
        depth: execution.inner.depth,
        parameters: [blocks, 0, 0],
        plan_hash: execution.plan_hash,
        offset: execution.entry.offset,
        ..Wait::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::postgres_log::source::tests::samples::{FIGURES, Kept, csv, entry, jsonlog, read};

    #[test]
    fn an_execution_becomes_a_call_a_wait_and_plan_lines() {
        let (kept, context, summary) = read(&entry(500, 7, "4.250", "select 1", FIGURES));
        let call = &kept.calls[0];
        assert_eq!(call.own.elapsed, Ticks::from_micros(4250));
        assert_eq!((call.own.cpu, call.own.consistent_gets, call.own.physical_reads, call.rows), (None, 100, 10, 10));
        assert_eq!(kept.waits.len(), 1);
        assert_eq!(context.event_name(kept.waits[0].event), "IO:DataFileRead (sequential scan)");
        assert_eq!((kept.waits[0].elapsed, kept.waits[0].parameters[0]), (Ticks::from_micros(3500), 10));
        assert!(call.plan_hash != 0 && kept.waits[0].plan_hash == call.plan_hash, "a breakdown by plan has its waits");
        assert_eq!(kept.lines[0].operation, "Seq Scan on orders");
        assert_eq!(kept.segments[0].last - kept.segments[0].first, Ticks::from_micros(4250));
        assert_eq!((context.sessions[0].id.as_str(), context.scopes[0].container.as_str()), ("7", "shop"));
        assert_eq!(summary.micros_per_get_at_most(), Some(7.5));
    }

    #[test]
    fn blocks_of_parallel_processes_are_not_divided_by_the_time_of_one() {
        let node = |name: &str, time: &str, loops: u32| {
            format!(
                "\"Node Type\": \"{name}\", \"Actual Total Time\": {time}, \"Actual Rows\": 1, \"Actual Loops\": \
                 {loops}, \"Shared Hit Blocks\": 12000, \"I/O Read Time\": 0.000"
            )
        };
        let plan = format!(
            "2026-11-21 10:45:01.000 UTC [7] me@shop LOG:  duration: 12.500 ms  plan:\n\t{{\"Query Text\": \"select \
             1\", \"Plan\": {{{}, \"Workers Launched\": 2, \"Plans\": [{{\"Parallel Aware\": true, {}}}]}}}}\n",
            node("Gather", "12.000", 1),
            node("Seq Scan", "9.000", 3)
        );
        let (kept, _, summary) = read(&plan);
        assert_eq!((kept.calls.len(), summary.parallel, summary.micros_per_get_at_most()), (1, 1, None));
    }

    #[test]
    fn the_period_of_a_log_begins_with_its_first_execution_and_not_when_that_was_over() {
        let at = |micros: i64| 1_795_257_900_000_000 + micros;
        let clocks = |log: &str| {
            let (mut kept, mut source) = (Kept::default(), LogSource::new());
            source.read_log(log.as_bytes(), &mut kept).unwrap();
            source.end(&mut kept).0.clocks
        };
        let entries = [(5000, "4.250"), (5500, "3000.000"), (5600, "3155000000000.000")];
        let [short, long, damaged] = entries.map(|(end, duration)| csv(end, duration, ""));
        assert_eq!(clocks(&short), Some((at(4_995_750), at(5_000_000))));
        assert_eq!(clocks(&(short.clone() + &damaged)), Some((at(4_995_750), at(5_600_000))), "a hundred years long");
        assert_eq!(clocks(&(short + &long)), Some((at(2_500_000), at(5_500_000))), "the one that was logged later");
    }

    #[test]
    fn an_estimate_that_no_counter_can_reach_drops_no_execution() {
        let estimates = ["27000000000000", "1000000000000000000000000000000000000000"];
        let figures = |rows: &str| format!("\"Plan Rows\": {rows}, {FIGURES}");
        let log: String = estimates.map(|rows| entry(500, 7, "4.250", "select 1", &figures(rows))).concat();
        let (kept, _, summary) = read(&log);
        assert_eq!((kept.calls.len(), summary.unread), (2, vec![]));
        let estimated: Vec<Option<u64>> = kept.lines.iter().map(|line| line.estimated).collect();
        assert_eq!(estimated, [Some(27_000_000_000_000), None]);
    }

    #[test]
    fn times_of_several_zones_are_not_taken_for_times_of_one_without_a_word() {
        let in_zone = |log: String, zone: &str| log.replace("UTC", zone);
        let [summer, winter] = ["CEST", "CET"].map(|zone| in_zone(entry(500, 7, "4.250", "select 1", FIGURES), zone));
        assert_eq!(read(&(summer.clone() + &winter + &summer)).2.zones, ["CEST", "CET"]);
        let [table, object] = [in_zone(csv(500, "1.0", ""), "CEST"), in_zone(jsonlog(900), "+01")];
        assert_eq!([table, object].map(|log| read(&log).2.zones), [["CEST"], ["+01"]]);
        let seconds = winter.replace("2026-11-21 10:45:00.500 CET", "1795257900.500");
        assert_eq!(read(&(winter + &seconds)).2.zones, ["CET", "UTC"], "seconds since 1970 are no local time");
    }

    #[test]
    fn reads_of_processes_that_take_longer_than_the_execution_bound_no_cost_of_a_block() {
        let figures = FIGURES.replace("3.500", "9.500");
        let (_, _, summary) = read(&entry(500, 7, "4.250", "select 1", &figures));
        assert_eq!((summary.gets_of_timed, summary.micros_per_get_at_most()), (100, None));
    }

    #[test]
    fn what_the_settings_left_out_is_said() {
        let plain = "\"Plan Rows\": 1";
        let no_blocks = "\"Actual Rows\": 1, \"Actual Loops\": 1";
        let no_io = "\"Actual Rows\": 1, \"Actual Loops\": 1, \"Shared Hit Blocks\": 1, \"Shared Read Blocks\": 2";
        let log: String = [plain, no_blocks, no_io].map(|figures| entry(1, 7, "1.0", "select 1", figures)).concat();
        let (kept, _, summary) = read(&log);
        assert_eq!((summary.unmeasured, summary.without_blocks, summary.without_io_times), (1, 1, 1));
        assert_eq!(summary.without_node_times, 2);
        assert_eq!((kept.waits.len(), summary.micros_per_get_at_most()), (0, None));
    }
}
