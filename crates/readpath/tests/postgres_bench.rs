//! The benchmark against PostgreSQL, tested without a benchmark's time: what it computes, and that it notices a dear
//! engine.
//!
//! The modules are those of `benches/postgres`; their unit tests run here, as cargo runs none inside a bench.

#[path = "../benches/postgres/arguments.rs"]
mod arguments;
#[path = "../benches/postgres/cell.rs"]
mod cell;
#[path = "../benches/postgres/command.rs"]
mod command;
#[path = "../benches/contest/mod.rs"]
#[allow(dead_code, reason = "each benchmark has contenders and bars of some kinds only")]
mod contest;
#[path = "../benches/postgres/engine.rs"]
mod engine;
#[path = "../benches/postgres/judgement.rs"]
mod judgement;
#[path = "../benches/postgres/page.rs"]
mod page;
#[path = "../benches/postgres/pool.rs"]
mod pool;
#[path = "../../storage/examples/pool_speed/cases.rs"]
#[allow(dead_code, reason = "the example prints more than the benchmark judges")]
mod pool_cases;
#[path = "../benches/postgres/postgres.rs"]
mod postgres;
#[path = "../benches/postgres/tables.rs"]
mod tables;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::Parser;
use serde_json::{Value, json};

use arguments::Arguments;
use cell::{Cell, TOUCHES};
use contest::postgres::installation::Installation;

/// One short pair of two small tables, of which one has rows too long for PostgreSQL to leave them whole by itself.
const SHORT: [&str; 8] = [
    "postgres",
    "--pairs=1",
    "--payload=8MiB",
    "--row-length=2500,25",
    "--columns=5",
    "--without-pool",
    "--fail-on-miss",
    "--bench",
];

/// A program that answers like the engine, with this time a block.
fn engine_that_answers(folder: &Path, lio_us: f64) -> PathBuf {
    let case = |cell: Cell, touch: cell::Touch| {
        json!({
            "parameters": {
                "row_length": cell.row_length, "columns": cell.columns, "touch": touch.parameter(cell),
                "access": "full-scan", "threads": 1, "changed_rows": 0,
            },
            "metrics": [{ "name": "lio", "unit": "us", "median": lio_us }],
        })
    };
    let cells = [Cell::new(2500, 5), Cell::new(25, 5)];
    let cases: Vec<Value> = cells.iter().flat_map(|cell| TOUCHES.map(|touch| case(*cell, touch))).collect();
    let document = json!({ "started": "2026-11-20T00:00:00Z", "host": { "cpu": "none" }, "cases": cases });
    let program = folder.join("engine");
    fs::write(&program, format!("#!/bin/sh\ncat <<'END'\n{document}\nEND\n")).expect("a script");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("an executable script");
    program
}

/// The page and the exit code of a short benchmark against an engine that takes this time a block.
fn benchmark(folder: &Path, lio_us: f64) -> (String, u8) {
    let engine = engine_that_answers(folder, lio_us);
    let more = [format!("--readpath={}", engine.display()), format!("--results={}", folder.join("results").display())];
    let words = SHORT.map(String::from).into_iter().chain(more);
    let arguments = Arguments::try_parse_from(words).expect("arguments that the benchmark knows");
    let mut page = Vec::new();
    let status = command::run(&arguments, &mut page).expect("a benchmark that runs");
    (String::from_utf8(page).expect("a page of text"), status)
}

#[test]
fn a_dear_engine_is_called_dearer() {
    if Installation::find(None).is_err() {
        println!("skipped: PostgreSQL is not installed");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (page, status) = benchmark(folder.path(), 1e6);
    assert_eq!(status, 1, "{page}");
    assert!(page.contains("verdict: dearer (0 of 4 bars met)"), "{page}");
}

#[test]
fn a_cheap_engine_is_not_called_dearer_and_the_report_is_kept() {
    if Installation::find(None).is_err() {
        println!("skipped: PostgreSQL is not installed");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (page, status) = benchmark(folder.path(), 1e-6);
    assert_eq!(status, 0, "{page}");
    assert!(page.contains("verdict: met (4 of 4 bars met)"), "{page}");
    let kept = fs::read_to_string(folder.path().join("results/2026-11-20-none/postgres.json")).expect("a report");
    let report: Value = serde_json::from_str(&kept).expect("a document");
    // Three rows of 2500 bytes stand in a block, and none was moved out of it.
    let rows = report["cells"][0]["rows_per_block"]["postgres"].as_f64().expect("a number");
    assert!((2.9..=3.0).contains(&rows), "{kept}");
    assert!(report["cells"][3]["pairs"][0]["postgres_lio_us"].as_f64().is_some_and(|us| us > 0.0), "{kept}");
}

#[test]
fn a_cell_that_cannot_be_says_what_to_ask_for() {
    let refusal = |words: [&str; 2]| {
        let arguments = Arguments::try_parse_from(["postgres", words[0], words[1]]).expect("arguments");
        arguments.cells().expect_err("no such cell")
    };
    assert!(refusal(["--row-length=10", "--columns=25"]).contains("ask for rows of 25 bytes"));
    assert!(refusal(["--payload=100", "--row-length=250"]).contains("holds no row of 250 x 1"));
}
