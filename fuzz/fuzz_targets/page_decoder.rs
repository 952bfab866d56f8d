//! The page decoder under a coverage-guided fuzzer: `cargo +nightly fuzz run page_decoder`.
//!
//! The bytes are taken as they are, and once more with origin and checksum put right: otherwise hardly any input would
//! get past the checksum.
#![no_main]

#[path = "../../crates/storage/tests/all/damaged/page.rs"]
mod page;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut bytes = [0; 8192];
    // Rows stand at the end of a page, so the second half of a short input goes there.
    let input = &input[..input.len().min(bytes.len())];
    let (front, back) = input.split_at(input.len() / 2);
    bytes[..front.len()].copy_from_slice(front);
    let back_start = bytes.len() - back.len();
    bytes[back_start..].copy_from_slice(back);
    let turn = input.iter().map(|byte| u64::from(*byte)).sum();
    let _ = page::decode(&bytes, turn);
    page::legitimise(&mut bytes);
    let _ = page::decode(&bytes, turn);
});
