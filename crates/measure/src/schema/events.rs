//! The events that a processor or valgrind counts, by the names that `perf stat` gives them.

use super::finding::findings;
use super::spec::{Stems, families};

/// Names of the events of the processor, and of what valgrind gives for them.
pub const EVENTS: &[&str] = &[
    "cycles",
    "instructions",
    "branches",
    "branch_misses",
    "stalled_cycles_frontend",
    "stalled_cycles_backend",
    "cache_references",
    "cache_misses",
    "llc_loads",
    "llc_load_misses",
    "llc_stores",
    "llc_store_misses",
    "l1_dcache_loads",
    "l1_dcache_load_misses",
    "l1_dcache_stores",
    "l1_dcache_store_misses",
    "l1_dcache_prefetches",
];

families! {
    EVENT = "*", Stems::OneOf(EVENTS), Count, "an event of the processor, counted by it or under valgrind";
    COUNTED = "*_counted", Stems::OneOf(EVENTS), Percent,
        "part of the time in which the event was counted, where events took turns";
}

findings! {
    "Counted events";
    ABSENT_COUNTERS = Info "absent-counters", "events that were not counted, by reason";
    VALGRIND = Info "valgrind", "counts come from a second run under valgrind";
    ABSENT_VALGRIND = Warning "absent-valgrind", "nothing was counted under valgrind, with the reason";
}
