//! Counts of a loop whose instructions are known by arithmetic, under valgrind and by the processor's counters.

use std::env;
use std::ffi::OsString;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sys::counters::{Counters, Rings};
use sys::time::core_clock::chain;
use sys::valgrind::{self, Callgrind, Part, Simulated, ValgrindError};

const ROUNDS: u64 = 10_000;

/// 64 additions, and the loop's own two instructions.
const INSTRUCTIONS_PER_ROUND: u64 = 66;

#[test]
#[ignore = "not a test: the child that `valgrind_counts_a_known_loop_as_arithmetic_does` starts under valgrind"]
fn child_that_runs_the_known_loop() {
    for (name, rounds) in [(c"once", ROUNDS), (c"twice", 2 * ROUNDS)] {
        valgrind::counted(|| {}, || chain(rounds));
        valgrind::dump_stats_as(name);
    }
    // They would stay where the run is killed.
    let process = format!("-{}-", std::process::id());
    let files = std::fs::read_dir(env::temp_dir()).unwrap().flatten().map(|file| file.file_name());
    let pipes = files.map(|name| name.to_string_lossy().into_owned()).filter(|name| name.starts_with("vgdb-pipe-"));
    assert_eq!(pipes.filter(|name| name.contains(&process)).collect::<Vec<_>>(), [""; 0]);
}

#[test]
#[ignore = "not a test: the child that asks for nothing to be counted"]
fn child_that_makes_no_request() {}

fn under_valgrind(child: &str) -> Result<valgrind::Counted, ValgrindError> {
    let scratch = tempfile::tempdir().unwrap();
    let words: Vec<OsString> =
        [env::current_exe().unwrap().into(), "--exact".into(), child.into(), "--ignored".into()].into();
    let limit = Some(Duration::from_secs(120));
    let callgrind =
        Callgrind { words: &words, part: Part::BetweenRequests, scratch: scratch.path(), limit, last_cache: Some(1) };
    let counted = callgrind.run(Stdio::piped(), &AtomicBool::new(false));
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0, "files of valgrind are left over");
    counted
}

#[test]
fn valgrind_counts_a_known_loop_as_arithmetic_does() {
    let counted = match under_valgrind("known_loop::child_that_runs_the_known_loop") {
        Err(error @ ValgrindError::NotInstalled) => return println!("skipped: {error}"),
        other => other.unwrap(),
    };
    assert!(counted.ended.status.success(), "{counted:?}");
    for (name, times) in [("once", 1), ("twice", 2)] {
        let part = counted.parts.iter().find(|part| part.name() == Some(name)).unwrap();
        let expected = (times * ROUNDS * INSTRUCTIONS_PER_ROUND) as f64;
        let instructions = part.instructions().unwrap() as f64;
        assert!((instructions / expected - 1.0).abs() < 0.01, "{instructions} instead of {expected}");
        let branches = part.sum(Simulated::BRANCHES).unwrap() as f64;
        assert!((branches / (times * ROUNDS) as f64 - 1.0).abs() < 0.01, "{branches} branches, {name}");
        assert!(part.sum(Simulated::MISPREDICTIONS).unwrap() < 100, "{part:?}");
    }
    assert!(counted.simulated.caches().iter().any(|cache| cache.starts_with("LL cache: 262144 B")), "{counted:?}");
    assert!(String::from_utf8_lossy(&counted.output).contains("1 passed"), "{counted:?}");
}

#[test]
fn a_child_that_is_never_counted_gives_no_zero() {
    match under_valgrind("known_loop::child_that_makes_no_request") {
        Err(error @ ValgrindError::NotInstalled) => println!("skipped: {error}"),
        other => assert!(other.is_err(), "{other:?}"),
    }
}

#[test]
fn the_processor_counts_a_known_loop_as_arithmetic_does() {
    const MANY: u64 = 1_000_000;
    let counters = Counters::of_this_thread(Rings::User);
    counters.start();
    chain(MANY);
    counters.stop();
    match counters.read().of("instructions") {
        Err(reason) => println!("skipped: {reason}"),
        Ok(count) if count.share() < 0.5 => println!("skipped: the counters were shared out while it ran"),
        Ok(count) => {
            let expected = (MANY * INSTRUCTIONS_PER_ROUND) as f64;
            assert!((count.value() / expected - 1.0).abs() < 0.01, "{count:?} instead of {expected}");
        }
    }
}
