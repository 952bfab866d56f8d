//! The statements of a rehearsal: what a run would send, in the order in which it would.
//!
//! A rehearsal takes the same path as a run. Its session sends nothing, notes each statement, and answers with what
//! the caller says it expects.

use std::sync::{Arc, Mutex, PoisonError};

/// A list of statements that several sessions write to.
#[derive(Clone, Debug, Default)]
pub struct Statements(Arc<Mutex<Vec<String>>>);

impl Statements {
    /// Adds a statement.
    pub(crate) fn note(&self, statement: &str) {
        // A list of texts is whole whatever happened to the thread that held it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(one_line(statement));
    }

    /// Adds a line that is no statement.
    pub fn remark(&self, remark: &str) {
        self.note(&format!("-- {remark}"));
    }

    /// The statements as a script: one a line, each with its semicolon.
    pub fn script(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line = |line: &String| match line.starts_with("-- ") || line.ends_with(';') {
            true => format!("{line}\n"),
            false => format!("{line};\n"),
        };
        lines.iter().map(line).collect()
    }
}

/// A statement without the line breaks of the source.
pub(crate) fn one_line(statement: &str) -> String {
    statement.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_ends_each_statement_once() {
        let statements = Statements::default();
        statements.remark("nothing was sent");
        statements.note("SELECT 1\n      + 1");
        statements.note("BEGIN;");
        assert_eq!(statements.script(), "-- nothing was sent\nSELECT 1 + 1;\nBEGIN;\n");
    }
}
