//! Room for tables, checked before anything is made.

use std::path::Path;

use crate::error::ServerError;
use crate::session::Session;

/// Share of the free space that tables may take, in percent: a full disk stops a production server.
const SHARE: u64 = 50;

/// Free space, where it can be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FreeSpace {
    /// Bytes in the file system of the server's data directory, or of the tablespace in which tables are made.
    Known(u64),
    /// Not known, for this reason.
    Unknown(&'static str),
}

/// Errors where `needed` bytes are more than half of what is free; otherwise returns what is free.
pub fn check(session: &Session, needed: u64) -> Result<FreeSpace, ServerError> {
    let free = free(session);
    match (&free, &session.facts().tables_directory) {
        (FreeSpace::Known(bytes), Some(place)) if needed > bytes / 100 * SHARE => {
            Err(ServerError::Space { needed, free: *bytes, place: place.clone() })
        }
        _ => Ok(free),
    }
}

/// Errors where sorting may take `needed` bytes of temporary files at one time and the role may not have as many.
pub fn check_temporary(session: &Session, needed: u64) -> Result<(), ServerError> {
    let facts = session.facts();
    match facts.temporary_bytes_max {
        Some(limit) if needed > limit => Err(ServerError::Temporary { needed, limit, user: facts.user.clone() }),
        _ => Ok(()),
    }
}

fn free(session: &Session) -> FreeSpace {
    if session.is_rehearsal() {
        return FreeSpace::Unknown("nothing was asked of the server");
    }
    let Some(place) = &session.facts().tables_directory else {
        return FreeSpace::Unknown("the server shows its data directory only to members of pg_read_all_settings");
    };
    if !session.is_on_this_machine() {
        return FreeSpace::Unknown(
            "the server runs on another machine, or where its processes cannot be seen from here",
        );
    }
    match rustix::fs::statvfs(Path::new(place)) {
        Ok(system) => FreeSpace::Known(system.f_bavail.saturating_mul(system.f_frsize)),
        Err(_) => FreeSpace::Unknown("the server's data directory cannot be looked at from here"),
    }
}
