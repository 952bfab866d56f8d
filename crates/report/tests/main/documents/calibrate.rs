//! A run document of a calibration, as the experiment gives it on a private server.

use measure::{Case, Finding, Metric, Run, Unit};
use serde_json::{Value, json};

use super::{case, run, single};

fn ratio(name: &str, value: f64) -> Metric {
    single(name, Unit::Ratio, "median of 9 samples over that of seq_page_cost", value)
}

fn millis(name: &str, value: f64) -> Metric {
    single(name, Unit::Milliseconds, "execution time by EXPLAIN", value)
}

fn percent(name: &str, value: f64) -> Metric {
    single(name, Unit::Percent, "EXPLAIN", value)
}

fn parameters(part: &str, more: Value) -> Value {
    let mut all = json!({"subject": "postgres 18.1", "part": part});
    for (name, value) in more.as_object().unwrap() {
        all[name] = value.clone();
    }
    all
}

/// A constant's cases by share: the value, and microseconds.
fn constant(name: &str, now: f64, values: [Option<f64>; 5], micros: [f64; 5]) -> Vec<Case> {
    let shares = [0, 50, 90, 99, 100].into_iter().zip(values).zip(micros);
    let made = shares.map(|((share, value), micros)| {
        let mut metrics = vec![ratio("now", now)];
        if let Some(value) = value {
            metrics.push(ratio("value", value));
            metrics.push(ratio("value_low", value * 0.9));
            metrics.push(ratio("value_high", value * 1.2));
        }
        metrics.push(single("time", Unit::Microseconds, "schedstat", micros));
        case(parameters("constant", json!({"constant": name, "cached_percent": share})), metrics)
    });
    made.collect()
}

fn query(state: &str, clustering: &str, share: f64, times: [f64; 3], picks: [usize; 3]) -> Case {
    let more = json!({"state": state, "clustering": clustering, "rows": (share * 6000.0) as u64});
    let names = ["full_scan_time", "index_time", "bitmap_time"];
    let mut metrics = vec![percent("selectivity", share)];
    metrics.extend(names.iter().zip(times).map(|(name, time)| millis(name, time)));
    for (by, at) in ["now", "measured", "recommended"].into_iter().zip(picks) {
        metrics.push(millis(&format!("picked_by_{by}"), times[at]));
    }
    case(parameters("query", more), metrics)
}

fn score(state: &str, constants: &str, right: f64, lost: f64, run_time: Option<f64>) -> Case {
    let count = |name: &str, value| single(name, Unit::Count, "queries", value);
    let mut metrics = vec![count("queries", 16.0), count("fastest_picked", right), millis("time", 1234.0 + lost)];
    metrics.extend([millis("fastest_time", 1234.0), millis("lost", lost)]);
    metrics.extend(run_time.map(|time| millis("run_time", time)));
    if constants == "recommended" && state == "cached" {
        metrics.extend([ratio("seq_page_cost", 1.0), ratio("random_page_cost", 2.023_456_7)]);
        metrics.push(single("effective_cache_size", Unit::Count, "told", 2_861_591.0));
    }
    case(parameters("verification", json!({"state": state, "constants": constants})), metrics)
}

/// Every part of the page, with a constant that did not come out.
pub(crate) fn calibrate() -> Run {
    let mut run = run("calibrate", json!({"kind": "postgres", "version": "18.1", "sql": true}));
    let some = |values: [f64; 5]| values.map(Some);
    run.cases.extend(constant("seq_page_cost", 1.0, some([1.0; 5]), [28.3, 17.3, 3.7, 0.719, 0.584]));
    let random = some([3.6, 2.76, 2.64, 2.33, 2.02]);
    run.cases.extend(constant("random_page_cost", 4.0, random, [102.0, 47.9, 9.81, 1.68, 1.18]));
    let tuple = some([0.0021, 0.0035, 0.0163, 0.084, 0.1035]);
    run.cases.extend(constant("cpu_tuple_cost", 0.01, tuple, [0.0604; 5]));
    run.cases.extend(constant("cpu_index_tuple_cost", 0.005, [None; 5], [-0.001; 5]));
    let setup = some([1203.0, 1968.0, 9184.0, 47_355.0, 58_351.0]);
    run.cases.extend(constant("parallel_setup_cost", 1000.0, setup, [34_066.0; 5]));
    let memory = |name: &str, value| single(name, Unit::Bytes, "/proc/meminfo", value);
    let size = parameters("constant", json!({"constant": "effective_cache_size"}));
    run.cases.push(case(size, vec![memory("now", 4_294_967_296.0), memory("value", 23_442_153_472.0)]));
    for (state, scale) in [("cold", 100.0), ("cached", 1.0)] {
        for (clustering, index) in [("random", 1.0), ("good", 0.1)] {
            let more = json!({"state": state, "clustering": clustering});
            let mut metrics = vec![percent("predicted_now", 1.234), percent("predicted_measured", 5.67)];
            if clustering == "random" {
                metrics.extend([percent("predicted_recommended", 4.32), percent("clocked", 4.56)]);
            }
            run.cases.push(case(parameters("crossover", more), metrics));
            for (share, picks) in [(0.01, [1, 1, 1]), (1.0, [2, 1, 2]), (30.0, [0, 2, 0])] {
                let times = [90.0 * scale, share * index * 30.0 * scale, (share * 20.0 + 0.1) * scale];
                run.cases.push(query(state, clustering, share, times, picks));
            }
        }
        run.cases.push(score(state, "now", 11.0, 345.6, Some(1600.0)));
        run.cases.push(score(state, "measured", 13.0, 123.4, Some(1388.0)));
        run.cases.push(score(state, "without-random_page_cost", 10.0, 456.7, None));
        run.cases.push(score(state, "recommended", 15.0, 12.3, None));
    }
    let message = "With the server's constants postgres 18.1 picks the fastest plan for 11 of 16 queries (cached).";
    run.findings.push(Finding::info("answer-verification-cached", message));
    run
}
