//! Why a word names no model.

use std::path::PathBuf;

/// Why there is no such model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The table has no such name.
    #[error("there is no model '{name}'; known: {known}, or model:FILE.toml with a description in a file")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is, as it is typed.
        known: String,
    },
    /// A file that describes none.
    #[error("{} describes no model: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
}
