//! The events that are counted, under the names that `perf stat` gives them.

/// An event of the kernel's interface for counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Name as a metric has it.
    pub name: &'static str,
    /// `type` of `struct perf_event_attr`.
    pub(super) kind: u32,
    /// `config` of `struct perf_event_attr`.
    pub(super) config: u64,
}

// Numbers from include/uapi/linux/perf_event.h.
const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const CACHE: u32 = 3;
const L1_DATA: u64 = 0;
const LAST_LEVEL: u64 = 2;
const READ: u64 = 0;
const WRITE: u64 = 1;
const PREFETCH: u64 = 2;
const ACCESS: u64 = 0;
const MISS: u64 = 1;

const fn event(name: &'static str, kind: u32, config: u64) -> Event {
    Event { name, kind, config }
}

const fn cache(name: &'static str, level: u64, operation: u64, result: u64) -> Event {
    event(name, CACHE, level | operation << 8 | result << 16)
}

/// What the processor counts. Neighbours that are divided by each other stand together, so that they mostly share a
/// group: cycles and instructions always do where two events fit.
pub const HARDWARE_EVENTS: &[Event] = &[
    event("cycles", HARDWARE, 0),
    event("instructions", HARDWARE, 1),
    event("branches", HARDWARE, 4),
    event("branch_misses", HARDWARE, 5),
    event("stalled_cycles_frontend", HARDWARE, 7),
    event("stalled_cycles_backend", HARDWARE, 8),
    event("cache_references", HARDWARE, 2),
    event("cache_misses", HARDWARE, 3),
    cache("llc_loads", LAST_LEVEL, READ, ACCESS),
    cache("llc_load_misses", LAST_LEVEL, READ, MISS),
    cache("llc_stores", LAST_LEVEL, WRITE, ACCESS),
    cache("llc_store_misses", LAST_LEVEL, WRITE, MISS),
    cache("l1_dcache_loads", L1_DATA, READ, ACCESS),
    cache("l1_dcache_load_misses", L1_DATA, READ, MISS),
    cache("l1_dcache_prefetches", L1_DATA, PREFETCH, ACCESS),
];

/// What the kernel counts itself. The task clock is in nanoseconds.
pub const SOFTWARE_EVENTS: &[Event] = &[
    event("task_clock", SOFTWARE, 1),
    event("context_switches", SOFTWARE, 3),
    event("cpu_migrations", SOFTWARE, 4),
    event("page_faults", SOFTWARE, 2),
    event("major_faults", SOFTWARE, 6),
];

impl Event {
    /// Whether the event happens in the kernel alone: counted in user mode only, it would be zero and mean nothing.
    pub(super) fn is_of_the_kernel(self) -> bool {
        self.kind == SOFTWARE && matches!(self.config, 3 | 4)
    }
}
