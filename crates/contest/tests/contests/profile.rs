//! The profile against `wc -l` and decompressors: a slow one is noticed.

use crate::program::{contest, contest_with, kept, run_document, script};

#[test]
fn a_slow_profile_is_called_slower_and_the_report_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let document = run_document("profile", Vec::new());
    let slow = script(folder.path(), "slow", &format!("sleep 0.2\necho '{document}'"));
    let words = ["profile", "--size=1MiB", "--compressed-size=0", "--traces=/nowhere", "--rounds=1", "--fail-on-miss"];
    let readpath = format!("--readpath={}", slow.display());
    let results = folder.path().join("results");
    let kept_in = format!("--results={}", results.display());
    let outcome = contest(words.into_iter().chain(["--without-cpu-profile", &readpath, &kept_in]));
    assert_eq!(outcome.status, 1, "{outcome:?}");
    let page = &outcome.page;
    assert!(page.contains("one core: GB/s") && page.contains("slower by"), "{page}");
    assert!(page.contains("a synthetic trace, repeated") && page.contains("a trial, not a result"), "{page}");
    let run = kept(&results, "profile");
    assert!(run.cases.iter().any(|case| case.metric("peak_memory").is_some()), "{run:?}");
}

#[test]
fn a_decompressor_that_is_missing_takes_nothing_from_what_was_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = |name: &str, text: &str| script(folder.path(), name, &format!("PATH=/usr/bin:/bin\n{text}"));
    program("wc", "sleep 0.05\nexec wc \"$@\"");
    program("gzip", "[ \"$1\" = -dc ] || exec cat\nsleep 0.05");
    let document = run_document("profile", Vec::new());
    let readpath = program("readpath", &format!("sleep 0.05\necho '{document}'"));
    let readpath = format!("--readpath={}", readpath.display());
    let words = ["profile", "--size=1MiB", "--compressed-size=64KiB", "--traces=/nowhere", "--rounds=1"];
    let results = folder.path().join("results");
    let kept_in = format!("--results={}", results.display());
    let words = words.into_iter().chain(["--without-cpu-profile", &readpath, &kept_in]);
    let outcome = contest_with(folder.path(), words);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    let findings = kept(&results, "profile").findings;
    let sentences = findings.iter().map(|finding| finding.message.as_str());
    let unjudged: Vec<&str> = sentences.filter(|sentence| sentence.contains("speed: not judged, ")).collect();
    assert_eq!(unjudged.len(), 2, "of gzip and zstd as one and in parts: {findings:?}");
    assert!(unjudged.iter().all(|sentence| sentence.contains("zstd could not be started")), "{unjudged:?}");
}
