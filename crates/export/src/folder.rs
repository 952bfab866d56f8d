//! A folder that appears whole or not at all: it is filled under another name next to its place, and then renamed. The
//! next export to that place removes what a killed one left.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

pub use measure::atomic_file::Existing;
use measure::atomic_file::sync_folder;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use sys::file::OwnFolder;

use crate::ExportError;
use crate::rows::TABLES;

/// Prefix of the working names of folders.
const PREFIX: &str = ".readpath-export-";

/// A folder under its working name. Dropped before [`Folder::publish`], it leaves nothing.
#[derive(Debug)]
pub struct Folder {
    place: PathBuf,
    draft: OwnFolder,
    existing: Existing,
}

impl Folder {
    /// Makes an empty folder next to `place`, so that a place that cannot be used is an error before anything is read.
    /// Only a folder of exported events is replaced.
    ///
    /// # Errors
    /// Where the place is taken, or its parent cannot be written.
    pub fn begin(place: &Path, existing: Existing) -> Result<Folder, ExportError> {
        check(place, existing)?;
        // It is published with the permissions that the umask leaves.
        let draft = OwnFolder::create_with_mode(parent_of(place), PREFIX, 0o777)
            .map_err(|source| ExportError::NotWritten { path: place.into(), source })?;
        Ok(Folder { place: place.into(), draft, existing })
    }

    /// Makes a file in it.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn file(&self, name: &str) -> Result<File, ExportError> {
        File::create(self.draft.path().join(name)).map_err(|source| self.failure(source))
    }

    /// Gives the folder its name. What is in it must have been brought to the disk.
    ///
    /// # Errors
    /// Where the place has been taken meanwhile, or cannot be renamed.
    pub fn publish(self) -> Result<(), ExportError> {
        let renamed = self.rename(&|from, to, flags| renameat_with(CWD, from, CWD, to, flags));
        renamed.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => ExportError::Exists(self.place.clone()),
            _ => self.failure(source),
        })
    }

    fn rename(&self, by: &dyn Fn(&Path, &Path, RenameFlags) -> Result<(), Errno>) -> io::Result<()> {
        let draft = self.draft.path();
        sync_folder(draft)?;
        let renamed = match by(draft, &self.place, RenameFlags::NOREPLACE) {
            // The two folders change places, and dropping the draft removes the old one.
            Err(Errno::EXIST) if self.existing == Existing::Replace && is_ours(&self.place) => {
                by(draft, &self.place, RenameFlags::EXCHANGE)
            }
            other => other,
        };
        match renamed {
            // As over NFS, and on ZFS before 2.2.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.rename_plainly()?,
            other => other?,
        }
        sync_folder(parent_of(&self.place))
    }

    /// Gives the folder its name where the file system knows no renaming that replaces nothing, or none that exchanges.
    /// What appears after the look stays: a folder takes the place of no other one that has something in it.
    fn rename_plainly(&self) -> io::Result<()> {
        let (draft, place) = (self.draft.path(), &self.place);
        match fs::symlink_metadata(place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::rename(draft, place),
            Err(error) => Err(error),
            Ok(_) if self.existing == Existing::Replace && is_ours(place) => {
                // Dropped, it takes the old folder with it. A kill between the two renamings leaves neither folder.
                let aside = OwnFolder::create(parent_of(place), PREFIX)?;
                fs::rename(place, aside.path())?;
                fs::rename(draft, place).inspect_err(|_| {
                    let _ = fs::rename(aside.path(), place);
                })
            }
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }

    /// A failure of the operating system as a sentence.
    pub(crate) fn failure(&self, source: io::Error) -> ExportError {
        let path = self.place.clone();
        if has_no_room(&source) { ExportError::OutOfSpace(path) } else { ExportError::NotWritten { path, source } }
    }
}

