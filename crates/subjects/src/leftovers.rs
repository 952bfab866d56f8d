//! What runs leave behind: killed ones in the folder for temporary files, and any run on servers.

use std::path::{Path, PathBuf};

use server::place::word_of_shell;
use sys::file::own_folder::{self, Leftovers};

use crate::sqlite::FOLDER_PREFIX;

/// What a run makes on a server that is in use.
const SCHEMA: &str = "the schema readpath";

/// The folders of private servers, SQLite and valgrind that killed runs of this user left, and to root those of all
/// users' servers. Where they are to be removed, the servers end first.
pub fn sweep(scratch: &Path, fate: Leftovers) -> Vec<PathBuf> {
    let prefixes = [FOLDER_PREFIX, sys::valgrind::FOLDER_PREFIX];
    let folders = prefixes.into_iter().flat_map(|prefix| own_folder::sweep(scratch, prefix, fate));
    server::private::sweep(scratch, fate).into_iter().chain(folders).collect()
}

/// What this process made on servers in use and has not removed: what it is, such as `the schema readpath`, and the
/// server as a word of a shell, for `readpath clean --on`. One for each server.
pub fn left_on_servers() -> Vec<(&'static str, String)> {
    server::schema::standing().iter().map(|server| (SCHEMA, word_of_shell(server))).collect()
}
