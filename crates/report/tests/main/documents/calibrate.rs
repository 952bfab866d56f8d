//! A run document of a calibration, as the experiment gives it on a given server with the user's queries.

use measure::schema::calibrate::findings as row;
use measure::{Case, Metric, Run, Unit};
use serde_json::{Value, json};

use super::{case, run, single, spec};

fn ratio(name: &str, value: f64) -> Metric {
    single(name, Unit::Ratio, "bootstrap", value)
}

fn millis(name: &str, value: f64) -> Metric {
    single(name, Unit::Milliseconds, "execution time by EXPLAIN", value)
}

fn count(name: &str, value: f64) -> Metric {
    single(name, Unit::Count, "queries", value)
}

fn parameters(part: &str, more: Value) -> Value {
    let mut all = json!({"subject": "postgres 18.1", "part": part});
    for (name, value) in more.as_object().unwrap() {
        all[name] = value.clone();
    }
    all
}

/// A constant in a state, which is empty for one that has none; withheld where its passes are far apart.
fn constant(name: &str, state: &str, [now, value, spread, micros]: [f64; 4]) -> Case {
    let mut metrics = vec![ratio("now", now), ratio("value", value)];
    metrics.extend([
        ratio("value_low", value * 0.95),
        ratio("value_high", value * 1.1),
        ratio("passes_spread", spread),
    ]);
    if spread < 1.5 && !name.starts_with("parallel") {
        metrics.push(ratio("given", value));
    }
    metrics.push(single("time", Unit::Microseconds, "schedstat", micros));
    let state = if state.is_empty() { json!({}) } else { json!({"state": state}) };
    let mut more = json!({"constant": name});
    more.as_object_mut().unwrap().extend(state.as_object().unwrap().clone());
    case(parameters("constant", more), metrics)
}

fn ratios(value: f64) -> [Metric; 3] {
    [ratio("ratio", value), ratio("ratio_low", value * 0.9), ratio("ratio_high", value * 1.2)]
}

/// A set and its verdict; `advice` is empty where the advice is about another one.
fn set(state: &str, name: &str, (verdict, advice): (&str, &str), [changed, ratio_all, now]: [f64; 3]) -> Case {
    let source = if state == "as-found" { "own" } else { "verification" };
    let mut more = json!({"state": state, "source": source, "constants": name, "verdict": verdict});
    if !advice.is_empty() {
        more["advice"] = json!(advice);
    }
    let mut metrics = vec![count("queries", 31.0), count("changed", changed)];
    if changed > 0.0 {
        metrics.extend([count("faster", changed - 2.0), count("slower", 1.0)]);
        metrics.extend(ratios(ratio_all));
        metrics.extend([ratio("worst", 1.1), millis("time_now", now), millis("time_then", now * ratio_all)]);
    }
    metrics.extend([ratio("seq_page_cost", 0.079), ratio("random_page_cost", 0.16), ratio("cpu_tuple_cost", 0.01)]);
    metrics.extend([ratio("cpu_index_tuple_cost", 0.005), ratio("cpu_operator_cost", 0.002)]);
    case(parameters("set", more), metrics)
}

fn query(state: &str, name: &str, nodes: [&str; 2], times: Option<[f64; 2]>) -> Case {
    let source = if state == "as-found" { "own" } else { "verification" };
    let verdict = if times.is_some() { "faster" } else { "not timed" };
    let more = json!({
        "state": state, "source": source, "query": name, "constants": "cached", "node_now": nodes[0],
        "node_then": nodes[1], "plan_now": format!("Aggregate [{}]", nodes[0]),
        "plan_then": format!("Aggregate [{}]", nodes[1]), "verdict": verdict,
    });
    let mut metrics = Vec::new();
    if let Some([now, then]) = times {
        metrics.extend([millis("time_now", now), millis("time_then", then)]);
        metrics.extend(ratios(then / now));
    }
    case(parameters("query", more), metrics)
}

/// A constant in a tablespace; withheld where its rounds are far apart.
fn tablespace(name: &str, [now, value, spread, micros]: [f64; 4], now_source: &str) -> Case {
    let mut metrics = vec![single("now", Unit::Ratio, now_source, now), ratio("value", value)];
    metrics.push(ratio("passes_spread", spread));
    if spread < 1.5 {
        metrics.push(ratio("given", value));
    }
    metrics.push(single("time", Unit::Microseconds, "EXPLAIN", micros));
    let more = json!({"tablespace": name, "constant": "random_page_cost", "state": "cold"});
    case(parameters("tablespace", more), metrics)
}

