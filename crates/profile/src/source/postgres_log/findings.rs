//! What was found in logs, and what a reader of their figures has to know, as sentences.

use measure::Finding;
use measure::quantity::{counted, grouped};

use crate::event::{Ticks, Unread};

/// What a log cannot know: the reader of a profile made from one has to know it.
pub const UNKNOWABLE: &str = "A log of plans knows elapsed time and, with track_io_timing, the time of I/O. CPU, locks \
    and all other waits are in the time unaccounted within calls; parsing, planning, the client, and statements that \
    were not logged are in the time between calls. The waits of an execution come as one sum a kind of I/O: a count is \
    that of blocks, a mean that of a block.";

/// What was found in logs, and what a reader of their figures has to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogSummary {
    /// Messages with a plan that was read.
    pub plans: u64,
    /// Bytes of their entries.
    pub plan_bytes: u64,
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
    /// Executions that a log of another format held too; they are counted once.
    pub repeated: u64,
    /// Inner statements whose caller was not found.
    pub orphans: u64,
    /// Elapsed time without the time of reads, over executions that know both blocks and I/O times.
    pub time_without_reads: Ticks,
    /// Blocks got by these executions: the quotient is an upper bound of the cost of a logical I/O, because the time
    /// holds everything else that the execution did.
    pub gets_of_timed: i64,
    /// What was not read, by kind.
    pub unread: Vec<Unread>,
}

impl LogSummary {
    /// Microseconds a block got, at most: elapsed time less the time of reads, over gets; `None` without any.
    pub fn micros_per_get_at_most(&self) -> Option<f64> {
        (self.gets_of_timed > 0).then(|| self.time_without_reads.micros() / self.gets_of_timed as f64)
    }
}

/// The findings of logs that were read.
pub fn findings(logs: &LogSummary) -> Vec<Finding> {
    let mut found = vec![Finding::info("log-of-plans", UNKNOWABLE)];
    if logs.plans == 0 {
        let message = "The log holds no plan in JSON. Set auto_explain.log_min_duration, auto_explain.log_analyze, \
                       auto_explain.log_buffers, auto_explain.log_format = json and track_io_timing.";
        found.push(Finding::warning("no-plans", message));
    }
    let executions = counted(logs.plans, "execution", "executions");
    let settings = [
        (logs.unmeasured, "no-figures", "have no figures: set auto_explain.log_analyze"),
        (logs.without_blocks, "no-blocks", "count no blocks: set auto_explain.log_buffers"),
        (logs.without_node_times, "no-node-times", "have no times of nodes: set auto_explain.log_timing"),
        (
            logs.without_io_times,
            "no-io-times",
            "read blocks and do not say how long it took: set track_io_timing. Their reads are in the time unaccounted \
             within calls",
        ),
        (logs.without_session, "no-sessions", "do not say whose they are: add %p to log_line_prefix"),
        (logs.without_time, "no-times", "do not say when they were: add %m to log_line_prefix"),
    ];
    for (count, id, what) in settings {
        if count > 0 {
            found.push(Finding::warning(id, format!("{} of {} {what}.", grouped(count), executions)));
        }
    }
    let notes = [
        (
            logs.parallel,
            "parallel-plans",
            "ran in several processes: below a Gather, times of nodes and of reads are means of the processes",
        ),
        (logs.orphans, "inner-statements", "ran inside a function or procedure whose own call is not in the log"),
        (
            logs.repeated,
            "repeated-entries",
            "stand in logs of several formats, as a server writes them side by side (stderr, csvlog, jsonlog): counted \
             once",
        ),
    ];
    for (count, id, what) in notes {
        if count > 0 {
            found.push(Finding::info(id, format!("{} of {} {what}.", grouped(count), executions)));
        }
    }
    if logs.nodes_below_zero > 0 {
        let message = format!(
            "{} below zero: a subquery that is listed on one node ran inside another.",
            counted(logs.nodes_below_zero, "node of a plan has an own time", "nodes of plans have own times")
        );
        found.push(Finding::info("nodes-below-zero", message));
    }
    if logs.io_below_zero > 0 {
        let message = format!(
            "{} of I/O came out below zero when inner statements were taken off their callers: left out.",
            counted(logs.io_below_zero, "time", "times")
        );
        found.push(Finding::warning("io-below-zero", message));
    }
    if let Some(micros) = logs.micros_per_get_at_most() {
        let message = format!(
            "Elapsed time less the time of reads is {micros:.2} µs a block got, over {} blocks: an upper bound of the \
             cost of a logical I/O, because all other work is in it.",
            grouped(logs.gets_of_timed.unsigned_abs())
        );
        found.push(Finding::info("time-per-block", message));
    }
    found
}
