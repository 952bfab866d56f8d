//! `profile`: the tables of a profile. All times are true microseconds.

use super::finding::findings;
use super::logs;
use super::sampled;
use super::spec::{Experiment, Family, Stems, families, metrics, parameters};
use super::tiers;

parameters! {
    TABLE = "table", "of which table the case is a row";
    SESSION = "session", "of tables by session: its name; absent for the whole";
    CLASS = "class", "the wait class, or the class of CPU time";
    EVENT = "event", "what was waited for";
    FROM_US = "from_us", "lower edge of a bucket, included; the next power of two ends it";
    CALL = "call", "`PARSE`, `EXEC`, `FETCH`, `CLOSE`, `LOBREAD`, ...";
    RECURSIVE = "recursive", "whether the calls were made by other calls";
    ID = "id", "the statement; `(others)` for all beyond 2000, of a session beyond its part of these";
    TEXT = "text", "200 characters of the statement, or all of it with `--statement`";
    COMMAND = "command", "what kind of statement it is";
    DEPTH = "depth", "recursion depth";
    USER = "user", "the user who parsed it";
    GOAL = "goal", "the goal of the optimizer";
    PLAN = "plan", "number of the plan, from 1";
    PLAN_HASH = "plan_hash",
        "its hash, an unsigned number of 64 bits: a reader that has doubles only loses its last digits";
    LINE = "line", "number of the line";
    PARENT = "parent", "number of the line above; of a row of `call_tree` the statement that calls";
    LEVEL = "level", "how deep the line stands";
    OPERATION = "operation", "what the line does";
    OBJECT = "object", "on which object";
    MODULE = "module", "module of the session";
    ACTION = "action", "action of the session";
    SERVICE = "service", "service of the session";
    CLIENT = "client", "client identifier of the session";
    CONTAINER = "container", "container of the session";
    FILE = "file", "number of the data file, or name of the file with unread lines";
    KIND = "kind", "kind of the unread lines";
    READING = "reading", "`single-block-read`, `multi-block-read`, `parallel-read`, `direct-read`, \
        `direct-read-temporary`, `direct-write`, `direct-write-temporary`, `buffer-wait`, `grant`, `logical-io`, \
        `re-read-blocks`";
    NUMBER = "number", "of a tier: from 1, fastest first";
    TIER = "tier", "`file-system-cache`, `storage-cache`, `disk`; of traced reads `page-cache`, `device`, `in-flight`, \
        `not-seen-whole`";
    EXTRA_BLOCKS = "extra_blocks", "of the miss curve: blocks added to the buffer cache";
    EXTRA_BYTES = "extra_bytes", "of the miss curve: the same in bytes";
    REST = "rest", "of a breakdown: true for what has no case of its own";
    BLOCK = "block", "of a breakdown: the first block of a wait, with its file";
    BLOCKS = "blocks", "of a breakdown: blocks of the request";
    STATEMENT = "statement", "of a breakdown: the statement";
    LATENCY = "latency", "of a breakdown: the time itself, in powers of two of µs";
    SECOND = "second", "of a breakdown: the second by the wall clock; of the source's clock where it has no stamps";
    MINUTE = "minute", "of a breakdown: the minute by the wall clock";
    FIRST_SECOND = "first_second", "of `timeline`: where its first step begins, in seconds since 1970 as if the wall \
        clock showed UTC; absent where only the source's own clock is known";
    STEP_SECONDS = "step_seconds", "of `timeline`: width of a step in seconds; a sample of its metrics is a step";
    BLOCK_CLASS = "block_class", "of a breakdown: the class of the block that was waited for, such as `1 data block`";
    P1 = "p1", "of a breakdown: the wait's first parameter; a lock's name and mode in words";
    P2 = "p2", "of a breakdown: the wait's second parameter, such as the number of a latch";
    P3 = "p3", "of a breakdown: the wait's third parameter";
}

