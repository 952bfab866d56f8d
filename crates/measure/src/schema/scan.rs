//! `scan`: one question by several access paths.

use super::finding::findings;
use super::spec::{Bound, Experiment, Published, Stems, families, metrics, parameters};
use super::{conditions, events, subjects};
use crate::unit::Unit;

parameters! {
    SUBJECT = "subject", "where several subjects were measured: `engine`, `postgres 18.6`";
    PATH = "path", "`index-bad-clustering`, `index-good-clustering`, `full-scan`, `full-scan-compressed`, \
        `column-scan`, `column-count`; of a server also `bitmap-scan`, `index-only-scan`";
    QUESTION = "question", "`all-pass`, `no-predicate`, `half-pass`";
    THREADS = "threads", "threads that scan at once";
    TABLE_ROWS = "table_rows", "rows of the table";
    ZONE_MAPS = "zone_maps", "of a column scan: whether zone maps are used";
    LEVEL = "level", "of `full-scan-compressed`: how hard its units are compressed";
    KERNEL = "kernel", "of a column scan: the instructions that it uses";
}

metrics! {
    ROW_TIME = "row_time", Nanoseconds, "CPU time over rows";
    GET_TIME = "get_time", Nanoseconds, "CPU time over gets";
    COUNTED_ROW_TIME = "counted_row_time", Nanoseconds, "`row_time` by the kernel that valgrind counted";
    PREPARATION = "preparation", Seconds, "time to make the structure";
    ELAPSED = "elapsed", Seconds, "time of one pass";
    CPU = "cpu", Seconds, "CPU time of one pass";
    ROWS = "rows", Count, "rows looked at";
    COUNT = "count", Count, "the answer";
    GETS = "gets", Count, "blocks got";
    TABLE_GETS = "table_gets", Count, "blocks of the table got";
    VISITS_PER_BLOCK = "visits_per_block", Ratio, "gets of blocks of the table over its blocks";
    PINNED_REVISITS = "pinned_revisits", Count, "rows found in a block that was still pinned";
    PHYSICAL_READS = "physical_reads", Count, "blocks that were not cached";
    LAPS = "laps", Count, "passes of one sample";
    BLOCKS = "blocks", Count, "blocks of the structure";
    STRUCTURE_BYTES = "structure_bytes", Bytes, "memory of the structure without its index";
    CLUSTERING_FACTOR = "clustering_factor", Count, "changes of the block when the index is walked in key order";
    LEAF_BLOCKS = "leaf_blocks", Count, "leaves of the index";
    COMPRESSION_RATIO = "compression_ratio", Ratio, "size in rows over size here";
    BYTES_TOUCHED = "bytes_touched", Bytes, "bytes read of the structure";
    BANDWIDTH = "bandwidth", MebibytesPerSecond, "`bytes_touched` over elapsed time";
    SEQUENTIAL_BANDWIDTH = "sequential_bandwidth", MebibytesPerSecond, "memory read in order by as many threads";
    BANDWIDTH_SHARE = "bandwidth_share", Percent, "`bandwidth` over the best of `sequential_bandwidth`";
    UNITS_READ = "units_read", Count, "units whose codes were read";
    UNITS_UNREAD = "units_unread", Count, "units counted from their zone map or nulls alone";
    IPC = "ipc", Ratio, "instructions over cycles";
    PAGE_FAULTS = "page_faults", Count, "page faults";
    MAJOR_FAULTS = "major_faults", Count, "page faults that read";
    CPU_MIGRATIONS = "cpu_migrations", Count, "moves to another processor";
    CONTEXT_SWITCHES = "context_switches", Count, "times that a processor was taken or given away";
    CORRELATION = "correlation", Ratio, "of a server: how the order of rows follows the index's key, -1 to 1";
    INDEX_BLOCKS = "index_blocks", Count, "of a server or SQLite: blocks of the index";
    GETS_PER_ROW = "gets_per_row", Ratio, "of a server or SQLite: gets over rows";
    HEAP_FETCHES = "heap_fetches", Count, "of a server: rows that an index-only scan looked up in the table";
    EXACT_HEAP_BLOCKS = "exact_heap_blocks", Count, "of a server: blocks of which the bitmap knew each row";
}

families! {
    PER_ROW = "*_per_row", Stems::OneOf(events::EVENTS), Count, "an event over rows";
    PER_GET = "*_per_get", Stems::OneOf(events::EVENTS), Count, "an event over gets";
}

