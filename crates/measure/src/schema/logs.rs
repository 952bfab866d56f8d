//! What a profile finds of a log of plans.

use super::finding::findings;

findings! {
    "logs of plans";
    LOG_OF_PLANS = Info "log-of-plans", "the log holds plans: what it cannot know";
    NO_PLANS = Warning "no-plans", "the log holds no plan in JSON";
    NO_FIGURES = Warning "no-figures", "plans without figures";
    NO_BLOCKS = Warning "no-blocks", "plans without counts of blocks";
    NO_NODE_TIMES = Warning "no-node-times", "plans without times of nodes";
    NO_IO_TIMES = Warning "no-io-times", "plans that read blocks without times of I/O";
    NO_SESSIONS = Warning "no-sessions", "entries without a process";
    NO_TIMES = Warning "no-times", "entries without a time";
    SEVERAL_ZONES = Warning "several-time-zones", "times of several time zones";
    PARALLEL_PLANS = Info "parallel-plans", "plans that ran in several processes";
    INNER_STATEMENTS = Info "inner-statements", "statements of functions whose own call has no plan in the log";
    REPEATED_ENTRIES = Info "repeated-entries", "executions that logs of several formats hold";
    NODES_BELOW_ZERO = Info "nodes-below-zero", "nodes of plans with an own time below zero";
    IO_BELOW_ZERO = Warning "io-below-zero", "times of I/O below zero";
    TIME_PER_BLOCK = Info "time-per-block", "elapsed time less the time of reads, over blocks got";
}
