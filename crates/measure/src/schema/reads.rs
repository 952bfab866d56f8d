//! What the read loop measures: the metrics that `disk`, `roundtrip` and the reads of `ladder` have in common.

use super::spec::{metrics, parameters};

parameters! {
    HUGE_PAGES = "huge_pages", "whether the buffers were to stand on huge pages; in `ladder` where they were not";
    SEGMENT = "segment", "part of a reading whose rate changed: `before-change`, `after-change`, `2 of 3`";
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
