//! What is read, and what one contender needed for it.

/// One way to read the file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Workload {
    /// Its name on the command line and in the JSON report.
    pub(crate) name: &'static str,
    /// Its name on the page.
    pub(crate) title: &'static str,
    /// Whether the places are drawn at random; in sequence otherwise.
    pub(crate) pattern: Pattern,
    /// Bytes of one read.
    pub(crate) block_bytes: u64,
    /// Reads in flight.
    pub(crate) depth: u64,
}

/// The order of the places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Every place is drawn.
    Random,
    /// One block after the other from the first.
    Sequential,
}

/// All that is compared: a database's block at three depths, and a scan's large read.
pub(crate) const WORKLOADS: [Workload; 5] = [
    Workload {
        name: "random-1",
        title: "random 8 KiB, depth 1",
        pattern: Pattern::Random,
        block_bytes: 8 << 10,
        depth: 1,
    },
    Workload {
        name: "random-32",
        title: "random 8 KiB, depth 32",
        pattern: Pattern::Random,
        block_bytes: 8 << 10,
        depth: 32,
    },
    Workload {
        name: "random-128",
        title: "random 8 KiB, depth 128",
        pattern: Pattern::Random,
        block_bytes: 8 << 10,
        depth: 128,
    },
    Workload {
        name: "sequential-1",
        title: "sequential 1 MiB, depth 1",
        pattern: Pattern::Sequential,
        block_bytes: 1 << 20,
        depth: 1,
    },
    Workload {
        name: "sequential-4",
        title: "sequential 1 MiB, depth 4",
        pattern: Pattern::Sequential,
        block_bytes: 1 << 20,
        depth: 4,
    },
];

/// What one contender needed in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    /// Reads per second.
    pub(crate) iops: f64,
    /// User and system time per read, in µs.
    pub(crate) cpu_us: f64,
    /// Half the reads took at most this, in µs.
    pub(crate) latency_us: f64,
}

/// How long, and from which seed, a contender reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// How long, in milliseconds.
    pub(crate) milliseconds: u64,
    /// Where the drawn places begin. Every turn has its own: a second contender that draws the first one's places
    /// would find them in the storage's cache.
    pub(crate) seed: u64,
}
