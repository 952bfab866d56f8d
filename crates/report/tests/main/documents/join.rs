//! Run documents of nested loops.

use measure::schema::join::findings as row;
use measure::{Run, Unit};
use serde_json::{Value, json};

use super::{case, run, single, spread};

fn parameters(more: Value) -> Value {
    let mut all = json!({
        "rand": 100, "pad": 1000, "rows": 200_000, "outer_rows": 2000, "io": "async", "direct": true, "depth": 64,
    });
    for (name, value) in more.as_object().unwrap() {
        all[name] = value.clone();
    }
    all
}

/// A join whose reads took `millis`, with `requests` requests for its blocks.
fn join(more: Value, millis: f64, requests: f64) -> measure::Case {
    let count = |name, value| single(name, Unit::Count, "reads below the buffer pool", value);
    case(
        parameters(more),
        vec![
            spread("io_time", Unit::Milliseconds, millis, 0.1),
            spread("elapsed", Unit::Milliseconds, millis * 1.1, 0.1),
            spread("cpu_per_lookup", Unit::Microseconds, 4.2, 0.1),
            count("table_blocks", 1931.0),
            count("index_blocks", 5.0),
            count("requests", requests),
            single("blocks_per_request", Unit::Ratio, "the operator", 1931.0 / requests),
            single("in_flight", Unit::Ratio, "clock", (1931.0 / requests).min(31.0)),
            single("random_block", Unit::Microseconds, "clock", millis / 1.931),
            single("break_even", Unit::Percent, "clock", 90.0 / millis),
        ],
    )
}

/// The four methods.
pub(crate) fn join_methods() -> Run {
    let mut run = run("join", json!({"kind": "engine", "path": "/home/user/.cache/readpath/tables"}));
    let scan = json!({"access": "full-scan"});
    run.cases.push(case(
        parameters(scan),
        vec![
            spread("elapsed", Unit::Milliseconds, 190.0, 0.1),
            spread("sequential_block", Unit::Microseconds, 5.1, 0.1),
            spread("row", Unit::Nanoseconds, 210.0, 0.1),
        ],
    ));
    run.cases.push(case(
        parameters(json!({"access": "cached"})),
        vec![spread("cached_block", Unit::Microseconds, 0.61, 0.1)],
    ));
    run.cases.push(join(json!({"method": "one-at-a-time"}), 212.0, 1931.0));
    run.cases.push(join(json!({"method": "prefetch", "look_ahead": 64}), 49.3, 37.0));
    run.cases.push(join(json!({"method": "batch", "batch_size": 128}), 46.1, 16.0));
    run.cases.push(join(json!({"method": "batched-rowid", "batch_size": 512}), 43.0, 4.0));
    run.findings.push(row::ANSWER_GAIN.of("Gathering made the time for reads shorter by these factors."));
    run
}

/// A sweep over two tables and some sizes, reads one after the other: nothing to hold against the published figures
/// but the first.
pub(crate) fn join_sweep() -> Run {
    let mut run = run("join", json!({"kind": "model", "model": "ssd"}));
    for rand in [0, 50, 100] {
        run.cases.push(join(json!({"rand": rand, "method": "one-at-a-time"}), 212.0, 1931.0));
        for size in [8, 64, 4096] {
            let sized = json!({"rand": rand, "method": "batch", "batch_size": size});
            run.cases.push(join(sized, 210.0, (1931.0 / f64::from(size)).ceil()));
        }
    }
    run
}

/// Joins of a server that does not time its reads, by how many it may have in flight.
pub(crate) fn join_of_servers() -> Run {
    let subject = json!({"kind": "postgres", "version": "18.1", "server": "postgres://me@db.example/shop"});
    let mut run = run("join", subject);
    for (method, more, millis) in [
        ("nested-loop", json!({}), 240.0),
        ("bitmap", json!({"effective_io_concurrency": 0}), 190.0),
        ("bitmap", json!({"effective_io_concurrency": 64}), 61.0),
    ] {
        let mut more = more;
        more["method"] = json!(method);
        more["subject"] = json!("postgres 18.1");
        let elapsed = spread("elapsed", Unit::Milliseconds, millis, 0.1);
        run.cases.push(case(parameters(more), vec![elapsed]));
    }
    run
}
