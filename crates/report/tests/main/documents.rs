//! Run documents made by hand, in the shape that the experiments give them.

mod calibrate;
mod contest;
mod counters;
mod join;
mod profile;
mod profile_comparison;
mod profile_readings;
mod profile_sampled;
mod scan;

use measure::run::SCHEMA;
use measure::schema::{self, Spec, disk, ladder, lio, reads};
use measure::{Case, Host, Metric, Parameters, Run, Statistics, Timeline, Unit};
use serde_json::{Value, json};

pub(crate) use calibrate::calibrate;
pub(crate) use contest::contest;
pub(crate) use counters::{counters, counters_under_valgrind};
pub(crate) use join::{join_methods, join_of_servers, join_sweep};
pub(crate) use profile::{profile, profile_sessions, profile_statement};
pub(crate) use profile_comparison::profile_comparison;
pub(crate) use profile_readings::{profile_breakdown, profile_readings};
pub(crate) use profile_sampled::profile_sampled;
pub(crate) use scan::{scan, scan_counted, scan_counted_in_turns};

/// All documents but the one of an experiment that does not exist.
pub(crate) fn all() -> Vec<Run> {
    vec![
        ladder(),
        ladder_touched(),
        disk_plain(),
        disk_zones(),
        disk_sweep(),
        disk_throttled(),
        roundtrip(),
        lio(),
        lio_axes(),
        lio_on_server(),
        scan(),
        scan_counted(),
        scan_counted_in_turns(),
        join_methods(),
        join_sweep(),
        join_of_servers(),
        calibrate(),
        contest(),
        counters(),
        counters_under_valgrind(),
        profile(),
        profile_sessions(),
        profile_statement(),
        profile_readings(),
        profile_breakdown(),
        profile_sampled(),
    ]
}

/// What the schema has of this name and unit: a document made by hand has nothing else.
pub(crate) fn spec(name: &str, unit: Unit) -> Spec {
    schema::find(name, unit).unwrap_or_else(|| panic!("the schema has no {name} in {}", unit.symbol()))
}

/// A metric of one value.
pub(crate) fn single(name: &str, unit: Unit, source: &str, value: f64) -> Metric {
    spec(name, unit).single(source, value)
}

/// A finished run without cases.
pub(crate) fn run(experiment: &str, subject: Value) -> Run {
    Run {
        schema: SCHEMA.into(),
        id: "0197c0de-0000-7000-8000-000000000001".into(),
        command: vec!["readpath".into(), experiment.into()],
        started: "2026-01-31T12:34:56.789Z".into(),
        finished: Some("2026-01-31T12:36:01Z".into()),
        build: None,
        job: None,
        host: Host {
            cpu: Some("AMD EPYC 7R13 Processor".into()),
            cores: Some(2),
            core_ghz: Some(3.5812),
            ..Host::default()
        },
        own_cost: vec![single("null_device_read", Unit::Nanoseconds, "monotonic clock", 41.2)],
        experiment: experiment.into(),
        subject: object(subject),
        cases: Vec::new(),
        findings: Vec::new(),
    }
}

/// A case of these parameters and metrics.
pub(crate) fn case(parameters: Value, metrics: Vec<Metric>) -> Case {
    Case { parameters: object(parameters), metrics, timeline: None }
}

fn object(value: Value) -> Parameters {
    value.as_object().cloned().unwrap()
}

/// A metric of 1000 samples around `median`, `spread` being p90 - min relative to the median.
pub(crate) fn spread(name: &str, unit: Unit, median: f64, spread: f64) -> Metric {
    let statistics = Statistics {
        n: 1000,
        min: median * (1.0 - spread / 4.0),
        median,
        mean: median * 1.05,
        stddev: Some(median * spread / 2.0),
        p90: Some(median * (1.0 + spread * 0.75)),
        p99: Some(median * (1.0 + spread * 3.0)),
        p999: Some(median * (1.0 + spread * 6.0)),
        max: median * (1.0 + spread * 20.0),
    };
    spec(name, unit).of_statistics("monotonic clock", statistics)
}

