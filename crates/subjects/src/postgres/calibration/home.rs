//! Where the statements of a calibration go: to a session with a schema for tables of its own, or to a standby's, which
//! takes none.

use server::{Schema, Session};

use crate::error::SubjectError;

/// A session, with the schema where there is one.
pub(super) enum Home {
    /// With tables of our own.
    Schema(Schema),
    /// Of a standby, where none can be made.
    Standby(Session),
}

impl Home {
    /// The session.
    pub(super) fn session(&mut self) -> &mut Session {
        match self {
            Home::Schema(schema) => schema.session(),
            Home::Standby(session) => session,
        }
    }

    /// The schema; an error on a standby, where nothing that makes a table is asked for.
    pub(super) fn schema(&mut self) -> Result<&mut Schema, SubjectError> {
        match self {
            Home::Schema(schema) => Ok(schema),
            Home::Standby(_) => Err(SubjectError::NotPrepared),
        }
    }

    /// The schema, to be removed.
    pub(super) fn into_schema(self) -> Option<Schema> {
        match self {
            Home::Schema(schema) => Some(schema),
            Home::Standby(_) => None,
        }
    }
}
