//! Why a subject could not do what an experiment asked of it.

use server::ServerError;
use storage::StorageError;
use thiserror::Error;

/// What went wrong.
#[derive(Debug, Error)]
pub enum SubjectError {
    /// The user asked to stop, which is no failure.
    #[error("stopped")]
    Stopped,
    /// The engine's own reason.
    #[error(transparent)]
    Storage(StorageError),
    /// A data file cannot be opened.
    #[error(transparent)]
    Target(#[from] sys::target::TargetError),
    /// There is too little memory for the buffer pool.
    #[error(
        "the tables need a buffer pool of {needed} MiB and {available} MiB of memory are available: give a smaller \
         --payload"
    )]
    Memory {
        /// MiB of the pool.
        needed: u64,
        /// MiB that are free or can be freed.
        available: u64,
    },
    /// A server could not do it.
    #[error(transparent)]
    Server(ServerError),
    /// A step was asked for before the one that it needs.
    #[error("no table is prepared")]
    NotPrepared,
}

impl From<StorageError> for SubjectError {
    fn from(error: StorageError) -> SubjectError {
        match error {
            StorageError::Stopped => SubjectError::Stopped,
            error => SubjectError::Storage(error),
        }
    }
}

impl From<ServerError> for SubjectError {
    fn from(error: ServerError) -> SubjectError {
        match error {
            ServerError::Stopped => SubjectError::Stopped,
            error => SubjectError::Server(error),
        }
    }
}

impl SubjectError {
    /// Whether the user asked to stop, which is no failure.
    pub fn is_stop(&self) -> bool {
        matches!(self, SubjectError::Stopped)
    }
}
