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

/// How often something is asked that a limit of the role's own ends, each of which is an error in the server's log.
const TRIES: usize = 5;

/// The process that serves the connection. A limit of the role's own, of which nothing is known yet, may be too short
/// for the first statement of a session: it does not hold for this one.
const PROCESS: &str = "SET LOCAL statement_timeout = 0; SELECT pg_catalog.pg_backend_pid()";
const BEGIN_AND_PROCESS: &str = "BEGIN; SET LOCAL statement_timeout = 0; SELECT pg_catalog.pg_backend_pid()";

/// The process, and whether the role or the database has no room for a second session, which the server would refuse
/// with a line in its log. Behind a pooler a second connection needs no second session, and is opened all the same: a
/// session does not have its name there from the message that began it. Sessions are counted only where there is a
/// limit.
///
/// Source: PostgreSQL, `InitializeSessionUserId` in src/backend/utils/init/miscinit.c, and `CheckMyDatabase` in
/// postinit.c.
const PROCESS_AND_WHETHER_FULL: &str = "SET LOCAL statement_timeout = 0; SET LOCAL search_path = pg_catalog; SELECT \
    pg_backend_pid(), (SELECT CASE WHEN r.rolsuper OR greatest(r.rolconnlimit, d.datconnlimit) < 0 THEN false ELSE \
    (SELECT s.source = 'client' AND s.reset_val = 'readpath' FROM pg_settings s WHERE s.name = 'application_name') AND \
    (SELECT (r.rolconnlimit >= 0 AND count(*) FILTER (WHERE a.usesysid = r.oid) >= r.rolconnlimit) OR (d.datconnlimit \
    >= 0 AND count(*) FILTER (WHERE a.datid = d.oid) >= d.datconnlimit) FROM pg_stat_get_activity(NULL) a WHERE \
    coalesce(a.backend_type, 'client backend') = 'client backend') END FROM pg_roles r, pg_database d WHERE r.rolname \
    = session_user AND d.datname = current_database())";

/// What [`refuse`] sends: on the first connection, on a second one, and on the first again, while the second is open
/// and after its end.
pub(crate) const STATEMENTS: [&str; 4] = [PROCESS_AND_WHETHER_FULL, BEGIN_AND_PROCESS, PROCESS, PROCESS];

/// Asks again where it was cancelled: where the machine is busy, a limit of a millisecond ends even what lifts it.
pub(crate) fn insist<T>(mut ask: impl FnMut() -> Result<T, ServerError>) -> Result<T, ServerError> {
    for _ in 1..TRIES {
        match ask() {
            Err(ServerError::Cancelled { .. }) => {}
            outcome => return outcome,
        }
    }
    ask()
}

/// An error where a pooler switches sessions between `first` and the server. Nothing that is set for this outlasts its
/// transaction. `left` is how long an answer may take by now.
pub(crate) fn refuse<'a>(
    first: &mut Wire,
    address: &Address,
    left: impl Fn() -> Deadline<'a>,
) -> Result<(), ServerError> {
    let mut before = match insist(|| first.query(PROCESS_AND_WHETHER_FULL, &left())) {
        // A version that is refused for its age lacks a column.
        Err(ServerError::Statement { .. }) => insist(|| first.query(PROCESS, &left()))?,
        asked => asked?,
    };
    let is_full = before.first_mut().filter(|row| row.len() > 1).and_then(Vec::pop).flatten();
    if is_full.as_deref() == Some("t") {
        return Ok(());
    }
    let second_left = Deadline { limit: SECOND_TIMEOUT.min(left().limit / 2), ..left() };
    let asked = insist(|| {
        let mut second = first.again(address, &second_left)?;
        match second.query(BEGIN_AND_PROCESS, &second_left) {
            // Its transaction may be open and of no more use.
            Err(cancelled @ ServerError::Cancelled { .. }) => Err(cancelled),
            other => Ok((second, other)),
        }
    });
    let (second, other) = match asked {
        Err(error) if error.is_stop() || matches!(error, ServerError::Cancelled { .. }) => return Err(error),
        // A full server grants no second connection, and none is needed.
        Err(_) => return Ok(()),
        Ok(asked) => asked,
    };
    let during = insist(|| first.query(PROCESS, &left()))?;
    drop(second);
    let after = insist(|| first.query(PROCESS, &left()))?;
    match other {
        Err(error) if error.is_stop() => Err(error),
        Err(ServerError::Silent { .. }) => Ok(()),
        Ok(other) if other != before && during == before && after == before => Ok(()),
        _ => Err(ServerError::Pooler { server: address.shown() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_limit_of_a_millisecond_ends_on_a_busy_machine_is_asked_again_and_nothing_else_is() {
        let cancelled = || ServerError::Cancelled { statement: "BEGIN".into(), reason: "statement timeout".into() };
        let mut asked = 0;
        let answered = insist(|| {
            asked += 1;
            if asked < TRIES { Err(cancelled()) } else { Ok(asked) }
        });
        assert_eq!(answered.unwrap(), TRIES);
        let tries = |error: fn() -> ServerError| {
            let mut asked = 0;
            let refused: Result<(), ServerError> = insist(|| {
                asked += 1;
                Err(error())
            });
            assert!(refused.is_err());
            asked
        };
        assert_eq!(tries(|| ServerError::Stopped), 1);
        assert_eq!(tries(|| ServerError::Cancelled { statement: "BEGIN".into(), reason: "by others".into() }), TRIES);
    }
}
