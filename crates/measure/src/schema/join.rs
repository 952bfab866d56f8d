//! `join`: the I/O of nested loops.

use super::finding::findings;
use super::spec::{Bound, Experiment, Published, metrics, parameters};
use super::{conditions, reads, subjects};
use crate::case::Case;
use crate::unit::Unit;

parameters! {
    SUBJECT = "subject", "where several subjects were measured: `engine`, `postgres 18.6`";
    METHOD = "method", "`one-at-a-time`, `prefetch`, `awaited-batch`, `batch`, `batched-rowid`; of PostgreSQL \
        `nested-loop`, `bitmap-scan`; of SQLite `nested-loop`, `rowid-list`";
    ACCESS = "access", "in place of `method`: `full-scan`, `cached`";
    RAND = "rand", "percent of the rows out of order";
    PAD = "pad", "bytes that pad a row";
    ROWS = "rows", "rows of the inner table";
    OUTER_ROWS = "outer_rows", "rows of the outer table, each a look-up";
    IO = "io", "`async`, `sync`";
    DIRECT = "direct", "whether reads go past the page cache";
    DEPTH = "depth", "most reads in flight";
    BATCH_SIZE = "batch_size", "rowids of a batch";
    LOOK_AHEAD = "look_ahead", "rows that a prefetch looks ahead";
    LOOK_AHEAD_FIXED = "look_ahead_fixed", "whether it always looks ahead that far";
    ON = "on", "the model, where the reads went to one";
    IO_METHOD = "io_method", "of a server: its setting of this name";
    EFFECTIVE_IO_CONCURRENCY = "effective_io_concurrency", "of a server: its setting of this name";
}

metrics! {
    IO_TIME = "io_time", Milliseconds, "time waited for reads";
    TABLE_IO_TIME = "table_io_time", Milliseconds, "time waited for blocks of the table";
    INDEX_IO_TIME = "index_io_time", Milliseconds, "time waited for blocks of the index";
    ELAPSED = "elapsed", Milliseconds, "time of the join or of the scan";
    CPU_PER_LOOKUP = "cpu_per_lookup", Microseconds, "CPU time over rows of the outer table";
    TABLE_BLOCKS = "table_blocks", Count, "blocks of the table read";
    INDEX_BLOCKS = "index_blocks", Count, "blocks of the index read";
    REQUESTS = "requests", Count, "times that the operator asked for blocks of the table";
    INDEX_REQUESTS = "index_requests", Count, "times that it asked for blocks of the index";
    BLOCKS_PER_REQUEST = "blocks_per_request", Ratio, "`table_blocks` over `requests`";
    LEFT_IN_PAGE_CACHE = "left_in_page_cache", Percent, "part of the files still in the page cache when a join began";
    IN_FLIGHT = "in_flight", Ratio, "reads in flight while the join waited, by time";
    RANDOM_BLOCK = "random_block", Microseconds, "time waited over blocks of the table";
    TABLE_GETS = "table_gets", Count, "blocks of the table got";
    INDEX_GETS = "index_gets", Count, "blocks of the index got";
    BREAK_EVEN = "break_even", Percent, "part of the rows from which on a full scan is faster";
    SEQUENTIAL_BLOCK = "sequential_block", Microseconds, "of a full scan: time waited over its blocks";
    ROW = "row", Nanoseconds, "of a full scan: CPU time of a row";
    CACHED_BLOCK = "cached_block", Microseconds, "a look-up that finds everything cached";
    TABLE_HITS = "table_hits", Count, "of a server: blocks of the table found in its buffers";
    ELAPSED_PER_BLOCK = "elapsed_per_block", Microseconds, "of a server: elapsed time over blocks of the table read";
    GAIN = "gain", Ratio, "of a server: elapsed time of the nested loop over this one's";
    BLOCKS_READ = "blocks_read", Count, "of a server: blocks read, by EXPLAIN";
    BLOCKS_HIT = "blocks_hit", Count, "of a server: blocks found in its buffers, by EXPLAIN";
}

