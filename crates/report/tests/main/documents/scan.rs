//! Six access paths, with and without the processor's counters.

use measure::schema::events;
use measure::schema::scan::findings as row;
use measure::{Case, Metric, Run, Unit};
use serde_json::json;

use super::{case, run, single, spread};

/// Path, threads, gets, ns a row.
const PATHS: [(&str, u32, f64, f64); 7] = [
    ("index-bad-clustering", 1, 6_779_685.0, 130.0),
    ("index-good-clustering", 1, 172_343.0, 30.9),
    ("full-scan", 1, 162_791.0, 23.4),
    ("full-scan", 2, 162_791.0, 23.6),
    ("full-scan-compressed", 1, 5_143.0, 1.46),
    ("column-scan", 1, 0.0, 0.083),
    ("column-count", 1, 0.0, 0.000_024_5),
];

/// The paths on a machine that hides its counters.
pub(crate) fn scan() -> Run {
    let mut run = run("scan", json!({"kind": "engine", "rows": 7_000_000}));
    run.cases.extend(PATHS.map(|(path, threads, gets, row_time)| one(path, threads, gets, row_time)));
    run.findings = vec![
        row::ANSWER_DEAREST.of(
            "A row costs 130 ns (479 cycles) by index-bad-clustering: 5.55 times full-scan, 1570 times column-scan.",
        ),
        row::ANSWER_VISITS.of("index-bad-clustering got each block 41.6 times."),
        events::findings::ABSENT_COUNTERS.of("Not counted, because there is no PMU: instructions."),
    ];
    run
}

/// The same where instructions are counted under valgrind, and a path that no table knows.
pub(crate) fn scan_counted() -> Run {
    let mut run = scan();
    for case in &mut run.cases {
        count(case, &COUNTED);
    }
    run.cases.push(one("a-path-of-tomorrow", 1, 12.0, 2.5));
    run.findings.pop();
    run.findings.push(row::ANSWER_IPC.of("index-bad-clustering gets least done in a cycle."));
    run.findings.push(
        events::findings::VALGRIND.of("Instructions are of the same scan of 262\u{202f}144 rows under valgrind."),
    );
    run
}

/// The same where the processor counts, with more events than it has counters for.
pub(crate) fn scan_counted_in_turns() -> Run {
    let mut run = scan();
    for case in &mut run.cases {
        count(case, &COUNTED);
        count(case, &[("stalled_cycles_frontend", 0.02), ("stalled_cycles_backend", 0.6)]);
        if case.parameter("path").as_deref() == Some("column-scan") {
            case.metrics.push(single("units_read", Unit::Count, "reader", 0.0));
        }
        for (name, share) in [("cycles_counted", 66.7), ("l1_dcache_prefetches_counted", 33.3)] {
            case.metrics.push(single(name, Unit::Percent, "share of the time", share));
        }
    }
    run
}

/// Events as parts of the cycles.
const COUNTED: [(&str, f64); 5] = [
    ("instructions", 1.7),
    ("branches", 0.2),
    ("branch_misses", 0.002),
    ("l1_dcache_load_misses", 0.03),
    ("cache_misses", 0.012),
];

fn count(case: &mut Case, events: &[(&str, f64)]) {
    let cycles = case.metric("cycles_per_row").map_or(0.0, Metric::median);
    let gets = case.metric("gets").map_or(0.0, Metric::median);
    let mut add = |name: String, value| {
        if case.metric(&name).is_none() {
            case.metrics.push(single(&name, Unit::Count, "counter", value));
        }
    };
    for (name, part) in events.iter().chain(&[("cycles", 1.0)]) {
        add(format!("{name}_per_row"), cycles * part);
        if gets > 0.0 {
            add(format!("{name}_per_get"), cycles * part * 7e6 / gets);
        }
    }
    case.metrics.push(single("ipc", Unit::Ratio, "instructions over cycles", 1.7));
}

fn one(path: &str, threads: u32, gets: f64, row_time: f64) -> Case {
    let parameters = json!({
        "path": path, "question": "all-pass", "threads": threads, "table_rows": 7_000_000,
    });
    let mut metrics = vec![
        spread("row_time", Unit::Nanoseconds, row_time, 0.1),
        spread("cycles_per_row", Unit::Count, row_time * 3.7, 0.1),
        single("gets", Unit::Count, "the pool's gate", gets),
    ];
    let mut add = |name: &str, unit, value| metrics.push(single(name, unit, "source", value));
    if gets > 0.0 {
        add("get_time", Unit::Nanoseconds, row_time * 7e6 / gets);
    }
    if !path.starts_with("column") {
        add("blocks", Unit::Count, 162_791.0);
    }
    if path.starts_with("index") {
        add("clustering_factor", Unit::Count, gets - 11_477.0);
        add("leaf_blocks", Unit::Count, 11_475.0);
        add("visits_per_block", Unit::Ratio, gets / 162_791.0);
        add("pinned_revisits", Unit::Count, 231_792.0);
    } else if path != "column-count" {
        add("bytes_touched", Unit::Bytes, 1.33e9);
        add("bandwidth", Unit::MebibytesPerSecond, 7_600.0);
        add("bandwidth_share", Unit::Percent, 31.7);
        add("compression_ratio", Unit::Ratio, 2.16);
    }
    case(parameters, metrics)
}
