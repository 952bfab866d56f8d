//! `calibrate`: the cost constants of PostgreSQL's planner.

use super::finding::findings;
use super::spec::{Experiment, Stems, families, metrics, parameters};
use super::{conditions, subjects};

/// The part of the time limit below which another plan is faster than a current plan that was ended there. The limit
/// holds for planning and waits for locks too, and a disk's times differ from run to run.
pub const WITHIN_LIMIT: f64 = 0.8;

/// Milliseconds by which two readings of the same time may differ: a smaller difference is none.
pub const READING_MILLIS: f64 = 0.05;

parameters! {
    SUBJECT = "subject", "the server: `postgres 18.6`";
    PART = "part", "`state`, `constant`, `tablespace`, `concurrency`, `crossover`, `switch`, `query`, `refused`, \
        `remedy`, `set`";
    CONSTANT = "constant", "of a constant, also in a tablespace: its name";
    TABLESPACE = "tablespace", "of a tablespace: its name";
    EFFECTIVE_IO_CONCURRENCY = "effective_io_concurrency", "of concurrency: the setting that was tried";
    MAINTENANCE_IO_CONCURRENCY = "maintenance_io_concurrency", "of concurrency: the setting that was tried";
    STATE = "state", "what is in the caches: `cold`, `system`, `cached`; of the user's queries `as-found`, and on a \
        copy of a data directory `own-cold`";
    SOURCE = "source", "whose queries: `verification`, `own`";
    QUERY = "query", "of a query: its name";
    CONSTANTS = "constants", "of a set: `now`, `cold`, `system`, `cached`, `between`, `safe`, `random-1.1`, \
        `random-2`, `half-pages`, `double-pages`, `eighth-pages`, `in-memory`, `tried-1` to `tried-3`; of a switch: \
        those that the planner goes by, absent where paths were timed";
    ORDER = "order", "of a crossover and a switch: how rows lie to the index: `scattered`, `clustered`";
    PATH = "path", "of a crossover: `full-scan`, `index`, `bitmap`";
    ASKED_ROWS = "asked_rows", "of a crossover: rows that the statement asks for";
    CHOSEN_BY = "chosen_by", "of a crossover: constants by which the planner takes the path: `now`, `cached`, or both";
    SWITCH = "switch", "`from-index`: another path than the index scan is taken; `to-full-scan`: the full scan is";
    NODE_NOW = "node_now", "of a query: the topmost step that differs, by the server's own constants";
    NODE_THEN = "node_then", "of a query: that step by the set";
    PLAN_NOW = "plan_now", "of a query: its plan by the server's own constants";
    PLAN_THEN = "plan_then", "of a query: its plan by the set";
    VERDICT = "verdict", "of a query: `faster`, `slower`, `undecided`, which plan was ended when, or why not; of a \
        set: as `advice`; of a crossover: why it was not timed; of a switch: `too early`, `about right`, `too late`";
    ENDED = "ended", "of a query: which of its plans were ended at a limit, which stands for their times: `now`, \
        `then`, `both`; absent where neither was";
    ADVICE = "advice", "of the set of the advice: `change`, `keep`, `undecided`; of a query: `keep` where it is an \
        exception from the set and keeps the server's own constants; of a remedy: what would help";
}