findings! {
    "join";
    ABSENT_GAIN = Info "absent-gain", "a join read fewer than 256 blocks, so that no gain follows from it";
    ANSWER_GAIN = Info "answer-gain", "what batching or prefetching gains of the wait for reads, by method";
    ANSWER_SERIALIZED = Info "answer-serialized", "one read at a time: no method gains over 10 %";
    ANSWER_SATURATION = Info "answer-saturation", "the size of a batch from which on larger ones gain less than 5 %";
    ANSWER_SERVER_GAIN = Info "answer-server-gain", "of a server or SQLite: what batching or prefetching gains at best";
    ANSWER_SERVER_SERIALIZED = Info "answer-server-serialized", "direct reads: no method gains 10 % or more";
    ANSWERED_BY_PAGE_CACHE = Warning "answered-by-page-cache", "a block read one at a time takes less than 20 µs";
    ANSWERED_BY_STORAGE = Info "answered-by-storage", "a block read one at a time takes 20 µs or more";
    NOT_ALL_COLD = Warning "not-all-cold", "over 10 % of the blocks of a join were in the server's buffers";
    JOINS_SCATTER = Warning "joins-scatter", "joins of a method differ by more than half of their median";
    PLANNER_VIEW = Info "planner-view", "what a planner that knows nothing of batches and prefetching gets wrong";
    ABSENT_PLANNER_VIEW = Info "absent-planner-view", "the table has fewer than 256 blocks";
}

/// Blocks that joins must read for their times to say what gathering gains, and that a table must have for its scan to
/// be more than one read of 1 MiB.
pub const BLOCKS_MIN: u64 = 256;

/// Blocks of table and index that a join read: on a server those that EXPLAIN counted.
pub fn blocks_read(case: &Case) -> Option<f64> {
    let both = || Some(TABLE_BLOCKS.median(case)? + INDEX_BLOCKS.median(case)?);
    BLOCKS_READ.median(case).or_else(both)
}

/// Whether a join read so few blocks that its time says nothing of a gain; one whose blocks are not known did not.
pub fn has_few_blocks(case: &Case) -> bool {
    blocks_read(case).is_some_and(|blocks| blocks < BLOCKS_MIN as f64)
}

/// The storage of the published figures.
pub const SOLID_STATE: &str = "a laptop's solid-state disk";
/// The other storage of the published figures.
pub const HARD_DISK: &str = "one hard disk";

const fn published(
    metric: &'static str,
    unit: Unit,
    case: &'static [(&'static str, &'static str)],
    what: &'static str,
    value: f64,
) -> Published {
    let source =
        "\"Nested loop internals\", part 3: a hundred joins, all rows out of order, 1000 bytes of filler a row";
    Published { metric: Some(metric), what, case, bound: Bound::Exactly, value, unit, source }
}

/// Declares the published figures of methods: ms of reads on both disks, and blocks a request.
macro_rules! methods {
    ($($method:literal: $solid_state:literal, $hard_disk:literal, $blocks:literal;)*) => {
        &[$(
            published("io_time", Unit::Milliseconds, methods!(@ $method), SOLID_STATE, $solid_state),
            published("io_time", Unit::Milliseconds, methods!(@ $method), HARD_DISK, $hard_disk),
            published("blocks_per_request", Unit::Ratio, methods!(@ $method), "both disks", $blocks),
        )*]
    };
    (@ $method:literal) => { &[("method", $method), ("rand", "100"), ("pad", "1000")] };
}

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "join",
    parameters: &[parameters::ALL],
    metrics: &[METRICS, conditions::METRICS],
    families: &[],
    findings: &[findings::ALL, reads::findings::ALL, subjects::findings::ALL, conditions::findings::ALL],
    published: methods! {
        "one-at-a-time": 1380.0, 12723.0, 1.0;
        "prefetch": 110.0, 2804.0, 38.0;
        "awaited-batch": 104.0, 2572.0, 69.0;
        "batch": 104.0, 2572.0, 69.0;
        "batched-rowid": 78.0, 2038.0, 121.0;
    },
};
