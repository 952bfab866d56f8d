//! What killed runs left in the folder for temporary files.

use std::path::{Path, PathBuf};

use sys::file::own_folder::{self, Leftovers};

use crate::sqlite::FOLDER_PREFIX;

/// The folders of private servers, SQLite and valgrind that killed runs of this user left, and to root those of all
/// users' servers. Where they are to be removed, the servers end first.
pub fn sweep(scratch: &Path, fate: Leftovers) -> Vec<PathBuf> {
    let prefixes = [FOLDER_PREFIX, sys::valgrind::FOLDER_PREFIX];
    let folders = prefixes.into_iter().flat_map(|prefix| own_folder::sweep(scratch, prefix, fate));
    server::private::sweep(scratch, fate).into_iter().chain(folders).collect()
}