metrics! {
    INTERVAL = "interval", Microseconds, "first to last time: `cpu` + `waits` + `unaccounted_within` + \
        `unaccounted_between`";
    RESPONSE_TIME = "response_time", Microseconds, "own elapsed time of calls, and waits after them, think time and \
        idle waits included: a page shows it without these";
    CPU = "cpu", Microseconds, "CPU time";
    WAITS = "waits", Microseconds, "time waited";
    WAIT_COUNT = "waits", Count, "of a scope: waits";
    UNACCOUNTED_WITHIN = "unaccounted_within", Microseconds, "time of calls that is neither CPU nor a wait";
    UNACCOUNTED_BETWEEN = "unaccounted_between", Microseconds, "time between calls that is no wait";
    ROOTS = "roots", Count, "calls without a parent";
    ORPHANS = "orphans", Count, "recursive calls whose parent is not in the trace";
    INTERRUPTIONS = "interruptions", Count, "gaps in the trace";
    IN_CALLS = "in_calls", Microseconds, "elapsed time of the calls without a parent";
    COMMITS = "commits", Count, "transactions with changes that were committed";
    ROLLBACKS = "rollbacks", Count, "transactions with changes that were rolled back";
    READ_ONLY_ENDS = "read_only_ends", Count, "transactions that ended without a change";
    PHYSICAL_READS = "physical_reads", Count, "blocks read from disk";
    LOGICAL_READS = "logical_reads", Count, "consistent and current gets";
    CALLS = "calls", Count, "calls or waits";
    TOTAL = "total", Microseconds, "their time";
    MIN = "min", Microseconds, "the shortest";
    MAX = "max", Microseconds, "the longest";
    MEAN = "mean", Microseconds, "the mean";
    INSIDE = "inside", Microseconds, "time waited inside calls";
    OUTSIDE = "outside", Microseconds, "time waited between calls";
    INSIDE_CALLS = "inside_calls", Count, "waits inside calls";
    OUTSIDE_CALLS = "outside_calls", Count, "waits between calls";
    BLOCKS = "blocks", Count, "blocks of the requests";
    ROWS = "rows", Count, "rows";
    MISSES = "misses", Count, "calls that missed the library cache";
    ELAPSED = "elapsed", Microseconds, "time of the calls without recursive ones";
    CONSISTENT_GETS = "consistent_gets", Count, "consistent gets";
    CURRENT_GETS = "current_gets", Count, "current gets";
    THINK_TIME = "think_time", Microseconds, "time waited for the client, beyond the limit";
    IDLE = "idle", Microseconds, "time waited with nothing to do, think time left out";
    PARSES = "parses", Count, "parse calls";
    EXECUTIONS = "executions", Count, "execute calls";
    FETCHES = "fetches", Count, "fetch calls";
    FETCHED_ROWS = "fetched_rows", Count, "rows of fetch calls";
    ROUND_TRIP = "round_trip", Microseconds, "mean wait for the client that is no think time";
    ROUND_TRIPS_SAVED = "round_trips_saved", Count, "fetches that arrays of 100 rows would save";
    ARRAY_SAVING = "array_saving", Microseconds, "the time of these round trips, if one takes the same time for \
        any number of rows";
    ARRAY_SAVING_LOW = "array_saving_low", Microseconds, "its least: 0, if a round trip takes as long as \
        what it carries";
    ARRAY_SAVING_HIGH = "array_saving_high", Microseconds, "its most, by the error of the mean";
    ESTIMATED_ROWS = "estimated_rows", Count, "rows that the optimizer expected of a start of the line";
    ERRORS = "errors", Count, "errors";
    TEXT_BYTES = "text_bytes", Count, "length of the statement";
    BLOCKS_OF_LINES = "blocks_of_lines", Count, "executions of a plan that were added up";
    STARTS = "starts", Count, "times that the line was started";
    LINES = "lines", Count, "lines that were not read";
    BYTES = "bytes", Count, "their bytes";
    FIRST_OFFSET = "first_offset", Count, "where the first of them begins";
    LATENCY = "latency", Microseconds, "time of a request";
    BLOCKS_PER_REQUEST = "blocks_per_request", Count, "blocks of a request";
    TIME_PER_BLOCK = "time_per_block", Microseconds, "time of a request over its blocks";
    BLOCKS_PER_SYSTEM_REQUEST = "blocks_per_system_request", Ratio, "blocks over requests to the operating system";
    LIO = "lio", Microseconds, "CPU time over gets";
    GETS = "gets", Count, "consistent and current gets";
    ROWS_PER_GET = "rows_per_get", Ratio, "rows over gets";
    LIO_OF_STATEMENTS = "lio_of_statements", Microseconds, "`lio` of each statement";
    CPU_PER_GET = "cpu_per_get", Microseconds, "fitted over statements: CPU time of a get";
    CPU_PER_GET_ERROR = "cpu_per_get_error", Microseconds, "its standard error";
    CPU_PER_ROW = "cpu_per_row", Microseconds, "fitted over statements: CPU time of a row";
    CPU_PER_ROW_ERROR = "cpu_per_row_error", Microseconds, "its standard error";
    FIT_R_SQUARED = "fit_r_squared", Ratio, "coefficient of determination of that fit";
    BLOCK_READS = "block_reads", Count, "blocks read";
    DISTINCT_BLOCKS = "distinct_blocks", Count, "different blocks among them";
    READS_AGAIN = "reads_again", Count, "reads of a block that was read before";
    SHARE_OF_READS = "share_of_reads", Percent, "these among all";
    SHARE_ERROR = "share_error", Percent, "how far a share may be off, 19 of 20 times";
    SHARE_OF_BLOCKS = "share_of_blocks", Percent, "blocks that were read more than once";
    BLOCK_SIZE = "block_size", Bytes, "size of a block; its source says if it is assumed";
    SHARE = "share", Percent, "part of the whole";
    MODE = "mode", Microseconds, "the most frequent latency";
    BELOW = "below", Microseconds, "the latency where the next tier begins";
    READS_AVOIDED = "reads_avoided", Count, "reads that a larger buffer cache would avoid";
    SHARE_AVOIDED = "share_avoided", Percent, "these among all";
    TIME_AVOIDED = "time_avoided", Microseconds, "the time that they took";
    STATEMENT_TEXT = "statement_text", Bytes, "memory that the profile took for texts of statements";
    MISS_CURVE_MEMORY = "miss_curve_memory", Bytes, "memory of the miss curve when it was largest";
    VALUES = "values", Count, "of a breakdown: how many values the rest has";
    COVERED = "covered", Microseconds, "of a timeline: how much of each step the profile covers";
    TIME = "time", Microseconds, "time of a line of a plan";
    PHYSICAL_WRITES = "physical_writes", Count, "blocks written";
    READ_TIME = "read_time", Microseconds, "time that a line waited for reads";
}