metrics! {
    NOW = "now", Ratio, "the server's setting";
    VALUE = "value", Ratio, "the measured constant in the unit of the server's `cpu_tuple_cost`";
    VALUE_LOW = "value_low", Ratio, "lower end of the interval of 95 % of one pass";
    VALUE_HIGH = "value_high", Ratio, "upper end of the interval of 95 % of one pass";
    PASSES_SPREAD = "passes_spread", Ratio, "the largest pass (in a sweep, sample of a value) divided by the smallest";
    GIVEN = "given", Ratio, "the value in the sets of constants; absent where it is withheld";
    NOW_BYTES = "now", Bytes, "the server's setting of `effective_cache_size`";
    VALUE_BYTES = "value", Bytes, "what the server has cached of the database";
    NOW_COUNT = "now", Count, "the server's setting of `effective_io_concurrency` or `maintenance_io_concurrency`";
    FROM_COUNT = "from", Count, "the least value of that setting in the unbroken range around the fastest that is \
        within 10 % of it";
    TO_COUNT = "to", Count, "the largest such";
    TIME = "time", Microseconds, "of a constant: the time that it stands for";
    BITMAP_TIME = "bitmap_time", Milliseconds, "of concurrency: a cold bitmap scan";
    ANALYZE_TIME = "analyze_time", Milliseconds, "of concurrency: ANALYZE of a cold table";
    ROWS = "rows", Count, "rows fetched";
    HITS = "hits", Percent, "of a state: blocks that were found in the shared buffers";
    FILES_HELD = "files_held", Percent, "of a state: part of the database's files in the page cache";
    READ_TIME = "read_time", Microseconds, "of a state: a block that was not in the buffers";
    TIME_NOW = "time_now", Milliseconds, "a query, or all, by the server's own constants; of a plan that was ended, \
        its limit";
    TIME_THEN = "time_then", Milliseconds, "a query by the set, or another plan; of a set the sum over its queries \
        of `time_now` times `ratio`; of a plan that was ended, its limit";
    TIME_BY_TURNS = "time_by_turns", Milliseconds, "of a query whose `ratio` is 1 because its times differ by less \
        than two readings of one time do: its time by the set as it is in the sum over the set's queries, `time_now` \
        times the median ratio of its turns";
    RATIO = "ratio", Ratio, "time by the set over time by the server's own constants: of a query the median of its \
        turns, of a set the geometric mean of its queries";
    RATIO_LOW = "ratio_low", Ratio, "lower end of its interval of 95 %";
    RATIO_HIGH = "ratio_high", Ratio, "upper end of its interval of 95 %; alone where the current plan was ended: the \
        ratio is at most that";
    WORST = "worst", Ratio, "of a set: the ratio of the query that loses most";
    GAIN = "gain", Count, "of a set: how much nearer its plans are to the fastest ones than those by the server's own \
        constants, by which sets are ranked: 1 is a query that takes half the time or less";
    QUERIES = "queries", Count, "of a set: queries";
    CHANGED = "changed", Count, "of a set: queries whose plan it changes, without exceptions";
    EXCEPTED = "excepted", Count, "of a set: queries that are exceptions from it, and are in none of its figures but \
        `queries`";
    FASTER = "faster", Count, "of a set: queries that are certainly faster";
    SLOWER = "slower", Count, "of a set: queries that are certainly slower";
    SHARE = "share", Percent, "of a crossover: the rows of the table that are asked for";
    PATH_TIME = "path_time", Milliseconds, "of a crossover: the statement by this path";
    COST_NOW = "cost_now", Ratio, "of a crossover: the planner's cost of the path by the server's own constants";
    COST_THEN = "cost_then", Ratio, "of a crossover: that cost by the measured constants";
    FROM_ROWS = "from_rows", Count, "of a switch: rows from which on the planner takes the other path, or from which \
        on it is faster; absent where there are none within what was tried";
    ESTIMATE_OFF = "estimate_off", Ratio, "of a remedy: how many times the rows of a step are off";
}

/// The planner's constants that change which plan is chosen: a set has a value of each, in this order, or of none.
pub const SET_CONSTANTS: [&str; 5] =
    ["seq_page_cost", "random_page_cost", "cpu_tuple_cost", "cpu_index_tuple_cost", "cpu_operator_cost"];

/// How the names of sets begin whose number is a rank: the best of those that were only tried. In another run, the same
/// name stands for another set.
pub const RANKED: &str = "tried-";

/// The set between the states, and its name where it harmed no query in any of them: both name one set.
pub const BETWEEN: &str = "between";
/// The same where it harms in no state.
pub const SAFE: &str = "safe";

