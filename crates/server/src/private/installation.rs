//! The programs of one version of PostgreSQL: in the cache, or in a directory that the user names.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use sys::file::OwnFolder;

use super::archive::Archive;
use super::error::PrivateServerError;
use super::room::folder_in_room;
use super::unpacked::unpack;

/// Prefix of the names of folders in which an archive is being unpacked; the process number and a count follow.
const UNFINISHED: &str = "unfinished-";

/// Where programs that are not in the cache come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Folder of the cache; each version has a folder in it, which is whole or not there.
    pub cache: PathBuf,
    /// The proxy to fetch through, as a URL.
    pub proxy: Option<String>,
}

/// A version of PostgreSQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The number that counts: 18.
    pub major: u32,
    /// As `postgres --version` has it, without the packager's words: `18.6`.
    pub text: String,
}

/// The programs of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    programs: PathBuf,
    /// The folder with all that the programs need, where that is ours and may be laid elsewhere.
    pub(super) tree: Option<PathBuf>,
    version: Version,
}

impl Installation {
    /// The programs in a directory that the user names: that of `postgres` and `initdb`, or its parent.
    pub fn at(directory: &Path) -> Result<Installation, PrivateServerError> {
        let missing = |reason: String| PrivateServerError::NoInstallation { directory: directory.into(), reason };
        // The server changes into its own directory, so that a relative path would lead nowhere.
        let whole = directory.canonicalize().map_err(|error| missing(error.to_string()))?;
        let programs = [whole.join("bin"), whole].into_iter().find(|folder| folder.join("initdb").is_file());
        let programs = programs.ok_or_else(|| missing("there is no initdb".into()))?;
        let version = version_of(&programs).map_err(missing)?;
        Ok(Installation { programs, tree: None, version })
    }

    /// The programs of a major version: from the cache, or else fetched into it.
    ///
    /// The archive's checksum is compared before anything of it is unpacked, and the folder in the cache appears when
    /// all of it has reached the disk.
    pub fn of(major: u32, source: &Source, stop: &AtomicBool) -> Result<Installation, PrivateServerError> {
        let archive = Archive::of(major)?;
        let folder = source.cache.join(&archive.version);
        if !folder.is_dir() {
            let bytes = archive.fetch(source.proxy.as_deref(), stop)?;
            keep(&bytes, &source.cache, &folder, stop)?;
        }
        let installation = Installation::at(&folder)?;
        Ok(Installation { tree: Some(folder), ..installation })
    }

    /// A folder for programs in one for temporary files, which other users of the machine can write to, for a user
    /// without a cache: made where it is not there.
    ///
    /// # Errors
    /// Where what has that name is no folder of this user alone: its programs could be anyone's.
    pub fn cache_in(scratch: &Path) -> Result<PathBuf, PrivateServerError> {
        let folder = among_temporary_files(scratch);
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(PrivateServerError::at(&folder)(error));
            }
            _ => {}
        }
        let is_own = is_own(&folder).map_err(PrivateServerError::at(&folder))?;
        if is_own { Ok(folder) } else { Err(PrivateServerError::Exposed(folder)) }
    }

    /// The same folder where an earlier run made it; `None` where there is none of this user alone.
    pub fn cache_left_in(scratch: &Path) -> Option<PathBuf> {
        let folder = among_temporary_files(scratch);
        is_own(&folder).is_ok_and(|is_own| is_own).then_some(folder)
    }

    /// Whether the programs of a major version are in the cache, so that no network is needed.
    pub fn is_cached(major: u32, cache: &Path) -> bool {
        Archive::of(major).is_ok_and(|archive| cache.join(archive.version).is_dir())
    }

    /// The directory of `postgres` and `initdb`.
    pub fn programs(&self) -> &Path {
        &self.programs
    }

    /// The version that `postgres` reports.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// The same programs in `directory`, for a user who cannot enter the cache: hard links where the file system allows
    /// them, and copies otherwise. `None` where the programs are not ours to move.
    pub(super) fn laid_into(&self, directory: &Path) -> Result<Option<Installation>, PrivateServerError> {
        let Some(tree) = &self.tree else { return Ok(None) };
        lay(tree, directory).map_err(PrivateServerError::at(directory))?;
        Ok(Some(Installation { programs: directory.join("bin"), tree: Some(directory.into()), ..self.clone() }))
    }
}

/// The folder for programs of this user in one for temporary files.
fn among_temporary_files(scratch: &Path) -> PathBuf {
    scratch.join(format!("readpath-programs-{}", rustix::process::geteuid().as_raw()))
}