/// The ladder of the page on looks, with two rungs absent and one unsteady.
pub(crate) fn ladder() -> Run {
    let mut run = run("ladder", json!({"kind": "device", "filesystem": "ext4", "device": "vda (virtio)"}));
    let rungs = [
        ("l1", 1.13, 0.01),
        ("l2", 4.1, 0.02),
        ("l3", 17.0, 0.1),
        ("dram", 447.0, 0.15),
        ("dram-sequential", 290.0, 0.1),
        ("pool-get", 61.0, 0.1),
        ("system-call", 98.0, 0.05),
        ("page-cache-read", 2240.0, 0.1),
        ("device-random-depth-1", 79_100.0, 0.6),
        ("device-random-best-depth", 16_900.0, 0.1),
        ("device-sequential", 7_600.0, 0.1),
    ];
    for (rung, nanos, wide) in rungs {
        let mut parameters = json!({"rung": rung});
        if rung == "device-random-best-depth" {
            parameters["depth"] = json!(64);
        }
        run.cases.push(case(parameters, vec![spread("latency", Unit::Nanoseconds, nanos, wide)]));
    }
    run.findings = vec![
        ladder::findings::ANSWER_RATIO
            .of("A single-block physical I/O costs 283 logical I/Os here; in 128-block reads 27."),
        ladder::findings::ANSWER_DEPTH
            .of("At depth 64 the device gives 4.70 times as many reads a second as one at a time."),
        ladder::findings::ABSENT_RUNG.named("storage-round-trip", "tmpfs refuses direct I/O."),
        ladder::findings::JUST_WRITTEN
            .of("The test file was just written: the device rungs may show the storage's cache."),
    ];
    run
}

/// The same ladder with the device read for the first and for the second time.
pub(crate) fn ladder_touched() -> Run {
    let mut run = ladder();
    let first = run.cases.iter().position(|case| case.parameter("rung").as_deref() == Some("device-random-depth-1"));
    let mut second = run.cases[first.unwrap()].clone();
    run.cases[first.unwrap()].parameters.insert("touch".into(), json!("first"));
    second.parameters.insert("touch".into(), json!("second"));
    second.metrics = vec![spread("latency", Unit::Nanoseconds, 66_000.0, 0.3)];
    run.cases.insert(first.unwrap() + 1, second);
    run
}

fn reads(latency_us: f64, count: f64, workers: f64) -> Vec<Metric> {
    let elapsed = count * latency_us / workers / 1e6;
    vec![
        spread("read_latency", Unit::Microseconds, latency_us, 0.4),
        single("iops", Unit::PerSecond, "reads / elapsed", count / elapsed),
        single("bandwidth", Unit::MebibytesPerSecond, "bytes / elapsed", count / elapsed / 128.0),
        single("elapsed", Unit::Seconds, "monotonic clock", elapsed),
        single("cpu_per_read", Unit::Microseconds, "getrusage", 9.2),
        single("reads", Unit::Count, "reader", count),
        single("warm_up_reads", Unit::Count, "reader", 16.0),
    ]
}

fn disk_parameters(more: &[(&str, Value)]) -> Value {
    let mut parameters = json!({
        "path": "/dev/vdb", "pattern": "random", "block_size": 8192, "span": 2_147_483_648_u64, "count": 2000,
        "seed": 1, "workers": 2, "depth": 1, "io_method": "io_uring", "direct": true,
    });
    more.iter().for_each(|(name, value)| parameters[*name] = value.clone());
    parameters
}

fn disk() -> Run {
    run("disk", json!({"kind": "block device", "path": "/dev/vdb", "device": "vdb"}))
}

/// Reads at several depths.
pub(crate) fn disk_plain() -> Run {
    let mut run = disk();
    for (depth, latency) in [(1, 79.1), (8, 120.5), (64, 1082.0)] {
        let parameters = disk_parameters(&[("depth", json!(depth))]);
        run.cases.push(case(parameters, reads(latency, 20_000.0, 2.0 * f64::from(depth))));
    }
    run.findings.push(reads::findings::SERVED_FROM_PAGE_CACHE.of(
        "The page cache served the reads of the file (31 of 32): this is memory, not the device. Use --direct, or \
         --evict on a file of your own.",
    ));
    run
}

