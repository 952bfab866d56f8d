//! The benchmark of scans, tested without a benchmark's time: that everybody counts alike, and that who is absent is
//! said to be.
//!
//! The modules are those of `benches/scan`; their unit tests run here, as cargo runs none inside a bench.

#[path = "../benches/scan/arguments.rs"]
mod arguments;
#[path = "../benches/scan/bandwidth.rs"]
mod bandwidth;
#[path = "../benches/scan/command.rs"]
mod command;
#[path = "../benches/contest/mod.rs"]
#[allow(dead_code, reason = "each benchmark has contenders and bars of some kinds only")]
mod contest;
#[path = "../benches/scan/engine.rs"]
mod engine;
#[path = "../benches/scan/instructions.rs"]
mod instructions;
#[path = "../benches/scan/judgement.rs"]
mod judgement;
#[path = "../benches/scan/ledger.rs"]
mod ledger;
#[path = "../benches/scan/peers.rs"]
mod peers;
#[path = "../benches/scan/postgres.rs"]
mod postgres;
#[path = "../benches/scan/rows.rs"]
mod rows;
#[path = "../../storage/examples/column_build_speed/build.rs"]
mod rows_to_columns;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use clap::Parser;
use serde_json::Value;

use arguments::Arguments;
use contest::postgres::installation::Installation;

/// One pair over a table that takes no time to make.
const SHORT: [&str; 6] = ["scan", "--rows=20000", "--pairs=1", "--without-valgrind", "--fail-on-miss", "--bench"];

fn benchmark(more: &[String]) -> Result<(String, u8), String> {
    let words = SHORT.map(String::from).into_iter().chain(more.iter().cloned());
    let arguments = Arguments::try_parse_from(words).expect("arguments that the benchmark knows");
    let mut page = Vec::new();
    let status = command::run(&arguments, &mut page)?;
    Ok((String::from_utf8(page).expect("a page of text"), status))
}

/// A Python that says that it has one library, whose answer is this.
fn python_that_counts(folder: &Path, count: u64) -> String {
    let ready = r#"{"versions": {"polars": "0"}, "absent": [{"name": "DuckDB", "reason": "not installed"}]}"#;
    let reading =
        format!(r#"[{{"contender": "Polars, query", "question": "all-pass", "row_ns": 1000000.0, "count": {count}}}]"#);
    let program = folder.join("python");
    let script = format!("#!/bin/sh\necho '{ready}'\nwhile read turn; do echo '{reading}'; done\n");
    fs::write(&program, script).expect("a script");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("an executable script");
    format!("--python={}", program.display())
}

#[test]
fn who_is_absent_is_named_and_its_bars_are_not_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = format!("--results={}", folder.path().display());
    let (page, status) =
        benchmark(&["--without-postgres".into(), "--python=/no/such/python".into(), results]).expect("a page");
    assert_eq!(status, 1, "{page}");
    assert!(page.contains("absent: PostgreSQL: it was left out"), "{page}");
    assert!(page.contains("absent: Python and its libraries: /no/such/python could not be started"), "{page}");
    assert!(page.contains("column-count: a row in the time of Polars: not judged"), "{page}");
    let kept = fs::read_dir(folder.path()).expect("a folder").next().expect("a result").expect("a result").path();
    let report = fs::read_to_string(kept.join("scan.json")).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("a document");
    assert_eq!(report["contenders"]["absent"][0]["name"], "PostgreSQL");
    assert!(report["comparison"]["readings"].as_array().is_some_and(|readings| readings.len() > 5), "{report}");
}

#[test]
fn a_library_that_counts_otherwise_ends_the_comparison() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = benchmark(&["--without-postgres".into(), python_that_counts(folder.path(), 7)]).unwrap_err();
    assert!(error.starts_with("asked all-pass,") && error.ends_with("Polars, query 7"), "{error}");
}

#[test]
fn a_slow_library_is_beaten_and_one_that_is_missing_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let expected = {
        let (page, _) = benchmark(&["--without-postgres".into(), "--python=/no/such/python".into()]).expect("a page");
        let (_, behind) = page.split_once("all-pass ").expect("an answer");
        behind.split(',').next().and_then(|count| count.parse().ok()).expect("a count")
    };
    let (page, _) =
        benchmark(&["--without-postgres".into(), python_that_counts(folder.path(), expected)]).expect("a page");
    assert!(page.contains("id > 0: times as fast as `Polars, query`") && page.contains("at least 2.00: met"), "{page}");
    assert!(page.contains("absent: DuckDB: not installed"), "{page}");
}

#[test]
fn postgres_counts_as_the_engine_does_by_all_three_paths() {
    if Installation::find(None).is_err() {
        println!("skipped: PostgreSQL is not installed");
        return;
    }
    let (page, _) = benchmark(&["--python=/no/such/python".into()]).expect("a page");
    for path in ["full-scan", "index-good-clustering", "index-bad-clustering"] {
        assert!(page.contains(&format!("PostgreSQL {path}")), "{page}");
    }
}

#[test]
fn the_libraries_of_this_machine_count_as_the_engine_does() {
    let (page, _) = benchmark(&["--without-postgres".into()]).expect("a page");
    if page.contains("absent: NumPy") || page.contains("absent: Python") {
        println!("skipped: Python has no NumPy");
        return;
    }
    assert!(page.contains("NumPy, whole arrays"), "{page}");
}
