//! The stacks of the readers in words, for a flame graph.

use std::collections::HashMap;

use sys::process::sampler;

/// Names of functions, the outermost first.
pub type Stack = Vec<String>;

/// The stacks in words. One address occurs in many of them and is looked up once.
pub(super) fn names(stacks: &[Vec<usize>]) -> Vec<Stack> {
    let mut known: HashMap<usize, Stack> = HashMap::new();
    // Names without their types, which are longer than any box.
    let short_names = |address: usize| sampler::names(address).iter().map(|name| without_types(name)).collect();
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

fn without_types(name: &str) -> String {
    let (mut depth, mut before) = (0_i32, ' ');
    let kept = name.chars().filter(|letter| {
        depth += i32::from(*letter == '<');
        let is_kept = depth == 0;
        // The arrow of a function's type closes no bracket.
        depth -= i32::from(*letter == '>' && before != '-');
        before = *letter;
        is_kept
    });
    Some(kept.collect::<String>()).filter(|short| !short.is_empty()).unwrap_or_else(|| name.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arrow_of_a_function_among_the_types_does_not_take_the_name_behind_it_away() {
        assert_eq!(without_types("<Box<dyn FnOnce() -> u32> as FnOnce<()>>::call_once"), "::call_once");
        assert_eq!(without_types("read::<fn(u8) -> u8>::all"), "read::::all");
        assert_eq!(without_types("<u8>"), "<u8>");
    }
}
