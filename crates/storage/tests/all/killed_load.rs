//! A load that is killed leaves no table behind, and the next one starts anew.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use dataset::DataSet;
use dataset::uniform::RowShape;
use storage::catalog::{Manifest, TableInfo, TableSpec};
use storage::heap::loader::{load, verifier};
use storage::page::id::PAGE_SIZE;
use storage::{SegmentId, StorageError};

/// Names the directory to the process that is to be killed.
const DIRECTORY: &str = "READPATH_TEST_KILLED_LOAD";

fn loaded(directory: &Path, payload: u64) -> Result<TableInfo, StorageError> {
    let spec = TableSpec::new("t", DataSet::uniform(RowShape { row_length: 250, columns: 5 }, payload, 1));
    load(directory, &spec, &mut |_| (), &AtomicBool::new(false))
}

/// Every page of the table's file passes its check.
pub(crate) fn assert_good(table: &TableInfo, path: &Path) {
    let (file, verify) = (std::fs::read(path).unwrap(), verifier(SegmentId(table.segment)));
    let (pages, rest) = file.as_chunks::<PAGE_SIZE>();
    assert_eq!((pages.len(), rest.len()), (table.pages as usize, 0));
    (0..).zip(pages).for_each(|(number, bytes)| assert_eq!(verify(bytes, number), Ok(())));
}

fn segment_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("a directory that can be listed");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "pages")).collect()
}

/// Runs this test once more in a process of its own, and kills that as soon as it has begun to write.
fn kill_a_load(directory: &Path) {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "killed_load::a_load_that_was_killed_is_never_half_used_and_is_done_again"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a process of its own");
    let start = Instant::now();
    while segment_files(directory).is_empty() {
        assert!(start.elapsed() < Duration::from_secs(60), "the load did not begin");
        thread::sleep(Duration::from_millis(1));
    }
    child.kill().expect("a process that still runs");
    child.wait().expect("the end of the process");
}

#[test]
fn a_load_that_was_killed_is_never_half_used_and_is_done_again() {
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        loaded(Path::new(&directory), 1 << 30).unwrap();
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    kill_a_load(directory);
    assert_eq!(segment_files(directory).len(), 1, "the load had ended before it was killed");
    assert!(Manifest::read(directory).unwrap().tables.is_empty());
    let table = loaded(directory, 5 << 20).unwrap();
    assert_eq!(segment_files(directory), [table.path(directory)]);
    assert_good(&table, &table.path(directory));
}
