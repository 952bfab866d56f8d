//! What killed runs left in the folder for temporary files.

use std::path::{Path, PathBuf};

use sys::file::own_folder;

use crate::sqlite::FOLDER_PREFIX;

/// Ends the private servers that killed runs of this user left, removes their folders and those of SQLite and valgrind,
/// and returns the folders.
pub fn sweep(scratch: &Path) -> Vec<PathBuf> {
    let prefixes = [FOLDER_PREFIX, sys::valgrind::FOLDER_PREFIX];
    let folders = prefixes.into_iter().flat_map(|prefix| own_folder::sweep(scratch, prefix));
    server::private::sweep(scratch).into_iter().chain(folders).collect()
}
