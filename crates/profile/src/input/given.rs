//! One thing to read, by its name.

use std::path::{Path, PathBuf};

/// The argument that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// One thing to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// Standard input.
    StandardInput,
    /// A file.
    File(PathBuf),
}

impl Given {
    /// What an argument names that is no pattern: `-` is standard input.
    pub(crate) fn of_argument(argument: &Path) -> Given {
        if argument.as_os_str() == STANDARD_INPUT { Given::StandardInput } else { Given::File(argument.into()) }
    }

    /// The file; `None` of standard input.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Given::StandardInput => None,
            Given::File(path) => Some(path),
        }
    }

    /// How it is named to a person.
    pub fn name(&self) -> String {
        match self {
            Given::StandardInput => "standard input".into(),
            Given::File(path) => path.display().to_string(),
        }
    }
}