findings! {
    "profile";
    ANSWER_CLASS = Info "answer-class", "the largest class, and the next where it has a tenth of the time";
    ANSWER_STATEMENTS = Info "answer-statements", "how few statements make 80 % of what the statements are ordered by";
    ANSWER_PHYSICAL_READS = Info "answer-physical-reads", "how few statements make 80 % of 100 physical reads or more";
    ANSWER_LOGICAL_READ = Info "answer-logical-read", "CPU time per logical I/O, of 1000 or more";
    ANSWER_TRANSACTIONS = Info "answer-transactions", "ends of transactions, where commits have a tenth of the time";
    TRANSACTIONS = Info "transactions", "ends of transactions elsewhere";
    PRACTICE = Info "practice-*" in crate::wait_class::SERVING_KEYS,
        "what makes a class smaller that has a tenth of the time";
    STATEMENTS_ADDED_UP = Info "statements-added-up", "statements without a row of their own";
    FOLDED_INCLUSIVE = Info "folded-inclusive", "statements were seen together, by their texts without literals";
    FOLDED_BY_ITSELF = Warning "folded-by-itself", "nine of ten statements were executed once, and are seen together";
    WAITS_NOT_TRACED = Warning "waits-not-traced", "the trace has calls and no waits";
    SESSIONS_NOT_TRACED = Warning "waits-of-sessions-not-traced", "some sessions have calls and no waits";
    ESTIMATED_TIMES = Info "estimated-times", "the source gives times of events as estimates";
    UNRECORDED = Warning "unrecorded", "time between files of one session";
    NEGATIVE_WITHIN = Info "negative-unaccounted-within", "waits and CPU within calls exceed their time by over 0.5 % \
        of the interval";
    NEGATIVE_BETWEEN = Warning "negative-unaccounted-between", "calls and waits overlap by over 0.5 % of the interval";
    NUMBER_TOO_LARGE = Warning "number-too-large", "lines with numbers too large to be added";
    NEGATIVE_ELAPSED = Warning "negative-elapsed", "lines with an elapsed time below zero";
    CLOCK_LEAPT = Warning "clock-leapt", "a time leaps ahead of the stamps of the wall clock";
    CLOCK_WENT_BACK = Warning "clock-went-back", "the clock of the trace went back by over a second";
    FOLD_STRADDLED = Warning "fold-straddled", "too many calls awaited a parent";
    PLACED_BY_NAME = Warning "placed-by-name", "waits were put inside or between calls by their names";
    PLACED_BY_NEIGHBOUR = Warning "placed-by-neighbour", "calls and waits whose time is not known, of an interval that \
        was asked for";
    SIZE_LIMIT = Warning "size-limit", "the trace reached its greatest size";
    FILE_RECREATED = Warning "file-recreated", "the trace was removed and begun again";
    FOLLOWED_ANEW = Warning "followed-anew", "the file that was followed was read from its beginning again, and why";
    FOLLOWED_WHOLE = Info "followed-whole", "each page of what was followed reads all of it, and why";
    TEXT_CUT = Warning "text-cut", "the file was cut within the text of a statement";
    UNDECLARED_CURSORS = Info "undeclared-cursors", "calls of cursors that the trace does not declare";
    UNDECLARED_SHARED = Warning "undeclared-cursors-shared", "too many such cursors for rows of their own";
    STATEMENTS_SHARED = Warning "statements-shared", "too many statements for rows of their own";
    CURSORS_SHARED = Warning "cursors-shared", "too many cursors to keep apart";
    SESSIONS_SHARED = Warning "sessions-shared", "too many sessions to keep apart";
    SESSIONS_FOLDED = Info "sessions-folded", "too many sessions for rows of their own";
    TEXT_SHORTENED = Info "text-shortened", "texts of statements that are longer than is kept";
    RECORDS_IN_BIND_VALUES = Warning "records-in-bind-values", "a bind value does not end before the next record";
    BLOCKS_REFUSED = Warning "blocks-refused", "a wait names a number of blocks that no read has";
    PLANS_LEFT_OUT = Info "plans-left-out", "more plans of a statement than are kept";
    FILES_SHARED = Info "files-shared", "more data files than are kept apart";
    SEVERAL_SESSIONS = Info "several-sessions", "sessions are added up";
    ORPHAN_CALLS = Info "orphan-calls", "recursive calls whose parent is not in the trace";
    PARSED_EVERY_TIME = Warning "parsed-at-every-execution", "a statement of 20 executions or more is parsed at nine \
        of ten or more";
    EXECUTED_ONCE = Warning "executed-once", "nine of ten statements, of 20 or more, were executed once";
    ROW_BY_ROW = Warning "row-by-row", "100 fetches or more return less than two rows each, of executions with 20 or \
        more";
    SMALL_ARRAYS = Warning "small-arrays", "larger arrays would save a hundredth of the interval";
    PLAN_TIMES_CONTRADICT = Info "plan-times-contradict", "lines of plans took longer than the lines above them";
    EVENTS_WITHOUT_CLASS = Info "events-without-class", "events that no class lists";
    FAILED_CALLS = Info "failed-calls", "calls that ended with an error";
    FILE_LEFT_OUT = Warning "file-left-out", "a file that could not be read";
    FILES_LEFT_OUT = Warning "files-left-out", "further ones, beyond five";
    FILES_NOT_CHOSEN = Info "files-not-chosen", "files with another name or time than was asked for";
    FILE_CUT_SHORT = Warning "file-cut-short", "a file that was read in part";
    OTHER_PART_MISSING = Warning "other-part-missing", "the trace comes from, or goes on in, a file that was not given";
    SAME_CONTENT = Warning "same-content", "two files of the same size that begin with the same bytes";
    MIXED_ARCHIVE = Warning "mixed-archive", "an archive with several kinds of files, of which one was read";
    TIME_UNIT = Info "time-unit", "times are in other units than microseconds";
    UNREAD_LINES = Info "unread-lines", "lines that were not read";
    LARGER_CACHE_GAINS = Info "larger-cache-gains", "the smallest cache that avoids 80 % of what any size avoids";
    LARGER_CACHE_GAINS_LITTLE = Info "larger-cache-gains-little", "less than 5 % of the block reads read a block again";
    MISS_CURVE_SAMPLED = Info "miss-curve-sampled", "the miss curve rests on a sample of blocks";
    MISS_CURVE_LEAVES_OUT = Info "miss-curve-leaves-out", "reads that the miss curve does not contain";
    MISS_CURVE_OF_SEVERAL_FILES = Info "miss-curve-of-several-files", "the blocks of several files are taken for one \
        database's";
    TIERS = Info "tiers-*" in ["single-block-read", "multi-block-read"], "where 40 reads or more were served";
    FILE_SYSTEM_CACHE_ANSWERS = Warning "file-system-cache-answers-*" in ["single-block-read", "multi-block-read"],
        "a tenth of the reads or more was as fast as memory";
    LATENCY_BELOW_ZERO = Warning "latency-below-zero", "waits for blocks with a time below zero";
    LOGICAL_IO_BY_ROWS = Info "logical-io-by-rows", "the CPU time of gets and of rows, fitted over statements, or why \
        it is not given";
    NO_TIMELINE = Info "no-timeline", "the sessions at work are not known over time, and why";
    SKEW_MERGED = Warning "skew-merged", "a breakdown with too many values to keep apart";
    SKEW_WITHOUT_CPU = Info "skew-without-cpu", "calls whose CPU time the source does not know";
    SKEW_WITHOUT_VALUE = Info "skew-without-value", "dimensions in which nothing of a breakdown has a value";
    SKEW_EMPTY = Warning "skew-empty", "no wait passes the filter, and no call of known CPU time";
}

