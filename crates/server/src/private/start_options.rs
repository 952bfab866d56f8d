//! The command line of a data directory's last start, in its `postmaster.opts`: kept while a server of ours runs there,
//! and put back when it has ended.
//!
//! A server writes its own command line to that file, and `pg_ctl restart` starts the next one by it. By ours, it would
//! look for its files in a folder that is gone. After `kill -9` ours stays, until the next server of ours has ended.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::room::PREFIX;

/// The file, and the lock file of a server that runs.
const OPTIONS: &str = "postmaster.opts";
const LOCK: &str = "postmaster.pid";

/// What the file held. Dropping it puts that back, unless a server runs there.
#[derive(Debug)]
pub(super) struct StartOptions {
    directory: PathBuf,
    /// `None` where there was no such file, or that of a server of ours.
    held: Option<Vec<u8>>,
}

impl StartOptions {
    /// Reads the file in a data directory on which no server runs.
    pub(super) fn of(directory: &Path) -> io::Result<StartOptions> {
        let held = match open(&directory.join(OPTIONS), File::options().read(true)) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
            Ok(mut file) => {
                let mut held = Vec::new();
                file.read_to_end(&mut held)?;
                (!is_ours(&held)).then_some(held)
            }
        };
        Ok(StartOptions { directory: directory.into(), held })
    }

    fn put_back(&self) -> io::Result<()> {
        let path = self.directory.join(OPTIONS);
        let Some(held) = &self.held else { return fs::remove_file(path) };
        let mut file = open(&path, File::options().write(true))?;
        file.set_len(0)?;
        file.write_all(held)
    }
}

impl Drop for StartOptions {
    fn drop(&mut self) {
        // A server that runs there by now has written its own.
        if fs::symlink_metadata(self.directory.join(LOCK)).is_err() {
            // The next start writes the file anew, whatever it holds.
            let _ = self.put_back();
        }
    }
}

/// Whether a killed run left this command line: each word stands in quotation marks, and one names a file that is gone
/// with that run's folder.
fn is_ours(held: &[u8]) -> bool {
    let text = String::from_utf8_lossy(held);
    text.split('"').any(|word| word.starts_with("hba_file=") && word.contains(PREFIX))
}

/// Opens the file. Where this process is root, the directory's owner could lead it elsewhere, by a link or a pipe.
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    let found = file.metadata()?;
    match found.is_file() && found.nlink() == 1 {
        true => Ok(file),
        false => Err(io::Error::other("it is no file of the directory's own")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_next_restart_by_pg_ctl_is_not_by_our_command_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(OPTIONS);
        let none = StartOptions::of(folder.path()).unwrap();
        fs::write(&path, "ours").unwrap();
        drop(none);
        assert!(!path.exists(), "there was none");
        fs::write(&path, "the owner's\n").unwrap();
        let held = StartOptions::of(folder.path()).unwrap();
        fs::write(&path, "ours, and longer").unwrap();
        drop(held);
        assert_eq!(fs::read_to_string(&path).unwrap(), "the owner's\n");
        let held = StartOptions::of(folder.path()).unwrap();
        fs::write(&path, "of a server that runs").unwrap();
        fs::write(folder.path().join(LOCK), "1\n").unwrap();
        drop(held);
        assert_eq!(fs::read_to_string(&path).unwrap(), "of a server that runs");
    }

    #[test]
    fn the_command_line_that_a_killed_run_left_is_not_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(OPTIONS);
        let kept = |options: &str| {
            fs::write(&path, options).unwrap();
            drop(StartOptions::of(folder.path()).unwrap());
            path.exists()
        };
        assert!(!kept("/bin/postgres \"-D\" \"/srv\" \"-c\" \"hba_file=/tmp/readpath-postgres-7-0/pg_hba.conf\"\n"));
        assert!(kept("/bin/postgres \"-D\" \"/srv/readpath-postgres-copy\" \"-c\" \"hba_file=/etc/pg_hba.conf\"\n"));
    }

    #[test]
    fn a_link_in_the_place_of_the_command_line_is_neither_read_nor_written() {
        let folder = tempfile::tempdir().unwrap();
        let (path, victim) = (folder.path().join(OPTIONS), folder.path().join("victim"));
        fs::write(&victim, "kept").unwrap();
        let make = |is_hard| if is_hard { fs::hard_link(&victim, &path) } else { symlink(&victim, &path) };
        for is_hard in [false, true] {
            make(is_hard).unwrap();
            assert!(StartOptions::of(folder.path()).is_err());
            fs::remove_file(&path).unwrap();
            fs::write(&path, "the owner's\n").unwrap();
            let held = StartOptions::of(folder.path()).unwrap();
            fs::remove_file(&path).unwrap();
            make(is_hard).unwrap();
            drop(held);
            assert_eq!(fs::read_to_string(&victim).unwrap(), "kept");
            fs::remove_file(&path).unwrap();
        }
    }
}
