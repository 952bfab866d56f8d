//! `disk`: reads of a file, a block device or a model.

use super::finding::findings;
use super::spec::{Bound, Experiment, Published, parameters};
use super::{conditions, reads};
use crate::unit::Unit;

parameters! {
    PATH = "path", "what was read";
    PATTERN = "pattern", "`random`, `sequential`, `apart`";
    BLOCK_SIZE = "block_size", "bytes of a read";
    SPAN = "span", "bytes of the region";
    OFFSET = "offset", "where the region begins";
    COUNT = "count", "reads of a worker";
    DURATION = "duration", "seconds, in place of `count`";
    SEED = "seed", "seed of the order of the blocks";
    WORKERS = "workers", "threads that read";
    DEPTH = "depth", "reads in flight of a worker";
    REAP_BATCH = "reap_batch", "completions collected at a time";
    IO_METHOD = "io_method", "how reads are submitted";
    DIRECT = "direct", "whether reads go past the page cache";
    RATE = "rate", "reads a second that were asked for, if any";
    ZONE = "zone", "with `--zones`: `outer`, `inner`, `both`";
    POSITION = "position", "with `--sweep`: from 0, the beginning, to 1, the end";
    DISTANCE = "distance", "with `--seek-distances`: bytes between two reads";
}

findings! {
    "disk";
    ANSWER_READ = Info "answer-read", "what a read takes, and which level served it";
    ANSWER_PATHS = Info "answer-paths", "a path against the first";
    ANSWER_ZONES = Info "answer-zones", "reads by zone, and those of the published disk";
    ANSWER_MODEL_PUBLISHED = Info "answer-model-published", "the model's zones and the published ones";
    ANSWER_OUTER_HALF = Info "answer-outer-half", "what the outer half of a modelled disk gains";
    NAMED_BEFORE = Warning "named-before", "a path names what an earlier one names, and is not read again";
    ANSWER_SPREAD = Info "answer-*" in ["place", "distance"], "how latency spreads over places or distances";
}

const SOURCE: &str = "2000 reads of 8 KiB on a Maxtor disk of 200 GB, 2005";

const fn latency(what: &'static str, case: &'static [(&'static str, &'static str)], value: f64) -> Published {
    let (metric, bound, unit) = (Some("read_latency"), Bound::Exactly, Unit::Milliseconds);
    Published { metric, what, case, bound, value, unit, source: SOURCE }
}

/// A read in the outer zone of a disk.
pub const OUTER: Published = latency("a read in the outer zone", &[("zone", "outer")], 5.7);
/// A read in its inner zone.
pub const INNER: Published = latency("a read in the inner zone", &[("zone", "inner")], 8.7);
/// A read by turns in both zones.
pub const BOTH: Published = latency("a read by turns in both zones", &[("zone", "both")], 16.4);

const fn ratio(what: &'static str, value: f64) -> Published {
    Published { metric: None, what, case: &[], bound: Bound::Exactly, value, unit: Unit::Ratio, source: SOURCE }
}

/// Elapsed time in the inner zone over that in the outer one: 17.4 s against 11.4 s.
pub const INNER_RATIO: Published = ratio("elapsed time in the inner zone over the outer one", 1.5);
/// Elapsed time by turns in both zones over that in the outer one: 32.7 s against 11.4 s.
pub const BOTH_RATIO: Published = ratio("elapsed time by turns in both zones over the outer one", 2.9);

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "disk",
    parameters: &[parameters::ALL, reads::parameters::ALL],
    metrics: &[reads::METRICS, conditions::METRICS],
    families: &[],
    findings: &[findings::ALL, reads::findings::ALL, conditions::findings::ALL],
    published: &[OUTER, INNER, BOTH, INNER_RATIO, BOTH_RATIO],
};
