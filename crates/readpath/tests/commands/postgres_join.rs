//! `readpath join --on` as a user calls it, on real servers: sums are the engine's, what is cold was read, and nothing
//! stays.

use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::user::{DEBIAN, SCHEMAS, User, complaint, has_debian, ids, median, on_server};
use serde_json::Value;
use trial::Trial;

/// A small table, and as few joins as say something.
const SMALL: &str = "--rows 14000 --outer-rows 400 --repeat 1 --concurrency 0,16";

#[test]
fn joins_on_a_private_server_are_cold_and_sum_what_the_engine_sums() {
    if !has_debian() {
        return;
    }
    let user = User::new();
    // A sum that differs from the engine's is an error of the run.
    let document = user.document(&format!("join --on postgres:{DEBIAN} {SMALL}"));
    let cases: Vec<&Value> = on_server(&document).collect();
    assert_eq!(cases.len(), 3, "the nested loop and two bitmap scans: {document}");
    for case in cases {
        // 400 rows in no order stand in nearly as many of the 2000 blocks.
        assert!(median(case, "table_blocks") > 300.0 && median(case, "blocks_read") > 300.0, "{case}");
        assert!(median(case, "elapsed") > 0.0 && median(case, "random_block") > 0.0, "{case}");
    }
    assert!(ids(&document).contains(&"cold") && ids(&document).contains(&"answer-server-gain"), "{document}");
    assert!(document["cases"].as_array().unwrap().iter().any(|case| case["parameters"]["subject"] == "engine"));
    let page = String::from_utf8(user.run("show last").stdout).unwrap();
    assert!(page.lines().any(|line| line == "engine") && page.contains("bitmap-scan"), "{page}");
    assert!(page.lines().any(|line| line.starts_with("postgres 15.") && !line.contains(" at ")), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
}

#[test]
fn a_server_alone_has_its_joins_on_the_page_and_no_engine() {
    if !has_debian() {
        return;
    }
    let user = User::new();
    let page = user.ok(&format!("join --on postgres:{DEBIAN} {SMALL} --alone"));
    assert!(page.contains("nested-loop") && page.contains("bitmap-scan"), "{page}");
    assert!(!page.lines().any(|line| line == "engine") && !page.contains("one-at-a-time"), "{page}");
    assert!(!user.home.path().join(".cache/readpath/tables").exists(), "tables of the engine were made");
}

#[test]
fn a_given_server_keeps_nothing_and_says_that_its_caches_were_not_emptied() {
    let Some(trial) = Trial::start(&["shared_buffers=512MB"]) else { return };
    trial.run("CREATE USER shop; GRANT CREATE ON DATABASE postgres TO shop");
    // A copy passes through a ring of 16 MiB, which holds the end of the table afterwards.
    let words = SMALL.replace("14000", "56000");
    let document = User::new().document(&format!("join --on {} {words}", trial.url_of("shop")));
    assert_eq!(trial.value(SCHEMAS), "0");
    for id in ["buffers-not-emptied", "absent-io-time"] {
        assert!(ids(&document).contains(&id), "{id}: {:?}", ids(&document));
    }
    for case in on_server(&document) {
        // The table is smaller than the buffers, and still not there when it was just loaded.
        assert!(median(case, "table_blocks") > 50.0, "{case}");
        let has_waits = case["metrics"].as_array().unwrap().iter().any(|metric| metric["name"] == "io_time");
        assert!(!has_waits, "what was not timed is absent: {case}");
    }
}

#[test]
fn a_rehearsal_touches_nothing() {
    let Some(trial) = Trial::start(&["log_statement=all"]) else { return };
    let before = trial.log().len();
    let output = User::new().run(&format!("join --on {} {SMALL} --dry-run", trial.url()));
    let script = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(trial.log().len(), before, "{}", trial.log());
    for part in ["COPY readpath.\"inner_rows\" FROM STDIN", "effective_io_concurrency = '16'", "DROP SCHEMA readpath;"]
    {
        assert!(script.contains(part), "{script}");
    }
}

#[test]
fn an_interrupted_run_leaves_no_schema() {
    let Some(trial) = Trial::start(&[]) else { return };
    let user = User::new();
    let words = format!("join --on {} --rows 14000 --outer-rows 200 --repeat 100 --method batch", trial.url());
    let child = user.command(&format!("{words} --format json")).spawn().unwrap();
    trial.wait_for(SCHEMAS, "1");
    thread::sleep(Duration::from_millis(500));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", complaint(&output));
    assert_eq!(trial.value(SCHEMAS), "0");
}

#[test]
fn what_cannot_be_is_one_sentence() {
    let user = User::new();
    let refused = |words: &str, code: i32| {
        let output = user.run(words);
        assert_eq!(output.status.code(), Some(code), "{words}: {}", complaint(&output));
        complaint(&output)
    };
    assert!(refused("join --on postgres://me@127.0.0.1:1/db", 1).contains("does not respond"));
    assert!(refused("join --on postgres:none", 2).contains("postgres:18"));
    assert!(refused("join --on postgres:18 --concurrency 1001", 2).contains("0 to 1000"));
    assert!(refused("join --on model:ssd --dry-run", 2).contains("--dry-run"));
    let Some(trial) = Trial::start(&[]) else { return };
    assert!(refused(&format!("join --on {} --rows 9000000000", trial.url()), 1).contains("are free"));
    assert_eq!(trial.value(SCHEMAS), "0");
}
