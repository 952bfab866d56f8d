//! The advice of calibrate against other sets of constants: a small trial times plans of both data sets and judges.

use crate::program::{Outcome, contest, readpath};

#[test]
#[allow(clippy::print_stdout, reason = "a skipped test says why")]
fn a_small_trial_times_the_plans_of_every_query_and_judges_the_advice() {
    let Some(readpath) = readpath() else {
        println!("skipped: cargo has not built readpath");
        return;
    };
    let program = format!("--readpath={}", readpath.display());
    let words = ["calibrate", "--mebibytes=6", "--runs=1", "--pairs=2", "--calibrate=--payload=1MiB", &program];
    let more = ["--calibrate=--repeat=2", "--calibrate=--passes=2", "--calibrate=--rounds=3"];
    let Some(Outcome { page, complaint, status }) = contest(words.iter().chain(&more)).unless_a_peer_is_missing()
    else {
        return;
    };
    assert_eq!(status, 0, "{complaint}");
    for part in ["of 15 met)", "orders, warm: right plans more", "events, warm: the worst query", "plans were timed"] {
        assert!(page.contains(part), "no {part}: {page}");
    }
}
