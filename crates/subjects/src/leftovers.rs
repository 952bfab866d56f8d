//! What is left of runs: by killed ones in the folder for temporary files, and on servers.

use std::path::{Path, PathBuf};

use server::place::word_of_shell;
use sys::file::own_folder::{self, Leftovers};

use crate::sqlite::FOLDER_PREFIX;

/// The folders of private servers, SQLite and valgrind that killed runs of this user left, and to root those of all
/// users' servers. Where they are to be removed, the servers end first.
pub fn sweep(scratch: &Path, fate: Leftovers) -> Vec<PathBuf> {
    let prefixes = [FOLDER_PREFIX, sys::valgrind::FOLDER_PREFIX];
    let folders = prefixes.into_iter().flat_map(|prefix| own_folder::sweep(scratch, prefix, fate));
    server::private::sweep(scratch, fate).into_iter().chain(folders).collect()
}

/// What this process made on servers in use and has not removed, in the words of a complaint: one for each server, with
/// the command that removes it.
pub fn left_on_servers() -> Vec<String> {
    let complaint = |server: &String| {
        let server = word_of_shell(server);
        format!("the schema readpath may still be on the server; remove it: readpath clean --on {server}")
    };
    server::schema::standing().iter().map(complaint).collect()
}