/// The session that stands for those without rows of their own; ` (2)` and so on follows where a session of the input
/// has this name already.
pub const OTHER_SESSIONS: &str = "other sessions";

/// A session that no line names; ` (2)` and so on follows where an earlier one is not named either.
pub const UNNAMED_SESSION: &str = "unnamed";

/// The tables of which cases are rows: the values of the parameter `table`.
pub const TABLES: [&str; 34] = [
    "background",
    "binds",
    "blocker",
    "call",
    "call_tree",
    "class",
    "class_event",
    "event",
    "file",
    "histogram",
    "memory",
    "miss_curve",
    "plan_line",
    "read_hill",
    "read_latency",
    "read_relation",
    "read_request",
    "read_statement",
    "read_tier",
    "read_wait",
    "reading",
    "sampling",
    "scope",
    "skew",
    "statement",
    "statement_call",
    "statement_event",
    "statement_histogram",
    "statement_text",
    "summary",
    "tier",
    "timeline",
    "tracing",
    "unread",
];

/// Times of calls and of lines of a plan.
const TIMES: Stems = Stems::OneOf(&["cpu", "elapsed", "time", "read_time"]);

/// Work of calls and of lines of a plan.
const WORK_STEMS: &[&str] = &["physical_reads", "consistent_gets", "current_gets", "gets", "physical_writes"];
const WORK: Stems = Stems::OneOf(WORK_STEMS);

