//! The table of devices: which word on the command line opens which.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sys::file::{Caching, TargetError};

use crate::device::{Device, DeviceError};
use crate::row::{DeviceRow, Files, PageCache, Word};
use crate::{file, model, null};

/// Every kind of device. The last one takes all words that no other takes.
pub const DEVICES: &[DeviceRow] = &[model::ROW, null::ROW, file::ROW];

/// Opens the device that `word` names: a path, or a word of [`DEVICES`].
pub fn open(word: &Path, caching: Caching) -> Result<Box<dyn Device>, DeviceError> {
    open_with(word, PageCache::As(caching))
}

/// As [`open`], past the page cache, or through it where a file's file system refuses direct I/O.
pub fn open_direct_or_buffered(word: &Path) -> Result<Box<dyn Device>, DeviceError> {
    open_with(word, PageCache::AvoidedWherePossible)
}

fn open_with(word: &Path, page_cache: PageCache) -> Result<Box<dyn Device>, DeviceError> {
    let (row, rest) = row(word);
    (row.open)(Word { rest, page_cache }).map_err(|error| with_meant(word, error))
}

/// Why there is no file of this name, with the word of the table that may have been meant.
fn with_meant(word: &Path, error: DeviceError) -> DeviceError {
    match error {
        DeviceError::Target(TargetError::NotFound { .. }) => not_a_file(word).unwrap_or(error),
        _ => error,
    }
}

/// The error for a word that names no file, but resembles a word of the table; `None` where it resembles none.
pub fn not_a_file(word: &Path) -> Option<DeviceError> {
    let meant = meant(word);
    let sentence = || {
        format!(
            "{} does not exist: write {} if you mean a device of readpath's own, or name an existing file or block \
             device",
            word.display(),
            meant.join(" or ")
        )
    };
    (!meant.is_empty()).then(|| DeviceError::Word(sentence()))
}

/// The words of the table that are this one behind their prefix, or whose prefix it is without the colon.
fn meant(word: &Path) -> Vec<String> {
    let Some(word) = word.to_str().filter(|word| !word.is_empty()) else { return Vec::new() };
    let of_row = |row: &DeviceRow| -> Vec<String> {
        let is_prefix = row.prefix.strip_suffix(':') == Some(word);
        let is_meant = |example: &String| is_prefix || example.strip_prefix(row.prefix) == Some(word);
        (row.examples)().into_iter().filter(is_meant).collect()
    };
    DEVICES.iter().flat_map(of_row).collect()
}

/// Places files on the device that `word` names; an empty word leaves them where they are.
pub fn place(word: &Path, caching: Caching, files: Files<'_>) -> Result<Vec<Box<dyn Device>>, DeviceError> {
    let (row, rest) = row(word);
    (row.place)(Word { rest, page_cache: PageCache::As(caching) }, files)
}

/// Whether `word` names a device by a prefix, and is no path.
pub fn has_prefix(word: &Path) -> bool {
    !row(word).0.prefix.is_empty()
}

/// Why no kernel reads the device that `word` names, as [`DeviceRow::without_kernel`]; `None` where a kernel does.
pub fn without_kernel(word: &Path) -> Option<&'static str> {
    row(word).0.without_kernel
}

fn row(word: &Path) -> (&'static DeviceRow, &Path) {
    let named = DEVICES.iter().find_map(|row| {
        let rest = word.as_os_str().as_bytes().strip_prefix(row.prefix.as_bytes())?;
        Some((row, Path::new(OsStr::from_bytes(rest))))
    });
    named.expect("the last row takes every word")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_its_prefix_is_not_only_called_a_file_that_is_missing() {
        let refused = |word: &str| {
            let word = Path::new(word);
            let opened = [open(word, Caching::Direct), open_direct_or_buffered(word)];
            let [one, other] = opened.map(|opened| opened.unwrap_err().to_string());
            assert_eq!(one, other);
            one
        };
        assert!(refused("null").starts_with("null does not exist: write null: if you mean"), "{}", refused("null"));
        assert!(refused("ssd").contains("write model:ssd if"), "{}", refused("ssd"));
        assert!(refused("model").contains("model:hdd-7200 or "), "{}", refused("model"));
        assert!(refused("/absent").ends_with("/absent does not exist; name an existing file or block device"));
    }
}
