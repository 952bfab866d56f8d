//! The scans against databases and column libraries: all count alike, and an absent contender is named.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use measure::Run;

use crate::program::{Outcome, contest, kept, kept_file, readpath, script};

/// One pair over a table that takes no time to make.
const SHORT: [&str; 5] = ["scan", "--rows=20000", "--pairs=1", "--without-valgrind", "--fail-on-miss"];

fn short_with(more: &[&str]) -> Outcome {
    contest(SHORT.iter().chain(more))
}

/// A contest of the engine alone, which several tests look at: what it came to, its run, and the document of that.
fn alone() -> &'static (Outcome, Run, Vec<u8>) {
    static ALONE: OnceLock<(Outcome, Run, Vec<u8>)> = OnceLock::new();
    ALONE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let results = format!("--results={}", folder.path().display());
        let outcome = short_with(&["--without-postgres", "--python=/no/such/python", &results]);
        let document = fs::read(kept_file(folder.path(), "scan")).expect("a document");
        (outcome, kept(folder.path(), "scan"), document)
    })
}

/// A Python that says that it has one library, whose answer is this.
fn python_that_counts(folder: &Path, count: u64) -> String {
    let ready = r#"{"versions": {"polars": "0"}, "absent": [{"name": "DuckDB", "reason": "not installed"}]}"#;
    let reading =
        format!(r#"[{{"contender": "Polars, query", "question": "all-pass", "row_ns": 1000000.0, "count": {count}}}]"#);
    let program = script(folder, "python", &format!("echo '{ready}'\nwhile read turn; do echo '{reading}'; done"));
    format!("--python={}", program.display())
}

#[test]
fn who_is_absent_is_named_and_its_bars_are_not_judged() {
    let (Outcome { page, status, .. }, run, _) = alone();
    assert_eq!(*status, 1, "{page}");
    assert!(page.contains("PostgreSQL was absent: it was left out"), "{page}");
    assert!(page.contains("Python with its libraries was absent: /no/such/python could not be started"), "{page}");
    assert!(page.contains("column-count: a row in the time of Polars: not judged"), "{page}");
    assert!(run.findings.iter().any(|finding| finding.message.starts_with("PostgreSQL was absent: ")), "{run:?}");
    assert!(run.cases.iter().filter(|case| case.metric("row_time").is_some()).count() > 5, "{run:?}");
}

#[test]
fn a_library_that_counts_otherwise_ends_the_comparison() {
    let folder = tempfile::tempdir().expect("a folder");
    let outcome = short_with(&["--without-postgres", &python_that_counts(folder.path(), 7)]);
    let complaint = outcome.complaint.trim();
    assert!(complaint.starts_with("asked all-pass,") && complaint.ends_with("Polars, query 7"), "{outcome:?}");
    assert_eq!(outcome.status, 2, "{outcome:?}");
}

#[test]
fn a_slow_library_is_beaten_and_one_that_is_missing_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let expected = alone().1.subject["answer_all-pass"].as_u64().expect("an answer");
    let page = short_with(&["--without-postgres", &python_that_counts(folder.path(), expected)]).page;
    assert!(page.contains("against `Polars, query`"), "{page}");
    assert!(!page.contains("id > 0: times as fast as the quickest library: "), "a finding of a missed bar: {page}");
    assert!(page.contains("DuckDB was absent: not installed"), "{page}");
}

#[test]
fn postgres_counts_as_the_engine_does_by_all_three_paths() {
    let outcome = short_with(&["--python=/no/such/python"]).unless_a_peer_is_missing();
    let Some(Outcome { page, .. }) = outcome else { return };
    for path in ["full-scan", "index-good-clustering", "index-bad-clustering"] {
        assert!(page.contains(&format!("PostgreSQL {path}")), "{page}");
    }
}

#[test]
fn the_libraries_of_this_machine_count_as_the_engine_does() {
    let page = short_with(&["--without-postgres"]).page;
    let absent = ["NumPy and all behind it was absent", "Python with its libraries was absent"];
    if absent.iter().any(|sentence| page.contains(sentence)) {
        println!("skipped: Python has no NumPy");
        return;
    }
    assert!(page.contains("NumPy, whole arrays"), "{page}");
}

#[test]
fn readpath_shows_and_compares_two_kept_results() {
    let Some(readpath) = readpath() else {
        println!("skipped: readpath is not built next to the contests: cargo build -p readpath");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let before = folder.path().join("before.json");
    fs::write(&before, &alone().2).expect("room for a document");
    let results = folder.path().join("after");
    let option = format!("--results={}", results.display());
    short_with(&["--without-postgres", "--python=/no/such/python", &option]);
    let files = [before, kept_file(&results, "scan")].map(|file| file.display().to_string());
    let say = |words: &[&str]| {
        let output = Command::new(&readpath).args(words).env("HOME", folder.path()).output().expect("readpath");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let shown = say(&["show", &files[0]]);
    assert!(shown.contains("readpath column-scan") && shown.contains("The bars: "), "{shown}");
    let compared = say(&["compare", &files[0], &files[1], "--format=json"]);
    assert!(compared.contains("row_time") && compared.contains("two threads in one"), "{compared}");
    let only = |side: &str| compared.split(side).nth(1).is_some_and(|rest| rest.starts_with("\": []"));
    assert!(only("only_before") && only("only_after"), "a case without its like: {compared}");
}