/// The outer and the inner zone, and one worker in each.
pub(crate) fn disk_zones() -> Run {
    let mut run = disk();
    for (zone, latency) in [("outer", 112.0), ("inner", 101.9), ("both", 104.8)] {
        run.cases.push(case(disk_parameters(&[("zone", json!(zone))]), reads(latency, 2000.0, 2.0)));
    }
    run.findings.push(
        disk::findings::ANSWER_ZONES
            .of("Where a zone lies makes no difference on this device (a hard disk in 2005: 1.5 × and 2.9 ×)."),
    );
    run
}

/// Five places from the first byte to the last, then distances between consecutive reads.
pub(crate) fn disk_sweep() -> Run {
    let mut run = disk();
    for (position, latency) in [(0.0, 98.0), (0.25, 101.0), (0.5, 118.0), (0.75, 131.0), (1.0, 150.0)] {
        run.cases.push(case(disk_parameters(&[("position", json!(position))]), reads(latency, 500.0, 1.0)));
    }
    for (distance, latency) in [(8192_u64, 60.0), (1 << 20, 72.0), (1 << 30, 98.0), (100 << 30, 99.0)] {
        run.cases.push(case(disk_parameters(&[("distance", json!(distance))]), reads(latency, 500.0, 1.0)));
    }
    run
}

/// Six seconds of reads whose rate falls once and stays there, as it does where a throttle sets in: a case for each of
/// the two segments.
pub(crate) fn disk_throttled() -> Run {
    let mut run = disk();
    for (segment, rate, latency) in [(1, 1260_u64, 79.1), (2, 300, 332.0)] {
        let each: Vec<u64> = (0..30).map(|window| rate + window * 7 % 40).collect();
        let count = each.iter().sum::<u64>() as f64;
        let mut case = case(disk_parameters(&[("segment", json!(segment))]), reads(latency, count, 1.0));
        case.timeline = Some(Timeline {
            window_ms: 100.0,
            median_us: vec![latency; each.len()],
            max_us: vec![latency * 20.0; each.len()],
            reads: each,
        });
        run.cases.push(case);
    }
    let message = "The rate of reads fell from 12 800 to 3 200 a second after 3 s and stayed there.";
    run.findings.push(reads::findings::RATE_CHANGED.of(message));
    run
}

/// Three passes with one and with 128 blocks a read.
pub(crate) fn roundtrip() -> Run {
    let mut run = run("roundtrip", json!({"kind": "device", "path": "/srv/data/old.dbf", "device": "nfs"}));
    for (pass, tier, latency) in [
        ("first-touch", "device", 612.0),
        ("storage-cached", "storage-cache", 243.0),
        ("page-cached", "page-cache", 2.31),
    ] {
        for (blocks, factor) in [(1, 1.0), (128, 9.5)] {
            let parameters =
                json!({"path": "/srv/data/old.dbf", "pass": pass, "blocks_per_read": blocks, "tier": tier});
            run.cases.push(case(parameters, vec![spread("read_latency", Unit::Microseconds, latency * factor, 0.3)]));
        }
    }
    run
}

/// An experiment that has no layout of its own, with hostile names in it.
pub(crate) fn unknown() -> Run {
    let mut run = run("strange", json!({"kind": "engine", "path": "/tmp/\u{1b}[31mred\n/file"}));
    for length in [2500, 25] {
        let metrics = vec![
            spread("lio", Unit::Microseconds, 0.28, 0.1),
            single("gets", Unit::Count, "the pool's gate", 69_642_625.0),
        ];
        run.cases.push(case(json!({"row_length": length, "columns": 5, "note": "\u{1b}]0;title\u{7}"}), metrics));
    }
    run.finished = None;
    run
}

