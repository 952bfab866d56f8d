//! Feeds traces that are wrong in many ways to the scanner and the accounting; needs no nightly compiler.
//!
//! `cargo run --release -p profile --example fuzz_trace [-- INPUTS [SEED]]`: twenty million inputs by default, on all
//! processors. A broken promise ends it with a panic that names the seed of the input. The same checks run under a
//! coverage-guided fuzzer in the `fuzz` folder.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

mod feed;
mod spoil;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use feed::feed;
use measure::random::{SplitMix64, mix};
use profile::source::oracle::record::Batch;
use profile::source::oracle::scan::Scanner;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().expect("a whole number"));
    let (inputs, seed) = (arguments.next().unwrap_or(20_000_000), arguments.next().unwrap_or(1));
    let workers = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let totals: Vec<(u64, u64, u64)> = thread::scope(|scope| {
        let work = |worker| move || run((worker..inputs).step_by(workers as usize), seed);
        let threads: Vec<_> = (0..workers).map(|worker| scope.spawn(work(worker))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let sum = |part: fn(&(u64, u64, u64)) -> u64| totals.iter().map(part).sum::<u64>();
    println!("{inputs} inputs of seed {seed}: no promise was broken");
    println!("{:12} bytes\n{:12} records\n{:12} lines not read", sum(|t| t.0), sum(|t| t.1), sum(|t| t.2));
}

/// Feeds the inputs of these numbers, and gives bytes, records and lines that were not read.
fn run(numbers: impl Iterator<Item = u64>, seed: u64) -> (u64, u64, u64) {
    let (mut scanner, mut batch, mut bytes) = (Scanner::default(), Batch::default(), Vec::new());
    let mut totals = (0, 0, 0);
    for number in numbers {
        spoil::input(&mut bytes, &mut SplitMix64::new(mix(seed).wrapping_add(number)));
        match catch_unwind(AssertUnwindSafe(|| feed(&bytes, number, &mut scanner, &mut batch))) {
            Ok(story) => {
                totals.0 += bytes.len() as u64;
                totals.1 += story.records;
                totals.2 += story.unread_lines;
            }
            Err(panic) => {
                println!("input {number} of seed {seed} broke a promise:\n{}", String::from_utf8_lossy(&bytes));
                resume_unwind(panic);
            }
        }
    }
    totals
}