/// Whether this is a folder of this user to which no other can write.
fn is_own(folder: &Path) -> io::Result<bool> {
    let data = fs::symlink_metadata(folder)?;
    Ok(data.is_dir() && data.uid() == rustix::process::geteuid().as_raw() && data.mode() & 0o022 == 0)
}

/// Unpacks an archive next to `folder` and gives it that name when it is complete.
fn keep(archive: &[u8], cache: &Path, folder: &Path, stop: &AtomicBool) -> Result<(), PrivateServerError> {
    fs::create_dir_all(cache).map_err(PrivateServerError::at(cache))?;
    let unfinished = OwnFolder::create_with_mode(cache, UNFINISHED, 0o777).map_err(PrivateServerError::at(cache))?;
    unpack(archive, unfinished.path(), stop)?;
    finish(unfinished.path(), folder).map_err(PrivateServerError::at(folder))
}

/// Writes everything to the disk, then gives the folder its name. Where another process was faster, its work stays.
fn finish(unfinished: &Path, folder: &Path) -> io::Result<()> {
    rustix::fs::syncfs(fs::File::open(unfinished)?)?;
    match fs::rename(unfinished, folder) {
        Err(_) if folder.is_dir() => Ok(()),
        renamed => renamed,
    }
}

/// Makes the folders of `tree` in `directory`, with hard links to its files.
fn lay(tree: &Path, directory: &Path) -> io::Result<()> {
    fs::create_dir(directory)?;
    // The server's account must be able to enter, whatever the umask is.
    folder_in_room(directory)?.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    for entry in fs::read_dir(tree)? {
        let entry = entry?;
        let (from, to) = (entry.path(), directory.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            lay(&from, &to)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&from)?, &to)?;
        } else if fs::hard_link(&from, &to).is_err() {
            copy(&from, &to)?;
        }
    }
    Ok(())
}

/// Copies a file with its permissions to where there is none.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let (mut source, mut copy) = (fs::File::open(from)?, fs::File::create_new(to)?);
    io::copy(&mut source, &mut copy)?;
    copy.set_permissions(source.metadata()?.permissions())
}

/// Asks `postgres` for its version.
fn version_of(programs: &Path) -> Result<Version, String> {
    let postgres = programs.join("postgres");
    let said = Command::new(&postgres).arg("--version").env_clear().output();
    let said = said.map_err(|error| format!("{}: {error}", postgres.display()))?;
    let text = String::from_utf8_lossy(&said.stdout);
    let reason = || format!("`postgres --version` prints {:?}", text.chars().take(80).collect::<String>().trim());
    version_in(&text).ok_or_else(reason)
}

/// The version in `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
fn version_in(said: &str) -> Option<Version> {
    let text = said.split_once("(PostgreSQL) ")?.1.split_whitespace().next()?;
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    Some(Version { major: digits.parse().ok()?, text: text.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_what_the_program_prints_and_nothing_else() {
        let version = version_in("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n").unwrap();
        assert_eq!(version, Version { major: 15, text: "15.18".into() });
        assert_eq!(version_in("postgres (PostgreSQL) 19beta3\n").unwrap().major, 19);
        assert_eq!(version_in("mysqld 8.0"), None);
        assert_eq!(version_in("postgres (PostgreSQL) devel"), None);
    }

    #[test]
    fn the_refusal_of_a_directory_without_a_server_names_what_to_give() {
        let folder = tempfile::tempdir().unwrap();
        let error = Installation::at(folder.path()).unwrap_err().to_string();
        assert!(error.contains("there is no initdb") && error.contains("name the directory"), "{error}");
    }

    #[test]
    fn programs_are_kept_among_temporary_files_only_where_no_one_else_can_write() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = Installation::cache_in(scratch.path()).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        assert_eq!(Installation::cache_in(scratch.path()).unwrap(), folder, "made before");
        fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let refusal = Installation::cache_in(scratch.path()).unwrap_err().to_string();
        assert!(refusal.contains("others can write to it"), "{refusal}");
        fs::remove_dir(&folder).unwrap();
        assert_eq!(Installation::cache_left_in(scratch.path()), None, "nothing was made");
        std::os::unix::fs::symlink("/etc", &folder).unwrap();
        assert!(Installation::cache_in(scratch.path()).is_err());
        assert_eq!(Installation::cache_left_in(scratch.path()), None, "a link");
    }

    #[test]
    fn an_archive_that_cannot_be_unpacked_leaves_nothing_in_the_cache() {
        let cache = tempfile::tempdir().unwrap();
        let left = cache.path().join(format!("{UNFINISHED}{}-0", u32::MAX - 1));
        fs::create_dir(&left).unwrap();
        let folder = cache.path().join("18.6.0");
        assert!(keep(b"no archive", cache.path(), &folder, &AtomicBool::new(false)).is_err());
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0);
    }
}
