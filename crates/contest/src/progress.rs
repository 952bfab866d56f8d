//! What goes on, for a person who waits.

use std::io::{self, IsTerminal};

/// One line on standard error, where a person may be waiting.
#[allow(clippy::print_stderr, reason = "a contest is a program for people")]
pub(crate) fn progress(sentence: &str) {
    if io::stderr().is_terminal() {
        eprintln!("{sentence}");
    }
}
