//! `readpath calibrate` as a user calls it, on real servers: constants have their intervals, every query is judged, and
//! nothing stays on a given server.

use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::user::{SCHEMAS, User, complaint, has_debian, ids};
use serde_json::Value;
use trial::Trial;

/// A small table, and as few samples as say something.
const SMALL: &str = "--payload 4MiB --repeat 3";

/// A given server's queries: two orders of the rows, six parts of them.
const QUERIES: usize = 12;

fn part<'a>(document: &'a Value, name: &'a str) -> impl Iterator<Item = &'a Value> {
    document["cases"].as_array().unwrap().iter().filter(move |case| case["parameters"]["part"] == name)
}

fn median(case: &Value, name: &str) -> Option<f64> {
    let metrics = case["metrics"].as_array().unwrap();
    metrics.iter().find(|metric| metric["name"] == name)?["median"].as_f64()
}

/// Every constant that has a value has a positive one between the ends of its interval; a finding explains each one
/// without a value.
fn check_constants(document: &Value, shares: usize) {
    let of = |name: &str| {
        let is_it = move |case: &&Value| case["parameters"]["constant"] == name;
        part(document, "constant").filter(is_it).collect::<Vec<_>>()
    };
    let names = ["seq_page_cost", "cpu_tuple_cost", "cpu_operator_cost", "random_page_cost", "cpu_index_tuple_cost"];
    for name in names {
        let cases = of(name);
        assert_eq!(cases.len(), shares, "{name}");
        for case in cases {
            let Some(value) = median(case, "value") else {
                assert!(ids(document).contains(&"absent-constants"), "{case}");
                continue;
            };
            let (low, high) = (median(case, "value_low").unwrap(), median(case, "value_high").unwrap());
            assert!(value > 0.0 && low <= value && value <= high, "{case}");
            assert!(median(case, "now").unwrap() > 0.0 && median(case, "time").is_some(), "{case}");
        }
    }
    let cache = of("effective_cache_size");
    assert!(median(cache[0], "value").unwrap() > 1e6, "{}", cache[0]);
}

/// Every query has the times of its three plans, and the sums are those of the queries.
fn check_verification(document: &Value, state: &str) {
    let of_state = |name: &'static str| part(document, name).filter(|case| case["parameters"]["state"] == state);
    let queries: Vec<&Value> = of_state("query").collect();
    assert_eq!(queries.len(), QUERIES);
    let plans = ["full_scan_time", "index_time", "bitmap_time"];
    let fastest = |query: &&Value| plans.map(|plan| median(query, plan).unwrap()).into_iter().fold(f64::MAX, f64::min);
    let fastest: f64 = queries.iter().map(fastest).sum();
    let scores: Vec<&Value> = of_state("verification").collect();
    for set in ["now", "measured", "recommended", "only-random_page_cost", "without-random_page_cost"] {
        let score = scores.iter().find(|case| case["parameters"]["constants"] == set);
        let score = score.unwrap_or_else(|| panic!("no {set}: {scores:?}"));
        let value = |name: &str| median(score, name).unwrap();
        assert_eq!(value("queries") as usize, QUERIES);
        assert!((value("fastest_time") - fastest).abs() < fastest * 1e-6, "{score}");
        assert!((value("time") - value("lost") - fastest).abs() < fastest * 1e-6, "{score}");
    }
    let lost =
        |set: &str| median(scores.iter().find(|case| case["parameters"]["constants"] == set).unwrap(), "lost").unwrap();
    assert!(lost("recommended") <= lost("now"), "{scores:?}");
    assert_eq!(of_state("crossover").count(), 2);
}

