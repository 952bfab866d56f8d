//! The decoder of a recording's segments under a coverage-guided fuzzer: `cargo +nightly fuzz run segment_decoder`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    // What was made on purpose has the mark and the right checksum.
    let mut bytes = b"PAR1readpath-recording-001\n\n".to_vec();
    bytes.extend(crc32c::crc32c(input).to_le_bytes());
    bytes.extend(input);
    let _ = recording::decode(bytes);
});
