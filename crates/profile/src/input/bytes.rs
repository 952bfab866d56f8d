//! The bytes of one file, uncompressed, in order.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use measure::quantity::grouped;

use crate::input::contents::SharedContents;

/// Where bytes come from.
pub struct Bytes {
    origin: Origin,
    /// What is found of the files of an archive while it is read; `None` where these are the bytes of one file.
    contents: Option<SharedContents>,
}

enum Origin {
    /// A plain file, read at places: it is not mapped, because a file that shrinks under a map kills its reader.
    File { file: File, offset: u64, size: u64 },
    /// Anything that can only be read from its beginning.
    Stream(Box<dyn Read + Send>),
}

impl Bytes {
    /// The bytes of a file from `offset` on. It must have `size` bytes until they are read; it may grow meanwhile.
    pub fn from_file(file: File, offset: u64, size: u64) -> Bytes {
        Bytes::of(Origin::File { file, offset, size })
    }

    /// The bytes that a reader gives.
    pub fn from_reader(reader: impl Read + Send + 'static) -> Bytes {
        Bytes::of(Origin::Stream(Box::new(reader)))
    }

    /// No bytes but an error, however often they are asked for.
    pub(crate) fn failing(error: &io::Error) -> Bytes {
        Bytes::from_reader(Failing(error.to_string()))
    }

    fn of(origin: Origin) -> Bytes {
        Bytes { origin, contents: None }
    }

    /// The same bytes, which are those of the files in an archive where it is said what is found of them.
    pub(crate) fn with_contents(self, contents: Option<SharedContents>) -> Bytes {
        Bytes { contents, ..self }
    }

    /// Where to look for what is found of the files in an archive, once these bytes were read; `None` where they are
    /// no archive's.
    pub(crate) fn contents(&self) -> Option<SharedContents> {
        self.contents.clone()
    }

    /// Whether they can only be read from the beginning: unpacked, or from a pipe.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self.origin, Origin::Stream(_))
    }

    /// Adds up to `most` bytes to `into`, and says how many; 0 at the end.
    pub fn append(&mut self, into: &mut Vec<u8>, most: usize) -> io::Result<usize> {
        match &mut self.origin {
            Origin::File { file, offset, size } => {
                into.reserve(most);
                let count = read_at(file, into, most, *offset)?;
                advance(offset, *size, count)
            }
            Origin::Stream(reader) => append_stream(reader, into, most),
        }
    }
}

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.origin {
            Origin::File { file, offset, size } => {
                let count = rustix::io::pread(file, &mut *buffer, *offset)?;
                advance(offset, if buffer.is_empty() { 0 } else { *size }, count)
            }
            Origin::Stream(reader) => reader.read(buffer),
        }
    }
}

/// Gives an error each time it is read, with this sentence.
struct Failing(String);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other(self.0.clone()))
    }
}

/// Moves the place of reading on. A file that ends before its size is an error.
fn advance(offset: &mut u64, size: u64, count: usize) -> io::Result<usize> {
    if count == 0 && *offset < size {
        let (before, now) = (grouped(size), grouped(*offset));
        let sentence = format!("it shrank while it was read, from {before} to {now} bytes or fewer");
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, sentence));
    }
    *offset += count as u64;
    Ok(count)
}

impl fmt::Debug for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::File { file, offset, size } => write!(formatter, "Bytes({file:?} from {offset} of {size})"),
            Origin::Stream(_) => formatter.write_str("Bytes(stream)"),
        }
    }
}

/// Reads into the spare room of a vector, which need not be cleared before.
fn read_at(file: &File, into: &mut Vec<u8>, most: usize, offset: u64) -> io::Result<usize> {
    let begin = into.len();
    let count = loop {
        match rustix::io::pread(file, rustix::buffer::spare_capacity(into), offset) {
            Ok(count) => break count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    };
    // The room may be more than was asked for.
    into.truncate(begin + most);
    Ok(count.min(most))
}

fn append_stream(reader: &mut dyn Read, into: &mut Vec<u8>, most: usize) -> io::Result<usize> {
    let begin = into.len();
    into.resize(begin + most, 0);
    let answer = loop {
        match reader.read(&mut into[begin..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            answer => break answer,
        }
    };
    into.truncate(begin + answer.as_ref().map_or(0, |count| *count));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_shrinks_while_it_is_read_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.trc");
        std::fs::write(&path, vec![b'x'; 10_000]).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let mut bytes = Bytes::from_file(file.try_clone().unwrap(), 0, 10_000);
        let mut into = Vec::new();
        assert_eq!(bytes.append(&mut into, 5000).unwrap(), 5000);
        file.set_len(5000).unwrap();
        assert!(bytes.append(&mut into, 5000).unwrap_err().to_string().contains("shrank"));
    }

    #[test]
    fn no_more_is_read_than_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.trc");
        std::fs::write(&path, b"0123456789").unwrap();
        let mut bytes = Bytes::from_file(File::open(&path).unwrap(), 0, 10);
        let mut into = Vec::with_capacity(100);
        assert_eq!(bytes.append(&mut into, 4).unwrap(), 4);
        assert_eq!(bytes.append(&mut into, 100).unwrap(), 6);
        assert_eq!((into.as_slice(), bytes.append(&mut into.clone(), 1).unwrap()), (&b"0123456789"[..], 0));
    }
}
