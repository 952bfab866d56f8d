//! The stacks of the readers in words, for a flame graph.

use std::collections::HashMap;

use sys::process::sampler;

/// Names of functions, the outermost first.
pub type Stack = Vec<String>;

/// The stacks in words. One address occurs in many of them and is looked up once.
pub(super) fn names(stacks: &[Vec<usize>]) -> Vec<Stack> {
    let mut known: HashMap<usize, Stack> = HashMap::new();
    let mut name = |address: &usize| known.entry(*address).or_insert_with(|| short_names(*address)).clone();
    let words = |stack: &Vec<usize>| {
        let inside_out: Stack = stack.iter().flat_map(&mut name).collect();
        // What starts a thread says nothing about reading.
        let outermost = inside_out.iter().position(|name| name.contains("__rust_begin_short_backtrace"));
        let kept = outermost.unwrap_or(inside_out.len());
        inside_out[..kept].iter().rev().cloned().collect()
    };
    stacks.iter().map(words).collect()
}

/// The names at an address without their types, which are longer than any box.
fn short_names(address: usize) -> Stack {
    let without_types = |name: &String| {
        let mut depth = 0_i32;
        let kept = name.chars().filter(|letter| {
            depth += i32::from(*letter == '<');
            let is_kept = depth == 0;
            depth -= i32::from(*letter == '>');
            is_kept
        });
        Some(kept.collect::<String>()).filter(|short| !short.is_empty()).unwrap_or_else(|| name.clone())
    };
    sampler::names(address).iter().map(without_types).collect()
}
