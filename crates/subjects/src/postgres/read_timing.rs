//! Whether a server times its reads for us: `track_io_timing`, which only some may set, for their own session.

use server::{ServerError, Session};

/// Rights to set it can be granted from this version on; before, only superusers may.
pub(super) const GRANTED_SINCE: u32 = 15;

/// Turns the timing of reads on for the session; the reason where it is off and we may not.
///
/// The right is asked for first: a refused `SET` is an error in the server's log.
pub(super) fn turn_on(session: &mut Session) -> Result<Option<String>, ServerError> {
    let (right, reason) = match session.facts().major() >= GRANTED_SINCE {
        true => ("has_parameter_privilege('track_io_timing', 'SET')", "the role lacks the privilege SET on it"),
        false => ("current_setting('is_superuser')::boolean", "the role is not a superuser"),
    };
    if session.truth(&format!("SELECT {right}"), true)? {
        return match session.set("track_io_timing", "on") {
            Err(ServerError::Statement { reason, .. }) => unless_on(session, reason),
            outcome => outcome.map(|()| None),
        };
    }
    unless_on(session, reason.into())
}

/// The reason, where reads are not timed anyway.
fn unless_on(session: &mut Session, reason: String) -> Result<Option<String>, ServerError> {
    let is_on = session.truth("SELECT current_setting('track_io_timing')::boolean", true)?;
    Ok((!is_on).then_some(reason))
}
