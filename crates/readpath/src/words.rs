//! Choices of the experiments and of the report as values on the command line.

use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use measure::words::Word;
use report::{RENDERERS, Renderer};

/// Takes the words of a choice, and lists each with its line in the help.
pub(crate) fn word<T: Word>() -> impl TypedValueParser<Value = T> {
    let listed = T::ALL.iter().map(|(_, word, help)| PossibleValue::new(*word).help(help.trim()));
    PossibleValuesParser::new(listed).try_map(|word| T::of_word(&word))
}

/// Reads a percentage; what is over 100 is refused with the other parameters.
pub(crate) fn percent<P: FromStr>(word: &str) -> Result<P, String> {
    word.parse().map_err(|_| format!("'{word}' is not a whole percentage: write 0 to 100, without a sign"))
}

/// Takes the name of a renderer.
pub(crate) fn renderer() -> impl TypedValueParser<Value = &'static Renderer> {
    let listed = RENDERERS.iter().map(|row| PossibleValue::new(row.name).help(row.help));
    PossibleValuesParser::new(listed).try_map(|name| report::renderer(&name).ok_or("no such renderer"))
}
