//! What the region holds: storage answers holes, unwritten extents, zeros and copies without reading them.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use measure::random::mix;
use sys::file::Target;
use sys::memory::Pages;
use sys::read::{Completion, MethodError, ReadRequest, Setup, Wait, method};

use crate::pattern::{Offsets, Pattern, Span};

/// What a sample of blocks held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Blocks looked at.
    pub blocks: u64,
    /// Blocks with nothing but zeros.
    pub zero: u64,
    /// Blocks equal to another one of the sample, zeros not counted.
    pub repeated: u64,
}

/// Why the content could not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// The plainest I/O method could not be opened.
    #[error(transparent)]
    Method(#[from] MethodError),
    /// A block of the sample could not be read.
    #[error("{path}: the block at offset {offset} cannot be read: {error}", path = path.display())]
    Read {
        /// The file or device.
        path: PathBuf,
        /// First byte of the block.
        offset: u64,
        /// The kernel's answer.
        error: io::Error,
    },
}

/// Reads `count` blocks at random places of `span` and returns what they hold.
pub fn sample(target: &Target, span: Span, block_size: usize, count: u64, seed: u64) -> Result<Sample, ContentError> {
    let row = method("sync").expect("the plainest method is always in the table");
    let mut method = (row.open)(Setup { target, depth: 1, slot_bytes: block_size, pages: Pages::Huge })?;
    let mut offsets = Offsets::new(Pattern::Random, span, block_size, seed, None);
    let mut seen = HashSet::new();
    let mut sample = Sample::default();
    let mut done: Vec<Completion> = Vec::with_capacity(1);
    for _ in 0..count.min(span.blocks(block_size)) {
        let offset = offsets.advance();
        let refused = |error| ContentError::Read { path: target.path().into(), offset, error };
        method.queue(ReadRequest { offset, length: block_size, slot: 0 });
        method.reap(Wait { at_least: 1, timeout: None }, &mut done).map_err(refused)?;
        for completion in done.drain(..) {
            let got = completion.result.map_err(refused)?;
            // What did not come would be taken for zeros, or for the block before.
            if got != block_size {
                return Err(refused(cut_short(got, block_size)));
            }
        }
        sample.add(method.data(0), &mut seen);
    }
    Ok(sample)
}

fn cut_short(got: usize, block_size: usize) -> io::Error {
    let reason = format!("only {got} of its {block_size} bytes came, as from a file that is cut while it is read");
    io::Error::new(io::ErrorKind::UnexpectedEof, reason)
}

impl Sample {
    fn add(&mut self, block: &[u8], seen: &mut HashSet<u64>) {
        self.blocks += 1;
        if block.iter().all(|byte| *byte == 0) {
            self.zero += 1;
        } else if !seen.insert(fingerprint(block)) {
            self.repeated += 1;
        }
    }
}

/// A 64-bit fingerprint: two different blocks of a sample share one with a chance of 2^-64 a pair.
fn fingerprint(block: &[u8]) -> u64 {
    block.chunks(8).fold(block.len() as u64, |state, chunk| {
        let mut word = [0u8; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(state ^ u64::from_le_bytes(word))
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};

    use sys::file::Caching;

    use super::*;

    #[test]
    fn a_file_that_is_cut_is_not_taken_for_zeros() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, vec![7_u8; 8 * 8192]).unwrap();
        let target = Target::open(&path, Caching::Buffered).unwrap();
        let span = Span { offset: 0, length: target.size() };
        assert_eq!(sample(&target, span, 8192, 8, 1).unwrap().zero, 0);
        OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
        let message = sample(&target, span, 8192, 8, 1).unwrap_err().to_string();
        assert!(message.contains("only 0 of its 8192 bytes came"), "{message}");
    }

    #[test]
    fn zeros_and_copies_are_told_from_unique_blocks() {
        let mut seen = HashSet::new();
        let mut sample = Sample::default();
        for block in [[0u8; 64], [1; 64], [1; 64], [2; 64]] {
            sample.add(&block, &mut seen);
        }
        assert_eq!(sample, Sample { blocks: 4, zero: 1, repeated: 1 });
    }
}
