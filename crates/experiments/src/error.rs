//! Why an experiment ended early; each variant is a sentence for the user.

use std::io;
use std::path::PathBuf;

use device::DeviceError;
use device::content::ContentError;
use device::model::ModelError;
use device::read_loop::ReadFailure;
use storage::StorageError;
use subjects::SubjectError;
use sys::file::{TargetError, TestFileError};
use sys::read::MethodError;
use thiserror::Error;

use crate::journal::{KeepError, Stopped};

/// What went wrong.
#[derive(Debug, Error)]
pub enum ExperimentError {
    /// The user asked to stop: no failure, and the cases that were finished are kept.
    #[error("stopped")]
    Stopped,
    /// The file or device cannot be opened, or not this way.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The device cannot be read.
    #[error(transparent)]
    Device(DeviceError),
    /// The region could not be looked at.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// A read failed while it was measured.
    #[error("{path}: {failure}", path = path.display())]
    ReadFailed {
        /// The file or device.
        path: PathBuf,
        /// Offset and reason.
        failure: ReadFailure,
    },
    /// Not one read ended within the time.
    #[error("none of {what} ended within the time")]
    NothingRead {
        /// The reading in words.
        what: String,
    },
    /// The test file could not be made.
    #[error(transparent)]
    TestFile(TestFileError),
    /// Memory for a probe could not be had.
    #[error("no memory for {what} of {bytes} bytes: {reason}")]
    Memory {
        /// What it was for.
        what: &'static str,
        /// How much.
        bytes: usize,
        /// The kernel's answer.
        reason: io::Error,
    },
    /// A process could not be waited for.
    #[error("the command could not be waited for: {0}")]
    Process(String),
    /// Parameters that cannot be, with what to write instead.
    #[error("{0}")]
    Parameters(String),
    /// Two access paths answered the same question differently.
    #[error(
        "{} and {} counted {} and {}: one of them is wrong, and its figures may be too; please report this with the \
         run document", paths[0], paths[1], counts[0], counts[1]
    )]
    PathsDisagree {
        /// Who counted.
        paths: [String; 2],
        /// What each counted.
        counts: [u64; 2],
    },
    /// A join found another sum than its rows have.
    #[error(
        "{what} sums {found} where the rows have {expected}: it is wrong, and its figures may be too; please report \
         this with the run document"
    )]
    WrongSum {
        /// The join in words.
        what: String,
        /// What the rows have.
        expected: i64,
        /// What it found.
        found: i64,
    },
    /// The engine could not do it.
    #[error(transparent)]
    Storage(StorageError),
    /// What the experiment is run on could not do it.
    #[error(transparent)]
    Subject(SubjectError),
    /// Another error, with the flag that mends it.
    #[error("{error}; {flag}")]
    Advised {
        /// What went wrong.
        error: Box<ExperimentError>,
        /// What to write on the command line.
        flag: &'static str,
    },
    /// A finished case could not be kept.
    #[error(transparent)]
    Keep(#[from] KeepError),
}

/// The refusal of parameters that cannot be; the sentence says what to write instead.
pub(crate) fn refuse<T>(sentence: impl Into<String>) -> Result<T, ExperimentError> {
    Err(ExperimentError::Parameters(sentence.into()))
}

impl From<Stopped> for ExperimentError {
    fn from(_: Stopped) -> ExperimentError {
        ExperimentError::Stopped
    }
}

impl From<DeviceError> for ExperimentError {
    fn from(error: DeviceError) -> ExperimentError {
        match error {
            DeviceError::Word(sentence) => ExperimentError::Parameters(sentence),
            DeviceError::Model(ModelError::Unknown { .. })
            | DeviceError::Target(TargetError::BlockSize { .. } | TargetError::BlockTooLarge { .. })
            | DeviceError::Method(MethodError::Depth { .. }) => ExperimentError::Parameters(error.to_string()),
            error => ExperimentError::Device(error),
        }
    }
}

impl From<TestFileError> for ExperimentError {
    fn from(error: TestFileError) -> ExperimentError {
        match error {
            TestFileError::Stopped => ExperimentError::Stopped,
            error => ExperimentError::TestFile(error),
        }
    }
}

impl From<StorageError> for ExperimentError {
    fn from(error: StorageError) -> ExperimentError {
        match error {
            StorageError::Stopped => ExperimentError::Stopped,
            error => ExperimentError::Storage(error),
        }
    }
}

impl From<SubjectError> for ExperimentError {
    fn from(error: SubjectError) -> ExperimentError {
        match error {
            SubjectError::Stopped => ExperimentError::Stopped,
            // What a subject refuses is the user's to mend.
            SubjectError::Parameters(sentence) => ExperimentError::Parameters(sentence),
            error => ExperimentError::Subject(error),
        }
    }
}

impl ExperimentError {
    /// The kernel's answer where it refused the threads or the memory for reads at once: it may grant fewer of them.
    pub(crate) fn refusal_of_many_at_once(&self) -> Option<&io::Error> {
        let ExperimentError::Device(error) = self else { return None };
        match error {
            DeviceError::NotStarted(refused) => Some(refused.reason()),
            DeviceError::Method(MethodError::NotStarted { reason, .. } | MethodError::Memory { reason, .. }) => {
                Some(reason)
            }
            _ => None,
        }
    }

    /// Neither the engine nor a reading knows flags: this adds the one that mends what it complains of.
    pub(crate) fn advised(self) -> ExperimentError {
        let flag = match &self {
            ExperimentError::NothingRead { .. } => "give a longer --duration or a smaller --block-size",
            ExperimentError::Subject(SubjectError::Damaged(_)) => "--reload does",
            ExperimentError::Subject(SubjectError::Directory(_)) => "name another directory with --dir DIR",
            _ => return self,
        };
        ExperimentError::Advised { error: Box::new(self), flag }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_read_does_not_promise_cases_that_may_not_be_there() {
        let failure = ReadFailure::Short { offset: 8192, length: 8192, got: 0 };
        let error = ExperimentError::ReadFailed { path: "old.dat".into(), failure }.to_string();
        assert!(error.starts_with("old.dat: ") && !error.contains("kept"), "{error}");
    }

    #[test]
    fn reads_that_did_not_end_are_no_advice_to_give_an_option_that_a_ladder_lacks() {
        let error = ExperimentError::NothingRead { what: "random reads".into() };
        assert_eq!(error.to_string(), "none of random reads ended within the time");
        let of_disk = "none of random reads ended within the time; give a longer --duration or a smaller --block-size";
        assert_eq!(error.advised().to_string(), of_disk);
    }
}
