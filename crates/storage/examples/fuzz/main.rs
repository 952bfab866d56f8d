//! Feeds bytes that are wrong in many ways to a decoder of the engine; needs no nightly compiler and no fuzzer.
//!
//! `cargo run --release -p storage --example fuzz -- page|node|unit [INPUTS [SEED]]`: ten million pages or nodes by
//! default, five million columnar units. A broken promise ends it with a panic that names the number and the seed of
//! the input. The same checks run under a coverage-guided fuzzer in the `fuzz` folder.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

mod bytes;
mod node;
mod node_inputs;
mod page;
mod page_inputs;
mod unit;
mod unit_inputs;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use measure::random::{SplitMix64, mix};

/// Makes the inputs of one decoder, and judges what it does with them.
trait Fuzzed {
    /// Puts the next input in the place of the last one.
    fn spoil(&mut self, random: &mut SplitMix64);

    /// Decodes the input and says what came of it, in words that many inputs share. Panics when a promise is broken.
    fn judge(&mut self, turn: u64) -> String;
}

fn main() {
    let mut words = std::env::args().skip(1);
    let decoder = words.next().unwrap_or_default();
    let mut numbers = words.map(|text| text.parse::<u64>().expect("a whole number"));
    let (inputs, seed) = (numbers.next(), numbers.next().unwrap_or(1));
    match decoder.as_str() {
        "page" => run(&mut page_inputs::Pages::new(), inputs.unwrap_or(10_000_000), seed),
        "node" => run(&mut node_inputs::Nodes::new(), inputs.unwrap_or(10_000_000), seed),
        "unit" => run(&mut unit_inputs::Units::new(), inputs.unwrap_or(5_000_000), seed),
        _ => println!("name a decoder: page, node or unit"),
    }
}

fn run(fuzzed: &mut dyn Fuzzed, inputs: u64, seed: u64) {
    let mut answers: BTreeMap<String, u64> = BTreeMap::new();
    for input in 0..inputs {
        fuzzed.spoil(&mut SplitMix64::new(mix(seed).wrapping_add(input)));
        match catch_unwind(AssertUnwindSafe(|| fuzzed.judge(input))) {
            Ok(answer) => *answers.entry(answer).or_default() += 1,
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
fn name_of<T, E: std::fmt::Debug>(answer: Result<T, E>) -> String {
    match answer {
        Ok(_) => "accepted".into(),
        Err(damage) => format!("{damage:?}").split([' ', '(']).next().unwrap_or_default().to_string(),
    }
}
