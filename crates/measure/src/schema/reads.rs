//! What the read loop measures: the metrics that `disk`, `roundtrip` and the reads of `ladder` have in common.

use super::finding::findings;
use super::spec::{metrics, parameters};

parameters! {
    HUGE_PAGES = "huge_pages", "whether the buffers were to stand on huge pages; in `ladder` where they were not";
    SEGMENT = "segment", "part of a reading whose rate or latency changed: `before-change`, `after-change`, `2 of 3`";
}

metrics! {
    READ_LATENCY = "read_latency", Microseconds, "from submission of a read to its completion; \
        with `rate`, from its intended start";
    SERVICE_TIME = "service_time", Microseconds, "with `rate`: from submission to completion";
    SUBMISSION_LATENESS = "submission_lateness", Microseconds, "with `rate`: from the intended start to submission";
    IOPS = "iops", PerSecond, "reads completed a second";
    BANDWIDTH = "bandwidth", MebibytesPerSecond, "bytes of completed reads a second";
    ELAPSED = "elapsed", Seconds, "time of the measurement";
    WORKER_ELAPSED = "worker_elapsed", Seconds, "time of each worker, where there are several";
    CPU_PER_READ = "cpu_per_read", Microseconds, "CPU time of the process over reads issued";
    READS = "reads", Count, "reads measured";
    WARM_UP_READS = "warm_up_reads", Count, "reads before the measurement";
    WARM_UP_LATENCY = "warm_up_latency", Microseconds, "latency of the reads before the measurement";
    BYTES_ISSUED = "bytes_issued", Bytes, "bytes that the read loop asked for";
    BYTES_FETCHED = "bytes_fetched", Bytes, "bytes that the kernel fetched from a device for this process";
    BYTES_DELIVERED = "bytes_delivered", Bytes, "bytes that the block device delivered to all processes";
    DEVICE_READS = "device_reads", Count, "reads that the block device completed for all processes";
    CACHED_BEFORE = "cached_before", Percent, "part of the region in the page cache before the reads";
    NOWAIT_ANSWERED = "nowait_answered", Percent, "part of a sample of blocks in the page cache after the reads";
}

findings! {
    "Reads of a file or a device";
    METHOD_FALLBACK = Info "method-fallback", "another I/O method read than the one asked for";
    RATE_NOT_REACHED = Warning "rate-not-reached", "less than 95 % of the rate asked for was reached";
    STALLED_AT_END = Warning "stalled-at-end", "a read in flight at the end took longer than all that counted";
    RATE_CHANGED = Warning "rate-changed", "the rate of reads changed within a measurement and stayed there";
    LATENCY_CHANGED = Warning "latency-changed", "with `rate`: the latency of reads changed and stayed there";
    DEVICE_SAW_FEWER_READS = Warning "device-saw-fewer-reads", "a layer below the kernel's cache served reads";
    DIRECT_IO_IGNORED = Warning "direct-io-ignored", "the page cache served direct reads";
    READS_NOT_ALL_FROM_STORAGE = Warning "reads-not-all-from-storage", "storage served a part of direct reads";
    SERVED_FROM_PAGE_CACHE = Warning "served-from-page-cache", "the page cache served buffered reads of a device";
    PARTLY_PAGE_CACHE = Warning "partly-page-cache", "the page cache served a part of buffered reads";
    TIER_UNKNOWN = Warning "tier-unknown", "no witness proves which level served the reads";
    NO_DEVICE_COUNTERS = Info "no-device-counters", "no block device with counters is under the file";
    HUGE_PAGE_BUFFERS = Info "huge-page-buffers", "reads in sequence go into buffers on huge pages";
    EXTENTS_UNKNOWN = Info "extents-unknown", "the file system does not say whether the file has holes";
    UNWRITTEN_EXTENTS = Warning "unwritten-extents", "more than 1 % of the region was never written";
    ZERO_BLOCKS = Warning "zero-blocks", "more than 1 % of the sampled blocks hold nothing but zeros";
    REPEATED_BLOCKS = Warning "repeated-blocks", "more than 1 % of the sampled blocks are copies of others";
}
