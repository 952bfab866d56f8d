//! Bytes that are wrong in many ways, fed to the decoders of the engine.
//!
//! The inputs follow from a seed, a new one in each run; a broken promise names input and seed. The same checks run
//! under a coverage-guided fuzzer in the `fuzz` folder.

mod bytes;
mod node;
mod node_inputs;
mod page;
mod page_inputs;
pub(crate) mod unit;
mod unit_inputs;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::SystemTime;

use measure::random::{SplitMix64, mix};

/// Inputs of one test: enough that each kind of damage occurs, and less than a second.
const INPUTS: u64 = 3000;

/// Inputs of a long run.
const MANY_INPUTS: u64 = 10_000_000;

/// Makes the inputs of one decoder, and judges what it does with them.
trait Fuzzed {
    /// Puts the next input in the place of the last one.
    fn spoil(&mut self, random: &mut SplitMix64);

    /// Decodes the input and names the outcome, in words that many inputs share. Panics when a promise is broken.
    fn judge(&mut self, turn: u64) -> String;
}

#[test]
fn damaged_pages_are_refused_or_read_and_never_left() {
    run(&mut page_inputs::Pages::new(), INPUTS);
}

#[test]
fn damaged_nodes_are_refused_or_searched_and_never_left() {
    run(&mut node_inputs::Nodes::new(), INPUTS);
}

#[test]
fn damaged_units_are_refused_or_counted_value_by_value() {
    run(&mut unit_inputs::Units::new(), INPUTS);
}

#[test]
#[ignore = "takes minutes; see fuzz/README.md"]
fn ten_million_inputs_break_no_promise_of_a_decoder() {
    run(&mut page_inputs::Pages::new(), MANY_INPUTS);
    run(&mut node_inputs::Nodes::new(), MANY_INPUTS);
    run(&mut unit_inputs::Units::new(), MANY_INPUTS);
}

fn run(fuzzed: &mut dyn Fuzzed, inputs: u64) {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let seed = since_1970.as_nanos() as u64;
    let mut outcomes: BTreeMap<String, u64> = BTreeMap::new();
    for input in 0..inputs {
        fuzzed.spoil(&mut SplitMix64::new(mix(seed).wrapping_add(input)));
        match catch_unwind(AssertUnwindSafe(|| fuzzed.judge(input))) {
            Ok(outcome) => *outcomes.entry(outcome).or_default() += 1,
            Err(panic) => {
                println!("input {input} of seed {seed} broke a promise");
                resume_unwind(panic);
            }
        }
    }
    println!("{inputs} inputs of seed {seed}: {outcomes:#?}");
    assert!(outcomes.contains_key("accepted") && outcomes.len() > 3, "inputs of one kind only: {outcomes:?}");
}

/// The kind of an outcome, without its numbers.
fn name_of<T, E: std::fmt::Debug>(outcome: Result<T, E>) -> String {
    match outcome {
        Ok(_) => "accepted".into(),
        Err(damage) => format!("{damage:?}").split([' ', '(']).next().unwrap_or_default().to_string(),
    }
}
