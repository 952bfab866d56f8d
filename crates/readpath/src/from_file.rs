//! Parameters of an experiment as a file gives them, and as a command line does, for tests that both are the same.

use clap::{ArgMatches, Command, FromArgMatches};
use serde::de::DeserializeOwned;

/// The parameters of a file in TOML.
pub(crate) fn of_file<P: DeserializeOwned>(text: &str) -> P {
    toml::from_str(text).unwrap()
}

/// The arguments of a command line, without the command's name.
pub(crate) fn of_line<A: FromArgMatches>(define: fn(Command) -> Command, line: &str) -> A {
    let words = ["command"].into_iter().chain(line.split_whitespace());
    let matches: ArgMatches = define(Command::new("command")).try_get_matches_from(words).unwrap();
    A::from_arg_matches(&matches).unwrap()
}
