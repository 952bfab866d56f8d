//! The published size: a run that lacks a path is no result.

use std::path::Path;

use measure::Case;
use measure::schema::scan::ROW_TIME;
use serde_json::json;

use crate::program::{Outcome, contest, kept, run_document, script};

/// A short contest against a program whose scan has this many paths.
fn with_paths(folder: &Path, paths: usize) -> Outcome {
    let case = |path: usize| {
        let mut case = Case::new(json!({ "path": format!("path-{path}") }).as_object().expect("parameters").clone());
        case.metrics.push(ROW_TIME.single("test", 7.0));
        case
    };
    let document = run_document("scan", (0..paths).map(case).collect());
    let program = script(folder, "readpath", &format!("cat <<'END'\n{document}\nEND"));
    contest([
        "size".into(),
        "--pairs=1".into(),
        "--payload=1MiB".into(),
        "--rows=1000".into(),
        format!("--readpath={}", program.display()),
        format!("--directory={}", folder.display()),
        format!("--results={}", folder.join("results").display()),
    ])
}

#[test]
fn a_scan_that_lacks_a_path_is_no_result() {
    let folder = tempfile::tempdir().expect("a folder");
    let outcome = with_paths(folder.path(), 5);
    assert!(outcome.complaint.contains("has 5 paths, not 6"), "{outcome:?}");
}

#[test]
fn the_rate_of_loading_and_a_row_by_each_path_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let outcome = with_paths(folder.path(), 6);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    assert!(outcome.page.contains("1 000 rows are not the published size"), "{outcome:?}");
    let run = kept(&folder.path().join("results"), "size");
    let has = |name: &str| run.cases.iter().filter(|case| case.metric(name).is_some()).count();
    assert_eq!((has("loaded"), has("elapsed"), has("row_time")), (1, 1, 6), "{run:?}");
}
