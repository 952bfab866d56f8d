//! The benchmark against fio, tested without a benchmark's time: what it computes, and that it notices a slow reader.
//!
//! The modules are those of `benches/fio`; their unit tests run here, as cargo runs none inside a bench.

#[path = "../benches/fio/arguments.rs"]
mod arguments;
#[path = "../benches/fio/command.rs"]
mod command;
#[path = "../benches/contest/mod.rs"]
#[allow(dead_code, reason = "each benchmark has contenders and bars of some kinds only")]
mod contest;
#[path = "../benches/fio/dram.rs"]
mod dram;
#[path = "../benches/fio/fio.rs"]
mod fio;
#[path = "../benches/fio/own_cost.rs"]
mod own_cost;
#[path = "../benches/fio/page.rs"]
mod page;
#[path = "../benches/fio/pairs.rs"]
mod pairs;
#[path = "../benches/fio/reader.rs"]
mod reader;
#[path = "../benches/fio/resident.rs"]
mod resident;
#[path = "../benches/fio/test_file.rs"]
mod test_file;
#[path = "../benches/fio/wanted.rs"]
mod wanted;
#[path = "../benches/fio/workload.rs"]
mod workload;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;

use arguments::Arguments;

/// One short pair on a small file.
const SHORT: [&str; 9] = [
    "fio",
    "--pairs=1",
    "--seconds=0.5",
    "--file-size=64MiB",
    "--workloads=random-1",
    "--device-only",
    "--fail-on-miss",
    "--bench",
    "--reader-arguments",
];

/// A program that answers like the reader, with these reads per second.
fn reader_that_answers(folder: &Path, iops: u64) -> PathBuf {
    let metric = |name: &str, unit: &str, value: f64| {
        format!(r#"{{"name": "{name}", "unit": "{unit}", "median": {value}, "mean": {value}}}"#)
    };
    // A processor time near nothing and a latency in range leave the reads per second to decide.
    let metrics = [
        metric("iops", "1/s", iops as f64),
        metric("elapsed", "s", 2.0),
        metric("cpu_per_read", "us", 0.001),
        metric("read_latency", "us", 80.0),
    ];
    let document = format!(
        r#"{{"started": "2026-11-20T00:00:00Z", "host": {{"cpu": "none"}}, "cases": [{{"metrics": [{}]}}]}}"#,
        metrics.join(", ")
    );
    let program = folder.join("reader");
    fs::write(&program, format!("#!/bin/sh\ncat <<'END'\n{document}\nEND\n")).expect("a script");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("an executable script");
    program
}

/// The page and the exit code of a benchmark with these arguments.
fn benchmark(arguments: &[String]) -> (String, u8) {
    let arguments = Arguments::try_parse_from(arguments).expect("arguments that the benchmark knows");
    let mut page = Vec::new();
    let status = command::run(&arguments, &mut page).expect("a benchmark that runs");
    (String::from_utf8(page).expect("a page of text"), status)
}

fn short_with(reader_arguments: &str, more: &[String]) -> Vec<String> {
    let mut arguments: Vec<String> = SHORT.map(String::from).to_vec();
    arguments.push(reader_arguments.into());
    arguments.extend_from_slice(more);
    arguments
}

#[test]
fn a_slow_reader_is_called_slower() {
    if fio::version().is_err() {
        println!("skipped: fio is not installed");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let slow = reader_that_answers(folder.path(), 10);
    let results = folder.path().join("results");
    let more = [format!("--readpath={}", slow.display()), format!("--results={}", results.display())];
    let (page, status) = benchmark(&short_with("", &more));
    assert_eq!(status, 1, "{page}");
    assert!(page.contains("verdict: slower"), "{page}");
    assert!(results.join("2026-11-20-none/fio.json").exists(), "{page}");
}

#[test]
fn a_fast_reader_is_not_called_slower() {
    if fio::version().is_err() {
        println!("skipped: fio is not installed");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let fast = reader_that_answers(folder.path(), 1_000_000_000);
    let (page, _) = benchmark(&short_with("", &[format!("--readpath={}", fast.display())]));
    assert!(!page.contains("slower"), "{page}");
}

#[test]
fn the_real_reader_slowed_down_by_a_rate_is_called_slower() {
    if fio::version().is_err() {
        println!("skipped: fio is not installed");
        return;
    }
    let help = Command::new(env!("CARGO_BIN_EXE_readpath")).args(["disk", "--help"]).output().expect("the binary");
    if !String::from_utf8_lossy(&help.stdout).contains("--rate") {
        println!("skipped: `readpath disk` cannot be slowed down by --rate yet");
        return;
    }
    let (page, status) = benchmark(&short_with("--rate 500", &[]));
    assert_eq!(status, 1, "{page}");
    assert!(page.contains("slower"), "{page}");
}

#[test]
fn an_unknown_workload_is_answered_with_the_known_ones() {
    let arguments = Arguments::try_parse_from(["fio", "--workloads=random-7"]).expect("arguments");
    let error = arguments.chosen_workloads().expect_err("no such workload");
    assert!(error.contains("random-7") && error.contains("random-32"), "{error}");
}
