//! `readpath scan` as a user calls it: all paths on small tables, parameters that cannot be, too little memory, ^C.

use std::collections::HashSet;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::children::{first_child, interrupt, is_running};
use crate::waiting;
use serde_json::Value;

fn command(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_readpath"));
    command.arg("scan").args(words.split_whitespace()).arg("--no-store").env_clear();
    command.env("LANG", "C.UTF-8").env("PATH", "/usr/bin:/bin");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn document(words: &str) -> Value {
    parsed(words, command(&format!("{words} --repeat 2 --format json --no-valgrind")))
}

fn parsed(words: &str, mut command: Command) -> Value {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{words}: {}", complaint(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What a command says that must be refused as a wrong command line.
fn refused(words: &str) -> String {
    let output = command(words).output().unwrap();
    let complaint = complaint(&output);
    assert_eq!(output.status.code(), Some(2), "{words}: {complaint}");
    assert!(output.stdout.is_empty() && !complaint.contains("panicked"), "{words}: {complaint}");
    complaint
}

fn cases(document: &Value) -> &Vec<Value> {
    document["cases"].as_array().unwrap()
}

fn metric(case: &Value, name: &str) -> Option<f64> {
    let metrics = case["metrics"].as_array().unwrap();
    metrics.iter().find(|metric| metric["name"] == name).map(|metric| metric["median"].as_f64().unwrap())
}

fn ids(document: &Value) -> Vec<&str> {
    document["findings"].as_array().unwrap().iter().map(|finding| finding["id"].as_str().unwrap()).collect()
}

#[test]
fn all_six_paths_count_the_same_rows() {
    let document = document("--rows 20000");
    let found = cases(&document);
    let paths: Vec<&str> = found.iter().map(|case| case["parameters"]["path"].as_str().unwrap()).collect();
    let expected = [
        "index-bad-clustering",
        "index-good-clustering",
        "full-scan",
        "full-scan-compressed",
        "column-scan",
        "column-count",
    ];
    assert_eq!(paths, expected);
    let counts: HashSet<u64> = found.iter().map(|case| metric(case, "count").unwrap() as u64).collect();
    assert!(counts.len() == 1 && counts.iter().all(|count| (17_500..18_500).contains(count)), "{counts:?}");
    for case in found {
        assert_eq!(metric(case, "rows"), Some(20_000.0), "{case}");
        for name in ["elapsed", "cpu", "row_time", "gets", "pinned_revisits", "structure_bytes"] {
            assert!(metric(case, name).is_some(), "{name}: {case}");
        }
    }
    assert_eq!(metric(&found[1], "visits_per_block"), Some(1.0));
    assert!(metric(&found[0], "visits_per_block") > Some(20.0));
    assert_eq!(metric(&found[2], "gets"), Some(f64::from(20_000_u32.div_ceil(43))));
    assert_eq!(
        (metric(&found[4], "gets"), found[5]["parameters"]["question"].as_str()),
        (Some(0.0), Some("no-predicate"))
    );
    assert!(document["subject"]["columns"].as_array().unwrap().len() == 23);
    assert!(ids(&document).contains(&"answer-visits"));
}

#[test]
fn no_cell_of_the_counters_is_empty_where_valgrind_or_a_processor_counts() {
    let words = "--rows 20000 --repeat 2 --no-zone-maps --threads 1,2 --format json";
    let document = parsed(words, command(words));
    if let Some(absent) = document["findings"].as_array().unwrap().iter().find(|found| found["id"] == "absent-valgrind")
    {
        return println!("skipped: {}", absent["message"].as_str().unwrap());
    }
    for case in cases(&document) {
        for event in ["instructions", "cycles", "branches", "branch_misses", "l1_dcache_load_misses", "cache_misses"] {
            assert!(metric(case, &format!("{event}_per_row")).is_some(), "{event}: {case}");
            let has_gets = metric(case, "gets") > Some(0.0);
            assert_eq!(metric(case, &format!("{event}_per_get")).is_some(), has_gets, "{event}: {case}");
        }
        // Twice what a core can do: its clock may double between its measurement and the samples.
        let ipc = metric(case, "ipc").unwrap();
        assert!((0.05..16.0).contains(&ipc), "{ipc} instructions a cycle: {case}");
    }
    let per_row = |path: &str| {
        let case = cases(&document).iter().find(|case| case["parameters"]["path"] == path).unwrap();
        metric(case, "instructions_per_row").unwrap()
    };
    assert!(per_row("column-scan") * 50.0 < per_row("full-scan"), "{} a row", per_row("column-scan"));
    assert!(per_row("column-count") < 0.1, "{} a row", per_row("column-count"));
    assert!(per_row("index-bad-clustering") > per_row("index-good-clustering"));
}

#[test]
fn without_valgrind_the_run_says_what_to_install_and_measures_the_rest() {
    let words = "--rows 1000 --repeat 1 --path full-scan --format json";
    let mut command = command(words);
    command.env("PATH", "/nowhere");
    let document = parsed(words, command);
    let case = &cases(&document)[0];
    assert!(metric(case, "row_time").is_some() && metric(case, "cycles_per_row").is_some(), "{case}");
    // A processor that counts needs no valgrind.
    if metric(case, "instructions").is_none() {
        let findings = document["findings"].as_array().unwrap();
        let absent = findings.iter().find(|found| found["id"] == "absent-valgrind").unwrap();
        assert!(absent["message"].as_str().unwrap().contains("apt install valgrind"), "{absent}");
    }
}

#[test]
fn an_interrupt_while_valgrind_counts_leaves_no_child_behind() {
    let scan = command("--rows 3000000 --path full-scan").spawn().unwrap();
    let Some(child) = first_child(scan.id()) else {
        scan.wait_with_output().unwrap();
        return println!("skipped: nothing is counted under valgrind here");
    };
    interrupt(scan.id());
    let output = scan.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", complaint(&output));
    assert!(complaint(&output).contains("interrupted by ^C"), "{}", complaint(&output));
    assert!(!is_running(child), "the child of number {child} is left behind");
}

#[test]
fn a_question_that_half_the_rows_pass_goes_to_the_paths_that_can_answer_it() {
    let document = document("--rows 20000 --question half-pass --threads 1,2 --no-zone-maps --level query-high");
    let found = cases(&document);
    assert_eq!(found.len(), 6, "three paths with one thread and with two");
    let counts: HashSet<u64> = found.iter().map(|case| metric(case, "count").unwrap() as u64).collect();
    assert!(counts.len() == 1 && counts.iter().all(|count| (8_000..10_500).contains(count)), "{counts:?}");
    assert!(metric(&found[4], "units_read") > Some(0.0) && metric(&found[4], "bytes_touched") > Some(0.0));
    assert_eq!(found[2]["parameters"]["level"], "query-high");
    assert!(ids(&document).contains(&"absent-index-bad-clustering"));
}

#[test]
fn only_what_is_asked_for_is_measured() {
    let document = document("--rows 1 --path column-count,full-scan");
    let paths: Vec<&str> = cases(&document).iter().map(|case| case["parameters"]["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["full-scan", "column-count"]);
}

#[test]
fn a_path_that_threads_cannot_share_says_that_one_took_it() {
    let document = document("--rows 1000 --path index-good-clustering,full-scan --threads 2");
    let threads: Vec<_> = cases(&document).iter().map(|case| case["parameters"]["threads"].as_u64()).collect();
    assert_eq!(threads, [Some(1), Some(2)]);
    let findings = document["findings"].as_array().unwrap();
    let unshared = findings.iter().find(|found| found["id"] == "absent-threads").unwrap();
    assert_eq!(unshared["message"], "One thread took index-good-clustering: threads cannot share that work.");
}

#[test]
fn parameters_that_cannot_be_are_refused_with_what_can() {
    for (words, expected) in [
        ("--rows 0", "give 1 or more"),
        ("--rows 10 --repeat 0", "at least 1"),
        ("--rows 10 --threads 0", "1 to 1024"),
        ("--rows 10 --level best", "archive-high"),
        ("--rows 10 --path sideways", "column-scan"),
        ("--rows 10 --question half-pass --path index-good-clustering", "compares its key"),
        ("--rows 10 --question no-predicate --path column-scan", "column-count"),
        ("--rows 10 --path index-bad-clustering,column-count --threads 1,2", "and --path names none of them"),
        ("--rows 10 --path column-count --question all-pass", "leave --question out"),
        ("--rows 18446744073709551615", "--rows 18446744073709551615 is not possible"),
        ("--rows 200000000000", "is not possible"),
    ] {
        let complaint = refused(words);
        assert!(complaint.contains(expected), "{words}: {complaint}");
    }
}

#[test]
fn too_little_memory_is_told_with_the_figure_before_anything_is_made() {
    let complaint = refused("--rows 100000 --path full-scan --memory 64MiB");
    assert!(complaint.contains("64 MiB") && complaint.contains("--memory gives"), "{complaint}");
    let complaint = refused("--rows 100000000000 --path full-scan");
    assert!(complaint.contains("of memory at one time") && complaint.contains("fewer --rows"), "{complaint}");
}

#[test]
fn an_interrupt_ends_the_run_and_keeps_what_was_finished() {
    let words = "--rows 2000000 --repeat 1000 --path full-scan,column-scan --format json --no-valgrind";
    let child = command(words).spawn().unwrap();
    waiting::until_signals_are_handled(child.id());
    std::thread::sleep(Duration::from_secs(2));
    interrupt(child.id());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", complaint(&output));
    assert!(complaint(&output).contains("interrupted by ^C"), "{}", complaint(&output));
}
