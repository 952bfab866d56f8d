//! The scanner of traces and the accounting under a coverage-guided fuzzer: `cargo +nightly fuzz run trace_scanner`.
#![no_main]

#[path = "../../crates/profile/tests/profiles/damaged/trace_promises.rs"]
mod feed;

use libfuzzer_sys::fuzz_target;
use profile::source::oracle::record::Batch;
use profile::source::oracle::scan::Scanner;

fuzz_target!(|input: &[u8]| {
    let turn = input.iter().map(|byte| u64::from(*byte)).sum();
    feed::feed(input, turn, &mut Scanner::default(), &mut Batch::default());
});
