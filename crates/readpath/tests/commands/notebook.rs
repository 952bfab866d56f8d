//! `examples/notebook`: its cells run over rows that readpath exported, and draw what the runs hold.

use std::fs;
use std::process::Command;

use crate::user::{User, complaint};

/// What a notebook does with its cells, in plain Python.
const CELLS: &str = "\
import json, sys
known = {}
for cell in json.load(open(sys.argv[1]))['cells']:
    if cell['cell_type'] == 'code':
        exec(compile(''.join(cell['source']), sys.argv[1], 'exec'), known)
";

/// The rows of a ladder, of a disk by depth, of its halves, and of reads at a rate that was asked for.
fn user_with_rows() -> User {
    let user = User::new();
    let disk = |more: &[&str]| {
        user.ok(&[&["disk", "model:hdd-7200", "--count", "120", "--seed", "1", "-q"][..], more].concat());
    };
    for depth in ["1", "4", "32"] {
        disk(&["--depth", depth]);
    }
    disk(&["--depth", "4", "--rate", "20"]);
    disk(&["--depth", "4", "--zones", "outer,inner"]);
    let ladder = concat!(env!("CARGO_MANIFEST_DIR"), "/../report/tests/runs/ladder.json");
    let mut files: Vec<String> = fs::read_dir(user.store())
        .unwrap()
        .map(|file| file.unwrap().path())
        .map(|path| path.display().to_string())
        .collect();
    files.push(ladder.into());
    let words = ["export", "--output", "rows.parquet", "--runs"].into_iter().chain(files.iter().map(String::as_str));
    user.ok(&words.collect::<Vec<_>>());
    user
}

/// Every package of which the notebook takes what it finds.
const PACKAGES: [&str; 4] = ["pyarrow", "polars", "duckdb", "matplotlib"];

/// The cells run in the user's home, with only one of the packages that read Parquet and without matplotlib.
fn drawn_with(package: &str, user: &User) -> bool {
    run_with(&[package], user)
}

/// The cells run in the user's home, with these of the packages and without the others.
fn run_with(packages: &[&str], user: &User) -> bool {
    for package in packages {
        let found = Command::new("python3").args(["-c", &format!("import {package}")]).output();
        if !found.is_ok_and(|output| output.status.success()) {
            println!("skipped: python3 with the {package} package is not installed");
            return false;
        }
    }
    let others = PACKAGES.into_iter().filter(|other| !packages.contains(other));
    let hidden: String = others.map(|other| format!("sys.modules['{other}'] = None\n")).collect();
    let notebook = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/notebook/rows.ipynb");
    let program = format!("import sys\n{hidden}{CELLS}");
    let mut command = Command::new("python3");
    command.args(["-c", &program, notebook]).current_dir(user.home.path());
    command.env("MPLBACKEND", "agg").env("MPLCONFIGDIR", user.home.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{packages:?}: {}", complaint(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("rows of 6 runs"), "{output:?}");
    true
}

fn assert_drawn(user: &User) {
    let text = |name: &str| fs::read_to_string(user.home.path().join(name)).unwrap();
    let (ladder, depths) = (text("ladder.svg"), text("depths.svg"));
    let rungs = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../report/tests/runs/ladder.json")).unwrap();
    let rungs: serde_json::Value = serde_json::from_str(&rungs).unwrap();
    for case in rungs["cases"].as_array().unwrap() {
        let rung = case["parameters"]["rung"].as_str().unwrap();
        assert!(ladder.contains(&format!(">{rung}")), "{rung} is not in the chart: {ladder}");
    }
    assert!(ladder.contains("1 ns</text>") && ladder.contains("10 ns</text>"), "a log axis has its decades: {ladder}");
    // Neither its halves nor reads at a given rate say what the disk does at a depth.
    assert_eq!(depths.matches("<circle").count(), 4, "three depths and the legend: {depths}");
    assert!(depths.contains("model:hdd-7200, random, 8 KiB"), "{depths}");
    for depth in ["1", "4", "32"] {
        assert!(depths.contains(&format!(">{depth}</text>")), "{depths}");
    }
}

#[test]
fn the_notebook_draws_two_charts_of_rows_that_arrow_reads() {
    let user = user_with_rows();
    if drawn_with("pyarrow", &user) {
        assert_drawn(&user);
    }
}

#[test]
fn the_notebook_draws_two_charts_of_rows_that_polars_reads() {
    let user = user_with_rows();
    if drawn_with("polars", &user) {
        assert_drawn(&user);
    }
}

#[test]
fn the_notebook_draws_two_charts_of_rows_that_duckdb_reads() {
    let user = user_with_rows();
    if drawn_with("duckdb", &user) {
        assert_drawn(&user);
    }
}

#[test]
fn the_notebook_draws_two_charts_with_matplotlib_where_there_is_one() {
    let user = user_with_rows();
    // Text is drawn as curves, each with what it says in a comment.
    if !run_with(&["pyarrow", "matplotlib"], &user) {
        return;
    }
    let text = |name: &str| fs::read_to_string(user.home.path().join(name)).unwrap();
    let says = |chart: &str, words: &str| chart.contains(&format!("<!-- {words} -->"));
    let (ladder, depths) = (text("ladder.svg"), text("depths.svg"));
    for chart in [&ladder, &depths] {
        assert!(chart.contains("Matplotlib"), "drawn without matplotlib: {chart}");
    }
    let rungs = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../report/tests/runs/ladder.json")).unwrap();
    let rungs: serde_json::Value = serde_json::from_str(&rungs).unwrap();
    for case in rungs["cases"].as_array().unwrap() {
        let rung = case["parameters"]["rung"].as_str().unwrap();
        assert!(ladder.contains(&format!("<!-- {rung}")), "{rung} is not in the chart: {ladder}");
    }
    assert!(says(&depths, "model:hdd-7200, random, 8 KiB"), "{depths}");
    for depth in ["1", "4", "32"] {
        assert!(says(&depths, depth), "{depths}");
    }
}
