//! `calibrate`: the cost constants of PostgreSQL's planner.

use super::spec::{Experiment, Stems, families, metrics, parameters};

parameters! {
    SUBJECT = "subject", "the server: `postgres 18.6`";
    PART = "part", "`constant`, `concurrency`, `query`, `crossover`, `verification`";
    CONSTANT = "constant", "of a constant: its name";
    CACHED_PERCENT = "cached_percent", "of a constant: percent of the blocks that were cached";
    EFFECTIVE_IO_CONCURRENCY = "effective_io_concurrency", "of concurrency: the setting that was tried";
    STATE = "state", "of the verification: `cold`, `cached`";
    CLUSTERING = "clustering", "of queries: `random`, `good`";
    ROWS = "rows", "of a query: rows that it asks for";
    CONSTANTS = "constants", "of the verification: `now`, `measured`, `recommended`, or the constants that were set";
}

metrics! {
    NOW = "now", Ratio, "the server's setting";
    VALUE = "value", Ratio, "the measured constant: a multiple of the cost of a block in sequence";
    VALUE_LOW = "value_low", Ratio, "lower end of its interval of 95 %";
    VALUE_HIGH = "value_high", Ratio, "upper end of its interval of 95 %";
    NOW_BYTES = "now", Bytes, "the server's setting of `effective_cache_size`";
    VALUE_BYTES = "value", Bytes, "the measured `effective_cache_size`";
    NOW_COUNT = "now", Count, "the server's setting of `effective_io_concurrency`";
    VALUE_COUNT = "value", Count, "the least `effective_io_concurrency` that is within 10 % of the fastest";
    TIME = "time", Microseconds, "of a constant: the time that it stands for";
    TIME_COMPUTED = "time_computed", Microseconds, "of a constant: that time from the cached and the cold one";
    BITMAP_TIME = "bitmap_time", Milliseconds, "a bitmap scan; of concurrency cold";
    ROWS = "rows", Count, "rows fetched";
    SELECTIVITY = "selectivity", Percent, "part of the rows that a query asks for";
    FULL_SCAN_TIME = "full_scan_time", Milliseconds, "a query by a full scan";
    INDEX_TIME = "index_time", Milliseconds, "a query by an index scan";
    CLOCKED = "clocked", Percent, "part of the rows from which on a full scan is faster, by the clock";
    QUERIES = "queries", Count, "queries of the verification";
    FASTEST_PICKED = "fastest_picked", Count, "queries whose plan takes at most 5 % more than the fastest";
    VERIFICATION_TIME = "time", Milliseconds, "of the verification: the plans that are picked";
    FASTEST_TIME = "fastest_time", Milliseconds, "the fastest plans";
    LOST = "lost", Milliseconds, "`time` less `fastest_time`";
    RUN_TIME = "run_time", Milliseconds, "all queries once, run as the planner likes";
    CACHE_BLOCKS = "effective_cache_size", Count, "of the verification: the setting in blocks";
}

/// Sets of constants.
const SETS: Stems = Stems::OneOf(&["now", "measured", "recommended"]);

/// Settings that are ratios; `SETTINGS` in `calibrate` names them.
const SETTINGS: Stems = Stems::OneOf(&[
    "seq_page_cost",
    "random_page_cost",
    "cpu_tuple_cost",
    "cpu_index_tuple_cost",
    "cpu_operator_cost",
    "parallel_tuple_cost",
    "parallel_setup_cost",
]);

families! {
    PREDICTED = "predicted_*", SETS, Percent, "part of the rows from which on the planner picks a full scan";
    PICKED_BY = "picked_by_*", SETS, Milliseconds, "the plan that the planner picks";
    SETTING = "*", SETTINGS, Ratio, "of the verification: the constant that was set";
}

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "calibrate",
    parameters: &[parameters::ALL],
    metrics: &[METRICS],
    families: &[FAMILIES],
    published: &[],
};
