//! Makes index nodes: those of real trees with bytes, fields or ranges changed, and random ones.

use measure::random::{SplitMix64, mix};
use storage::btree::{Bulk, BulkSettings, Key, KeyKind};
use storage::page::PageBytes;
use storage::page::id::PAGE_SIZE;
use storage::{PageId, RowId, SegmentId};

use super::bytes::{any, fill};
use super::node::{ID, decode, legitimise};
use super::{Fuzzed, name_of};

/// Trees from whose pages the inputs are made.
const TREES: u64 = 24;

/// Pages that are taken of one tree: some leaves, and the last ones, which are above the leaves.
const PAGES_OF_A_TREE: usize = 4;

/// Nodes of trees and the input that is made of them.
pub(crate) struct Nodes {
    samples: Vec<PageBytes>,
    bytes: PageBytes,
}

impl Nodes {
    /// Makes the samples.
    pub(crate) fn new() -> Nodes {
        let samples = (0..TREES).flat_map(|number| tree(&mut SplitMix64::new(mix(number)))).collect();
        Nodes { samples, bytes: [0; PAGE_SIZE] }
    }
}

impl Fuzzed for Nodes {
    fn spoil(&mut self, random: &mut SplitMix64) {
        spoil(&mut self.bytes, &self.samples, random);
    }

    fn judge(&mut self, turn: u64) -> String {
        name_of(decode(&self.bytes, turn))
    }
}

/// Some pages of a tree of keys of some kind, each of which claims to be the page of the inputs.
fn tree(random: &mut SplitMix64) -> Vec<PageBytes> {
    let (length_max, letters, step) =
        ([3, 12, 40, 900][random.below(4) as usize], 1 + random.below(5), random.below(50));
    let mut texts: Vec<Vec<u8>> = (0..3000)
        .map(|_| (0..random.below(length_max)).map(|_| b'a' + random.below(letters) as u8).collect())
        .collect();
    texts.sort();
    let numbers: Vec<i64> = (0..3000).map(|number| number << step).collect();
    let keys = if random.below(2) == 0 { KeyKind::Number } else { KeyKind::Text };
    let mut pages = Vec::new();
    let settings = BulkSettings { keys, fill_percent: 50 + random.below(51) as u8, segment: ID.segment };
    let mut bulk = Bulk::new(settings, |bytes: &PageBytes| {
        pages.push(*bytes);
        Ok(())
    })
    .expect("a fill that can be");
    for (text, (number, at)) in texts.iter().zip(numbers.iter().zip(0..)) {
        let key = if keys == KeyKind::Number { Key::Number(*number) } else { Key::Text(text) };
        let row = RowId { page: PageId { segment: SegmentId(8), number: at }, slot: at as u16 };
        bulk.add(key.encode(keys).expect("a key that can be"), row).expect("keys in order");
    }
    bulk.finish().expect("a sink that takes all");
    let start = pages.len().saturating_sub(PAGES_OF_A_TREE);
    pages[start..].iter_mut().for_each(legitimise);
    pages.split_off(start)
}

/// Makes an input: a node with some bytes changed, or one of random bytes, its checksum mostly put right again.
fn spoil(bytes: &mut PageBytes, samples: &[PageBytes], random: &mut SplitMix64) {
    *bytes = samples[random.below(samples.len() as u64) as usize];
    match random.below(32) {
        0 => fill(bytes, random),
        1 => fill(&mut bytes[40..], random),
        2 => fill(&mut bytes[8000..], random),
        3 => bytes[random.below(PAGE_SIZE as u64) as usize..].fill(random.next_u64() as u8),
        _ => {}
    }
    // The header is where a wrong byte leads far, so it is hit as often as all the rest.
    for _ in 0..random.below(4) {
        let at = if random.below(3) == 0 { 10 + random.below(24) } else { random.below(PAGE_SIZE as u64) };
        let byte = bytes[at as usize];
        bytes[at as usize] = any(byte, &[byte.wrapping_add(1), byte.wrapping_sub(1)], random);
    }
    if random.below(8) > 0 {
        legitimise(bytes);
    }
}