/// Paths to a number of scattered rows and of rows in order: milliseconds of a full scan, an index scan and a bitmap
/// scan, absent where the path was left out; and the paths that the planner takes by its own constants and by others.
fn crossover(order: &str, rows: u64, millis: [Option<f64>; 3], chosen: [&str; 2]) -> [Case; 3] {
    let mut at = 0;
    ["full-scan", "index", "bitmap"].map(|path| {
        let by: Vec<&str> =
            ["now", "cached"].into_iter().zip(chosen).filter(|one| one.1 == path).map(|one| one.0).collect();
        let mut more = json!({"state": "cached", "order": order, "path": path, "asked_rows": rows});
        if !by.is_empty() {
            more["chosen_by"] = json!(by.join(", "));
        }
        let mut metrics = vec![single("share", Unit::Percent, "the rows of the table", rows as f64 / 3000.0)];
        metrics.extend([ratio("cost_now", rows as f64 * 4.0), ratio("cost_then", rows as f64 * 0.2)]);
        match millis[at] {
            Some(millis) => {
                let samples = [millis * 0.98, millis, millis * 1.1];
                metrics.extend(spec("path_time", Unit::Milliseconds).of_samples("execution time by EXPLAIN", &samples));
                metrics.push(count("rows", rows as f64));
            }
            None => more["verdict"] = json!("for fewer rows it took over 10 times as long as the fastest path"),
        }
        at += 1;
        case(parameters("crossover", more), metrics)
    })
}

/// Where a path takes over, by the times where no constants are named.
fn switch(order: &str, name: &str, constants: &str, rows: Option<f64>, verdict: &str) -> Case {
    let mut more = json!({"state": "cached", "order": order, "switch": name});
    for (name, value) in [("constants", constants), ("verdict", verdict)].iter().filter(|(_, value)| !value.is_empty())
    {
        more[*name] = json!(value);
    }
    case(parameters("switch", more), rows.map(|rows| count("from_rows", rows)).into_iter().collect())
}

/// Scattered rows that the planner reads by a full scan too early by its own constants, and rows in order.
fn crossovers() -> Vec<Case> {
    let all = |millis: [f64; 3]| millis.map(Some);
    let mut cases = Vec::new();
    cases.extend(crossover("scattered", 30, all([24.0, 0.04, 0.05]), ["index", "index"]));
    cases.extend(crossover("scattered", 3000, all([24.5, 2.9, 1.8]), ["full-scan", "bitmap"]));
    cases.extend(crossover("scattered", 60_000, all([25.0, 250.5, 19.0]), ["full-scan", "bitmap"]));
    cases.extend(crossover("scattered", 240_000, [Some(31.0), None, Some(48.0)], ["full-scan", "full-scan"]));
    cases.extend(crossover("clustered", 30, all([24.0, 0.02, 0.03]), ["index", "index"]));
    cases.extend(crossover("clustered", 60_000, all([25.0, 6.0, 6.1]), ["index", "index"]));
    cases.extend(crossover("clustered", 240_000, all([31.0, 24.0, 24.5]), ["full-scan", "index"]));
    cases.extend([
        switch("scattered", "from-index", "", Some(450.0), ""),
        switch("scattered", "from-index", "now", Some(700.0), "about right"),
        switch("scattered", "from-index", "cached", Some(320.0), "about right"),
        switch("scattered", "to-full-scan", "", Some(91_200.0), ""),
        switch("scattered", "to-full-scan", "now", Some(2130.0), "too early"),
        switch("scattered", "to-full-scan", "cached", Some(101_000.0), "about right"),
        switch("clustered", "from-index", "", None, ""),
        switch("clustered", "from-index", "now", Some(118_000.0), "about right"),
        switch("clustered", "from-index", "cached", None, "about right"),
        switch("clustered", "to-full-scan", "", None, ""),
        switch("clustered", "to-full-scan", "now", Some(118_000.0), "too early"),
        switch("clustered", "to-full-scan", "cached", None, "about right"),
    ]);
    cases
}

