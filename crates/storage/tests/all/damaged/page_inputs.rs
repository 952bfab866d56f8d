//! Makes pages: well-formed ones with bytes, fields or ranges changed, and random ones.

use measure::random::{SplitMix64, mix};
use storage::page::id::PAGE_SIZE;
use storage::page::row::{self, Value};
use storage::page::{PageBytes, PageKind, PageMut};

use super::bytes::{any, fill};
use super::page::{ID, decode, legitimise};
use super::{Fuzzed, name_of};

/// How many well-formed pages the inputs are made from.
const SAMPLES: u64 = 64;

/// Pages of rows and the input that is made of them.
pub(crate) struct Pages {
    samples: Vec<PageBytes>,
    bytes: PageBytes,
}

impl Pages {
    /// Makes the samples.
    pub(crate) fn new() -> Pages {
        let samples = (0..SAMPLES).map(|number| sample(&mut SplitMix64::new(mix(number)))).collect();
        Pages { samples, bytes: [0; PAGE_SIZE] }
    }
}

impl Fuzzed for Pages {
    fn spoil(&mut self, random: &mut SplitMix64) {
        spoil(&mut self.bytes, &self.samples, random);
    }

    fn judge(&mut self, turn: u64) -> String {
        name_of(decode(&self.bytes, turn))
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
        bytes[at as usize] = any(bytes[at as usize], &[0, 1, 250, 251, 254, 255], random);
    }
    if random.below(8) > 0 {
        legitimise(bytes);
    }
}
