//! Choices of the experiments as values on the command line.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use measure::words::Word;

/// Takes the words of a choice, and lists each with its line in the help.
pub(crate) fn word<T: Word>() -> impl TypedValueParser<Value = T> {
    let listed = T::ALL.iter().map(|(_, word, help)| PossibleValue::new(*word).help(help.trim()));
    PossibleValuesParser::new(listed).try_map(|word| T::of_word(&word))
}
