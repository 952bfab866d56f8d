//! `lio`: the cost of a logical I/O.

use super::finding::findings;
use super::spec::{Bound, Experiment, Published, metrics, parameters};
use super::{conditions, subjects};
use crate::unit::Unit;

parameters! {
    SUBJECT = "subject", "where several subjects were measured: `engine`, `postgres 15.18`";
    TABLE = "table", "of a standby or a given SQLite file: the table that was read";
    ROW_LENGTH = "row_length", "bytes of a row";
    COLUMNS = "columns", "columns of a row";
    ACCESS = "access", "`full-scan`, `rowid`, `rowid-in-order`, `one-page`, `index`; of physical reads \
        `random`, `sequential`";
    TOUCH = "touch", "what is done with a block: `nothing`, `directory`, `rows`, `column-N`";
    THREADS = "threads", "threads that read at once";
    CHANGED_ROWS = "changed_rows", "percent of the rows that changed after the moment of the query";
    PAYLOAD = "payload", "bytes of the rows of the table";
    SEED = "seed", "seed of the data and of random order";
    VISIBILITY = "visibility", "of a server: `first-scan`, `all-visible`";
    CHECK = "check", "of a cross-check: `population`, `read_path`, `physical`";
    POPULATION = "population", "of a cross-check: `full-scan`, `interleaved`";
    READ_PATH = "read_path", "of a cross-check: `rowid-in-order`";
    BLOCKS_PER_READ = "blocks_per_read", "of physical reads: blocks of a read";
}

metrics! {
    LIO = "lio", Microseconds, "CPU time of a logical I/O: the get and what is done with the block";
    GET = "get", Nanoseconds, "CPU time of the get alone";
    ROW_WALK = "row_walk", Nanoseconds, "CPU time of a row: `lio` less `get`, over the rows of a get";
    GETS = "gets", Count, "blocks got";
    ROWS = "rows", Count, "rows read";
    CPU = "cpu", Seconds, "CPU time of one pass";
    ELAPSED = "elapsed", Seconds, "time of one pass";
    ROWS_PER_BLOCK = "rows_per_block", Count, "rows over blocks got";
    PINNED_REVISITS = "pinned_revisits", Count, "rows found in a block that was still pinned";
    PHYSICAL_READS = "physical_reads", Count, "blocks that were not cached";
    REBUILT_BLOCKS = "rebuilt_blocks", Count, "consistent-read copies made";
    UNDO_GETS = "undo_gets", Count, "blocks of undo got for these copies";
    LAPS = "laps", Count, "passes of one sample";
    BLOCK = "block", Microseconds, "CPU time over blocks of the table, with the gets of its undo";
    LIO_BY_CYCLES = "lio_by_cycles", Nanoseconds, "`lio` by the processor's cycle counter";
    GETS_PER_SECOND = "gets_per_second", PerSecond, "gets of all threads over elapsed time";
    PHYSICAL_BLOCK = "physical_block", Nanoseconds, "a physical read, over its blocks";
    STATEMENT_BESIDE = "statement_beside", Microseconds, "of a server or SQLite: the cost of a statement that does \
        all but read the table";
}

findings! {
    "lio";
    ANSWER_RATIO = Info "answer-ratio", "a physical I/O of a block in logical I/Os of a full scan";
    ANSWER_SHAPE = Info "answer-shape", "what the length and the columns of rows do to the cost of a block";
    ANSWER_SPLIT = Info "answer-split", "the part of the get in a logical I/O";
    ANSWER_CHANGED_ROWS = Info "answer-changed-rows", "a block that is rebuilt over one that is not, at its dearest";
    ANSWER_THREADS = Info "answer-threads", "what more threads bring on distinct blocks";
    ANSWER_CONTENTION = Info "answer-contention", "what a get costs when threads share its block";
    ANSWER_FIRST_SCAN = Info "answer-first-scan", "of a server: the first scan after a load over later ones";
    ANSWER_RANDOM_ACCESS = Info "answer-random-access", "a get by row address and through an index, against a scan";
    ANSWER_STANDBY = Info "answer-standby", "of a standby or a given SQLite file: what scans of its tables cost";
    ANSWER_AGAINST_ENGINE = Info "answer-against-engine", "a logical I/O of a subject over the engine's";
    SOURCES_AGREE = Info "sources-agree", "two ways to one number that differ by 10 % or less";
    SOURCES_DIFFER = Warning "sources-differ-*" in ["population", "clocks", "cycles"],
        "two ways to one number that differ by more than 10 %";
    READ_PATH_DIFFERS = Info "sources-differ-read-path", "the same gets by rowid cost over 10 % more or less than by \
        a scan";
    SAMPLES_APART = Warning "samples-apart", "samples of a case of a server or SQLite lie over ±10 % apart";
    ABSENT_LIO = Warning "absent-lio", "what is taken off, a pass that touches nothing, takes as long as the reads";
    ABSENT_CYCLES = Info "absent-cycles", "core cycles were not counted, or not in all cases";
    TABLES_FIT_CACHE = Warning "tables-fit-cache", "the payload of the tables fits into a cache of the processor";
    NOT_ALL_CACHED = Warning "not-all-cached", "blocks were read in a case that should find all of them cached";
}

