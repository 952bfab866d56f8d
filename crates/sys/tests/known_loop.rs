//! Counts of a loop whose instructions are known by arithmetic, under valgrind and by the processor's counters.

// What stands beside the tests of this file is called by them alone.
#![allow(clippy::unwrap_used)]
#![cfg(target_arch = "x86_64")]

use std::env;
use std::ffi::OsString;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sys::counters::{Counters, Rings};
use sys::valgrind::{self, Callgrind, Part, ValgrindError};

const ROUNDS: u64 = 10_000;

/// 64 additions, and the loop's own two instructions.
const INSTRUCTIONS_PER_ROUND: u64 = 66;

/// A chain of dependent additions in a loop of `rounds`.
fn known_loop(rounds: u64) {
    // SAFETY: only the three named registers and the flags change; no memory is touched, and `rounds` is at least one.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 64",
            "add {sum}, {addend}",
            ".endr",
            "dec {rounds}",
            "jnz 2b",
            sum = inout(reg) 1u64 => _,
            addend = in(reg) 3u64,
            rounds = inout(reg) rounds => _,
            options(nomem, nostack),
        );
    }
}

#[test]
#[ignore = "not a test: the child that `valgrind_counts_a_known_loop_as_arithmetic_does` starts under valgrind"]
fn child_that_runs_the_known_loop() {
    valgrind::counted(|| {}, || known_loop(ROUNDS));
}

#[test]
#[ignore = "not a test: the child that asks for nothing to be counted"]
fn child_that_makes_no_request() {}

fn under_valgrind(child: &str) -> Result<valgrind::Counted, ValgrindError> {
    let scratch = tempfile::tempdir().unwrap();
    let words: Vec<OsString> =
        [env::current_exe().unwrap().into(), "--exact".into(), child.into(), "--ignored".into()].into();
    let limit = Some(Duration::from_secs(120));
    let callgrind = Callgrind { words: &words, part: Part::BetweenRequests, scratch: scratch.path(), limit };
    let counted = callgrind.run(Stdio::null(), &AtomicBool::new(false));
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0, "files of valgrind are left over");
    counted
}

#[test]
fn valgrind_counts_a_known_loop_as_arithmetic_does() {
    let counted = match under_valgrind("child_that_runs_the_known_loop") {
        Err(error @ ValgrindError::NotInstalled) => return println!("skipped: {error}"),
        other => other.unwrap(),
    };
    assert!(counted.ended.status.success(), "{counted:?}");
    let expected = (ROUNDS * INSTRUCTIONS_PER_ROUND) as f64;
    let instructions = counted.simulated.instructions().unwrap() as f64;
    assert!((instructions / expected - 1.0).abs() < 0.01, "{instructions} instead of {expected}");
    let branches = counted.simulated.branches().unwrap() as f64;
    assert!((branches / ROUNDS as f64 - 1.0).abs() < 0.01, "{branches} branches of {ROUNDS}");
    assert!(counted.simulated.mispredictions().unwrap() < 100, "{counted:?}");
}

#[test]
fn a_child_that_is_never_counted_gives_no_zero() {
    match under_valgrind("child_that_makes_no_request") {
        Err(error @ ValgrindError::NotInstalled) => println!("skipped: {error}"),
        other => assert!(other.is_err(), "{other:?}"),
    }
}

#[test]
fn the_processor_counts_a_known_loop_as_arithmetic_does() {
    const MANY: u64 = 1_000_000;
    let counters = Counters::of_this_thread(Rings::User);
    counters.start();
    known_loop(MANY);
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
