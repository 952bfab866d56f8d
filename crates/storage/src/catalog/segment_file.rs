//! A data file of the catalog, of a table or of an index: how it is made, checked and removed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use measure::atomic_file::sync_folder;
use rustix::fs::{Advice, OFlags};
use rustix::io::Errno;

use crate::error::{StorageError, io_error};
use crate::page::id::{PAGE_SIZE, PageId, SegmentId};
use crate::page::{Damage, MAGIC, PageBytes, field};

/// Bytes that stay free on the disk.
const RESERVE_BYTES: u64 = 64 << 20;

/// Bytes by which the maker of a file is known: a killed process leaves sectors that are written or not.
const SECTOR_BYTES: u64 = 512;

/// The name of a data file.
pub fn segment_file(segment: SegmentId) -> String {
    format!("segment-{:05}.pages", segment.0)
}

/// Whether the name is one of a data file. Another program's file may have it too: see [`Beginning`].
pub(crate) fn is_segment_file(name: &str) -> bool {
    let number = name.strip_prefix("segment-").and_then(|rest| rest.strip_suffix(".pages"));
    number.and_then(|number| number.parse().ok()).is_some_and(|number| segment_file(SegmentId(number)) == name)
}

/// Who made a file that has the name of a data file, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// This program: it begins with a page.
    Ours,
    /// Nothing is written there yet, as where a load was killed.
    Unwritten,
    /// Another program, or it is no file.
    Foreign,
}

impl Beginning {
    /// Looks at the file.
    pub(crate) fn of(path: &Path) -> Result<Beginning, StorageError> {
        let first_bytes = || -> io::Result<Option<Vec<u8>>> {
            // To open a pipe would wait for its other end.
            if !fs::symlink_metadata(path)?.is_file() {
                return Ok(None);
            }
            let mut bytes = Vec::new();
            File::open(path)?.take(SECTOR_BYTES).read_to_end(&mut bytes)?;
            Ok(Some(bytes))
        };
        let bytes = match first_bytes() {
            // Another load has removed it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Beginning::Unwritten),
            read => read.map_err(io_error(path, "reading"))?,
        };
        Ok(match bytes {
            Some(bytes) if bytes.iter().all(|byte| *byte == 0) => Beginning::Unwritten,
            Some(bytes) if bytes.get(field::MAGIC..).is_some_and(|rest| rest.starts_with(&MAGIC)) => Beginning::Ours,
            _ => Beginning::Foreign,
        })
    }
}

/// A data file as the catalog describes it.
#[derive(Clone, Debug)]
pub(crate) struct SegmentFile {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// The segment that its pages name.
    pub(crate) segment: SegmentId,
    /// Its pages.
    pub(crate) pages: u32,
}

impl SegmentFile {
    /// Opens it to read; `None` where there is none. Errors where it is not as long as its pages.
    pub(crate) fn open(&self) -> Result<Option<OpenSegment<'_>>, StorageError> {
        let file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(io_error(&self.path, "opening"))?,
        };
        let length = file.metadata().map_err(io_error(&self.path, "looking at"))?.len();
        let expected = u64::from(self.pages) * PAGE_SIZE as u64;
        let open = OpenSegment { of: self, file };
        if length == expected {
            return Ok(Some(open));
        }
        let first = length.min(expected.saturating_sub(1)) / PAGE_SIZE as u64;
        Err(open.bad_page(first as u32, format!("the file is {length} bytes long and should be {expected}")))
    }
}

/// A data file of the right length, open to read.
#[derive(Debug)]
pub(crate) struct OpenSegment<'a> {
    of: &'a SegmentFile,
    file: File,
}

impl OpenSegment<'_> {
    /// Reads page `number` and hands it to `verify`. Errors name the page and its damage.
    pub(crate) fn check<T>(
        &self,
        number: u32,
        verify: impl FnOnce(&PageBytes, PageId) -> Result<T, Damage>,
    ) -> Result<T, StorageError> {
        let (mut bytes, page) = ([0; PAGE_SIZE], PageId { segment: self.of.segment, number });
        let offset = u64::from(number) * PAGE_SIZE as u64;
        self.file.read_exact_at(&mut bytes, offset).map_err(io_error(&self.of.path, "reading"))?;
        verify(&bytes, page).map_err(|damage| self.bad_page(number, damage.to_string()))
    }

    /// The error of a page that must not be used.
    pub(crate) fn bad_page(&self, number: u32, reason: String) -> StorageError {
        let page = PageId { segment: self.of.segment, number };
        StorageError::BadPage { file: self.of.path.clone(), page, reason }
    }
}