/// Every part of the page, with a constant that is withheld.
pub(crate) fn calibrate() -> Run {
    let subject = json!({
        "kind": "postgres", "version": "18.1", "sql": true, "database": "shop",
        "database_settings": {"random_page_cost": "2"}, "server_settings": null,
        "role_settings": [{
            "role": "bi", "in_database": false, "is_own": false, "setting": "random_page_cost", "value": "1.1",
        }],
    });
    let mut run = run("calibrate", subject);
    run.cases.push(constant("seq_page_cost", "cached", [1.0, 0.079, 1.08, 0.45]));
    run.cases.push(constant("seq_page_cost", "system", [1.0, 0.25, 1.2, 1.4]));
    run.cases.push(constant("random_page_cost", "cached", [4.0, 0.16, 1.31, 0.92]));
    run.cases.push(constant("cpu_tuple_cost", "", [0.01, 0.01, 1.0, 0.0571]));
    run.cases.push(constant("cpu_index_tuple_cost", "", [0.005, 0.0011, 7.1, 0.006]));
    run.cases.push(constant("parallel_setup_cost", "", [1000.0, 5660.0, 1.2, 32_300.0]));
    let of_server = "pg_settings of the session";
    run.cases.push(tablespace("pg_default", [4.0, 4.0, 1.0, 110.0], of_server));
    run.cases.push(tablespace("slow \"disks\"", [4.0, 160.0, 1.2, 4410.0], of_server));
    run.cases.push(tablespace("old", [2.0, 40.0, 1.1, 1110.0], "pg_tablespace.spcoptions"));
    run.cases.push(tablespace("busy", [4.0, 80.0, 2.3, 2300.0], of_server));
    let memory = |name: &str, value| single(name, Unit::Bytes, "the page cache", value);
    let size = parameters("constant", json!({"constant": "effective_cache_size"}));
    run.cases.push(case(size, vec![memory("now", 4_294_967_296.0), memory("value", 2_442_153_472.0)]));
    let reads = parameters("constant", json!({"constant": "effective_io_concurrency"}));
    let sweep =
        |now, from| vec![count("now", now), count("from", from), count("to", 64.0), ratio("passes_spread", 1.4)];
    run.cases.push(case(reads, sweep(16.0, 8.0)));
    let reads = parameters("constant", json!({"constant": "maintenance_io_concurrency"}));
    run.cases.push(case(reads, sweep(16.0, 32.0)));
    for (state, advice) in [("as-found", "change"), ("cached", "undecided"), ("system", "change")] {
        run.cases.push(set(state, "now", ("", ""), [0.0, 1.0, 0.0]));
        let mut cached = set(state, "cached", (advice, advice), [9.0, 0.62, 1234.5]);
        cached.metrics.extend((state == "as-found").then(|| count("excepted", 1.0)));
        run.cases.push(cached);
        run.cases.push(set(state, "random-1.1", ("keep", ""), [0.0, 1.0, 0.0]));
    }
    let nodes = ["Seq Scan on lineitem", "Index Scan on lineitem by lineitem_order"];
    run.cases.push(query("as-found", "lines of a month", nodes, Some([310.0, 120.0])));
    let join = |outer: &str| format!("Nested Loop [{outer} on lineitem_of_the_last_months by lineitem_date; Memoize]");
    let long = ["Index Scan", "Index Only Scan"].map(join);
    run.cases.push(query("as-found", "months", [&long[0], &long[1]], Some([31.0, 12.0])));
    let mut excepted = query("as-found", "refunds", nodes, Some([11.0, 31.0]));
    excepted.parameters.extend([("verdict".into(), json!("slower")), ("advice".into(), json!("keep"))]);
    run.cases.push(excepted);
    run.cases.push(query("as-found", "4711", ["Hash Join (Left)", "Nested Loop (Left)"], None));
    run.cases.push(query("cached", "2 % in order, within", nodes, Some([1.5, 1.1])));
    let why = json!({"state": "as-found", "source": "own", "query": "shop 7", "verdict": "it writes"});
    run.cases.push(case(parameters("refused", why), Vec::new()));
    let remedy = json!({
        "query": "orders of a city", "node_now": nodes[0], "node_then": "Nested Loop",
        "advice": "the row estimate of Seq Scan on orders is off by a factor of 40: ANALYZE, or CREATE STATISTICS",
    });
    let times = vec![millis("time_now", 80.0), millis("time_then", 12.0), ratio("estimate_off", 40.0)];
    run.cases.push(case(parameters("remedy", remedy), times));
    run.cases.extend(crossovers());
    let message = "postgres 18.1, as the server is: set seq_page_cost = 0.079, random_page_cost = 0.160, but not for \
                   1 of your queries. By cached 9 of your 31 queries get a different plan. With runs resampled, 95 % \
                   of the means lie between 0.56 and 0.74.";
    run.findings.push(row::ANSWER_ADVICE.named("as-found", message));
    let message = "Scattered rows, cached by the server. A full scan is the fastest path from 91\u{202f}200 rows \
                   (30.4 %) on; by the server's own constants the planner takes it from 2\u{202f}130 rows (0.710 %) \
                   on, too early (up to 17.7 times as long as the fastest path).";
    run.findings.push(row::ANSWER_CROSSOVER.named("scattered", message));
    run
}