families! {
    INCLUSIVE_TIME = "inclusive_*", TIMES, Microseconds, "time with recursive calls or lines below";
    INCLUSIVE_WORK = "inclusive_*", WORK, Count, "work with recursive calls or lines below";
    OWN_TIME = "own_*", TIMES, Microseconds, "time of a statement without recursive calls";
    OWN_WORK = "own_*", WORK, Count, "work of a statement without recursive calls";
}

/// Time and work of a statement without recursive calls.
pub const OWN: [Family; 2] = [OWN_TIME, OWN_WORK];
/// Time and work with recursive calls or lines below.
pub const INCLUSIVE: [Family; 2] = [INCLUSIVE_TIME, INCLUSIVE_WORK];
/// Time and work under the names of [`METRICS`].
pub const PLAIN: [Family; 2] = [Family { pattern: "*", ..INCLUSIVE_TIME }, Family { pattern: "*", ..INCLUSIVE_WORK }];

/// Whether a metric counts blocks that were got, read or written: what does not count blocks has none of these.
pub fn is_of_blocks(metric: &str) -> bool {
    let stem = metric.strip_prefix("inclusive_").or_else(|| metric.strip_prefix("own_")).unwrap_or(metric);
    stem == LOGICAL_READS.name || WORK_STEMS.contains(&stem)
}

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "profile",
    parameters: &[parameters::ALL, sampled::parameters::ALL, tiers::parameters::ALL],
    metrics: &[METRICS, sampled::METRICS, tiers::METRICS],
    families: &[FAMILIES, tiers::FAMILIES],
    findings: &[findings::ALL, logs::findings::ALL, sampled::findings::ALL, tiers::findings::ALL],
    published: &[],
};
