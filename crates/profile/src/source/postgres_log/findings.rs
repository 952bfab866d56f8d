//! What was found in logs, and what a reader of their figures has to know, as sentences.

use measure::Finding;
use measure::quantity::{counted, format_nanos, grouped};
use measure::schema::FindingSpec;
use measure::schema::logs::findings as row;
use measure::schema::profile::findings::FOLDED_INCLUSIVE;

use crate::event::{Ticks, Unread};
use crate::source::contract::Unmeasured;

/// What a log cannot know: the reader of a profile made from one has to know it.
pub const UNKNOWABLE: &str = "A log of plans knows elapsed time and, with track_io_timing, the time of I/O. CPU, locks \
    and all other waits are in the time unaccounted within calls; parsing, planning, the client, and statements that \
    were not logged are in the time that is not recorded, which is no response time. The waits of an execution come as \
    one sum per kind of I/O: a count is that of blocks, a mean that of a block.";

/// What plans are counted as that end early.
pub(super) const CUT: &str = "plans that are cut";
/// What plans are counted as whose text is damaged.
pub(super) const MALFORMED: &str = "plans that are no JSON or have no node";
/// What plans are counted as whose figures cannot be true.
pub(super) const BEYOND_BELIEF: &str = "plans with implausible figures";
/// What plans are counted as that are too large.
pub(super) const TOO_DEEP: &str = "plans with more levels or nodes than are read";

/// Time zones that are named at most, and letters of such a name: a damaged log could have any number.
const ZONES_MAX: usize = 8;
const ZONE_LETTERS_MAX: usize = 16;

/// What was found in logs, and what a reader of their figures has to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogSummary {
    /// Messages with a plan that was read.
    pub plans: u64,
    /// Bytes of their entries, without the text behind a plan.
    pub plan_bytes: u64,
    /// Those of them that EXPLAIN printed to a file, which no server logged.
    pub explained: u64,
    /// Plans without figures: `auto_explain.log_analyze` was off.
    pub unmeasured: u64,
    /// Measured plans without blocks: `auto_explain.log_buffers` was off.
    pub without_blocks: u64,
    /// Measured plans without times of nodes: `auto_explain.log_timing` was off.
    pub without_node_times: u64,
    /// Plans that read blocks and do not say how long it took: `track_io_timing` was off.
    pub without_io_times: u64,
    /// Plans with a part that ran in several processes; its node times and waits are means of the processes.
    pub parallel: u64,
    /// Nodes whose own time came out below zero by more than rounding explains.
    pub nodes_below_zero: u64,
    /// Times of I/O that came out below zero when inner statements were taken off; these waits are left out.
    pub io_below_zero: u64,
    /// Entries without a session: calls of several backends are in one.
    pub without_session: u64,
    /// Entries without a time.
    pub without_time: u64,
    /// Executions, and not their copies, that a log of another format held too; they are counted once.
    pub repeated: u64,
    /// The names of the time zones that stand behind the times of executions.
    pub zones: Vec<String>,
    /// Inner statements whose caller was not found.
    pub orphans: u64,
    /// Those of them that a `CALL` or `DO` ran whose beginning or end is in the log, without a plan.
    pub orphans_of_calls: u64,
    /// Elapsed time without the time of reads, over executions that know both blocks and I/O times.
    pub time_without_reads: Ticks,
    /// Blocks got by these executions: the quotient is an upper bound of the cost of a logical I/O, because the time
    /// holds everything else that the execution did.
    pub gets_of_timed: i64,
    /// What was not read, by kind.
    pub unread: Vec<Unread>,
}

impl LogSummary {
    /// Microseconds per block got, at most: elapsed time less the time of reads, over gets; `None` without any. Reads
    /// of processes side by side may take longer than the execution, and what is left then bounds nothing.
    pub fn micros_per_get_at_most(&self) -> Option<f64> {
        let is_bound = self.gets_of_timed > 0 && self.time_without_reads > Ticks::ZERO;
        is_bound.then(|| self.time_without_reads.micros() / self.gets_of_timed as f64)
    }

