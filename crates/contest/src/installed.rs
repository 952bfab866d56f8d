//! Which programs of PostgreSQL are compared with: installed ones, or those that are fetched as readpath does.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use server::Place;
use server::place::SCHEMES;
use server::private::{Installation, PrivateServerError, Source, VERSIONS};

use crate::program::{argv, output_of};

/// What to do where there is none.
const ADVICE: &str = "PostgreSQL's server is needed to compare with: install it, for example with apt-get install \
                      postgresql, or name the directory of `postgres` and `initdb` with --postgres";

/// Where packages put each version's programs, as `PARENT/VERSION/bin` and `PARENT/pgsql-VERSION/bin`.
const PARENTS: [&str; 3] = ["/usr/lib/postgresql", "/usr", "/opt"];

/// Variables that name a proxy; the first that is set counts.
const PROXIES: [&str; 4] = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];

/// Programs that `--postgres` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Programs {
    /// Those in this directory.
    Directory(PathBuf),
    /// Those of this major version, fetched where they are not in the cache.
    Version(u32),
}

impl FromStr for Programs {
    type Err = String;

    fn from_str(word: &str) -> Result<Programs, String> {
        let is_place = word.starts_with("postgres:") || SCHEMES.iter().any(|scheme| word.starts_with(scheme));
        if !is_place {
            return Ok(Programs::Directory(word.into()));
        }
        match word.parse::<Place>().map_err(|error| error.to_string())? {
            Place::Installed { directory } => Ok(Programs::Directory(directory)),
            Place::Private { major } if VERSIONS.contains(&major) => Ok(Programs::Version(major)),
            Place::Private { major } => Err(PrivateServerError::UnknownVersion(major).to_string()),
            Place::Given(_) | Place::Copy(_) => {
                Err("a contest starts its own server: name a directory of programs, or a version such \
                                    as postgres:18"
                    .into())
            }
        }
    }
}

impl Programs {
    /// What the server is called before its programs are there.
    pub(crate) fn name(&self) -> String {
        match self {
            Programs::Directory(_) => "PostgreSQL".into(),
            Programs::Version(major) => format!("PostgreSQL {major}"),
        }
    }

    /// The programs, fetched where they must be.
    pub(crate) fn find(&self, stop: &AtomicBool) -> Result<Installation, String> {
        match self {
            Programs::Directory(directory) => Installation::at(directory).map_err(|error| format!("{error}; {ADVICE}")),
            Programs::Version(major) => Installation::of(*major, &source(), stop).map_err(|error| error.to_string()),
        }
    }
}

/// The newest installed programs, and the newest that can be fetched where those are newer; each with its name, or why
/// it is absent.
pub(crate) fn newest_of_both(stop: &AtomicBool) -> Vec<(String, Result<Installation, String>)> {
    let installed = newest_installed();
    let major = installed.as_ref().map_or(0, |installed| installed.version().major);
    let newer = VERSIONS.last().copied().filter(|newest| *newest > major).map(Programs::Version);
    let fetched = newer.map(|programs| (programs.name(), programs.find(stop)));
    [("PostgreSQL".to_string(), installed)].into_iter().chain(fetched).collect()
}

/// The newest programs that are installed.
pub(crate) fn newest_installed() -> Result<Installation, String> {
    newest(candidates().iter().filter_map(|directory| Installation::at(directory).ok())).ok_or_else(|| ADVICE.into())
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

/// readpath's own cache of fetched programs, and the proxy that it would fetch them through.
fn source() -> Source {
    let directory = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = directory("XDG_CACHE_HOME").or_else(|| Some(directory("HOME")?.join(".cache")));
    let cache = cache.map_or_else(std::env::temp_dir, |cache| cache.join("readpath"));
    let proxy = PROXIES.iter().find_map(|name| std::env::var(name).ok().filter(|proxy| !proxy.is_empty()));
    Source { cache: cache.join("postgres"), proxy }
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
        let error = Programs::Directory(folder.path().into()).find(&AtomicBool::new(false)).unwrap_err();
        assert!(error.contains("apt-get install postgresql"), "{error}");
    }

    #[test]
    fn programs_are_a_directory_or_a_version_and_never_a_running_server() {
        let programs = |word: &str| word.parse::<Programs>();
        assert_eq!(programs("postgres:18"), Ok(Programs::Version(18)));
        for word in ["/usr/lib/postgresql/15/bin", "postgres:/usr/lib/postgresql/15/bin"] {
            assert_eq!(programs(word), Ok(Programs::Directory("/usr/lib/postgresql/15/bin".into())));
        }
        assert!(programs("postgres:12").unwrap_err().contains("only of 15, 16, 17 and 18"));
        for word in ["postgres://me:secret@host/db", "postgresql://me:secret@host:no-port/db"] {
            let error = programs(word).unwrap_err();
            assert!(!error.contains("secret") && error.contains("postgres"), "{error}");
        }
    }
}