const LOGICAL_IO: &str = "\"Logical I/O\"";
const ON_A_PC: &str = "\"Logical I/O\", on a PC";
const ON_A_SERVER: &str = "\"Logical I/O\", on a Solaris M-8000 server";

const fn ratio(what: &'static str, bound: Bound, value: f64, source: &'static str) -> Published {
    Published { metric: None, what, case: &[], bound, value, unit: Unit::Ratio, source }
}

/// Physical over logical I/O, as Millsap measured it.
pub const MILLSAP: Published =
    ratio("a physical over a logical I/O", Bound::Exactly, 37.0, "Millsap, as cited by \"Logical I/O\"");
/// Physical over logical I/O, as the folklore has it.
pub const FOLKLORE: Published =
    ratio("a physical over a logical I/O", Bound::Exactly, 10_000.0, "folklore, as cited by \"Logical I/O\"");
/// Physical over logical I/O in reads of 128 blocks.
pub const RANGED: Published = ratio("a block read among 128 over a logical I/O", Bound::About, 6.0, LOGICAL_IO);
/// Blocks of rows of 25 bytes over blocks of rows of 2500 bytes; geometric mean over three numbers of columns.
pub const BY_LENGTH: Published =
    ratio("a block of rows of 25 bytes over one of 2500 bytes, geometric mean", Bound::Exactly, 4.18, ON_A_PC);
/// Rows of 25 columns over rows of one; geometric mean over three lengths.
pub const BY_COLUMNS: Published =
    ratio("a block of rows of 25 columns over one of 1 column, geometric mean", Bound::Exactly, 1.16, ON_A_PC);

/// A full scan that counts rows.
const fn scan(case: &'static [(&'static str, &'static str)], value: f64, source: &'static str) -> Published {
    let what = "a full scan that counts rows";
    let (bound, unit) = (Bound::Exactly, Unit::Microseconds);
    Published { metric: Some("lio"), what, case, bound, value, unit, source }
}

/// The parameters of a full scan that counts rows of a length and a number of columns.
macro_rules! shape {
    ($length:literal, $columns:literal) => {
        &[
            ("row_length", $length),
            ("columns", $columns),
            ("access", "full-scan"),
            ("touch", "rows"),
            ("threads", "1"),
            ("changed_rows", "0"),
        ]
    };
}

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "lio",
    parameters: &[parameters::ALL],
    metrics: &[METRICS, conditions::METRICS],
    families: &[],
    findings: &[findings::ALL, subjects::findings::ALL, conditions::findings::ALL],
    published: &[
        scan(shape!("2500", "1"), 1.44, ON_A_PC),
        scan(shape!("2500", "5"), 1.34, ON_A_PC),
        scan(shape!("2500", "25"), 1.43, ON_A_PC),
        scan(shape!("250", "1"), 2.06, ON_A_PC),
        scan(shape!("250", "5"), 4.41, ON_A_PC),
        scan(shape!("250", "25"), 2.50, ON_A_PC),
        scan(shape!("25", "1"), 5.32, ON_A_PC),
        scan(shape!("25", "5"), 5.52, ON_A_PC),
        scan(shape!("25", "25"), 6.85, ON_A_PC),
        scan(shape!("2500", "1"), 5.04, ON_A_SERVER),
        scan(shape!("2500", "5"), 5.44, ON_A_SERVER),
        scan(shape!("2500", "25"), 5.39, ON_A_SERVER),
        scan(shape!("250", "1"), 8.87, ON_A_SERVER),
        scan(shape!("250", "5"), 8.97, ON_A_SERVER),
        scan(shape!("250", "25"), 8.64, ON_A_SERVER),
        scan(shape!("25", "1"), 8.56, ON_A_SERVER),
        scan(shape!("25", "5"), 8.29, ON_A_SERVER),
        scan(shape!("25", "25"), 8.94, ON_A_SERVER),
        MILLSAP,
        FOLKLORE,
        RANGED,
        BY_LENGTH,
        BY_COLUMNS,
    ],
};
