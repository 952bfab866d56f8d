//! Runs that an earlier version kept: real documents, which still show, compare and export, and which the schema
//! describes.

use std::fs;
use std::path::{Path, PathBuf};

use measure::store::read_run;
use measure::{Run, compare, schema};
use report::{Compared, Shown};

use crate::golden::{WIDE, check_run, in_format};

fn documents() -> Vec<(String, Run)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let name = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), read_run(path).unwrap())).collect()
}

#[test]
fn a_run_that_was_kept_before_is_shown_as_a_page() {
    let documents = documents();
    assert!(documents.len() >= 5, "the documents are gone");
    for (name, run) in &documents {
        check_run(&format!("kept-{name}"), run);
    }
}

#[test]
fn a_run_that_was_kept_before_compares_with_itself_and_is_exported() {
    for (name, run) in documents() {
        let compared = Compared { comparison: &compare::compare(&run, &run), runs: [&run, &run] };
        let page = report::render(Shown::Comparison(compared), &WIDE);
        assert!(page.contains("Both are the same run, ") && page.lines().count() < 12, "{name}: {page}");
        let rows = run.cases.iter().map(|case| case.metrics.len()).sum::<usize>();
        assert!(in_format("csv", &run).lines().count() > rows, "{name}");
        assert_eq!(serde_json::from_str::<Run>(&in_format("json", &run)).unwrap(), run, "{name}");
    }
}

#[test]
fn the_schema_names_all_that_the_experiments_emit() {
    for (name, run) in documents() {
        let complaints = schema::check(&run);
        assert!(complaints.is_empty(), "{name}: {complaints:#?}");
    }
}
