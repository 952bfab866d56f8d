//! What a profile of a running server says of its reads of files, where the kernel's tracepoints can be read.

use super::finding::findings;
use super::spec::{Stems, families, metrics, parameters};

parameters! {
    READER = "reader", "of `read_statement`: `statement`, whose `id` is given, `process`, whose kind is given, `unmet` \
        for what no sample met, `others`";
    PURPOSE = "purpose", "of `read_request`: `waited` where a read waited for it, `read-ahead` where none did, \
        `prefetch` where it was sent outside of a read";
}

metrics! {
    QUEUE = "queue", Microseconds, "time in which requests waited for the device's queue";
    SERVICE = "service", Microseconds, "time in which the device served requests";
    ESTIMATED_READS = "estimated_reads", Count, "reads that were charged to the statement by an estimate: those \
        of I/O workers, and those behind the last sample that met the statement";
    BLOCKS_ERROR = "distinct_blocks_error", Count, "how far `distinct_blocks` may be off, 19 of 20 times";
    FROM_DEVICE = "from_device", Microseconds, "what the reads that the page cache answered would take from the \
        device, by the reads of the same length that it answered";
    MORE_FROM_DEVICE = "more_from_device", Microseconds, "that less the time that they took";
    RECORDS = "records", Count, "records of the kernel's tracepoints";
    LOST_RECORDS = "lost_records", Count, "those that were lost: too many at once, or of an idle processor";
}

findings! {
    "reads that were traced";
    READ_TIERS = Info "answer-read-tiers", "which tier answered which part of the reads, and how fast";
    WITHOUT_CACHE = Info "answer-without-page-cache", "the statements that lean most on the page cache: what their \
        reads would cost from the device, and what the buffers would have to hold";
    GAINS_WITHOUT_CACHE = Info "answer-without-page-cache-gains", "the statements that lean least on the page cache: \
        the device answers nearly all of their reads";
    DEVICE_HILLS = Info "device-hills", "the device's latency has several peaks: a cache of the storage and its media, \
        by inference";
    LOST_RECORDS_FOUND = Warning "lost-records", "records of the kernel's tracepoints were lost";
}

/// The tiers as parts of names.
const TIERS: Stems = Stems::OneOf(&["page_cache", "device", "in_flight", "not_seen_whole"]);

families! {
    TIER_READS = "*_reads", TIERS, Count, "reads of files that the tier answered";
    TIER_BLOCKS = "*_blocks", TIERS, Count, "blocks that these brought";
    TIER_TIME = "*_time", TIERS, Microseconds, "their time, from call to return";
}
