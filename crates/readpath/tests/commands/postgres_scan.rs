//! `readpath scan --on` as a user calls it, on a given server and on private ones: the paths count
//! alike, nothing stays and nothing else changes, whatever goes wrong.

use std::fs;
use std::path::PathBuf;
use std::process::Child;
use std::thread;
use std::time::Duration;

use crate::children::{interrupt, is_running};
use crate::user::{DEBIAN, SCHEMAS, User, cases, complaint, has_debian, ids, median};
use crate::waiting;
use serde_json::Value;
use trial::Trial;

/// A small table, and as few samples as say something.
const SMALL: &str = "--rows 20000 --repeat 2 --no-valgrind";

/// A run that lasts until it is ended.
const LONG: &str = "--rows 20000 --repeat 100000 --no-valgrind --path full-scan,bitmap-scan";

/// Directories of private servers.
fn servers(user: &User) -> Vec<PathBuf> {
    let entries = fs::read_dir(user.temporary.path()).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.to_string_lossy().contains("readpath-postgres-")).collect()
}

/// The number of the process of the one private server, when it runs.
fn server(user: &User) -> u32 {
    let mut server: Option<u32> = None;
    waiting::until("a server answers", || {
        let file = servers(user).first().map(|path| path.join("data/postmaster.pid"));
        let text = file.and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
        // The eighth line tells that the server answers.
        let is_ready = text.lines().nth(7).is_some_and(|line| line.trim() == "ready");
        server = text.lines().next().filter(|_| is_ready).map(|pid| pid.parse().unwrap());
        server.is_some()
    });
    server.unwrap()
}

fn of<'a>(document: &'a Value, subject: &str, path: &str) -> &'a Value {
    let is_it = |case: &&Value| {
        case["parameters"]["subject"].as_str().unwrap().starts_with(subject) && case["parameters"]["path"] == path
    };
    document["cases"].as_array().unwrap().iter().find(is_it).unwrap_or_else(|| panic!("no {subject} {path}"))
}

fn child_of(user: &User) -> (Child, u32) {
    let child = user.command(&format!("scan --on postgres:{DEBIAN} {LONG}")).spawn().unwrap();
    let server = server(user);
    (child, server)
}

#[test]
fn the_paths_of_a_given_server_count_what_the_engine_counts_and_nothing_stays() {
    let Some(trial) = Trial::start(&["shared_buffers=128MB"]) else { return };
    let relations = "SELECT string_agg(relname || relnamespace, ',' ORDER BY oid) FROM pg_class";
    let before = trial.value(relations);
    let document = User::new().document(&format!("scan --on {} {SMALL}", trial.url()));
    assert_eq!((trial.value(SCHEMAS), trial.value(relations)), ("0".into(), before));
    assert_eq!(cases(&document).count(), 6 + 5);
    let counts: Vec<f64> = cases(&document).map(|case| median(case, "count")).collect();
    assert!(counts.iter().all(|count| *count == counts[0] && *count > 0.0), "{counts:?}");
    let scan = of(&document, "postgres 15", "full-scan");
    assert_eq!(median(scan, "gets"), median(scan, "blocks"));
    assert!(median(scan, "row_time") > 0.0 && median(scan, "cycles_per_row") > 0.0);
    let (bad, good) = ("index-bad-clustering", "index-good-clustering");
    assert!(median(of(&document, "postgres 15", bad), "gets") > 18_000.0);
    assert!(median(of(&document, "postgres 15", bad), "correlation").abs() < 0.5);
    assert!(median(of(&document, "postgres 15", good), "correlation") > 0.99);
    assert!(median(of(&document, "engine", good), "gets") < 1000.0);
    assert!(ids(&document).contains(&"answer-clustering") && ids(&document).contains(&"answer-against-engine"));
    assert_eq!(document["subject"]["kind"], "postgres");
}

#[test]
fn a_private_server_is_measured_and_gone_and_stands_beside_the_engine() {
    if !has_debian() {
        return;
    }
    let user = User::new();
    let output = user.run(&format!("scan --on postgres:{DEBIAN} {SMALL} --path full-scan,bitmap-scan"));
    let page = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let columns = page.lines().find(|line| line.starts_with("path ")).unwrap_or_else(|| panic!("{page}"));
    assert!(columns.contains("engine  postgres 15.") && columns.ends_with("published"), "{page}");
    assert!(page.contains("bitmap, bad clustering"), "{page}");
    assert_eq!(servers(&user), Vec::<PathBuf>::new());
    let words = "--payload 1MiB --row-length 250 --columns 5 --repeat 2 --access full-scan";
    let lio = user.document(&format!("lio --on postgres:{DEBIAN} {words}"));
    assert!(lio.to_string().contains("postgres 15."), "{lio}");
    assert_eq!(servers(&user), Vec::<PathBuf>::new());
}

