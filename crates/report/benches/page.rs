//! How long a page takes and how large it is: of one run, of as many as are shown whole, and of 200.
//!
//! `cargo bench -p report` prints it. It is no test, because it depends on the machine: on a quiet one 200 runs are to
//! take less than two seconds, and their page less than 5 MB.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for those who change the page")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use measure::Run;
use measure::store::read_run;
use report::html;

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let known: Vec<Run> = paths.iter().map(|path| read_run(path).unwrap()).collect();
    for count in [1, 24, 200] {
        let runs: Vec<Run> = known.iter().cycle().take(count).enumerate().map(renamed).collect();
        let begun = Instant::now();
        let page = html::report(&runs, &[]);
        let (took, size) = (begun.elapsed().as_secs_f64(), page.len() as f64 / 1e6);
        println!("{count:3} runs: {took:.3} s, {size:.2} MB");
    }
}

/// A copy with an identifier and a start of its own.
fn renamed((index, run): (usize, &Run)) -> Run {
    let started = format!("2026-01-{:02}T{:02}:{:02}:00Z", index / 24 + 1, index % 24, index % 60);
    Run { id: format!("0197c0de-0000-7000-8000-{index:012}"), started, ..run.clone() }
}
