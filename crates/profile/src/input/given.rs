//! One thing to read, by its name.

use std::path::PathBuf;

/// One thing to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// Standard input.
    StandardInput,
    /// A file.
    File(PathBuf),
}

impl Given {
    /// How it is named to a person.
    pub fn name(&self) -> String {
        match self {
            Given::StandardInput => "standard input".into(),
            Given::File(path) => path.display().to_string(),
        }
    }
}
