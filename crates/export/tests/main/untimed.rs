//! Sessions whose executions have no time, as a log without `%m` has them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::queries::export;

/// An execution of 4 ms in the log of a process.
fn entry(prefix: &str) -> String {
    format!(
        "{prefix} me@shop LOG:  duration: 4.000 ms  plan:\n\t{{ \"Query Text\": \"select 1\", \"Plan\": {{ \"Node \
         Type\": \"Result\", \"Actual Total Time\": 4.0, \"Actual Rows\": 1, \"Actual Loops\": 1 }} }}\n"
    )
}

/// The rows of the exported sessions, by column.
fn sessions(folder: &Path) -> Vec<BTreeMap<String, String>> {
    let reader = SerializedFileReader::new(File::open(folder.join("sessions.parquet")).unwrap()).unwrap();
    let mut rows = Vec::new();
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        rows.push(row.get_column_iter().map(|(name, value)| (name.clone(), value.to_string())).collect());
    }
    rows
}

#[test]
fn a_session_without_a_time_has_an_interval_and_neither_a_begin_nor_an_end() {
    let parent = tempfile::tempdir().unwrap();
    let [timed, untimed] = ["timed.log", "untimed.log"].map(|name| parent.path().join(name));
    fs::write(&timed, entry("2026-11-21 10:45:10.000 UTC [7]")).unwrap();
    fs::write(&untimed, entry("[8]").repeat(2)).unwrap();
    let folder = parent.path().join("events");
    let (_, written) = export(&[timed, untimed], &folder);
    let rows = sessions(&folder);
    assert_eq!((written.sessions, rows.len()), (2, 2), "{rows:?}");
    let row = |process: char| rows.iter().find(|row| row["session"].contains(process)).unwrap();
    let untimed = ["interval_ns", "first_ns", "last_ns", "stretches"].map(|column| row('8')[column].as_str());
    assert_eq!(untimed, ["8000000", "null", "null", "1"]);
    let timed = ["interval_ns", "first_ns", "last_ns"].map(|column| row('7')[column].as_str());
    assert_eq!(timed, ["4000000", "1795257909996000000", "1795257910000000000"]);
}
