//! Which PostgreSQL is installed here.

use std::path::{Path, PathBuf};

use server::private::Installation;

use crate::program::{argv, output_of};

/// What to do where there is none.
const ADVICE: &str = "PostgreSQL's server is needed to compare with: install it, for example with apt-get install \
                      postgresql, or name the directory of `postgres` and `initdb` with --postgres";

/// Where packages put each version's programs, as `PARENT/VERSION/bin` and `PARENT/pgsql-VERSION/bin`.
const PARENTS: [&str; 3] = ["/usr/lib/postgresql", "/usr", "/opt"];

/// The programs in `directory`, or the newest ones that are installed.
pub(crate) fn find(directory: Option<&Path>) -> Result<Installation, String> {
    match directory {
        Some(directory) => Installation::at(directory).map_err(|error| format!("{error}; {ADVICE}")),
        None => newest(candidates().iter().filter_map(|directory| Installation::at(directory).ok()))
            .ok_or_else(|| ADVICE.into()),
    }
}

/// `PostgreSQL 15.18`.
pub(crate) fn name(installation: &Installation) -> String {
    format!("PostgreSQL {}", installation.version().text)
}

/// The newest; of equal ones the first, because what is found later are mostly links to it.
fn newest(installations: impl Iterator<Item = Installation>) -> Option<Installation> {
    let number = |one: &Installation| numbers(&one.version().text);
    installations.reduce(|best, one| if number(&one) > number(&best) { one } else { best })
}

/// `18beta1` is 18 and 1.
fn numbers(version: &str) -> Vec<u32> {
    version.split(|letter: char| !letter.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

fn candidates() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        output_of(&argv(["pg_config", "--bindir"])).ok().map(|said| said.trim().into()).into_iter().collect();
    for parent in PARENTS {
        let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
        found.extend(entries.map(|entry| entry.path().join("bin")).filter(|bin| bin.join("initdb").is_file()));
    }
    found.extend(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_found_by_number_and_not_by_letters() {
        assert!(numbers("18beta1") > numbers("15.18"));
        assert!(numbers("9.6.24") < numbers("15.18"));
    }

    #[test]
    fn a_directory_without_a_server_says_what_to_install() {
        let folder = tempfile::tempdir().unwrap();
        let error = find(Some(folder.path())).unwrap_err();
        assert!(error.contains("apt-get install postgresql"), "{error}");
    }
}
