//! What is given to be read: files, folders, patterns and standard input, compressed or not.
//!
//! Nothing here knows what a trace is, but for the names that are looked for in folders, and for the sentence that says
//! what a file is that is none.

mod archive;
pub mod bytes;
mod compression;
mod cut;
mod expand;
pub mod foreign;
mod frames;
mod given;
mod problem;
mod side_by_side;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

pub use compression::Compression;
pub(crate) use expand::is_matched;
pub use expand::{Expansion, expand};
pub use given::Given;
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
    compression::unpack_stream(Awaited::new(File::from(own)))
}

fn open_file(file: File) -> io::Result<Bytes> {
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    // A pipe or a terminal has no places to read at.
    if !metadata.is_file() {
        return compression::unpack_stream(Awaited::new(file));
    }
    match compression_of(&file)? {
        Some(compression) => compression.unpack_file(file),
        None => Ok(Bytes::from_file(file, 0, metadata.len())),
    }
}

/// How a plain file is compressed, if at all. Its place of reading stays where it is.
pub fn compression_of(file: &File) -> io::Result<Option<Compression>> {
    let mut head = Vec::with_capacity(compression::MAGIC_BYTES);
    let mut bytes = Bytes::from_file(file.try_clone()?, 0, 0);
    while head.len() < compression::MAGIC_BYTES && bytes.append(&mut head, 1)? > 0 {}
    Ok(Compression::of(&head))
}
