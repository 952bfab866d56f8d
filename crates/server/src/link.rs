//! What carries the statements of a session: a connection, or a recorder that sends nothing.

use crate::error::ServerError;

/// A row of an answer: the columns as text, `None` where one is null.
pub type Row = Vec<Option<String>>;

/// What carries the statements of a session.
pub(crate) trait Link: Send {
    /// Runs a statement, or several with semicolons between, and gives the rows of the answer.
    fn send(&mut self, statement: &str) -> Result<Vec<Row>, ServerError>;

    /// Runs a `COPY … FROM STDIN`, feeds it what comes, and gives the number of rows.
    fn copy(&mut self, statement: &str, chunks: &mut dyn Iterator<Item = Vec<u8>>) -> Result<u64, ServerError>;

    /// From now on ^C ends no statement.
    fn ignore_stop(&mut self);

    /// Another one of the same kind to the same server.
    fn another(&self) -> Result<Box<dyn Link>, ServerError>;

    /// Whether nothing is sent, so that every answer has to be assumed.
    fn is_recording(&self) -> bool;
}