fn lio_case(parameters: Value, lio_ns: f64, rows: f64) -> Case {
    let mut all = json!({
        "row_length": 250, "columns": 5, "access": "full-scan", "touch": "rows", "threads": 1, "changed_rows": 0,
        "payload": 268_435_456_u64, "seed": 1,
    });
    let given = object(parameters);
    given.into_iter().for_each(|(name, value)| all[name] = value);
    let mut metrics = vec![
        spread("lio", Unit::Microseconds, lio_ns / 1e3, 0.1),
        spread("get", Unit::Nanoseconds, 17.9, 0.05),
        spread("row_walk", Unit::Nanoseconds, (lio_ns - 17.9) / rows, 0.1),
        single("gets", Unit::Count, "the pool's gate", 34_637.0),
        single("rows_per_block", Unit::Count, "rows over blocks got", rows),
    ];
    if all["changed_rows"] != 0 {
        metrics.retain(|metric| metric.name != "row_walk");
        metrics.push(spread("block", Unit::Microseconds, lio_ns * 2.1 / 1e3, 0.1));
        metrics.push(single("rebuilt_blocks", Unit::Count, "the reader", 9_226.0));
    }
    case(all, metrics)
}

/// The nine cells with their cross-checks.
pub(crate) fn lio() -> Run {
    let mut run = run("lio", json!({"kind": "engine", "path": "/home/user/.cache/readpath/tables"}));
    for (row_length, rows) in [(2500, 3.0), (250, 31.0), (25, 281.0)] {
        for columns in [1, 5, 25] {
            let parameters = json!({"row_length": row_length, "columns": columns});
            run.cases.push(lio_case(parameters, 40.0 + rows, rows));
        }
    }
    run.cases.push(lio_case(json!({"check": "population", "population": "interleaved"}), 115.0, 31.0));
    let physical = json!({
        "row_length": 250, "columns": 5, "check": "physical", "access": "random", "blocks_per_read": 1,
    });
    run.cases.push(case(physical, vec![spread("physical_block", Unit::Nanoseconds, 56_800.0, 0.3)]));
    run.findings = vec![
        lio::findings::ANSWER_RATIO.of("A physical I/O of one block costs 590 logical I/Os."),
        lio::findings::ABSENT_CYCLES.of("Core cycles were not counted: this machine hides the processor's counters."),
    ];
    run
}

/// The nine cells on a server, with the engine beside it.
pub(crate) fn lio_on_server() -> Run {
    let subject = json!({
        "kind": "postgres", "server": "postgres://me@db.example/shop", "version": "15.18",
        "shared_buffers": 134_217_728_u64,
    });
    let mut run = run("lio", subject);
    let cells =
        || [(2500, 3.0), (250, 28.0), (25, 136.0)].into_iter().flat_map(|length| [1, 5].map(|count| (length, count)));
    for ((row_length, rows), columns) in cells() {
        for (access, visibility, cost) in
            [("full-scan", "first-scan", 91.0), ("full-scan", "all-visible", 47.0), ("rowid", "all-visible", 610.0)]
        {
            let parameters = json!({
                "subject": "postgres 15.18", "row_length": row_length, "columns": columns, "access": access,
                "visibility": visibility,
            });
            let mut case = lio_case(parameters, 400.0 + cost * rows, rows);
            case.metrics.retain(|metric| !["get", "row_walk"].contains(&metric.name.as_str()));
            run.cases.push(case);
        }
    }
    for ((row_length, rows), columns) in cells() {
        let parameters = json!({"subject": "engine", "row_length": row_length, "columns": columns});
        run.cases.push(lio_case(parameters, 40.0 + rows, rows));
    }
    run
}

/// One table by several axes.
pub(crate) fn lio_axes() -> Run {
    let mut run = run("lio", json!({"kind": "engine", "path": "/home/user/.cache/readpath/tables"}));
    for (threads, changed) in [(1, 0), (2, 0), (1, 1), (2, 50)] {
        for (touch, cost) in [("rows", 112.0), ("column-5", 237.0)] {
            let parameters = json!({"threads": threads, "changed_rows": changed, "touch": touch});
            run.cases.push(lio_case(parameters, cost * f64::from(1 + changed), 31.0));
        }
    }
    run
}
