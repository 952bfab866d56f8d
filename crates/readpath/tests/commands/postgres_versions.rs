//! The experiments on private servers of the versions that are fetched, and the round trip on a given one: what holds
//! on one version holds on all, and what a version has more is there.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use crate::user::{SCHEMAS, User, cases, complaint, ids, median, metric, on_server};
use serde_json::Value;
use server::private::{Installation, PrivateServer, PrivateServerError, ServerSettings, Source};
use trial::Trial;

/// The first version that can read past the page cache.
const DIRECT_SINCE: u32 = 16;

static GO_ON: AtomicBool = AtomicBool::new(false);

/// The programs are fetched once for all tests of this build.
pub(crate) fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

/// The document of a command on a private server; `None`, and a skip, where its programs cannot be fetched.
fn document(user: &User, major: u32, words: &str) -> Option<Value> {
    let mut command: Command = user.command(&format!("{words} --on postgres:{major} --format json"));
    let output = command.env("XDG_CACHE_HOME", cache()).output().unwrap();
    let said = complaint(&output);
    if said.contains("could not be fetched") {
        println!("skipped: PostgreSQL {major} is not in the cache and cannot be fetched");
        return None;
    }
    assert!(output.status.success(), "{major} {words}: {said}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(document["subject"]["version"].as_str().unwrap().starts_with(&major.to_string()), "{document}");
    let left = fs::read_dir(user.temporary.path()).unwrap().count();
    assert_eq!(left, 0, "{major} {words}: the private server left files");
    Some(document)
}

/// Every block was read once, from the tier that was to answer.
fn check_roundtrip(document: &Value, major: u32) {
    let passes: Vec<&Value> = cases(document).collect();
    assert!(passes.len() >= 2, "{document}");
    for pass in &passes {
        assert_eq!((median(pass, "blocks_read"), median(pass, "blocks_hit")), (64.0, 0.0), "{pass}");
        assert!(median(pass, "read_latency") > 0.0 && metric(pass, "read_latency")["n"] == 5, "{pass}");
        let of_server =
            pass["metrics"].as_array().unwrap().iter().any(|metric| metric["name"] == "read_latency_of_server");
        assert_eq!(of_server, major >= 16, "pg_stat_io is there from 16 on: {pass}");
    }
    assert_eq!(passes[0]["parameters"]["pass"], "page-cached");
    let is_direct = |pass: &&Value| pass["parameters"]["direct"] == true;
    let told = ids(document).contains(&"absent-direct");
    assert_eq!(passes.iter().any(is_direct), major >= DIRECT_SINCE && !told, "{document}");
}

/// The blocks that were got are those that rows of this shape fill.
fn check_lio(document: &Value) {
    let rows = (2_u64 << 20) / 250;
    let scans = on_server(document).filter(|case| case["parameters"]["access"] == "full-scan");
    let gets: Vec<f64> = scans.map(|case| median(case, "gets")).collect();
    assert_eq!(gets, [rows.div_ceil(28) as f64; 3], "the first scan, rows and the last column: {document}");
}

fn on_version(major: u32, is_newest: bool) {
    let user = User::new();
    let Some(found) = document(&user, major, "roundtrip --blocks 64") else { return };
    check_roundtrip(&found, major);
    let lio = "lio --payload 2MiB --row-length 250 --columns 5 --repeat 3 --access full-scan,index";
    check_lio(&document(&user, major, lio).unwrap());
    let join = "join --rows 14000 --outer-rows 200 --repeat 1 --concurrency 0,16 --method batch";
    let found = document(&user, major, join).unwrap();
    // A sum that differs from the engine's is an error of the run.
    for case in on_server(&found) {
        assert!(median(case, "table_blocks") > 150.0 && median(case, "blocks_read") > 150.0, "{case}");
    }
    let has_workers = on_server(&found).any(|case| case["parameters"]["io_method"] == "worker");
    assert_eq!(has_workers, is_newest, "{found}");
    if !is_newest {
        return;
    }
    let found = document(&user, major, "scan --rows 20000 --repeat 2 --no-valgrind").unwrap();
    assert!(on_server(&found).count() >= 5, "{found}");
    let calibrate = "calibrate --payload 1MiB --repeat 1 --passes 1 --rounds 1 --cold-samples 1 --cold-rounds 1";
    let found = document(&user, major, calibrate).unwrap();
    for id in ["answer-advice-cold", "answer-advice-cached"] {
        assert!(ids(&found).contains(&id), "{:?}", ids(&found));
    }
    assert!(!found.to_string().contains("null"), "what is not known is absent: {found}");
}

#[test]
fn experiments_on_16_read_what_they_say() {
    on_version(16, false);
}

#[test]
fn experiments_on_17_read_what_they_say() {
    on_version(17, false);
}

#[test]
fn every_experiment_on_18_reads_what_it_says() {
    on_version(18, true);
}

#[test]
fn an_old_script_of_an_extension_on_a_newer_server_is_told_and_a_newer_one_is_used() {
    let source = Source { cache: cache().join("readpath/postgres"), proxy: None };
    let installation = match Installation::of(18, &source, &GO_ON) {
        Err(PrivateServerError::NotFetched { reason, .. }) => {
            return println!("skipped: PostgreSQL 18 is not in the cache and cannot be fetched: {reason}");
        }
        installation => installation.unwrap(),
    };
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let server = PrivateServer::start(&installation, folder.path(), ServerSettings::new(64 << 20), &GO_ON).unwrap();
    let run = |statement: &str| server.ask(statement, &GO_ON).unwrap();
    let user = User::new();
    let words = format!("roundtrip --blocks 64 --on {}", server.url());
    run("CREATE EXTENSION pg_buffercache VERSION '1.4'");
    let document = user.document(&words);
    assert!(document["findings"].to_string().contains("of version 1.4, and empties buffers from 1.5"), "{document}");
    assert_eq!(cases(&document).next().unwrap()["parameters"]["pass"], "first-touch");
    run("ALTER EXTENSION pg_buffercache UPDATE TO '1.5'");
    let document = user.document(&words);
    assert!(document["findings"].to_string().contains("ALTER EXTENSION pg_buffercache UPDATE"), "{document}");
    run("ALTER EXTENSION pg_buffercache UPDATE TO '1.6'");
    let document = user.document(&words);
    let pass = cases(&document).next().unwrap();
    assert_eq!(pass["parameters"]["pass"], "page-cached", "{document}");
    assert_eq!((median(pass, "blocks_read"), median(pass, "blocks_hit")), (64.0, 0.0), "{pass}");
}

#[test]
fn a_round_trip_on_a_given_server_reads_blocks_that_nobody_had_read_and_leaves_nothing() {
    let Some(trial) = Trial::start(&["shared_buffers=512MB"]) else { return };
    trial.run(
        "CREATE USER shop; GRANT CREATE ON DATABASE postgres TO shop; GRANT SET ON PARAMETER track_io_timing TO shop",
    );
    let user = User::new();
    let document = user.document(&format!("roundtrip --on {} --blocks 512", trial.url_of("shop")));
    assert_eq!(trial.value(SCHEMAS), "0");
    assert!(ids(&document).contains(&"buffers-not-emptied"), "{:?}", ids(&document));
    let passes: Vec<&Value> = cases(&document).collect();
    assert_eq!((passes.len(), &passes[0]["parameters"]["pass"]), (1, &Value::from("first-touch")), "{document}");
    // The last 16 MiB that were copied are still in the buffers; 8192 blocks were.
    assert!(median(passes[0], "blocks_read") > 256.0 && median(passes[0], "read_latency") > 0.0, "{}", passes[0]);
    let blocks = median(passes[0], "blocks_read") + median(passes[0], "blocks_hit");
    assert!((500.0..=512.0).contains(&blocks), "{}", passes[0]);
    let page = String::from_utf8(user.run("show last").stdout).unwrap();
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
}

#[test]
fn a_round_trip_that_cannot_be_is_one_sentence_and_an_interrupted_one_leaves_nothing() {
    let user = User::new();
    assert!(user.refused("roundtrip --on postgres://me@127.0.0.1:1/db", 1).contains("does not respond"));
    assert!(user.refused("roundtrip --on postgres:18 --blocks 8193", 2).contains("at most 8192"));
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run("CREATE USER shop");
    let refused = user.refused(&format!("roundtrip --on {}", trial.url_of("shop")), 1);
    assert!(refused.contains("GRANT CREATE ON DATABASE"), "{refused}");
    let child = user.command(&format!("roundtrip --on {} --blocks 8192", trial.url())).spawn().unwrap();
    trial.wait_for(SCHEMAS, "1");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", complaint(&output));
    assert_eq!(trial.value(SCHEMAS), "0");
}