    /// What no execution has figures for.
    pub(super) fn unmeasured(&self) -> Unmeasured {
        let is_in_none = |lacking: u64| self.plans > 0 && self.plans == self.unmeasured + lacking;
        Unmeasured {
            rows: is_in_none(0),
            blocks: is_in_none(self.without_blocks),
            line_times: is_in_none(self.without_node_times),
        }
    }

    /// Takes down the time zone of an execution, where it has one.
    pub(super) fn meet_zone(&mut self, zone: &str) {
        let end = zone.char_indices().nth(ZONE_LETTERS_MAX).map_or(zone.len(), |(end, _)| end);
        let zone = &zone[..end];
        let is_known = zone.is_empty() || self.zones.iter().any(|known| known == zone);
        if !is_known && self.zones.len() < ZONES_MAX {
            self.zones.push(zone.into());
        }
    }
}

/// A count among the executions: what is counted, its row, and what one and several do.
type Note = (fn(&LogSummary) -> u64, FindingSpec, [&'static str; 2]);

const NOTES: [Note; 9] = [
    (|logs| logs.unmeasured, row::NO_FIGURES, ["has no figures", "have no figures"]),
    (|logs| logs.without_blocks, row::NO_BLOCKS, ["counts no blocks", "count no blocks"]),
    (|logs| logs.without_node_times, row::NO_NODE_TIMES, ["has no times of nodes", "have no times of nodes"]),
    (
        |logs| logs.without_io_times,
        row::NO_IO_TIMES,
        ["reads blocks and does not say how long that took", "read blocks and do not say how long that took"],
    ),
    (|logs| logs.without_session, row::NO_SESSIONS, ["does not say whose it is", "do not say whose they are"]),
    (|logs| logs.without_time, row::NO_TIMES, ["does not say when it was", "do not say when they were"]),
    (|logs| logs.parallel, row::PARALLEL_PLANS, ["ran in several processes"; 2]),
    (
        |logs| logs.orphans.saturating_sub(logs.orphans_of_calls),
        row::INNER_STATEMENTS,
        [
            "ran inside a function or procedure whose own call is not in the log, and counts as a call of its own",
            "ran inside a function or procedure whose own call is not in the log, and count as calls of their own",
        ],
    ),
    (
        |logs| logs.orphans_of_calls,
        row::INNER_STATEMENTS,
        [
            "ran inside a procedure or block whose own call is logged without a plan, and counts as a call of its own",
            "ran inside a procedure or block whose own call is logged without a plan, and count as calls of their own",
        ],
    ),
];

/// What follows from each of these, and what to do; `is_explained` where all executions are from files of EXPLAIN.
fn consequence(finding: &FindingSpec, is_explained: bool) -> &'static str {
    match *finding {
        row::NO_FIGURES | row::NO_BLOCKS if is_explained => ": write EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)",
        row::NO_NODE_TIMES if is_explained => ": leave out TIMING OFF",
        row::NO_FIGURES => ": set auto_explain.log_analyze",
        row::NO_BLOCKS => ": set auto_explain.log_buffers",
        row::NO_NODE_TIMES => ": set auto_explain.log_timing",
        row::NO_IO_TIMES => ": set track_io_timing. The time of these reads is unaccounted for within calls",
        row::NO_SESSIONS => ": add %p to log_line_prefix",
        row::NO_TIMES => {
            ": add %m to log_line_prefix. The time between such executions is not known: the interval has none of it"
        }
        row::PARALLEL_PLANS => ": below a Gather, times of nodes, reads and their times are means of the processes",
        _ => "",
    }
}

/// What the sums are that some executions are missing from.
fn lower_bound(finding: &FindingSpec) -> &'static str {
    match *finding {
        row::NO_FIGURES => " Rows, gets and reads are those of the other executions: there were at least as many.",
        row::NO_BLOCKS => " Gets and reads are those of the other executions: there were at least as many.",
        row::NO_NODE_TIMES => " Times of plan lines are those of the other executions: each took at least as long.",
        _ => "",
    }
}

