//! Whether a server times its reads for us: `track_io_timing`, which only some may set, for their own session.

use server::{ServerError, Session};

/// Rights to set it can be granted from this version on; before, only superusers may.
pub(super) const GRANTED_SINCE: u32 = 15;

/// Whether the role may give a superuser's setting a value. It is asked first: a refused `SET` is an error in the
/// server's log.
pub(super) fn may_set(session: &mut Session, setting: &str) -> Result<bool, ServerError> {
    let right = match session.facts().major() >= GRANTED_SINCE {
        true => format!("has_parameter_privilege('{setting}', 'SET')"),
        false => "current_setting('is_superuser')::boolean".into(),
    };
    session.truth(&format!("SELECT {right}"), true)
}

/// Turns the timing of reads on for the session; the reason where it is off and we may not.
pub(super) fn turn_on(session: &mut Session) -> Result<Option<String>, ServerError> {
    if may_set(session, "track_io_timing")? {
        return match session.set("track_io_timing", "on") {
            Err(ServerError::Statement { reason, .. }) => unless_on(session, reason),
            outcome => outcome.map(|()| None),
        };
    }
    let is_grantable = session.facts().major() >= GRANTED_SINCE;
    let reason = if is_grantable { "the role lacks the privilege SET on it" } else { "the role is not a superuser" };
    unless_on(session, reason.into())
}

/// The reason, where reads are not timed anyway.
fn unless_on(session: &mut Session, reason: String) -> Result<Option<String>, ServerError> {
    let is_on = session.truth("SELECT current_setting('track_io_timing')::boolean", true)?;
    Ok((!is_on).then_some(reason))
}
