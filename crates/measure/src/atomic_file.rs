//! Files that appear whole or not at all: temporary file, fsync, rename, fsync of the directory.
//!
//! The only writer of small files that must survive a crash: runs, manifests, pictures.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// Prefix of temporary files; the dot keeps them out of every list of runs.
const TEMPORARY_PREFIX: &str = ".readpath-writing-";

/// Bytes that [`probe`] writes: about a run document with its timelines.
const PROBE_BYTES: usize = 64 << 10;

/// What to do where the place of a file is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Leave what is there and fail, also where it appeared while the file was written.
    Refuse,
    /// Put the file in its place.
    Replace,
}

/// Puts `bytes` at `path`, whole or not at all, and durable on return. Those may read the file who may read its
/// directory, as far as the umask leaves that.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write(path, bytes, Existing::Replace)
}

/// Like [`replace`]; with [`Existing::Refuse`] the error is `AlreadyExists` where the place is taken.
pub fn write(path: &Path, bytes: &[u8], existing: Existing) -> io::Result<()> {
    Draft::beside(path)?.publish(path, bytes, existing)
}

/// Fails if no file can be created and filled in `dir`.
pub fn probe(dir: &Path) -> io::Result<()> {
    Draft::in_directory(dir)?.fill(&[0; PROBE_BYTES])
}

/// Removes temporary files whose writer is dead.
///
/// A living writer holds a lock on its file, so a lock that can be taken proves that the writer is dead. Process ids
/// prove nothing: they are reused, and differ between containers that share the directory.
pub fn sweep(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(TEMPORARY_PREFIX) {
            sweep_one(&entry.path());
        }
    }
    Ok(())
}

/// A file that cannot be locked or removed stays: it does no harm.
fn sweep_one(path: &Path) {
    // To open a pipe would wait for its other end.
    if !fs::symlink_metadata(path).is_ok_and(|data| data.is_file()) {
        return;
    }
    let Ok(file) = File::open(path) else { return };
    if file.try_lock().is_ok() {
        let _ = fs::remove_file(path);
    }
}

/// A temporary file, locked while it is written and removed unless it is published.
#[derive(Debug)]
pub struct Draft {
    file: File,
    path: PathBuf,
    published: bool,
}

impl Draft {
    /// Creates a draft in the directory of `path`, so that a place that cannot be written fails before the work. The
    /// drafts that killed processes left there are removed.
    pub fn beside(path: &Path) -> io::Result<Draft> {
        let _ = sweep(directory_of(path));
        Draft::in_directory(directory_of(path))
    }

    fn in_directory(dir: &Path) -> io::Result<Draft> {
        loop {
            let path = dir.join(unused_name());
            let mode = fs::metadata(dir)?.mode() & 0o666;
            let file = match OpenOptions::new().write(true).create_new(true).mode(mode | 0o600).open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            };
            let draft = Draft { file, path, published: false };
            if draft.claim()? {
                return Ok(draft);
            }
        }
    }

    /// The file, for writers that do not have all bytes at once. They bring them to the disk themselves.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Writes `bytes` and gives the file the name `path`, which lies in the draft's directory.
    pub fn publish(mut self, path: &Path, bytes: &[u8], existing: Existing) -> io::Result<()> {
        self.fill(bytes)?;
        self.publish_as_it_is(path, existing)
    }

    /// Gives the file the name `path`, with what was written to it and brought to the disk.
    pub fn publish_as_it_is(mut self, path: &Path, existing: Existing) -> io::Result<()> {
        match existing {
            Existing::Replace => self.rename(path)?,
            Existing::Refuse => self.link(path)?,
        }
        // Without this the new name may be lost with the power although its content is on the device.
        sync_folder(directory_of(path))
    }

    fn rename(&mut self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        self.published = true;
        Ok(())
    }

    /// A second name for the file, since a link takes the place of no other one; the first name goes with the draft.
    fn link(&mut self, path: &Path) -> io::Result<()> {
        match fs::hard_link(&self.path, path) {
            // A file system without links, such as that of a memory card, leaves a moment for another file to appear.
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists && fs::symlink_metadata(path).is_err() => {
                self.rename(path)
            }
            linked => linked,
        }
    }

    fn fill(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        // Some file systems allocate late and report only now that they are full.
        self.file.sync_all()
    }

    /// Takes the lock; false if another process swept the file between its creation and the lock.
    fn claim(&self) -> io::Result<bool> {
        match self.file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(false),
            // A file system without locks: no other process can take one either, so none sweeps.
            Err(TryLockError::Error(_)) => return Ok(true),
        }
        let inode = self.file.metadata()?.ino();
        Ok(fs::metadata(&self.path).is_ok_and(|found| found.ino() == inode))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.published {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Brings the names in a folder to the disk. A file system that does not know this for folders, as some over FUSE, SMB
/// or 9p, keeps them in its own way: that is no failure. Nor is a folder that may be written to but not read: it
/// cannot be opened, yet the file is in it.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        opened => unless_unknown(opened?.sync_all()),
    }
}

