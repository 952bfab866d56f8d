//! Feeds pages that are wrong in many ways to the page decoder; needs no nightly compiler and no fuzzer.
//!
//! `cargo run --release -p storage --example fuzz_page [-- INPUTS [SEED]]`: ten million inputs by default. A broken
//! promise ends it with a panic that names the seed of the input. The same checks run under a coverage-guided fuzzer in
//! the `fuzz` folder.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

mod decode;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use decode::{ID, decode, legitimise};
use measure::random::{SplitMix64, mix};
use storage::page::{PageBytes, PageKind, PageMut};
use storage::page_id::PAGE_SIZE;
use storage::row::{self, Value};

/// How many well-formed pages the inputs are made from.
const SAMPLES: u64 = 64;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().expect("a whole number"));
    let (inputs, seed) = (arguments.next().unwrap_or(10_000_000), arguments.next().unwrap_or(1));
    let samples: Vec<PageBytes> = (0..SAMPLES).map(|number| sample(&mut SplitMix64::new(mix(number)))).collect();
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

/// A well-formed page of rows of some shape.
fn sample(random: &mut SplitMix64) -> PageBytes {
    let mut bytes = [0; PAGE_SIZE];
    let mut page = PageMut::format(&mut bytes, ID, PageKind::Heap);
    let (columns, nulls) = (random.below(40), random.below(30));
    let length_max = [2, 20, 60, 300, 3000][random.below(5) as usize];
    loop {
        let lengths: Vec<Option<u64>> =
            (0..columns).map(|_| (random.below(100) >= nulls).then(|| random.below(length_max))).collect();
        let text = [random.next_u64() as u8; 3000];
        let values: Vec<Value<'_>> = lengths.iter().map(|length| Some(&text[..(*length)? as usize])).collect();
        let mut row = Vec::new();
        row::encode(&values, &mut row);
        if page.append(&row).is_none() {
            break;
        }
    }
    page.seal();
    bytes
}

/// Makes an input: a page with some bytes changed, or one of random bytes, its checksum mostly put right again.
fn spoil(bytes: &mut PageBytes, samples: &[PageBytes], random: &mut SplitMix64) {
    *bytes = samples[random.below(SAMPLES) as usize];
    let slots = u64::from(bytes[14]) | u64::from(bytes[15]) << 8;
    match random.below(16) {
        0 => fill(bytes, random),
        1 => fill(&mut bytes[40..], random),
        2 => fill(&mut bytes[8000..], random),
        3 => bytes[random.below(PAGE_SIZE as u64) as usize..].fill(random.next_u64() as u8),
        _ => {}
    }
    // Header and directory are where a wrong byte leads far, so they are hit as often as all the rest.
    let head = 40 + 2 * slots;
    for _ in 0..random.below(6) {
        let at = if random.below(2) == 0 { random.below(head) } else { random.below(PAGE_SIZE as u64) };
        bytes[at as usize] = match random.below(4) {
            0 => bytes[at as usize] ^ 1 << random.below(8),
            1 => [0, 1, 250, 251, 254, 255][random.below(6) as usize],
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
