//! The state of the core around a measurement, which most experiments record.

use super::finding::findings;
use super::spec::metrics;

/// Relative change of the core's frequency within one block of measurements that is worth a finding.
pub const CORE_CLOCK_DRIFT: f64 = 0.02;

/// A core whose rate of additions falls below this part of its best is shared with another thread.
pub const SHARED_CORE: f64 = 0.9;

metrics! {
    CORE_CLOCK = "core_clock", Gigahertz, "frequency of the core before and after";
    CORE_ADDITIONS = "core_additions", Count, "independent additions a cycle before and after: fewer on a shared core";
}

findings! {
    "The machine";
    SLOW_CLOCK = Warning "slow-clock", "the time stamp counter was not used: each clock read is a system call";
    NO_CORE_CLOCK = Info "no-core-clock", "the core's frequency cannot be measured on this kind of processor";
    CORES_DIFFER = Warning "cores-differ", "threads may run on cores of several kinds";
    CORE_CLOCK_CHANGED = Warning "core-clock-changed", "the core's frequency changed by more than 2 % within a \
        measurement of processor or memory";
    CORE_CLOCK_CHANGED_BESIDE_STORAGE = Info "core-clock-changed", "it changed within measurements of storage alone";
    CORE_SHARED = Warning "core-shared", "in a measurement the core did less than 90 % of its most additions a cycle";
    STOLEN_TIME = Warning "stolen-time", "the hypervisor took more than 2 % of the processors' time away";
    CPU_THROTTLED = Warning "cpu-throttled", "a control group's CPU quota stopped its processes for over 2 % of a \
        measurement";
    DEVICE_SHARED = Warning "device-shared", "the device delivered over 1.1 times what was read of it directly";
    L3_SMALLER_THAN_SAID = Info "l3-smaller-than-said", "a load half-way into the last-level cache costs over 2.5 \
        times one at its beginning";
}
