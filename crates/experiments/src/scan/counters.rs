//! What the processor did: the one place where its counters come into the experiment.
//!
//! Cycles are counted where the machine lets one count them, and are else the processor time at the core's measured
//! frequency. Instructions can only be counted.

use measure::{Finding, Metric, Unit};
use subjects::access_paths::ScanCost;
use sys::cycles::CycleCounter;

use super::measuring::Measured;
use crate::journal::Journal;

/// Cycles a row of each sample, and how they were had; `None` where neither counter nor frequency is there.
pub(super) fn metrics(costs: &[ScanCost], laps: f64, ghz: Option<(f64, f64)>) -> Vec<Metric> {
    let per_row = |cycles: f64, cost: &ScanCost| cycles / laps / cost.rows.max(1) as f64;
    let counted: Option<Vec<f64>> = costs.iter().map(|cost| Some(per_row(cost.cycles? as f64, cost))).collect();
    let (source, cycles) = match (counted, ghz) {
        (Some(counted), _) => ("processor's cycle counter, user mode, over rows".to_string(), counted),
        (None, Some((before, after))) => {
            let middle = (before + after) / 2.0;
            let source = format!(
                "CPU clock over rows at {middle:.3} GHz (chain of dependent additions, mean of before and after)"
            );
            (source, costs.iter().map(|cost| per_row(cost.cpu.0 as f64 * middle, cost)).collect())
        }
        (None, None) => return Vec::new(),
    };
    Metric::of_samples("cycles_per_row", Unit::Count, &source, &cycles).into_iter().collect()
}

/// Says what is not there, and why.
pub(super) fn report_absences(found: &[Measured], journal: &mut dyn Journal) {
    if found.is_empty() {
        return;
    }
    let reason = match CycleCounter::of_this_thread() {
        Err(reason) => format!("{reason}; cycles are the CPU time at the core's measured frequency"),
        Ok(_) => "only cycles are taken from the processor's counters here".into(),
    };
    journal.find(Finding::info(
        "absent-instructions",
        format!(
            "Instructions and instructions per cycle are absent: {reason}. Where `perf stat` or `valgrind` is \
             installed, it counts the instructions of a run with one --path, its loading included."
        ),
    ));
}
