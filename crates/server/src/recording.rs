//! A link that records statements instead of sending them.

use std::time::Duration;

use crate::error::ServerError;
use crate::link::Link;
use crate::pooler;
use crate::statements::Statements;
use crate::wire::{OnStop, Row};

/// A link that records statements, as a server of a major version would be sent them.
pub(crate) struct Recording {
    statements: Statements,
    major: u32,
}

impl Recording {
    /// Records what opening a connection sends, and all that follows.
    pub(crate) fn open(statements: Statements, major: u32) -> Recording {
        let [first, second, during, after] = pooler::STATEMENTS;
        statements.remark(&format!("on a new connection, to PostgreSQL {major}:"));
        statements.note(first);
        statements.remark("on a second connection:");
        statements.note(second);
        statements.remark("on the first one, before and after the second is closed:");
        statements.note(during);
        statements.note(after);
        Recording { statements, major }
    }
}

impl Link for Recording {
    fn send(&mut self, statement: &str, _limit: Duration) -> Result<Vec<Row>, ServerError> {
        self.statements.note(statement);
        Ok(Vec::new())
    }

    fn send_one(&mut self, statement: &str, _limit: Duration) -> Result<(), ServerError> {
        self.statements.note(statement);
        Ok(())
    }

    fn copy(
        &mut self,
        statement: &str,
        _chunks: &mut dyn Iterator<Item = Vec<u8>>,
        _limit: Duration,
    ) -> Result<u64, ServerError> {
        self.statements.note(statement);
        Ok(0)
    }

    fn set_on_stop(&mut self, _on_stop: OnStop) {}

    fn another(&self, _on_stop: OnStop) -> Result<Box<dyn Link>, ServerError> {
        Ok(Box::new(Recording::open(self.statements.clone(), self.major)))
    }

    fn rehearsal(&self) -> Option<(&Statements, u32)> {
        Some((&self.statements, self.major))
    }
}
