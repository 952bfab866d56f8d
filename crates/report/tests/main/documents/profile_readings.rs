//! A profile with readings and a miss curve, and one with a breakdown, made by hand as the profiler writes them.

use measure::schema::profile::findings as row;
use measure::{Metric, Run, Statistics, Unit};
use serde_json::{Value, json};

use super::profile::profile;
use super::{case, spec};

fn single(name: &str, unit: Unit, value: f64) -> Metric {
    spec(name, unit).single("trace", value)
}

/// Count, then least, median, mean, 90th and 99th percentile and greatest.
fn spread(name: &str, unit: Unit, n: u64, figures: [f64; 6]) -> Metric {
    let [min, median, mean, p90, p99, max] = figures;
    let statistics = Statistics { n, min, median, mean, stddev: None, p90: Some(p90), p99: Some(p99), p999: None, max };
    spec(name, unit).of_statistics("trace", statistics)
}

fn add(run: &mut Run, parameters: Value, metrics: Vec<Metric>) {
    run.cases.push(case(parameters, metrics));
}

fn tier(run: &mut Run, number: u64, tier: &str, figures: [f64; 4]) {
    let [calls, share, total, mode] = figures;
    let parameters = json!({"table": "tier", "reading": "single-block-read", "number": number, "tier": tier});
    let times = [("total", total), ("mean", total / calls), ("mode", mode)];
    let mut metrics = vec![single("calls", Unit::Count, calls), single("share", Unit::Percent, share)];
    metrics.extend(times.map(|(name, micros)| single(name, Unit::Microseconds, micros)));
    add(run, parameters, metrics);
}

fn logical_io(run: &mut Run, id: &str, figures: [f64; 3]) {
    let [lio, gets, rows_per_get] = figures;
    let mut parameters = json!({"table": "reading", "reading": "logical-io"});
    if !id.is_empty() {
        parameters["id"] = id.into();
    }
    let mut metrics = vec![
        single("lio", Unit::Microseconds, lio),
        single("gets", Unit::Count, gets),
        single("rows_per_get", Unit::Ratio, rows_per_get),
    ];
    if id.is_empty() {
        metrics.push(spread("lio_of_statements", Unit::Microseconds, 12, [1.9, 3.1, 22.0, 60.0, 181.0, 182.0]));
    }
    add(run, parameters, metrics);
}

fn breakdown(run: &mut Run, parameters: Value, calls: f64, total: f64) {
    let times = [("total", total), ("mean", total / calls), ("min", 60.0), ("max", total / calls * 3.0)];
    let times = times.map(|(name, micros)| single(name, Unit::Microseconds, micros));
    add(run, parameters, std::iter::once(single("calls", Unit::Count, calls)).chain(times).collect());
}

/// Reads of one block from two tiers, scans, and a curve of a sample.
pub(crate) fn profile_readings() -> Run {
    let mut run = profile();
    let latency = |n, figures| spread("latency", Unit::Microseconds, n, figures);
    let reading = |kind: &str| json!({"table": "reading", "reading": kind});
    add(
        &mut run,
        reading("single-block-read"),
        vec![
            latency(7200, [31.0, 41.0, 2700.0, 9100.0, 14_000.0, 61_000.0]),
            spread("blocks_per_request", Unit::Count, 7200, [1.0; 6]),
        ],
    );
    add(
        &mut run,
        reading("multi-block-read"),
        vec![
            latency(411, [390.0, 4700.0, 5110.0, 8100.0, 15_000.0, 44_100.0]),
            spread("blocks_per_request", Unit::Count, 411, [8.0, 81.0, 70.0, 128.0, 128.0, 128.0]),
            single("time_per_block", Unit::Microseconds, 73.0),
        ],
    );
    tier(&mut run, 1, "file-system-cache", [5100.0, 70.8, 210_000.0, 40.0]);
    tier(&mut run, 2, "disk", [2100.0, 29.2, 19_230_000.0, 8200.0]);
    logical_io(&mut run, "", [193.0, 31_200.0, 28.8]);
    logical_io(&mut run, "5ncdvm4r9w3cx", [181.0, 31_000.0, 29.0]);
    logical_io(&mut run, "9babjv8yq8ru3", [2050.0, 200.0, 0.005]);
    for (bits, share) in [(7, 0.9), (8, 2.0), (9, 4.1), (10, 9.8), (11, 22.0), (12, 31.5), (13, 34.0)] {
        let blocks = 1_u64 << bits;
        let parameters = json!({"table": "miss_curve", "extra_blocks": blocks, "extra_bytes": blocks * 8192});
        add(
            &mut run,
            parameters,
            vec![
                single("reads_avoided", Unit::Count, share * 456.0),
                single("share_avoided", Unit::Percent, share),
                single("share_error", Unit::Percent, 0.4),
                single("time_avoided", Unit::Microseconds, share * 150_000.0),
            ],
        );
    }
    run.findings
        .push(row::FILE_SYSTEM_CACHE_ANSWERS.named("single-block-read", "71 % of the single-block reads were fast."));
    run
}

/// Reads by file and statement.
pub(crate) fn profile_breakdown() -> Run {
    let mut run = profile();
    run.subject.insert("by".into(), json!("file,statement"));
    run.subject.insert("where".into(), json!("event=db file sequential read and latency>50us"));
    for (file, statement, calls, total) in [
        ("4", "5ncdvm4r9w3cx", 2100.0, 19_230_000.0),
        ("1", "5ncdvm4r9w3cx", 800.0, 71_000.0),
        ("–", "9babjv8yq8ru3", 12.0, 900.0),
    ] {
        breakdown(&mut run, json!({"table": "skew", "file": file, "statement": statement}), calls, total);
    }
    breakdown(&mut run, json!({"table": "skew", "rest": true}), 300.0, 18_000.0);
    let rest = run.cases.last_mut();
    rest.into_iter().for_each(|case| case.metrics.push(single("values", Unit::Count, 90.0)));
    run
}
