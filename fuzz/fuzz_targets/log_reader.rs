//! The reader of server logs under a coverage-guided fuzzer: `cargo +nightly fuzz run log_reader`.
#![no_main]

#[path = "../../crates/profile/tests/profiles/damaged/log_promises.rs"]
mod judge;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let _ = judge::judge(input);
});
