//! The profile against `wc -l` and decompressors: a slow one is noticed.

use crate::program::{contest, kept, run_document, script};

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
