//! Unpacking an archive of PostgreSQL's programs: a zip with one `.txz` in it, a tar compressed by xz.
//!
//! The checksum was verified before. Still, no name in the archive is trusted: a name that leads out of the directory,
//! or anything but files, folders and links to a neighbour, ends the unpacking.

use std::io::{Cursor, Read};
use std::path::{Component, Path};
use std::sync::atomic::{AtomicBool, Ordering};

use lzma_rust2::XzReader;
use tar::EntryType;
use zip::ZipArchive;

use super::error::PrivateServerError;

/// Most bytes that are unpacked: the archives hold 60 MiB.
const UNPACKED_BYTES_MAX: u64 = 1 << 30;

/// Unpacks `archive` into `directory`, which exists and is empty.
pub(super) fn unpack(archive: &[u8], directory: &Path, stop: &AtomicBool) -> Result<(), PrivateServerError> {
    let mut zip = ZipArchive::new(Cursor::new(archive)).map_err(bad)?;
    let mut names = zip.file_names().filter_map(Result::ok).map(String::from);
    let name = names.find(|name| name.ends_with(".txz")).ok_or_else(|| bad("it holds no .txz"))?;
    drop(names);
    let inner = zip.by_name(&name).map_err(bad)?;
    unpack_tar(XzReader::new(inner, false).take(UNPACKED_BYTES_MAX), directory, stop)
}

fn unpack_tar(tar: impl Read, directory: &Path, stop: &AtomicBool) -> Result<(), PrivateServerError> {
    let mut archive = tar::Archive::new(tar);
    archive.set_overwrite(false);
    for entry in archive.entries().map_err(bad)? {
        if stop.load(Ordering::Relaxed) {
            return Err(PrivateServerError::Stopped);
        }
        let mut entry = entry.map_err(bad)?;
        let path = entry.path().map_err(bad)?.into_owned();
        let is_inside = match entry.header().entry_type() {
            EntryType::Regular | EntryType::Directory => true,
            EntryType::Symlink => entry.link_name().map_err(bad)?.is_some_and(|target| is_neighbour(&target)),
            _ => false,
        };
        if !is_inside || !leads_inside(&path) || !entry.unpack_in(directory).map_err(bad)? {
            return Err(bad(format!("{:?} in it would lead out of the directory", path.display().to_string())));
        }
    }
    Ok(())
}

/// Whether a path has only plain names.
fn leads_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Whether a link's target is one plain name.
fn is_neighbour(target: &Path) -> bool {
    let mut parts = target.components();
    matches!(parts.next(), Some(Component::Normal(_))) && parts.next().is_none()
}

fn bad(reason: impl ToString) -> PrivateServerError {
    PrivateServerError::BadArchive(reason.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tar::{Builder, Header};

    use super::*;

    /// A tar of one entry whose name is written as it is, which the builder itself would refuse.
    fn tar_of(kind: EntryType, name: &str, target: &str) -> Vec<u8> {
        let mut header = Header::new_ustar();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.as_mut_bytes()[157..157 + target.len()].copy_from_slice(target.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(if kind == EntryType::Regular { 3 } else { 0 });
        header.set_cksum();
        let mut builder = Builder::new(Vec::new());
        builder.append(&header, if kind == EntryType::Regular { &b"abc"[..] } else { &b""[..] }).unwrap();
        builder.into_inner().unwrap()
    }

    fn unpacked(kind: EntryType, name: &str, target: &str) -> (tempfile::TempDir, Result<(), PrivateServerError>) {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let result = unpack_tar(tar_of(kind, name, target).as_slice(), &inner, &AtomicBool::new(false));
        (folder, result)
    }

    #[test]
    fn a_name_that_leads_out_of_the_directory_is_refused() {
        for name in ["../outside", "bin/../../outside", "/outside"] {
            let (folder, result) = unpacked(EntryType::Regular, name, "");
            assert!(result.unwrap_err().to_string().contains("lead out"), "{name}");
            assert!(!folder.path().join("outside").exists() && !Path::new("/outside").exists(), "{name}");
        }
    }

    #[test]
    fn a_link_that_leads_out_of_the_directory_is_refused() {
        for (kind, target) in [
            (EntryType::Symlink, "/etc"),
            (EntryType::Symlink, "../outside"),
            (EntryType::Symlink, ".."),
            (EntryType::Link, "other"),
            (EntryType::Char, ""),
        ] {
            let (folder, result) = unpacked(kind, "lib", target);
            assert!(result.is_err(), "{kind:?} {target}");
            assert!(fs::symlink_metadata(folder.path().join("inner/lib")).is_err(), "{kind:?} {target}");
        }
    }

    #[test]
    fn a_plain_file_and_a_link_to_a_neighbour_are_unpacked() {
        let (folder, result) = unpacked(EntryType::Regular, "bin/postgres", "");
        result.unwrap();
        assert_eq!(fs::read(folder.path().join("inner/bin/postgres")).unwrap(), b"abc");
        let (folder, result) = unpacked(EntryType::Symlink, "lib/libpq.so", "libpq.so.5");
        result.unwrap();
        assert_eq!(fs::read_link(folder.path().join("inner/lib/libpq.so")).unwrap(), Path::new("libpq.so.5"));
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = unpack(b"PK no archive", folder.path(), &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(error, PrivateServerError::BadArchive(_)), "{error}");
    }
}
