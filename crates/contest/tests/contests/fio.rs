//! The reader against fio: a slow reader is noticed.

use std::path::{Path, PathBuf};

use measure::Case;
use measure::schema::reads::{CPU_PER_READ, ELAPSED, IOPS, READ_LATENCY};

use crate::program::{Outcome, contest, kept, readpath, run_document, script};

/// One short pair on a small file.
const SHORT: [&str; 7] = [
    "fio",
    "--pairs=1",
    "--seconds=0.5",
    "--file-size=64MiB",
    "--workloads=random-1",
    "--device-only",
    "--fail-on-miss",
];

/// A program that answers like the reader, with these reads per second.
fn reader_that_answers(folder: &Path, iops: u64) -> PathBuf {
    // A processor time near nothing and a latency in range leave the reads per second to decide.
    let metrics = vec![
        IOPS.single("test", iops as f64),
        ELAPSED.single("test", 2.0),
        CPU_PER_READ.single("test", 0.001),
        READ_LATENCY.single("test", 80.0),
    ];
    let case = Case { metrics, ..Case::default() };
    let document = run_document("disk", vec![case]);
    script(folder, "reader", &format!("cat <<'END'\n{document}\nEND"))
}

/// A short contest of this reader; `None` where there is no fio.
fn short_with(reader: &Path, more: &[String]) -> Option<Outcome> {
    let reader = [format!("--readpath={}", reader.display())];
    contest(SHORT.map(String::from).iter().chain(&reader).chain(more)).unless_a_peer_is_missing()
}

#[test]
fn a_slow_reader_is_called_slower() {
    let folder = tempfile::tempdir().expect("a folder");
    let slow = reader_that_answers(folder.path(), 10);
    let results = folder.path().join("results");
    let Some(outcome) = short_with(&slow, &[format!("--results={}", results.display())]) else { return };
    assert_eq!(outcome.status, 1, "{outcome:?}");
    assert!(outcome.page.contains("The bars: slower"), "{outcome:?}");
    let missed = kept(&results, "fio").findings;
    assert!(missed.iter().any(|finding| finding.id == "bar-missed"), "{missed:?}");
}

#[test]
fn a_fast_reader_is_not_called_slower() {
    let folder = tempfile::tempdir().expect("a folder");
    let fast = reader_that_answers(folder.path(), 1_000_000_000);
    let Some(outcome) = short_with(&fast, &[]) else { return };
    assert!(!outcome.page.contains("slower"), "{outcome:?}");
}

#[test]
fn the_real_reader_slowed_down_by_a_rate_is_called_slower() {
    let Some(readpath) = readpath() else {
        println!("skipped: readpath is not built next to the contests: cargo build -p readpath");
        return;
    };
    let mut found = Vec::new();
    // A disk that others keep busy may give fio no more in one of the pairs.
    for _ in 0..5 {
        let Some(outcome) = short_with(&readpath, &["--reader-arguments=--rate 500".into()]) else { return };
        if outcome.status == 1 && outcome.page.contains("slower") {
            return;
        }
        found.push(outcome);
    }
    panic!("a slow reader is not called slower: {found:?}");
}

#[test]
fn an_unknown_workload_is_answered_with_the_known_ones() {
    let outcome = contest(["fio", "--workloads=random-7"]);
    assert_eq!(outcome.status, 2, "{outcome:?}");
    assert!(outcome.complaint.contains("random-7") && outcome.complaint.contains("random-32"), "{outcome:?}");
}
