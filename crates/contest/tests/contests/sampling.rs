//! What a profile costs a busy server: a small trial runs each contender and judges.

use crate::program::{Outcome, contest, kept, readpath};

/// A small trial, five times at most: on a busy machine a load of a second may outlast the profiler that was to
/// outlast it. `None` where a peer is missing.
fn trial<const N: usize>(words: &[String; N]) -> Option<Outcome> {
    let once = || contest(words.clone()).unless_a_peer_is_missing();
    let mut outcome = once()?;
    for _ in 0..4 {
        if !outcome.complaint.contains("ended while it was measured") {
            break;
        }
        outcome = once()?;
    }
    Some(outcome)
}

#[test]
#[allow(clippy::print_stdout, reason = "a skipped test says why")]
fn a_small_trial_profiles_a_load_and_keeps_what_each_profiler_left_of_it() {
    let Some(readpath) = readpath() else {
        println!("skipped: cargo has not built readpath");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let words = [
        "sampling".into(),
        "--pairs=1".into(),
        "--scale=1".into(),
        "--clients=2".into(),
        "--seconds=1".into(),
        "--cold-mebibytes=48".into(),
        "--backends=3".into(),
        format!("--readpath={}", readpath.display()),
        format!("--results={}", folder.path().display()),
    ];
    let Some(Outcome { page, complaint, status }) = trial(&words) else { return };
    assert_eq!(status, 0, "{complaint}");
    assert!(page.contains("of 8 met)") && page.contains("throughput beside that without a profiler"), "{page}");
    let run = kept(folder.path(), "sampling");
    let is_blocks =
        |case: &&measure::Case| case.metric("blocks_per_second").is_some_and(|one| one.statistics.min > 0.0);
    assert!(run.cases.iter().filter(is_blocks).count() >= 2, "no block came from the device: {run:?}");
    let of = |contender: &str, name: &str| {
        let mut cases =
            run.cases.iter().filter(|case| case.parameters.get("contender").is_some_and(|is| is == contender));
        cases.find_map(|case| case.metric(name)).map(|metric| metric.statistics.median)
    };
    let [alone, with] = ["no profiler", "readpath, 1000 a second"].map(|name| of(name, "transactions").unwrap_or(0.0));
    assert!(alone > 0.0 && with > 0.0, "{run:?}");
    assert!(of("readpath, 1000 a second", "throughput_left").is_some(), "{run:?}");
    assert!(of("readpath, 1000 a second", "own_cpu").is_some_and(|cpu| cpu > 0.0), "{run:?}");
    let with_tiers = "readpath, with the tier of every read";
    assert_eq!(of(with_tiers, "throughput_left").is_some(), of(with_tiers, "own_cpu").is_some(), "{run:?}");
    // Where it is there, it is the same program.
    let versions = [run.subject.get(with_tiers), run.subject.get("readpath")];
    assert!(versions[0].is_none() || versions[0] == versions[1], "{versions:?}");
    let peers =
        [with_tiers, "pg_wait_sampling, 100", "pg_wait_tracer, 10", "pg_wait_tracer, every", "pg_activity", "pgcenter"];
    for peer in peers {
        let absent = |found: &measure::Finding| found.id == "contender-absent" && found.message.starts_with(peer);
        let is_absent = run.findings.iter().any(absent);
        let is_named = |case: &&measure::Case| {
            case.parameters.get("contender").and_then(|name| name.as_str()).is_some_and(|name| name.starts_with(peer))
        };
        let cpu = run.cases.iter().filter(is_named).find_map(|case| case.metric("own_cpu"));
        assert!(is_absent != cpu.is_some(), "{peer} must be measured or absent with a reason: {run:?}");
    }
}

#[test]
#[allow(clippy::print_stdout, reason = "a skipped test says why")]
fn growth_measures_readpath_alone_with_each_number_of_sessions() {
    let Some(readpath) = readpath() else {
        println!("skipped: cargo has not built readpath");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let words = [
        "sampling".into(),
        "--pairs=1".into(),
        "--scale=1".into(),
        "--seconds=1".into(),
        "--growth=3,12".into(),
        format!("--readpath={}", readpath.display()),
        format!("--results={}", folder.path().display()),
    ];
    let Some(Outcome { page, complaint, status }) = trial(&words) else { return };
    assert_eq!(status, 0, "{complaint}");
    assert!(page.contains("own CPU with 50 sessions"), "{page}");
    let run = kept(folder.path(), "sampling");
    for question in ["3 sessions", "12 sessions"] {
        let is_asked = |case: &&measure::Case| case.parameters.get("question").is_some_and(|is| is == question);
        let cases: Vec<&measure::Case> = run.cases.iter().filter(is_asked).collect();
        for name in ["own_cpu", "samples", "peak_memory"] {
            let found = cases.iter().find_map(|case| case.metric(name)).map(|metric| metric.statistics.median);
            assert!(found.is_some_and(|value| value > 0.0), "{name} with {question}: {run:?}");
        }
    }
    let is_alone = |case: &measure::Case| {
        case.parameters.get("contender").is_none_or(|contender| contender == "readpath, 1000 a second")
    };
    assert!(run.cases.iter().all(is_alone), "{run:?}");
}
