//! What carries the statements of a session: a connection, or a recorder that sends nothing.

use std::time::{Duration, Instant};

use crate::error::ServerError;
use crate::statements::Statements;
use crate::wire::{OnStop, Row};

/// What carries the statements of a session.
pub(crate) trait Link: Send {
    /// Runs a statement, or several with semicolons between, and returns the rows; waits no longer than `limit`.
    fn send(&mut self, statement: &str, limit: Duration) -> Result<Vec<Row>, ServerError>;

    /// Runs a text that the server refuses unless it is one statement; waits no longer than `limit`.
    fn send_one(&mut self, statement: &str, limit: Duration) -> Result<(), ServerError>;

    /// Runs a `COPY … FROM STDIN`, feeds it the chunks, and returns the number of rows; waits no longer than `limit`.
    fn copy(
        &mut self,
        statement: &str,
        chunks: &mut dyn Iterator<Item = Vec<u8>>,
        limit: Duration,
    ) -> Result<u64, ServerError>;

    /// Sets what ^C means to the statements that follow.
    fn set_on_stop(&mut self, on_stop: OnStop);

    /// Another link of the same kind to the same server, with what ^C means to connecting.
    fn another(&self, on_stop: OnStop) -> Result<Box<dyn Link>, ServerError>;

    /// When what a session is asked first has to be answered; now, where nothing is waited for.
    fn opening_end(&self) -> Instant {
        Instant::now()
    }

    /// Where statements are recorded, and for which major version, when nothing is sent and callers assume the results.
    fn rehearsal(&self) -> Option<(&Statements, u32)> {
        None
    }
}
