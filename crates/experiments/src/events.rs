//! Events that are counted, by the names of their metrics: what valgrind gives for them, and why others are absent.

use std::collections::BTreeMap;

use measure::Finding;
use measure::schema::events::findings as row;
use sys::counters::{HARDWARE_EVENTS, SOFTWARE_EVENTS, Tally};
use sys::valgrind::Simulated;

/// Below this share of the time a count is marked as scaled; the kernel's own bookkeeping is some ns off.
pub(crate) const WHOLE_SHARE: f64 = 0.9995;

/// An event under valgrind.
pub(crate) struct SimulatedEvent {
    /// Name of the metric.
    pub(crate) name: &'static str,
    /// What about it is simulated rather than counted; empty, or begins with a comma.
    pub(crate) how: &'static str,
    /// The count.
    pub(crate) count: u64,
}

/// Everything that valgrind counted or simulated, under the names that the processor's own counters have.
pub(crate) fn simulated(simulated: &Simulated) -> Vec<SimulatedEvent> {
    let cache = ", simulated cache";
    let events = [
        ("instructions", "", simulated.instructions()),
        ("l1_dcache_loads", "", simulated.sum(Simulated::DATA_READS)),
        ("l1_dcache_stores", "", simulated.sum(Simulated::DATA_WRITES)),
        ("branches", ", conditional and indirect", simulated.sum(Simulated::BRANCHES)),
        ("branch_misses", ", simulated prediction", simulated.sum(Simulated::MISPREDICTIONS)),
        ("l1_dcache_load_misses", cache, simulated.sum(Simulated::L1_READ_MISSES)),
        ("l1_dcache_store_misses", cache, simulated.sum(Simulated::L1_WRITE_MISSES)),
        ("cache_references", cache, simulated.sum(Simulated::LAST_LEVEL_REFERENCES)),
        ("cache_misses", cache, simulated.sum(Simulated::LAST_LEVEL_MISSES)),
        ("llc_loads", cache, simulated.sum(Simulated::L1_READ_MISSES)),
        ("llc_load_misses", cache, simulated.sum(Simulated::LAST_LEVEL_READ_MISSES)),
        ("llc_stores", cache, simulated.sum(Simulated::L1_WRITE_MISSES)),
        ("llc_store_misses", cache, simulated.sum(Simulated::LAST_LEVEL_WRITE_MISSES)),
    ];
    let events = events.into_iter();
    events.filter_map(|(name, how, count)| Some(SimulatedEvent { name, how, count: count? })).collect()
}

/// The absent events by reason, without those that `is_known` from elsewhere.
pub(crate) fn absences(tally: &Tally, is_known: impl Fn(&str) -> bool) -> BTreeMap<String, Vec<&'static str>> {
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for event in SOFTWARE_EVENTS.iter().chain(HARDWARE_EVENTS) {
        if let (Err(reason), false) = (tally.of(event.name), is_known(event.name)) {
            reasons.entry(reason.to_string()).or_default().push(event.name);
        }
    }
    reasons
}

/// The simulated caches in parentheses, as a sentence lists them; nothing where none is known.
pub(crate) fn caches(simulated: &Simulated) -> String {
    let caches = simulated.caches().join("; ");
    if caches.is_empty() { caches } else { format!(" ({caches})") }
}

/// That valgrind did not count `what`. Its last words may have a point of their own.
pub(crate) fn absent_valgrind(what: &str, reason: &str) -> Finding {
    let reason = reason.trim_end_matches('.');
    row::ABSENT_VALGRIND.of(format!("{what} were not counted under valgrind: {reason}."))
}

/// Names of metrics as a sentence lists them.
pub(crate) fn in_words(names: &[&str]) -> String {
    names.join(", ").replace('_', "-")
}
