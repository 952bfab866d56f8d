//! How a command ends: its exit code, and the sentence that goes with a failure.

use std::fmt::Display;
use std::process::ExitCode;

use measure::store::StoreError;

/// The ways in which a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// What was asked for is done.
    Done,
    /// The measurement failed or was refused: device, file, permission, disk full.
    Failed,
    /// The command line is wrong.
    WrongCommandLine,
    /// The run was measured but could not be kept, or the store cannot be used.
    NotKept,
    /// The measurement is done, and its command ended with a code of its own, which is passed on.
    OfCommand {
        /// The command's exit code.
        code: u8,
    },
    /// A signal stopped the run.
    Interrupted {
        /// Number of the signal: 2 for ^C, 15 for a request to end.
        signal: u8,
    },
}

/// What `readpath --help` says about exit codes.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    the measurement failed or was refused (device, file, permission, disk full), or a given file could not be read: \
the results of the others are printed
  2    the command line is wrong, or names a run that is not there
  3    the run was measured but could not be kept, or a store or a run in it cannot be used
  130  interrupted by ^C; the cases finished so far are kept
  143  ended by SIGTERM, 129 by SIGHUP, 131 by SIGQUIT, 128+N by signal N; the cases finished so far are kept

`readpath counters -- COMMAND` ends with the command's own code, 127 if there is no such command, and 126 if it cannot \
be run. `readpath run` ends with 1 if a run of the job file failed, and with 2 if the file is wrong.";

impl Exit {
    /// The process's exit code.
    pub(crate) fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Exit::Done => 0,
            Exit::OfCommand { code } => code,
            Exit::Failed => 1,
            Exit::WrongCommandLine => 2,
            Exit::NotKept => 3,
            // The shell's convention for a command that a signal ended.
            Exit::Interrupted { signal } => 128 + signal,
        })
    }
}

/// A command that did not do what it was asked for.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code that goes with it.
    pub(crate) exit: Exit,
    /// A full sentence: what is wrong and what to do.
    pub(crate) message: String,
}

impl Failure {
    /// A failure with this exit code and sentence.
    pub(crate) fn new(exit: Exit, message: impl Display) -> Failure {
        Failure { exit, message: message.to_string() }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        let exit = match error {
            StoreError::Unknown { .. } | StoreError::Ambiguous { .. } | StoreError::NotAReference(_) => {
                Exit::WrongCommandLine
            }
            _ => Exit::NotKept,
        };
        Failure::new(exit, error)
    }
}
