//! Whether a server times its reads for us: `track_io_timing`, which only some may set, for their own session.

use server::{ServerError, Session};

/// Turns the timing of reads on for the session; the reason where it is off and we may not.
pub(super) fn turn_on(session: &mut Session) -> Result<Option<String>, ServerError> {
    let refused = match session.set("track_io_timing", "on") {
        Err(ServerError::Statement { reason, .. }) => reason,
        outcome => return outcome.map(|()| None),
    };
    let is_on = session.truth("SELECT current_setting('track_io_timing')::boolean", true)?;
    Ok((!is_on).then_some(refused))
}
