//! `contest-NAME`: readpath against its peers, in turn. What contenders needed, and what bars readpath had to reach.

use super::finding::findings;
use super::spec::{Experiment, Spec, metrics, parameters};
use crate::unit::Unit;

parameters! {
    QUESTION = "question", "what the contenders were asked";
    CONTENDER = "contender", "who had the turn";
    BAR = "bar", "of a bar: what is compared";
    WANTED = "wanted", "of a bar: what readpath has to reach";
}

metrics! {
    IOPS = "iops", PerSecond, "reads a second";
    CPU_PER_READ = "cpu_per_read", Microseconds, "CPU time over reads";
    READ_LATENCY = "read_latency", Microseconds, "median latency of a read";
    LIO = "lio", Microseconds, "CPU time of a logical I/O";
    LIO_EXPLAINED = "lio_explained", Microseconds, "the same with `EXPLAIN (ANALYZE, BUFFERS)` before the statement";
    STREAM_BLOCK = "stream_block", Microseconds, "time to read a block of memory in sequence";
    ROWS_PER_BLOCK = "rows_per_block", Count, "rows of a full block";
    GET_TIME = "get_time", Nanoseconds, "one get of the buffer pool, or one dependent load";
    ROW_TIME = "row_time", Nanoseconds, "time over rows";
    LOADED = "loaded", MebibytesPerSecond, "bytes of a table that were loaded";
    BUILT = "built", MebibytesPerSecond, "bytes of rows that became columns";
    COLUMN_BYTES = "column_bytes", Bytes, "memory of a column";
    COMPRESSION_RATIO = "compression_ratio", Ratio, "size of a column in rows over its size here";
    SCANNED = "scanned", MebibytesPerSecond, "bytes of columns that were scanned";
    STREAMED = "streamed", MebibytesPerSecond, "memory read in sequence by as many threads";
    BLOCKS_PER_SECOND = "blocks_per_second", PerSecond, "blocks of the table, or reads of fio, over elapsed time";
    JOIN_TIME = "elapsed", Milliseconds, "time of a join";
    CPU_PER_ROW = "cpu_per_row", Microseconds, "CPU time over outer rows, everything cached";
    ELAPSED = "elapsed", Seconds, "time of a program's run";
    RIGHT_PLANS = "right_plans", Count, "queries whose plan is within 10 % and 0.2 ms of the fastest that is known";
    TOTAL_TIME = "total_time", Milliseconds, "all queries by a contender's plans";
    WORST_RATIO = "worst_ratio", Ratio, "the query that loses most against the server's own constants";
    TRANSACTIONS = "transactions", PerSecond, "transactions of pgbench a second";
    THROUGHPUT_LEFT = "throughput_left", Ratio, "transactions with a profiler over those without one, in a pair";
    OWN_CPU = "own_cpu", Percent, "CPU time of a profiler's own processes, of one processor";
    SERVER_CPU = "server_cpu", Percent, "CPU time of the server's sessions that work for a profiler, of one processor";
    SAMPLES = "samples", PerSecond, "polls of all sessions a second";
    PEAK_MEMORY = "peak_memory", Bytes, "largest resident memory of a program's run";
    BAR_RATIO = "bar", Ratio, "of a bar: what readpath reached, in the peer's";
    BAR_TIME = "bar", Nanoseconds, "of a bar: what readpath reached";
    BAR_FIGURE = "bar", Count, "of a bar: what readpath reached, in what the bar names";
}

findings! {
    "contest-*";
    COMPARED = Info "compared", "what is compared";
    CONTENDER_ABSENT = Info "contender-absent", "a contender that is not on this machine";
    ANSWER_BARS = Info "answer-bars", "all bars in one line";
    BAR_MISSED = Warning "bar-missed", "readpath did not reach a bar";
    BAR_NOT_JUDGED = Info "bar-not-judged", "a bar without a figure";
    TRIAL = Warning "trial", "fewer than 5 pairs";
    NOTE = Info "*" in [
        "cpu-profile", "huge-pages", "loading", "forecast", "memory", "advised", "advised-without-queries", "measured",
        "measured-again", "plans", "turns", "of-limit", "seen",
    ],
        "what is worth knowing besides";
}

/// What a bar reached, in a unit that bars have.
pub const fn bar(unit: Unit) -> Spec {
    match unit {
        Unit::Ratio => BAR_RATIO,
        Unit::Nanoseconds => BAR_TIME,
        _ => BAR_FIGURE,
    }
}

/// The experiment: one for all contests, whose names stand at the `*`.
pub const EXPERIMENT: Experiment = Experiment {
    name: "contest-*",
    parameters: &[parameters::ALL],
    metrics: &[METRICS],
    families: &[],
    findings: &[findings::ALL],
    published: &[],
};
