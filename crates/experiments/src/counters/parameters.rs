//! Parameters of the experiment, and what the program around it gives.

use std::path::PathBuf;

use measure::Nanos;

use crate::error::{ExperimentError, refuse};
use crate::with_defaults::with_defaults;

with_defaults! {
    /// Parameters of the experiment: a command or a process.
    #[derive(PartialEq)]
    pub struct CountersParameters {
        /// A command that is counted from its start to its end, with all that it starts and waits for: its program and
        /// its arguments. They are paths here because a path holds any bytes, and is text in a file.
        pub command: Vec<PathBuf> = Vec::new(),
        /// A process that runs already, in place of a command, with the threads that it starts.
        pub pid: Option<u32> = None,
        /// For how long the process is counted.
        pub duration: Nanos = Nanos::from_millis(5000),
        /// Whether the command is run a second time under valgrind.
        pub valgrind: bool = false,
        /// Longest time that the run under valgrind may take.
        pub valgrind_limit: Nanos = Nanos::from_millis(3_600_000),
    }
}

impl CountersParameters {
    /// Refuses what cannot be, with a sentence that says what to give instead.
    pub fn check(&self) -> Result<(), ExperimentError> {
        match self.pid {
            Some(_) if self.duration == Nanos::ZERO => refuse("there is nothing to count: give --duration above 0"),
            Some(_) if !self.command.is_empty() => refuse("a command and --pid exclude each other: give one of them"),
            None if self.command.is_empty() => refuse("there is nothing to count: name a command or a --pid"),
            _ => Ok(()),
        }
    }
}

/// Where the standard output of a command goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandOutput {
    /// To this program's standard output.
    Output,
    /// To this program's standard error, because its standard output belongs to a document.
    Error,
}

/// What the program around the experiment gives.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Where the command's standard output goes.
    pub output: CommandOutput,
    /// Folders in which a command is looked for whose name has no slash: those of PATH.
    pub folders: Vec<PathBuf>,
    /// Folder for valgrind's files, which are removed.
    pub scratch: PathBuf,
}

/// A run under valgrind, as `scan` makes them.
#[derive(Clone, Debug)]
pub struct ValgrindRun {
    /// Folder for valgrind's files, which are removed.
    pub scratch: PathBuf,
    /// Longest time that it may take.
    pub limit: std::time::Duration,
}
