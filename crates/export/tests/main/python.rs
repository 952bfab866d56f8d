//! Python and its packages, with which tests read what was exported.

use std::path::Path;
use std::process::Command;

/// Whether Python has this package; prints that a test is skipped where it has not.
pub(crate) fn has(package: &str) -> bool {
    let found = Command::new("python3").args(["-c", &format!("import {package}")]).output();
    let is_there = found.is_ok_and(|output| output.status.success());
    if !is_there {
        println!("skipped: python3 with the {package} package is not installed");
    }
    is_there
}

/// The rows that DuckDB gives for some SQL in a folder, as texts; null is `-`.
pub(crate) fn rows(folder: &Path, sql: &str) -> Vec<Vec<String>> {
    let program = "import duckdb, sys\n\
                   for row in duckdb.sql(sys.argv[1]).fetchall():\n    \
                   print('\\t'.join('-' if v is None else ' '.join(str(v).split()) for v in row))";
    let output = Command::new("python3").args(["-c", program, sql]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{sql}\n{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split('\t').map(Into::into).collect()).collect()
}
