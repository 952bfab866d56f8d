//! `ladder`: what each level costs, from the first cache to the storage.

use super::finding::findings;
use super::spec::{Experiment, Stems, families, metrics, parameters};
use super::{conditions, reads, subjects};

parameters! {
    RUNG = "rung", "the level";
    SEED = "seed", "seed of random order and of the test file";
    FOOTPRINT = "footprint", "bytes that are gone through (memory, buffer pool)";
    PAGES = "pages", "of memory: `small` or `huge`";
    HUGE_BYTES = "huge_bytes", "of memory: bytes that the kernel put on huge pages";
    BLOCK_SIZE = "block_size", "of memory in order: bytes that one value of `latency` stands for";
    ROW_LENGTH = "row_length", "of the buffer pool: bytes of a row";
    COLUMNS = "columns", "of the buffer pool: columns of a row";
    ROWS = "rows", "of the buffer pool: rows of a block";
    ACCESS = "access", "of the buffer pool: the order of the gets";
    DEPTH = "depth", "of reads: how many are in flight";
    BLOCKS_PER_READ = "blocks_per_read", "of reads: blocks of a read";
    IO_METHOD = "io_method", "of reads: how they are submitted";
    TOUCH = "touch", "of reads with `--on`: `first`, `second`";
}

metrics! {
    LATENCY = "latency", Nanoseconds, "one load, call or block of 8 KiB";
    GET_ALONE = "get_alone", Nanoseconds, "a get of the buffer pool that touches nothing";
    LATENCY_IN_ORDER = "latency_in_order", Nanoseconds, "the same with blocks in the order of the file";
}

families! {
    BANDWIDTH_OF_ONE = "bandwidth_*_thread", Stems::Number, MebibytesPerSecond, "memory read in order by one thread";
    BANDWIDTH_OF_THREADS = "bandwidth_*_threads", Stems::Number, MebibytesPerSecond,
        "memory read in order by several threads";
}

findings! {
    "ladder";
    ANSWER_RATIO = Info "answer-ratio", "a random physical I/O in logical I/Os of a random block";
    ANSWER_SINGLE_AGAINST_SEQUENTIAL = Info "answer-single-against-sequential", "a block alone over one of a long read";
    ANSWER_DEPTH = Info "answer-depth", "what the best depth gains over one read at a time";
    JUST_WRITTEN = Info "just-written", "the device rungs read a test file that this run wrote";
    LAZILY_LOADED = Warning "lazily-loaded", "the first touch of a block takes 3 times the second or more, on average";
    PAGE_CACHE_LOST = Warning "page-cache-lost", "the page cache did not serve its own rung";
    ABSENT_RUNG = Warning "absent-*" in [
        "storage-round-trip", "device-random-depth-1", "device-random-best-depth", "device-sequential"
    ], "the file system of the test file refuses direct I/O";
    MEMORY_NEAR_CACHE = Info "memory-near-cache", "2 to 4 times what the last-level cache holds is walked through; \
        a load within half of it costs about as much";
    ABSENT_MEMORY = Warning "absent-*" in ["dram", "dram-huge", "dram-sequential"], "too little memory is free to walk \
        through 4 times what the last-level cache holds (2 times where a load within half costs about as much)";
    UNTRIED = Warning "untried-*" in ["depths", "threads"], "threads or memory for more at once were refused";
}

/// Rungs from the processor outwards, each with its name on a page.
const LABELS: [(&str, &str); 14] = [
    ("l1", "L1 cache"),
    ("l2", "L2 cache"),
    ("l3", "L3 cache"),
    ("dram", "DRAM, 4 KiB pages"),
    ("dram-huge", "DRAM, 2 MiB pages"),
    ("dram-sequential", "DRAM in sequence"),
    ("system-call", "system call"),
    ("pool-get", "buffer pool: get"),
    ("lio", "buffer pool: get + rows"),
    ("page-cache-read", "OS page cache"),
    ("storage-round-trip", "storage's cache"),
    ("device-random-depth-1", "device, one at a time"),
    ("device-random-best-depth", "device, many at a time"),
    ("device-sequential", "device, in sequence"),
];

/// What a page calls the rung of this name; an unknown one as it is.
pub fn label(rung: &str) -> &str {
    LABELS.iter().find(|(name, _)| *name == rung).map_or(rung, |(_, label)| label)
}

/// A rung in a sentence, by its name on the page: `rung "L3 cache"`.
pub fn in_words(rung: &str) -> String {
    format!("rung \"{}\"", label(rung))
}

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "ladder",
    parameters: &[parameters::ALL, reads::parameters::ALL],
    metrics: &[METRICS, reads::METRICS, conditions::METRICS],
    families: &[FAMILIES],
    findings: &[findings::ALL, reads::findings::ALL, subjects::findings::ALL, conditions::findings::ALL],
    published: &[],
};