/// What the log holds, or why it holds no plan that can be read.
fn of_plans(logs: &LogSummary) -> Finding {
    let has = |kind: &&str| logs.unread.iter().any(|unread| unread.kind == *kind);
    let unreadable = [MALFORMED, TOO_DEEP, BEYOND_BELIEF].into_iter().find(has);
    if logs.plans > 0 {
        row::LOG_OF_PLANS.of(UNKNOWABLE)
    } else if has(&CUT) {
        row::NO_PLANS.of("The log holds no whole plan in JSON: a plan begins in it and is cut before its end. Give \
             the log with all of that entry.")
    } else if let Some(kind) = unreadable {
        let message = format!(
            "The log holds plans, and none of them can be read: they are {kind}. Give the log as the server wrote it."
        );
        row::NO_PLANS.of(message)
    } else {
        row::NO_PLANS.of("The log holds no plan in JSON. Load auto_explain (session_preload_libraries), and set \
             auto_explain.log_min_duration, auto_explain.log_analyze, auto_explain.log_buffers, \
             auto_explain.log_format = json and track_io_timing.")
    }
}

/// That times of several zones are taken for times of one.
fn several_zones(zones: &[String]) -> Option<Finding> {
    (zones.len() > 1).then(|| {
        let message = format!(
            "Executions have times of several time zones ({}), which are taken as they are written: across zones, the \
             period, the time of sessions and the order of executions are off by the difference. log_timezone = UTC \
             has no summer time.",
            zones.join(", ")
        );
        row::SEVERAL_ZONES.of(message)
    })
}

/// The findings of logs that were read.
pub fn findings(logs: &LogSummary) -> Vec<Finding> {
    let mut found = vec![of_plans(logs)];
    let executions = counted(logs.plans, "execution", "executions");
    let is_explained = logs.explained == logs.plans;
    for (count, finding, [one, many]) in NOTES {
        let count = count(logs);
        if count > 0 {
            let what = if count == 1 { one } else { many };
            let then = consequence(&finding, is_explained);
            let rest = if count < logs.plans { lower_bound(&finding) } else { "" };
            found.push(finding.of(format!("{} of {executions} {what}{then}.{rest}", grouped(count))));
        }
    }
    found.extend(several_zones(&logs.zones));
    if logs.repeated > 0 {
        let message = format!(
            "{} in several logs, as a server writes them side by side (stderr, csvlog, jsonlog): counted once.",
            counted(logs.repeated, "execution stands", "executions stand")
        );
        found.push(row::REPEATED_ENTRIES.of(message));
    }
    if logs.nodes_below_zero > 0 {
        let message = format!(
            "{} below zero: a subquery that is listed on one node ran inside another.",
            counted(logs.nodes_below_zero, "node of a plan has an own time", "nodes of plans have own times")
        );
        found.push(row::NODES_BELOW_ZERO.of(message));
    }
    if logs.io_below_zero > 0 {
        let message = format!(
            "{} of I/O came out below zero when inner statements were taken off their callers: left out.",
            counted(logs.io_below_zero, "time", "times")
        );
        found.push(row::IO_BELOW_ZERO.of(message));
    }
    if let Some(micros) = logs.micros_per_get_at_most() {
        let message = format!(
            "Elapsed time less the time of reads is {} per block got, over {}: an upper bound of the cost of a logical \
             I/O, because all other work is in it.",
            format_nanos(micros * 1e3),
            counted(logs.gets_of_timed.unsigned_abs(), "block", "blocks")
        );
        found.push(row::TIME_PER_BLOCK.of(message));
    }
    found
}

/// That this many statements stand for several texts each, and how to see them one by one.
pub fn of_several_texts(statements: u64) -> Option<Finding> {
    (statements > 0).then(|| {
        let message = format!(
            "{} (other literals, or other comments and spaces); the page shows one, with ? for each literal. \
             --fold-literals=never shows every text by itself.",
            counted(statements, "statement has several texts", "statements have several texts each")
        );
        FOLDED_INCLUSIVE.of(message)
    })
}

#[cfg(test)]
mod tests;
