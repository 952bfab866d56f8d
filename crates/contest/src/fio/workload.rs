//! What is read, and what one contender needed for it.

/// One way to read the file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Workload {
    /// Its name on the command line and in the run.
    pub(crate) name: &'static str,
    /// Its name in the names of bars.
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
    random("random-1", "random 8 KiB, depth 1", 1),
    random("random-32", "random 8 KiB, depth 32", 32),
    random("random-128", "random 8 KiB, depth 128", 128),
    sequential("sequential-1", "sequential 1 MiB, depth 1", 1),
    sequential("sequential-4", "sequential 1 MiB, depth 4", 4),
];

const fn random(name: &'static str, title: &'static str, depth: u64) -> Workload {
    Workload { name, title, pattern: Pattern::Random, block_bytes: 8 << 10, depth }
}

const fn sequential(name: &'static str, title: &'static str, depth: u64) -> Workload {
    Workload { name, title, pattern: Pattern::Sequential, block_bytes: 1 << 20, depth }
}

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
