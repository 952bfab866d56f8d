//! Data files of the catalog, to be verified and to be damaged.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::page::PageBytes;
use crate::page::id::PAGE_SIZE;

/// The first page that `verify` refuses, with its reason.
pub(crate) fn first_bad_page(
    path: &Path,
    verify: impl Fn(&PageBytes, u32) -> Result<(), String>,
) -> Result<(), (u32, String)> {
    let file = fs::read(path).unwrap();
    let (pages, rest) = file.as_chunks::<PAGE_SIZE>();
    assert!(rest.is_empty(), "whole pages");
    (0..).zip(pages).try_for_each(|(number, bytes)| verify(bytes, number).map_err(|reason| (number, reason)))
}

/// Turns one bit around.
pub(crate) fn change_byte(path: &Path, at: u64) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 4], at).unwrap();
}

/// Cuts a file to this many bytes.
pub(crate) fn cut(path: &Path, bytes: u64) {
    File::options().write(true).open(path).unwrap().set_len(bytes).unwrap();
}
