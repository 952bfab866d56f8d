//! Which PostgreSQL is installed here.

use std::path::{Path, PathBuf};

use crate::program::{argv, output_of};

/// What to do where there is none.
const ADVICE: &str = "PostgreSQL's server is needed to compare with: install it, for example with apt-get install \
                      postgresql, or name the directory of `postgres` and `initdb` with --postgres";

/// Where packages put each version's programs, as `PARENT/VERSION/bin` and `PARENT/pgsql-VERSION/bin`.
const PARENTS: [&str; 3] = ["/usr/lib/postgresql", "/usr", "/opt"];

/// The programs of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Installation {
    /// The directory of `postgres` and `initdb`.
    pub(crate) programs: PathBuf,
    /// What `postgres --version` says, without the packager's words: `PostgreSQL 15.18`.
    pub(crate) name: String,
    version: Vec<u32>,
}

impl Installation {
    /// The programs in `directory`, or the newest ones that are installed.
    pub(crate) fn find(directory: Option<&Path>) -> Result<Installation, String> {
        match directory {
            Some(directory) => {
                Installation::at(directory).map_err(|reason| format!("{}: {reason}", directory.display()))
            }
            None => newest(candidates().iter().filter_map(|directory| Installation::at(directory).ok()))
                .ok_or_else(|| ADVICE.into()),
        }
    }

    fn at(directory: &Path) -> Result<Installation, String> {
        // The server changes into its own directory, so a relative path would lead nowhere.
        let programs = directory.canonicalize().map_err(|error| error.to_string())?;
        if !programs.join("initdb").is_file() {
            return Err(format!("there is no initdb; {ADVICE}"));
        }
        let said = output_of(&argv([programs.join("postgres").display().to_string(), "--version".into()]))?;
        let (name, version) = version_of(&said).ok_or_else(|| format!("`{}` is no version", said.trim()))?;
        Ok(Installation { programs, name, version })
    }
}

/// The newest; of equal ones the first, because what is found later are mostly links to it.
fn newest(installations: impl Iterator<Item = Installation>) -> Option<Installation> {
    installations.reduce(|best, one| if one.version > best.version { one } else { best })
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

/// Name and numbers from `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
fn version_of(said: &str) -> Option<(String, Vec<u32>)> {
    let number = said.split_once("(PostgreSQL) ")?.1.split_whitespace().next()?;
    let digits = number.split(|letter: char| !letter.is_ascii_digit()).filter(|part| !part.is_empty());
    let version: Vec<u32> = digits.filter_map(|part| part.parse().ok()).collect();
    (!version.is_empty()).then(|| (format!("PostgreSQL {number}"), version))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn installation(said: &str) -> Installation {
        let (name, version) = version_of(said).unwrap();
        Installation { programs: PathBuf::new(), name, version }
    }

    #[test]
    fn the_newest_version_is_taken_by_number_and_not_by_letters() {
        let said = ["postgres (PostgreSQL) 9.6.24", "postgres (PostgreSQL) 18beta1", "postgres (PostgreSQL) 15.18 (D)"];
        assert_eq!(newest(said.map(installation).into_iter()).unwrap().name, "PostgreSQL 18beta1");
        assert_eq!(newest([said[0], said[2]].map(installation).into_iter()).unwrap().name, "PostgreSQL 15.18");
    }

    #[test]
    fn a_directory_without_a_server_says_what_to_install() {
        let folder = tempfile::tempdir().unwrap();
        let error = Installation::find(Some(folder.path())).unwrap_err();
        assert!(error.contains("apt-get install postgresql"), "{error}");
        assert_eq!(version_of("mysqld 8.0"), None);
    }
}
