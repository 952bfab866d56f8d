//! The table of devices: which word on the command line opens which.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sys::file::Caching;

use crate::device::{Device, DeviceError};
use crate::row::{DeviceRow, Files, Word};
use crate::{file, model, null};

/// Every kind of device. The last one takes all words that no other takes.
pub const DEVICES: &[DeviceRow] = &[model::ROW, null::ROW, file::ROW];

/// Opens the device that `word` names: a path, or a word of [`DEVICES`].
pub fn open(word: &Path, caching: Caching) -> Result<Box<dyn Device>, DeviceError> {
    let (row, rest) = row(word);
    (row.open)(Word { rest, caching })
}

/// As [`open`], past the page cache, or through it where a file's file system refuses direct I/O.
pub fn open_direct_or_buffered(word: &Path) -> Result<Box<dyn Device>, DeviceError> {
    match has_prefix(word) {
        true => open(word, Caching::Direct),
        false => Ok(Box::new(file::direct_or_buffered(word)?)),
    }
}

/// Places files on the device that `word` names; an empty word leaves them where they are.
pub fn place(word: &Path, caching: Caching, files: Files<'_>) -> Result<Vec<Box<dyn Device>>, DeviceError> {
    let (row, rest) = row(word);
    (row.place)(Word { rest, caching }, files)
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