/// Whether an error of the operating system says that there is no room.
pub(crate) fn has_no_room(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

fn parent_of(place: &Path) -> &Path {
    place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn check(place: &Path, existing: Existing) -> Result<(), ExportError> {
    match (fs::symlink_metadata(place), existing) {
        (Err(_), _) => Ok(()),
        (Ok(_), Existing::Refuse) => Err(ExportError::Exists(place.into())),
        (Ok(_), Existing::Replace) if is_ours(place) => Ok(()),
        (Ok(_), Existing::Replace) => Err(ExportError::Foreign(place.into())),
    }
}

/// Whether a folder holds nothing but exported files. Another one is never removed, nor is one that cannot be listed.
fn is_ours(place: &Path) -> bool {
    let is_table = |name: &str| TABLES.iter().any(|(table, _)| name.strip_suffix(".parquet") == Some(table));
    let is_folder = fs::symlink_metadata(place).is_ok_and(|metadata| metadata.is_dir());
    let is_exported =
        |entry: io::Result<fs::DirEntry>| entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(is_table));
    is_folder && fs::read_dir(place).is_ok_and(|mut entries| entries.all(is_exported))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_that_does_not_come_to_an_end_leaves_nothing() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::begin(&parent.path().join("events"), Existing::Refuse).unwrap();
        folder.file("calls.parquet").unwrap();
        drop(folder);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_killed_export_left_is_gone_after_the_next() {
        let parent = tempfile::tempdir().unwrap();
        let left = parent.path().join(format!("{PREFIX}1-0"));
        fs::create_dir(&left).unwrap();
        fs::write(left.join("calls.parquet"), "half").unwrap();
        drop(Folder::begin(&parent.path().join("events"), Existing::Refuse).unwrap());
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_there_is_replaced_only_when_asked_and_only_when_it_is_ours() {
        let parent = tempfile::tempdir().unwrap();
        let place = parent.path().join("events");
        let publish = |existing, file: &str| {
            let folder = Folder::begin(&place, existing)?;
            folder.file(file)?;
            folder.publish()
        };
        publish(Existing::Refuse, "calls.parquet").unwrap();
        assert!(matches!(publish(Existing::Refuse, "waits.parquet"), Err(ExportError::Exists(_))));
        publish(Existing::Replace, "waits.parquet").unwrap();
        assert!(place.join("waits.parquet").is_file() && !place.join("calls.parquet").exists());
        fs::write(place.join("thesis.txt"), "years of work").unwrap();
        assert!(matches!(publish(Existing::Replace, "calls.parquet"), Err(ExportError::Foreign(_))));
        assert!(place.join("thesis.txt").is_file());
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_cannot_be_looked_into_is_not_taken_for_an_empty_one_and_replaced() {
        let parent = tempfile::tempdir().unwrap();
        let place = parent.path().join("events");
        fs::create_dir(&place).unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o300)).unwrap();
        let is_open = fs::read_dir(&place).is_ok();
        let begun = Folder::begin(&place, Existing::Replace);
        fs::set_permissions(&place, fs::Permissions::from_mode(0o700)).unwrap();
        if is_open {
            return println!("skipped: the superuser looks into every folder");
        }
        assert!(matches!(begun, Err(ExportError::Foreign(_))), "{begun:?}");
    }

    #[test]
    fn a_file_system_without_the_renaming_that_is_asked_for_takes_the_folder_all_the_same() {
        let parent = tempfile::tempdir().unwrap();
        let place = parent.path().join("events");
        let none = |_: &Path, _: &Path, _: RenameFlags| Err(Errno::INVAL);
        let no_exchange = |from: &Path, to: &Path, flags: RenameFlags| {
            if flags == RenameFlags::EXCHANGE { Err(Errno::INVAL) } else { renameat_with(CWD, from, CWD, to, flags) }
        };
        let filled = |existing, file: &str| {
            let folder = Folder::begin(&place, existing).unwrap();
            folder.file(file).unwrap();
            folder
        };
        let names = |folder: &Path| {
            let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
            entries.collect::<Vec<_>>()
        };
        let late = filled(Existing::Refuse, "sessions.parquet");
        filled(Existing::Refuse, "calls.parquet").rename(&none).unwrap();
        assert_eq!(names(&place), ["calls.parquet"]);
        assert_eq!(late.rename(&none).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        filled(Existing::Replace, "waits.parquet").rename(&none).unwrap();
        assert_eq!(names(&place), ["waits.parquet"]);
        filled(Existing::Replace, "statements.parquet").rename(&no_exchange).unwrap();
        assert_eq!(names(&place), ["statements.parquet"]);
        drop(late);
        assert_eq!(names(parent.path()), ["events"], "nothing else is left");
    }
}
