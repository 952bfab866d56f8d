//! What is given to be read: files, folders, patterns and standard input, compressed or not, in an archive or not.
//!
//! Nothing here knows what a trace is, but for the names that are looked for in folders, for the signs of the
//! kinds of files in an archive, and for the sentence that says what a file is that is none.

mod archive;
pub mod bytes;
mod compression;
mod contents;
mod cut;
mod expand;
pub mod foreign;
mod frames;
mod given;
mod packing;
mod peeked;
mod problem;
mod side_by_side;
mod tar;
mod within;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

pub use compression::Compression;
pub use contents::{Contents, Duplicates, Kinds};
pub(crate) use contents::{FileWithin, SharedContents};
pub use expand::{Expansion, expand};
pub(crate) use expand::{is_matched, last_of, stem_of};
pub use foreign::Kind;
pub use given::Given;
pub use packing::is_packed_name;
pub(crate) use peeked::{Peeked, look_ahead};
pub use problem::Problem;

use bytes::Bytes;
use sys::file::awaited::{self, Awaited};

/// Opens one thing to read. Whether it is compressed is seen from its bytes, not from its name.
pub fn open(given: &Given) -> Result<Bytes, Problem> {
    let opened = match given {
        Given::StandardInput => standard_input(),
        Given::File(path) => awaited::open(path).and_then(open_file),
    };
    opened.map_err(|error| Problem::unreadable(given, error))
}

/// Bytes that stand in the process's own buffer are none: nothing else reads here.
fn standard_input() -> io::Result<Bytes> {
    let own = io::stdin().as_fd().try_clone_to_owned()?;
    compression::unpack_pipe(Awaited::new(File::from(own))).map(tar::unpack)
}

fn open_file(file: File) -> io::Result<Bytes> {
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    // A pipe or a terminal has no places to read at.
    if !metadata.is_file() {
        return compression::unpack_pipe(Awaited::new(file)).map(tar::unpack);
    }
    match compression_of(&file)? {
        // Each of its files may be a tar archive, which is seen when that file is opened.
        Some(Compression::Zip) => return archive::unpack(file),
        Some(compression) => return compression.unpack_file(file).map(tar::unpack),
        None => {}
    }
    let is_archive = is_archive(&file)?;
    let bytes = Bytes::from_file(file, 0, metadata.len());
    Ok(if is_archive { tar::unpack(bytes) } else { bytes })
}

/// Whether what is in a plain file can only be read from its beginning: it is compressed, or an archive.
pub(crate) fn is_packed(file: &File) -> io::Result<bool> {
    Ok(compression_of(file)?.is_some() || is_archive(file)?)
}

fn is_archive(file: &File) -> io::Result<bool> {
    Ok(tar::is_header(&head(file, tar::BLOCK_BYTES)?))
}

/// How a plain file is compressed, if at all. Its place of reading stays where it is.
fn compression_of(file: &File) -> io::Result<Option<Compression>> {
    Ok(Compression::of(&head(file, compression::MAGIC_BYTES)?))
}

/// The first bytes of a plain file.
fn head(file: &File, most: usize) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(most);
    let mut bytes = Bytes::from_file(file.try_clone()?, 0, 0);
    let mut missing = most;
    while missing > 0 && bytes.append(&mut head, missing)? > 0 {
        missing = most.saturating_sub(head.len());
    }
    Ok(head)
}
