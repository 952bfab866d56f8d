//! Input that is wrong in many ways breaks no promise. The fuzz targets hold the same promises.
//!
//! `READPATH_FUZZ_INPUTS=20000000 cargo test --release -p profile --test profiles damaged` makes more inputs;
//! `READPATH_FUZZ_SEED` chooses others. A broken promise ends the test with a panic that shows the input.

mod log_promises;
mod logs;
mod trace_promises;
mod traces;

use std::panic::{AssertUnwindSafe, catch_unwind};

use measure::random::{SplitMix64, mix};
use profile::source::oracle::record::Batch;
use profile::source::oracle::scan::Scanner;

/// Inputs of a test run.
const INPUTS: u64 = 20_000;

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a whole number"))
}

/// Makes the inputs, and holds the promises for each.
fn feed(make: impl Fn(&mut SplitMix64) -> Vec<u8>, mut hold: impl FnMut(&[u8], u64)) {
    let (inputs, seed) = (setting("READPATH_FUZZ_INPUTS", INPUTS), setting("READPATH_FUZZ_SEED", 1));
    for number in 0..inputs {
        let bytes = make(&mut SplitMix64::new(mix(seed).wrapping_add(number)));
        let held = catch_unwind(AssertUnwindSafe(|| hold(&bytes, number)));
        let text = String::from_utf8_lossy(&bytes);
        assert!(held.is_ok(), "input {number} of seed {seed} broke the promise above:\n{text}");
    }
}

#[test]
fn a_damaged_trace_is_read_or_counted_to_the_last_byte_and_adds_up() {
    let (mut scanner, mut batch) = (Scanner::default(), Batch::default());
    let mut records = 0;
    feed(traces::input, |bytes, number| {
        records += trace_promises::feed(bytes, number, &mut scanner, &mut batch).records;
    });
    assert!(records > 0, "no input held a record: the promises were not tried");
}

#[test]
fn a_damaged_log_is_read_or_counted_to_the_last_byte_and_adds_up() {
    let mut plans = 0;
    feed(logs::input, |bytes, _| plans += log_promises::judge(bytes).map_or(0, |(_, plans)| plans));
    assert!(plans > 0, "no input held a plan: the promises were not tried");
}
