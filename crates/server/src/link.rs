//! What carries the statements of a session: a connection, or a recorder that sends nothing.

use crate::error::ServerError;

/// A row: the columns as text, `None` where one is null.
pub type Row = Vec<Option<String>>;

/// What carries the statements of a session.
pub(crate) trait Link: Send {
    /// Runs a statement, or several with semicolons between, and returns the rows.
    fn send(&mut self, statement: &str) -> Result<Vec<Row>, ServerError>;

    /// Runs a `COPY … FROM STDIN`, feeds it the chunks, and returns the number of rows.
    fn copy(&mut self, statement: &str, chunks: &mut dyn Iterator<Item = Vec<u8>>) -> Result<u64, ServerError>;

    /// Stops ^C from ending statements.
    fn ignore_stop(&mut self);

    /// Another link of the same kind to the same server.
    fn another(&self) -> Result<Box<dyn Link>, ServerError>;

    /// Whether nothing is sent, so that callers assume the results.
    fn is_recording(&self) -> bool;
}