#[test]
fn constants_have_intervals_and_every_query_is_judged() {
    let Some(trial) = Trial::start(&[]) else { return };
    let settings = "SELECT string_agg(name || setting, ',' ORDER BY name) FROM pg_settings";
    let before = (trial.value(settings), trial.value("SELECT count(*) FROM pg_class"));
    let document = User::new().document(&format!("calibrate --on {} {SMALL}", trial.url()));
    assert_eq!((trial.value(settings), trial.value("SELECT count(*) FROM pg_class")), before);
    assert_eq!(trial.value(SCHEMAS), "0");
    check_constants(&document, 1);
    check_verification(&document, "cached");
    assert!(ids(&document).contains(&"absent-cold"), "{:?}", ids(&document));
    assert!(ids(&document).contains(&"answer-verification-cached"), "{:?}", ids(&document));
}

#[test]
fn a_private_server_is_made_cold_and_its_page_ends_with_statements() {
    if !has_debian() {
        return;
    }
    let user = User::new();
    let words = "calibrate --on postgres:/usr/lib/postgresql/15 --payload 4MiB --repeat 2 --cold-samples 1 \
                 --cold-rounds 1 --sql";
    let output = user.run(words);
    assert!(output.status.success(), "{}", complaint(&output));
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    assert!(page.contains("-- cold: ") && page.contains("-- cached: "), "{page}");
    let kept = user.run("show last --format json");
    let document: Value = serde_json::from_slice(&kept.stdout).unwrap();
    check_constants(&document, 5);
    check_verification(&document, "cold");
    check_verification(&document, "cached");
    let at_random = part(&document, "constant").filter(|case| case["parameters"]["constant"] == "random_page_cost");
    // A share in between that was not proved has no time.
    let times: Vec<f64> = at_random.filter_map(|case| median(case, "time")).collect();
    assert!(
        times.len() > 1 && times[0] > times[times.len() - 1],
        "a cold block costs no more than a cached one: {times:?}"
    );
    assert_eq!(part(&document, "concurrency").count(), 7);
}

#[test]
fn a_dry_run_sends_nothing_and_removes_what_it_would_make() {
    let Some(trial) = Trial::start(&["log_statement=all"]) else { return };
    let before = trial.log().len();
    let output = User::new().run(&format!("calibrate --on {} --dry-run", trial.url()));
    let script = String::from_utf8(output.stdout).unwrap();
    assert_eq!(trial.log().len(), before, "{}", trial.log());
    for part in ["CREATE SCHEMA readpath", "SET random_page_cost", "EXPLAIN (FORMAT JSON)", "DROP SCHEMA readpath;"] {
        assert!(script.contains(part), "no {part}: {script}");
    }
    assert!(!script.contains("ALTER SYSTEM") && !script.contains("CREATE EXTENSION"), "{script}");
}

#[test]
fn an_interrupted_calibration_leaves_no_schema() {
    let Some(trial) = Trial::start(&[]) else { return };
    let user = User::new();
    let words = format!("calibrate --on {} --payload 8MiB --repeat 500 --format json", trial.url());
    let child = user.command(&words).spawn().unwrap();
    trial.wait_for(SCHEMAS, "1");
    thread::sleep(Duration::from_secs(2));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", complaint(&output));
    assert_eq!(trial.value(SCHEMAS), "0");
}

#[test]
fn what_cannot_be_is_one_sentence_and_leaves_nothing() {
    let user = User::new();
    let refused = |words: &str, code: i32| user.refused(&format!("calibrate {words}"), code);
    assert!(refused("", 2).contains("--on"));
    assert!(refused("--on postgres://me@127.0.0.1:1/db", 1).contains("does not respond"));
    assert!(refused("--on postgres://me@127.0.0.1:1/db --payload 1KiB", 2).contains("--payload"));
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run("CREATE USER shop");
    assert!(refused(&format!("--on {}", trial.url_of("shop")), 1).contains("GRANT CREATE ON DATABASE"));
    assert!(refused(&format!("--on {} --payload 64GiB", trial.url()), 1).contains("smaller --payload"));
    assert!(refused(&format!("--on {} --statement-timeout 1ms", trial.url()), 1).contains("--statement-timeout"));
    assert_eq!(trial.value(SCHEMAS), "0");
}
