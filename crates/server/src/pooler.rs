//! Poolers that assign a session of the server to each transaction or to each statement.
//!
//! Behind one, settings of the session would reach others, and the process that is watched would not be the one that
//! works. Such a pooler is recognised when one process serves two open connections, when two processes serve one
//! connection, or when it refuses a transaction. A pool in session mode does none of this: what is set there is reset
//! before the session is given back.

use std::time::Duration;

use crate::error::ServerError;
use crate::place::Address;
use crate::wire::{Deadline, Wire};

/// How long the second connection may take. A pool of one session keeps it waiting: then sessions do not change hands.
const SECOND_TIMEOUT: Duration = Duration::from_secs(3);

/// The process that serves the connection. A limit of the role's own, of which nothing is known yet, may be too short
/// for the first statement of a session: it does not hold for this one.
const PROCESS: &str = "SET LOCAL statement_timeout = 0; SELECT pg_catalog.pg_backend_pid()";
const BEGIN_AND_PROCESS: &str = "BEGIN; SET LOCAL statement_timeout = 0; SELECT pg_catalog.pg_backend_pid()";

/// What [`refuse`] sends: on the first connection, on a second one, and on the first again, while the second is open
/// and after its end.
pub(crate) const STATEMENTS: [&str; 4] = [PROCESS, BEGIN_AND_PROCESS, PROCESS, PROCESS];

/// An error where a pooler switches sessions between `first` and the server. Nothing that is set for this outlasts its
/// transaction. `left` is how long an answer may take by now.
pub(crate) fn refuse<'a>(
    first: &mut Wire,
    address: &Address,
    left: impl Fn() -> Deadline<'a>,
) -> Result<(), ServerError> {
    let before = first.query(PROCESS, &left())?;
    let second_left = Deadline { limit: SECOND_TIMEOUT.min(left().limit / 2), ..left() };
    let mut second = match first.again(address, &second_left) {
        Err(error) if error.is_stop() => return Err(error),
        // A full server grants no second connection, and none is needed.
        Err(_) => return Ok(()),
        Ok(second) => second,
    };
    let other = second.query(BEGIN_AND_PROCESS, &second_left);
    let during = first.query(PROCESS, &left())?;
    drop(second);
    let after = first.query(PROCESS, &left())?;
    match other {
        Err(error) if error.is_stop() || matches!(error, ServerError::Cancelled { .. }) => Err(error),
        Err(ServerError::Silent { .. }) => Ok(()),
        Ok(other) if other != before && during == before && after == before => Ok(()),
        _ => Err(ServerError::Pooler { server: address.shown() }),
    }
}