findings! {
    "scan";
    ANSWER_DEAREST = Info "answer-dearest", "the dearest path over the full scan and over the cheapest";
    ANSWER_VISITS = Info "answer-visits", "how often each path visits a block";
    ANSWER_IPC = Info "answer-ipc", "which path gets least done in a cycle";
    ANSWER_WAITS_FOR_MEMORY = Info "answer-waits-for-memory", "the part of a path's time that fetches blocks elsewhere \
        in memory";
    ANSWER_BANDWIDTH = Info "answer-bandwidth", "a scan, compared with the bandwidth of the memory";
    ANSWER_THREADS = Info "answer-threads", "what more threads bring, and what keeps them from more";
    ANSWER_KERNELS = Info "answer-kernels", "a row by the best kernel and by the one that valgrind counts";
    ANSWER_CLUSTERING = Info "answer-clustering", "of a server: an index that rows do not follow over one they follow";
    ANSWER_INDEX_ONLY = Info "answer-index-only", "of a server or SQLite: an index-only scan, compared with a full \
        scan";
    ANSWER_AGAINST_ENGINE = Info "answer-against-engine", "a row on a subject over one on the engine";
    NOTHING_READ = Info "nothing-read", "`column-count` read no column";
    ZONE_MAPS_ANSWERED = Info "zone-maps-answered", "zone maps answered for units of `column-scan`";
    MEMORY_NEEDED = Info "memory-needed", "what the structures were forecast to take";
    ABSENT_PATH = Info "absent-*" in [
        "index-bad-clustering", "index-good-clustering", "full-scan", "full-scan-compressed", "column-scan",
        "column-count", "bitmap-scan", "index-only-scan"
    ], "the subject lacks the path, or the path cannot answer the question";
    ABSENT_THREADS = Info "absent-threads", "paths whose work threads cannot share";
    NOT_ALL_CACHED = Warning "not-all-cached", "blocks were read in a case that should find all of them cached";
}

const SOURCE: &str = "\"RAM is the new disk\", part 3: Oracle 12.1 on a Xeon X5670 at 2.93 GHz";

/// Rows and blocks of the published table.
pub const TABLE_ROWS: Published = published("rows of the table", &[], "rows", Bound::Exactly, 69_642_625.0);
/// See [`TABLE_ROWS`].
pub const TABLE_BLOCKS: Published = published("blocks of the table", &[], "blocks", Bound::Exactly, 1_613_824.0);

const fn published(
    what: &'static str,
    case: &'static [(&'static str, &'static str)],
    metric: &'static str,
    bound: Bound,
    value: f64,
) -> Published {
    Published { metric: Some(metric), what, case, bound, value, unit: unit_of(metric), source: SOURCE }
}

/// The unit of a metric with published figures; counted events and gets are counts.
const fn unit_of(metric: &str) -> Unit {
    match metric.as_bytes() {
        b"cpu" => Unit::Seconds,
        b"row_time" => Unit::Nanoseconds,
        b"ipc" => Unit::Ratio,
        _ => Unit::Count,
    }
}

/// Declares the published figures of paths.
macro_rules! paths {
    ($($path:literal, $what:literal: $($metric:literal $bound:ident $value:literal),*;)*) => {
        &[
            TABLE_ROWS,
            TABLE_BLOCKS,
            $($(published($what, &[("path", $path)], $metric, Bound::$bound, $value),)*)*
        ]
    };
}

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "scan",
    parameters: &[parameters::ALL],
    metrics: &[METRICS, conditions::METRICS],
    families: &[events::FAMILIES, FAMILIES],
    findings: &[findings::ALL, events::findings::ALL, subjects::findings::ALL, conditions::findings::ALL],
    published: paths! {
        "index-bad-clustering", "index, bad clustering": "cpu" About 120.0, "gets" Above 60e6,
            "row_time" Exactly 1723.0, "instructions_per_row" Above 1000.0;
        "index-good-clustering", "index, good clustering": "cpu" About 40.0, "row_time" Exactly 574.0;
        "full-scan", "full scan": "cpu" Exactly 27.4, "gets" Exactly 1.6e6, "row_time" Exactly 393.0,
            "instructions_per_row" Exactly 461.0, "cycles_per_row" Exactly 1241.0, "ipc" Exactly 0.37;
        "full-scan-compressed", "full scan, compressed": "gets" Below 1.6e6, "ipc" Above 1.0;
        "column-scan", "in memory, predicate": "gets" Exactly 1.6e6, "instructions_per_row" Exactly 102.0,
            "ipc" Above 1.0;
        "column-count", "in memory, no predicate": "gets" Exactly 1.6e6, "instructions_per_row" Exactly 43.0,
            "ipc" Above 1.0;
    },
};