#[test]
fn an_interrupted_run_takes_its_private_server_with_it() {
    if !has_debian() {
        return;
    }
    let user = User::new();
    let (child, server) = child_of(&user);
    thread::sleep(Duration::from_secs(1));
    interrupt(child.id());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", complaint(&output));
    assert!(!is_running(server));
    assert_eq!(servers(&user), Vec::<PathBuf>::new());
}

#[test]
fn what_a_killed_run_leaves_of_a_private_server_is_removed_by_clean() {
    if !has_debian() {
        return;
    }
    let user = User::new();
    let (mut child, server) = child_of(&user);
    child.kill().unwrap();
    child.wait().unwrap();
    waiting::until("the server is gone", || !is_running(server));
    assert_eq!(servers(&user).len(), 1);
    let said = user.run("clean --on postgres:15");
    assert!(String::from_utf8_lossy(&said.stdout).contains("was removed"), "{}", complaint(&said));
    assert_eq!(servers(&user), Vec::<PathBuf>::new());
}

#[test]
fn a_rehearsal_shows_every_statement_and_starts_nothing() {
    let user = User::new();
    let output = user.run("scan --on postgres:18 --dry-run");
    let script = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    for statement in ["CREATE SCHEMA readpath", "COPY ", "INCLUDE (cust_valid)", "VACUUM", "DROP SCHEMA readpath"] {
        assert!(script.contains(statement), "no {statement} in {script}");
    }
    assert_eq!(servers(&user), Vec::<PathBuf>::new());
}

#[test]
fn what_cannot_be_is_one_sentence() {
    let user = User::new();
    assert!(user.refused("scan --path bitmap-scan --rows 1000", 2).contains("--on"));
    assert!(user.refused("scan --on postgres:18 --path column-scan", 2).contains("no path of postgres:18"));
    assert!(user.refused("scan --on postgres:12 --rows 10000", 2).contains("only of 15, 16, 17 and 18"));
    assert!(user.refused("scan --on postgres:/nonexistent --rows 10000", 1).contains("no PostgreSQL server"));
    assert!(user.refused("scan --on postgres://me@127.0.0.1:1/db --rows 10000", 1).contains("does not respond"));
    assert!(user.refused("scan --on postgres://me@127.0.0.1:1/db --rows 9999", 2).contains("at least 10000"));
    assert!(user.refused("scan --on oracle:19", 2).contains("postgres:18"));
    // A proxy address without a listener stands for a machine without a network.
    let output = user.command("scan --on postgres:18").env("https_proxy", "http://127.0.0.1:9").output().unwrap();
    assert!(complaint(&output).contains("connect to the network once"), "{}", complaint(&output));
    assert_eq!((output.status.code(), servers(&user)), (Some(1), Vec::new()));
}

#[test]
fn a_directory_without_a_server_ends_a_dry_run_with_the_exit_code_of_the_run() {
    let user = User::new();
    for words in ["lio --alone", "lio --alone --dry-run", "calibrate --dry-run"] {
        let said = user.refused(&format!("{words} --on postgres:/nonexistent"), 1);
        assert!(said.contains("no PostgreSQL server"), "{words}: {said}");
    }
}

#[test]
fn a_table_that_does_not_stay_in_the_buffers_is_told() {
    let Some(trial) = Trial::start(&["shared_buffers=4MB"]) else { return };
    let words = format!("scan --on {} {SMALL} --path full-scan", trial.url());
    let document = User::new().document(&words);
    assert!(ids(&document).contains(&"table-exceeds-buffers"), "{:?}", ids(&document));
    assert!(median(of(&document, "postgres", "full-scan"), "physical_reads") > 0.0);
    assert!(ids(&document).contains(&"not-all-cached"), "{:?}", ids(&document));
}

#[test]
fn a_transaction_that_has_long_been_open_costs_one_path_and_not_the_run() {
    let Some(trial) = Trial::start(&["shared_buffers=128MB"]) else { return };
    let words = format!("scan --on {} {SMALL} --path full-scan,index-good-clustering,index-only-scan", trial.url());
    let user = User::new();
    let mut other = trial.client();
    // One that writes, and one that only reads, as a backup does.
    for begin in ["BEGIN; SELECT txid_current()", "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1"] {
        other.batch_execute(begin).unwrap();
        let document = user.document(&words);
        let of_server = |case: &&Value| case["parameters"]["subject"].as_str().unwrap().starts_with("postgres");
        assert_eq!((cases(&document).filter(of_server).count(), cases(&document).count()), (2, 4), "{begin}");
        let said = document["findings"].to_string();
        assert!(said.contains("An index-only scan was not measured on postgres 15"), "{said}");
        assert!(ids(&document).contains(&"not-all-visible"), "{said}");
        let page = String::from_utf8(user.run("show last").stdout).unwrap();
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains("blocks of the table could not be marked as visible to all"), "{page}");
        other.batch_execute("COMMIT").unwrap();
    }
    let document = user.document(&words);
    assert!(cases(&document).any(|case| case["parameters"]["path"] == "index-only-scan"));
    assert!(!ids(&document).contains(&"not-all-visible"), "{:?}", ids(&document));
}