/// A data file that is being made. Dropped without [`NewSegment::keep`], it is removed.
#[derive(Debug)]
pub(crate) struct NewSegment {
    path: PathBuf,
    file: File,
    bytes: u64,
    is_kept: bool,
}

impl NewSegment {
    /// A new file of about this size. Errors where the disk has no room for them.
    ///
    /// It is written past the page cache where the file system allows it: what was loaded is not to look cached
    /// afterwards.
    pub(crate) fn create(path: PathBuf, bytes: u64) -> Result<NewSegment, StorageError> {
        let directory = directory_of(&path);
        let free = free_bytes(directory).map_err(|errno| io_error(directory, "looking at")(errno.into()))?;
        let needed = bytes.saturating_add(RESERVE_BYTES);
        if needed > free {
            return Err(StorageError::NoSpace { directory: directory.into(), needed, free });
        }
        let file = create_direct(&path).map_err(io_error(&path, "creating"))?;
        Ok(NewSegment { path, file, bytes, is_kept: false })
    }

    /// The file, to be written.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// What a failed write means: a full disk has an error of its own, the others name the file.
    pub(crate) fn failed(&self, error: io::Error) -> StorageError {
        write_error(&self.path, self.bytes, error)
    }

    /// What it means that the manifest which is to name the file could not be written: a full disk is the same danger
    /// there as under the file's pages.
    pub(crate) fn not_named(&self, error: StorageError) -> StorageError {
        match error {
            StorageError::Io { file, error, .. } => write_error(&file, self.bytes, error),
            other => other,
        }
    }

    /// Puts the bytes and the name on the disk.
    pub(crate) fn finish(&self) -> Result<(), StorageError> {
        self.file.sync_all().map_err(io_error(&self.path, "writing to the disk"))?;
        rustix::fs::fadvise(&self.file, 0, None, Advice::DontNeed).map_err(|errno| self.failed(errno.into()))?;
        let directory = directory_of(&self.path);
        sync_folder(directory).map_err(io_error(directory, "writing to the disk"))
    }

    /// Keeps the file: the manifest names it.
    pub(crate) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for NewSegment {
    fn drop(&mut self) {
        if !self.is_kept {
            // The load has failed for a reason of its own; what cannot be removed now is removed by the next load.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn directory_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

fn create_direct(path: &Path) -> io::Result<File> {
    let create = |flags| OpenOptions::new().write(true).create_new(true).custom_flags(flags).open(path);
    match create(OFlags::DIRECT.bits() as i32) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            // Some file systems make the file before they refuse the flag.
            let _ = fs::remove_file(path);
            create(0)
        }
        created => created,
    }
}

/// What a failed write of `bytes` bytes to a file of a data directory means.
fn write_error(path: &Path, bytes: u64, error: io::Error) -> StorageError {
    let directory = directory_of(path);
    match Errno::from_io_error(&error) {
        Some(Errno::NOSPC | Errno::DQUOT) => StorageError::NoSpace {
            directory: directory.into(),
            needed: bytes,
            free: free_bytes(directory).unwrap_or(0),
        },
        _ => StorageError::Io { file: path.into(), doing: "writing", error },
    }
}

fn free_bytes(directory: &Path) -> Result<u64, Errno> {
    let space = rustix::fs::statvfs(directory)?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}

/// Removes a file; an absent one is no error.
pub(crate) fn remove_file(path: &Path) -> Result<(), StorageError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(path, "removing")(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_apart_from_other_failures() {
        let error = |errno: Errno| write_error(Path::new("/nowhere/file"), 9, errno.into());
        assert!(matches!(error(Errno::NOSPC), StorageError::NoSpace { needed: 9, .. }));
        assert!(matches!(error(Errno::IO), StorageError::Io { .. }));
    }

    #[test]
    fn a_disk_without_room_for_the_manifest_is_called_full() {
        let directory = tempfile::tempdir().unwrap();
        let file = NewSegment::create(directory.path().join(segment_file(SegmentId(0))), 8192).unwrap();
        let failed = |errno: Errno| io_error(&directory.path().join("manifest"), "writing")(errno.into());
        assert!(matches!(file.not_named(failed(Errno::NOSPC)), StorageError::NoSpace { needed: 8192, .. }));
        assert!(matches!(file.not_named(failed(Errno::IO)), StorageError::Io { .. }));
    }

    #[test]
    fn a_file_that_is_not_finished_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(segment_file(SegmentId(3)));
        drop(NewSegment::create(path.clone(), 8192).unwrap());
        assert!(!path.exists());
        NewSegment::create(path.clone(), 8192).unwrap().keep();
        assert!(path.exists());
    }
}
