//! Why a subject could not do what was asked: sentences for the user, without the types of what stands below.

use std::io::ErrorKind;

use device::DeviceError;
use server::ServerError;
use server::private::PrivateServerError;
use storage::StorageError;
use sys::file::TargetError;
use thiserror::Error;

/// Why a subject could not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SubjectError {
    /// The user asked to stop, which is no failure.
    #[error("stopped")]
    Stopped,
    /// A step was asked for before the one that it needs.
    #[error("no table is prepared")]
    NotPrepared,
    /// What was asked for cannot be; the sentence says what can.
    #[error("{0}")]
    Parameters(String),
    /// A table on disk is damaged; loading it again mends it.
    #[error("{0}")]
    Damaged(String),
    /// The directory of the tables cannot be used; another one may do.
    #[error("{0}")]
    Directory(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

impl SubjectError {
    /// Whether the user asked to stop.
    pub fn is_stop(&self) -> bool {
        *self == SubjectError::Stopped
    }
}

impl From<StorageError> for SubjectError {
    fn from(error: StorageError) -> SubjectError {
        match error {
            StorageError::Stopped => SubjectError::Stopped,
            StorageError::Parameters(sentence) => SubjectError::Parameters(sentence),
            StorageError::BadPage { .. } | StorageError::BadManifest { .. } => SubjectError::Damaged(error.to_string()),
            StorageError::Io { ref file, doing: "creating", ref error } if error.kind() == ErrorKind::AlreadyExists => {
                SubjectError::Directory(format!("{} is a file, and the tables need a directory", file.display()))
            }
            StorageError::Io { doing: "creating" | "opening", .. } => SubjectError::Directory(error.to_string()),
            // One that may not be searched is known by the first file that is looked for in it.
            StorageError::Io { error: ref reason, .. } if reason.kind() == ErrorKind::PermissionDenied => {
                SubjectError::Directory(error.to_string())
            }
            other => SubjectError::Failed(other.to_string()),
        }
    }
}

impl From<dataset::Refused> for SubjectError {
    fn from(refused: dataset::Refused) -> SubjectError {
        SubjectError::Parameters(refused.0)
    }
}

impl From<TargetError> for SubjectError {
    fn from(error: TargetError) -> SubjectError {
        SubjectError::Failed(error.to_string())
    }
}

impl From<DeviceError> for SubjectError {
    fn from(error: DeviceError) -> SubjectError {
        match error {
            DeviceError::Word(sentence) => SubjectError::Parameters(sentence),
            other => SubjectError::Failed(other.to_string()),
        }
    }
}

impl From<ServerError> for SubjectError {
    fn from(error: ServerError) -> SubjectError {
        match error {
            ServerError::Stopped => SubjectError::Stopped,
            other => SubjectError::Failed(other.to_string()),
        }
    }
}

impl From<PrivateServerError> for SubjectError {
    fn from(error: PrivateServerError) -> SubjectError {
        match error {
            PrivateServerError::Stopped => SubjectError::Stopped,
            PrivateServerError::UnknownVersion(_) => SubjectError::Parameters(error.to_string()),
            other => SubjectError::Failed(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctrl_c_is_the_same_whichever_part_saw_it_first() {
        assert!(SubjectError::from(StorageError::Stopped).is_stop());
        assert!(SubjectError::from(ServerError::Stopped).is_stop());
        assert!(SubjectError::from(PrivateServerError::Stopped).is_stop());
        assert!(!SubjectError::from(ServerError::Machine("no memory".into())).is_stop());
    }

    #[test]
    fn a_directory_that_may_not_be_searched_is_answered_as_one_that_cannot_be_made() {
        for doing in ["creating", "opening", "reading"] {
            let refused =
                StorageError::Io { file: "/closed/t".into(), doing, error: ErrorKind::PermissionDenied.into() };
            assert!(matches!(SubjectError::from(refused), SubjectError::Directory(_)), "{doing}");
        }
    }
}