/// Takes for success what the kernel answers where a file system does not know the call: `EINVAL`, or `ENOSYS` or
/// `EOPNOTSUPP`, which are both `Unsupported`.
fn unless_unknown(synced: io::Result<()>) -> io::Result<()> {
    synced.or_else(|error| match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported => Ok(()),
        _ => Err(error),
    })
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A name that no other writer of this process uses; `create_new` refuses a name taken by another process.
fn unused_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{TEMPORARY_PREFIX}{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_a_killed_writer_left_is_swept_and_what_a_living_one_writes_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let abandoned = dir.path().join(format!("{TEMPORARY_PREFIX}1-0"));
        fs::write(&abandoned, "half").unwrap();
        let living = Draft::in_directory(dir.path()).unwrap();
        sweep(dir.path()).unwrap();
        assert!(!abandoned.exists());
        assert!(living.path.exists());
    }

    #[test]
    fn what_a_killed_run_left_beside_a_file_goes_with_the_next_one_and_a_pipe_of_that_name_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let [abandoned, pipe] = ["1-0", "1-1"].map(|name| dir.path().join(format!("{TEMPORARY_PREFIX}{name}")));
        fs::write(&abandoned, "half").unwrap();
        assert!(process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        replace(&dir.path().join("page.html"), b"whole").unwrap();
        assert!(!abandoned.exists() && pipe.exists());
    }

    #[test]
    fn a_folder_that_its_file_system_cannot_bring_to_the_disk_fails_no_writer_and_a_broken_disk_does() {
        let synced = |number: i32| unless_unknown(Err(io::Error::from_raw_os_error(number)));
        // The kernel's own numbers: what they are called is the standard library's, and may change with it.
        for (name, number) in [("EINVAL", 22), ("ENOSYS", 38), ("EOPNOTSUPP", 95)] {
            assert!(synced(number).is_ok(), "{name}");
        }
        for (name, number) in [("EIO", 5), ("ENOSPC", 28), ("EROFS", 30)] {
            let failed = synced(number).map_err(|error| error.raw_os_error());
            assert_eq!(failed, Err(Some(number)), "{name}");
        }
        // The kernel's own folders are on no disk: the call fails there.
        assert!(sync_folder(Path::new("/proc")).is_ok());
        let missing = sync_folder(Path::new("/nonexistent/folder")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_file_in_a_folder_that_may_not_be_looked_into_is_not_said_to_be_missing() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o300)).unwrap();
        let path = dir.path().join("page.html");
        let written = write(&path, b"whole", Existing::Refuse);
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert!(written.is_ok(), "{written:?}");
        assert_eq!(fs::read(&path).unwrap(), b"whole");
    }

    #[test]
    fn a_writer_that_fails_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let nowhere = dir.path().join("missing/run.json");
        for existing in [Existing::Refuse, Existing::Replace] {
            assert!(Draft::in_directory(dir.path()).unwrap().publish(&nowhere, b"{}", existing).is_err());
        }
        assert!(replace(&nowhere, b"{}").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_or_a_link_that_appears_while_another_is_written_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let [file, link, free] = ["file.svg", "link.svg", "free.svg"].map(|name| dir.path().join(name));
        let drafts = [&file, &link, &free].map(|path| (Draft::beside(path).unwrap(), path));
        fs::write(&file, "another's").unwrap();
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        let published =
            drafts.map(|(draft, path)| draft.publish(path, b"whole", Existing::Refuse).map_err(|e| e.kind()));
        let taken = Err(io::ErrorKind::AlreadyExists);
        assert_eq!(published, [taken, taken, Ok(())]);
        assert_eq!([&file, &free].map(|path| fs::read_to_string(path).unwrap()), ["another's", "whole"]);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3, "no draft is left");
    }
}