/// What would help, of the words of a remedy on it: behind the step and the figures by which it was found, which differ
/// from run to run.
pub fn what_would_help(remedy: &str) -> &str {
    remedy.rsplit_once(": ").map_or(remedy, |(_, help)| help)
}

/// The settings of a set.
const SETTINGS: Stems = Stems::OneOf(&SET_CONSTANTS);

families! {
    SETTING = "*", SETTINGS, Ratio, "of a set: the constant that was set";
}

findings! {
    "calibrate";
    ANSWER_ADVICE = Info "answer-advice-*" in ["cold", "system", "cached", "as-found", "own-cold"],
        "what to change, what it is worth here, and how sure that is";
    ADVICE_NOTES = Info "advice-notes-*" in ["cold", "system", "cached", "as-found", "own-cold"],
        "queries that the advice leaves out or leaves open, and why";
    ANSWER_STATE = Info "answer-state", "what the server finds cached, by its own counters";
    ANSWER_RANDOM_PAGE = Info "answer-random-page", "a block at random over one in sequence, by what is cached";
    ANSWER_CONCURRENCY = Info "answer-concurrency", "the settings of effective_io_concurrency that are as good";
    ANSWER_MAINTENANCE = Info "answer-maintenance", "the settings of maintenance_io_concurrency that are as good";
    ANSWER_CROSSOVER = Info "answer-crossover-*" in ["scattered", "clustered"],
        "up to how many rows each path is the fastest, and where the planner changes to another";
    ABSENT_CROSSOVER = Info "absent-crossover", "paths were not timed, because that would take too long";
    NOT_COLD = Warning "not-cold", "a part of the table was in the page cache when it was to be cold";
    WITHHELD_CONSTANTS = Info "withheld-constants", "constants that do not repeat themselves";
    ONE_PASS = Info "one-pass", "whether constants repeat themselves is not known";
    ZERO_COSTS = Warning "zero-costs", "constants that others are multiples of are 0 on the server";
    TABLESPACE_COSTS = Warning "tablespace-costs", "tablespaces with costs of their own";
    ONE_TABLESPACE = Info "one-tablespace", "tablespaces that were not measured, and why";
    ANSWER_TABLESPACES = Info "answer-tablespaces", "what a block takes in each tablespace";
    TRIED = Info "tried-sets", "sets with cheaper blocks, and cold with dearer ones too, tried on the user's queries";
    LISTED_WITHOUT_TABLES = Info "listed-without-tables", "listed queries that read no table are left out";
    LISTED_HIDDEN = Warning "listed-hidden", "listed statements of other roles, whose texts the role may not see";
    LISTED_LOST = Warning "listed-lost", "listed statements whose texts the server has lost";
    TIMED_CACHED = Warning "timed-cached", "the timed runs found more in memory than the server's own work does";
    ONE_STATE = Info "one-state", "the advised set was timed on the user's queries in one state of the caches alone";
    ABSENT_STATE = Info "absent-state", "the server's counters do not tell what it finds cached";
    ABSENT_BEYOND = Info "absent-beyond", "no table beyond the shared buffers was made";
    ABSENT_CONSTANTS = Warning "absent-constants", "no block has a cost above the noise";
    ABSENT_CONCURRENCY = Warning "absent-concurrency", "effective_io_concurrency could not be determined";
    ABSENT_MAINTENANCE = Warning "absent-maintenance", "maintenance_io_concurrency could not be determined";
    ABSENT_REMEDIES = Info "absent-remedies", "plans that no constants lead to were not tried";
    ABSENT_PARALLEL = Info "absent-parallel", "the constants of parallel plans were not measured";
}

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "calibrate",
    parameters: &[parameters::ALL],
    metrics: &[METRICS],
    families: &[FAMILIES],
    findings: &[findings::ALL, subjects::findings::ALL, conditions::findings::ALL],
    published: &[],
};
