//! Counters of a process: by a processor that counts in turns, and under valgrind where it hides its counters.

use measure::schema::{counters, events};
use measure::{Metric, Run, Unit};
use serde_json::json;

use super::{case, run, single};

const PROCESSOR: &str = "processor's counter, user and kernel mode";
const VALGRIND: &str = "valgrind (callgrind), second run";

/// The published counts of a full scan with all blocks cached; events took turns.
pub(crate) fn counters() -> Run {
    let counts = [
        ("cycles", 86_428_653_040.0, 33.33),
        ("instructions", 32_115_412_877.0, 40.0),
        ("branches", 7_386_220_210.0, 39.99),
        ("branch_misses", 22_056_397.0, 40.0),
        ("stalled_cycles_frontend", 76_697_049_420.0, 40.0),
        ("stalled_cycles_backend", 58_627_393_395.0, 40.0),
        ("cache_references", 256_440_384.0, 26.67),
        ("cache_misses", 222_036_981.0, 26.66),
        ("llc_load_misses", 218_570_294.0, 6.67),
        ("l1_dcache_loads", 7_324_946_042.0, 13.33),
        ("l1_dcache_load_misses", 305_276_341.0, 20.0),
    ];
    let mut metrics = times(27.373_819_908, 30.000_601_214);
    for (name, value, share) in counts {
        metrics.push(single(name, Unit::Count, PROCESSOR, value));
        metrics.push(single(&format!("{name}_counted"), Unit::Percent, "share of the time", share));
    }
    metrics.push(single("core_ghz", Unit::Gigahertz, "cycles over task clock", 3.157));
    metrics.push(single("ipc", Unit::Ratio, "instructions over cycles", 0.3716));
    let mut run = run("counters", json!({"kind": "process", "pid": 34_783, "command": "oracle"}));
    run.cases.push(case(json!({"pid": 34_783}), metrics));
    run.findings = vec![
        counters::findings::ANSWER_IPC.of(
            "0.372 instructions a cycle: the processor mostly waited, as it does for memory or after wrong guesses. It \
             went to memory once in 145 instructions.",
        ),
        events::findings::ABSENT_COUNTERS.of("Not counted, because this processor has no such event: llc-stores."),
    ];
    run
}

/// A command whose instructions were counted under valgrind.
pub(crate) fn counters_under_valgrind() -> Run {
    let mut metrics = times(0.412, 0.431);
    let mut add = |name: &str, unit, source: &str, value| metrics.push(single(name, unit, source, value));
    for (name, value) in [
        ("instructions", 2_510_233_111.0),
        ("branches", 402_118_220.0),
        ("branch_misses", 3_118_442.0),
        ("cache_references", 9_114_002.0),
        ("cache_misses", 1_004_771.0),
    ] {
        add(name, Unit::Count, VALGRIND, value);
    }
    add("core_clock", Unit::Gigahertz, "chain of dependent additions", 3.71);
    add("cycles", Unit::Count, "user time × measured core frequency", 1_491_420_000.0);
    add("ipc", Unit::Ratio, "instructions over cycles", 1.683);
    let mut run = run("counters", json!({"kind": "process", "command": "gzip -k a-rather-long-name-of-a-file.log"}));
    run.cases.push(case(json!({"command": "gzip -k a-rather-long-name-of-a-file.log"}), metrics));
    run.findings = vec![counters::findings::ANSWER_IPC.of("1.68 instructions a cycle: the processor mostly worked.")];
    run
}

fn times(cpu: f64, elapsed: f64) -> Vec<Metric> {
    vec![
        single("elapsed", Unit::Nanoseconds, "wall clock", elapsed * 1e9),
        single("task_clock", Unit::Nanoseconds, "kernel's software event", cpu * 1e9),
        single("context_switches", Unit::Count, "kernel's software event", 118.0),
        single("cpus_used", Unit::Ratio, "task clock over elapsed time", cpu / elapsed),
    ]
}
