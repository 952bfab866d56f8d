//! `profile`: the tables of a profile. All times are true microseconds.

use super::spec::{Experiment, Family, Stems, families, metrics, parameters};

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
    PLAN = "plan", "number of the plan, from 1";
    PLAN_HASH = "plan_hash", "its hash";
    LINE = "line", "number of the line";
    PARENT = "parent", "number of the line above";
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
    TIER = "tier", "`file-system-cache`, `storage-cache`, `disk`";
    EXTRA_BLOCKS = "extra_blocks", "of the miss curve: blocks added to the buffer cache";
    EXTRA_BYTES = "extra_bytes", "of the miss curve: the same in bytes";
    REST = "rest", "of a breakdown: true for what has no case of its own";
    BLOCK = "block", "of a breakdown: the first block of a wait, with its file";
    BLOCKS = "blocks", "of a breakdown: blocks of the request";
    STATEMENT = "statement", "of a breakdown: the statement";
    LATENCY = "latency", "of a breakdown: the time itself, in powers of two of µs";
    SECOND = "second", "of a breakdown: seconds of the source's clock";
}

metrics! {
    INTERVAL = "interval", Microseconds, "first to last time: `cpu` + `waits` + `unaccounted_within` + \
        `unaccounted_between`";
    RESPONSE_TIME = "response_time", Microseconds, "own elapsed time of calls, and waits after them";
    CPU = "cpu", Microseconds, "CPU time";
    WAITS = "waits", Microseconds, "time waited";
    WAIT_COUNT = "waits", Count, "of a scope: waits";
    UNACCOUNTED_WITHIN = "unaccounted_within", Microseconds, "time of calls that is neither CPU nor a wait";
    UNACCOUNTED_BETWEEN = "unaccounted_between", Microseconds, "time between calls that is no wait";
    ROOTS = "roots", Count, "calls without a parent";
    ORPHANS = "orphans", Count, "recursive calls whose parent is not in the trace";
    INTERRUPTIONS = "interruptions", Count, "gaps in the trace";
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
    PARSES = "parses", Count, "parse calls";
    EXECUTIONS = "executions", Count, "execute calls";
    FETCHES = "fetches", Count, "fetch calls";
    FETCHED_ROWS = "fetched_rows", Count, "rows of fetch calls";
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
    TIME = "time", Microseconds, "time of a line of a plan";
    PHYSICAL_WRITES = "physical_writes", Count, "blocks written";
    READ_TIME = "read_time", Microseconds, "time that a line waited for reads";
}

/// Times of calls and of lines of a plan.
const TIMES: Stems = Stems::OneOf(&["cpu", "elapsed", "time", "read_time"]);

/// Work of calls and of lines of a plan.
const WORK: Stems = Stems::OneOf(&["physical_reads", "consistent_gets", "current_gets", "gets", "physical_writes"]);

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

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "profile",
    parameters: &[parameters::ALL],
    metrics: &[METRICS],
    families: &[FAMILIES],
    published: &[],
};
