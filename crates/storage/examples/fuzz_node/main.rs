//! Feeds index nodes that are wrong in many ways to their decoder; needs no nightly compiler and no fuzzer.
//!
//! `cargo run --release -p storage --example fuzz_node [-- INPUTS [SEED]]`: ten million inputs by default. A broken
//! promise ends it with a panic that names the seed of the input. The same checks run under a coverage-guided fuzzer in
//! the `fuzz` folder.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

mod decode;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use decode::{ID, decode, legitimise};
use measure::random::{SplitMix64, mix};
use storage::btree::{Bulk, BulkSettings, Key, KeyKind};
use storage::page::PageBytes;
use storage::page_id::PAGE_SIZE;
use storage::{PageId, RowId, SegmentId};

/// Trees from whose pages the inputs are made.
const TREES: u64 = 24;

/// Pages that are taken of one tree: some leaves, and the last ones, which are above the leaves.
const PAGES_OF_A_TREE: usize = 4;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().expect("a whole number"));
    let (inputs, seed) = (arguments.next().unwrap_or(10_000_000), arguments.next().unwrap_or(1));
    let samples: Vec<PageBytes> = (0..TREES).flat_map(|number| tree(&mut SplitMix64::new(mix(number)))).collect();
    let mut answers: BTreeMap<String, u64> = BTreeMap::new();
    let mut bytes = [0; PAGE_SIZE];
    for input in 0..inputs {
        let input_seed = mix(seed).wrapping_add(input);
        spoil(&mut bytes, &samples, &mut SplitMix64::new(input_seed));
        match catch_unwind(AssertUnwindSafe(|| decode(&bytes, input))) {
            Ok(answer) => *answers.entry(name_of(answer)).or_default() += 1,
            Err(panic) => {
                println!("input {input} of seed {seed} broke a promise");
                resume_unwind(panic);
            }
        }
    }
    println!("{inputs} inputs of seed {seed}: no promise was broken");
    answers.iter().for_each(|(answer, count)| println!("{count:12} {answer}"));
}

/// The kind of an answer, without its numbers.
fn name_of(answer: Result<(), storage::page::Damage>) -> String {
    match answer {
        Ok(()) => "accepted".into(),
        Err(damage) => format!("{damage:?}").split([' ', '(']).next().unwrap_or_default().to_string(),
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
        bytes[at as usize] = match random.below(4) {
            0 => bytes[at as usize] ^ 1 << random.below(8),
            1 => bytes[at as usize].wrapping_add([1, 255][random.below(2) as usize]),
            _ => random.next_u64() as u8,
        };
    }
    if random.below(8) > 0 {
        legitimise(bytes);
    }
}

fn fill(bytes: &mut [u8], random: &mut SplitMix64) {
    bytes.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&random.next_u64().to_le_bytes()[..chunk.len()]));
}
