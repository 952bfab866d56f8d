//! `roundtrip`: which tier answers a read, and how long that takes.

use std::ops::RangeInclusive;

use super::finding::findings;
use super::spec::{Bound, Experiment, Published, metrics, parameters};
use super::{conditions, reads, subjects};
use crate::unit::Unit;

parameters! {
    SUBJECT = "subject", "what was measured, if several subjects were";
    PATH = "path", "what was read";
    PASS = "pass", "`first-touch`, `storage-cached`, `page-cached`";
    BLOCKS_PER_READ = "blocks_per_read", "blocks of a read";
    BLOCK_SIZE = "block_size", "bytes of a block";
    BLOCKS = "blocks", "blocks read";
    SEED = "seed", "seed of the order of the blocks";
    TIER = "tier", "which tier served the reads: `page-cache`, `storage`, `mixed`, `never-written`, `model`, `null`, \
        `unknown`";
    DIRECT = "direct", "of a server: whether it reads past the page cache";
}

metrics! {
    READ_LATENCY_AT_MOST = "read_latency_at_most", Microseconds,
        "of a server: all that a statement did for a block that it read, an upper bound of `read_latency`";
    READ_LATENCY_OF_SERVER = "read_latency_of_server", Microseconds,
        "of a server: a read of any client, by its statistics of I/O";
    BLOCKS_READ = "blocks_read", Count, "of a server: blocks that a statement read";
    BLOCKS_HIT = "blocks_hit", Count, "of a server: blocks that a statement found in its buffers";
}

findings! {
    "roundtrip";
    ANSWER_ROUNDTRIP = Info "answer-roundtrip", "what a block takes that is read again, and which level served it";
    ANSWER_PUBLISHED = Info "answer-published", "the published SAN and NFS over reads of 8 blocks of the storage";
    ANSWER_FIRST_TOUCH = Info "answer-first-touch", "first reads are no slower than later ones as lazy loading makes \
        them";
    LAZILY_LOADED = Warning "lazily-loaded", "the first touch takes 3 times the second or more, at the median or on \
        average";
    ABSENT_PAGE_CACHED = Info "absent-page-cached", "a model has no page cache";
    NO_DIRECT_IO = Warning "no-direct-io", "the file system refuses direct I/O";
    FEWER_BLOCKS = Info "fewer-blocks", "the file has room for fewer requests than were asked for";
    ANSWER_OF_SERVER = Info "answer-roundtrip-*" in [
        "first-touch", "page-cached", "storage-cached", "first-touch-direct", "page-cached-direct",
        "storage-cached-direct"
    ], "of a server: what a block takes, and which tier answered";
    NOTHING_READ = Warning "nothing-read-*" in ["first-touch", "page-cached", "storage-cached"],
        "of a server: all blocks were found in its cache";
}

const SOURCE: &str = "\"How to figure out disk network latency using cached blocks\"";

const fn latency(what: &'static str, case: &'static [(&'static str, &'static str)], value: f64) -> Published {
    let (metric, bound, unit) = (Some("read_latency"), Bound::Exactly, Unit::Microseconds);
    Published { metric, what, case, bound, value, unit, source: SOURCE }
}

/// Blocks of the reads that compare with the published ones. Those are the average of `db file scattered read`, which
/// reads several blocks: the source does not say how many, and extents of 64 KiB hold 8 of the usual 8 KiB.
pub const PUBLISHED_BLOCKS: u64 = 8;
/// Sizes of a block that the published times can be of: those that Oracle has. The source does not say which it was.
pub const PUBLISHED_BLOCK: RangeInclusive<u64> = 2 << 10..=32 << 10;
/// Blocks from the page cache of the host.
pub const PAGE_CACHE: Published = latency(
    "several blocks from the file-system cache of the host",
    &[("tier", "page-cache"), ("blocks_per_read", "8")],
    40.0,
);
/// Blocks over a SAN.
pub const SAN: Published = latency(
    "several blocks at best over a SAN with direct I/O",
    &[("tier", "storage"), ("blocks_per_read", "8")],
    478.0,
);
/// Blocks over NFS.
pub const NFS: Published =
    latency("several blocks over a troubled NFS", &[("tier", "storage"), ("blocks_per_read", "8")], 1410.0);

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "roundtrip",
    parameters: &[parameters::ALL, reads::parameters::ALL],
    metrics: &[reads::METRICS, METRICS, conditions::METRICS],
    families: &[],
    findings: &[findings::ALL, reads::findings::ALL, subjects::findings::ALL, conditions::findings::ALL],
    published: &[PAGE_CACHE, SAN, NFS],
};
