//! The decoder of index nodes under a coverage-guided fuzzer: `cargo +nightly fuzz run node_decoder`.
//!
//! The bytes are taken as they are, and once more with origin and checksum put right: otherwise hardly any input would
//! get past the checksum.
#![no_main]

#[path = "../../crates/storage/tests/all/damaged/node.rs"]
mod node;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut bytes = [0; 8192];
    let input = &input[..input.len().min(bytes.len())];
    bytes[..input.len()].copy_from_slice(input);
    let turn = input.iter().map(|byte| u64::from(*byte)).sum();
    let _ = node::decode(&bytes, turn);
    node::legitimise(&mut bytes);
    let _ = node::decode(&bytes, turn);
});
