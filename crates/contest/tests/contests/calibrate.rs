//! The advice of calibrate against other sets of constants: a small trial times plans of one data set and judges. That
//! a server takes the statements of every data set is tested beside them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::program::{Outcome, contest, readpath};

#[test]
#[allow(clippy::print_stdout, reason = "a skipped test says why")]
fn a_small_trial_times_the_plans_of_every_query_and_judges_the_advice() {
    let Some(readpath) = readpath() else {
        println!("skipped: cargo has not built readpath");
        return;
    };
    let program = format!("--readpath={}", readpath.display());
    // Its name stands on command lines. Root's server is another user's, who has to reach it.
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("an open folder");
    let directory = folder.path().join("with a blank");
    fs::create_dir(&directory).expect("a folder");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).expect("an open folder");
    let directory = format!("--directory={}", directory.display());
    let words = ["calibrate", "--data=events", "--mebibytes=2", "--runs=1", "--pairs=2", &program, &directory];
    let more = ["--payload=1MiB", "--repeat=2", "--passes=2", "--rounds=3"].map(|word| format!("--calibrate={word}"));
    let words = words.into_iter().chain(more.iter().map(String::as_str));
    let Some(Outcome { page, complaint, status }) = contest(words).unless_a_peer_is_missing() else { return };
    assert_eq!(status, 0, "{complaint}");
    for part in [
        "of 9 met)",
        "events, warm: right plans more",
        "events, warm: the worst query",
        "events, warm, without its queries: the worst query",
        "plans were timed",
    ] {
        assert!(page.contains(part), "no {part}: {page}");
    }
    // On a busy machine, a run of so small a table may measure no cost.
    let spread = ["divided by the smallest, over all runs", "no constant was measured in each of several runs"];
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(spread.iter().any(|said| words.contains(said)), "{page}");
}
