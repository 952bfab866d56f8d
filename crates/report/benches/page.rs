//! How long a page takes and how large it is: of one run, of as many as are shown whole, and of 200.
//!
//! `cargo bench -p report` prints it, and fails where 200 runs take two seconds of processor time or more, or their
//! page 5 MB.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for those who change the page")]

use std::fs;
use std::path::{Path, PathBuf};

use measure::Run;
use measure::store::read_run;
use report::html;

/// Most that a page of 200 runs takes.
const SECONDS_MAX: f64 = 2.0;
const MEGABYTES_MAX: f64 = 5.0;

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let known: Vec<Run> = paths.iter().map(|path| read_run(path).unwrap()).collect();
    for count in [1, 24, 200] {
        let runs: Vec<Run> = known.iter().cycle().take(count).enumerate().map(renamed).collect();
        let begun = processor_seconds();
        let page = html::report(&runs, &[]);
        let (took, size) = (processor_seconds() - begun, page.len() as f64 / 1e6);
        println!("{count:3} runs: {took:.3} s, {size:.2} MB");
        assert!(took < SECONDS_MAX && size < MEGABYTES_MAX, "too much");
    }
}

/// A copy with an identifier and a start of its own.
fn renamed((index, run): (usize, &Run)) -> Run {
    let started = format!("2026-01-{:02}T{:02}:{:02}:00Z", index / 24 + 1, index % 24, index % 60);
    Run { id: format!("0197c0de-0000-7000-8000-{index:012}"), started, ..run.clone() }
}

/// Seconds that this thread has been on a processor, by the kernel's account.
fn processor_seconds() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e9
}
