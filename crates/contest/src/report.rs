//! The page as it grows.
#![allow(clippy::print_stderr, reason = "a benchmark is a program for people")]

use std::io::{self, IsTerminal, Write};

/// The page as it grows: shown at once, and remembered to be kept.
pub(crate) struct Report<'a> {
    out: &'a mut dyn Write,
    text: String,
}

impl<'a> Report<'a> {
    /// An empty page.
    pub(crate) fn new(out: &'a mut dyn Write) -> Report<'a> {
        Report { out, text: String::new() }
    }

    /// All that was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Adds to the page.
    pub(crate) fn write(&mut self, text: &str) -> Result<(), String> {
        self.text += text;
        self.out.write_all(text.as_bytes()).map_err(|error| format!("the report could not be written: {error}"))
    }
}

/// One line on standard error, where a person may be waiting.
pub(crate) fn progress(sentence: &str) {
    if io::stderr().is_terminal() {
        eprintln!("{sentence}");
    }
}
