//! The statements of a dry run: what a run would send, in the order in which it would.
//!
//! A dry run takes the same path as a run. The link of its session records each statement and sends none; the session
//! returns what its caller expects.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::ServerError;
use crate::link::Link;
use crate::one_line::one_line;
use crate::pooler;
use crate::wire::{OnStop, Row};

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

/// A link that records statements.
pub(crate) struct Recording(Statements);

impl Recording {
    /// Records what opening a connection sends, and all that follows.
    pub(crate) fn open(statements: Statements) -> Recording {
        let [first, second, during, after] = pooler::STATEMENTS;
        statements.note(first);
        statements.remark("on a second connection:");
        statements.note(second);
        statements.remark("on the first one, before and after the second is closed:");
        statements.note(during);
        statements.note(after);
        Recording(statements)
    }
}

impl Link for Recording {
    fn send(&mut self, statement: &str, _limit: Duration) -> Result<Vec<Row>, ServerError> {
        self.0.note(statement);
        Ok(Vec::new())
    }

    fn copy(
        &mut self,
        statement: &str,
        _chunks: &mut dyn Iterator<Item = Vec<u8>>,
        _limit: Duration,
    ) -> Result<u64, ServerError> {
        self.0.note(statement);
        Ok(0)
    }

    fn set_on_stop(&mut self, _on_stop: OnStop) {}

    fn another(&self, _end: Instant) -> Result<Box<dyn Link>, ServerError> {
        Ok(Box::new(Recording::open(self.0.clone())))
    }

    fn is_recording(&self) -> bool {
        true
    }
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
