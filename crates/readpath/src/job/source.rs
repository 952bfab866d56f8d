//! The bytes of a job file, and their hash.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::problem::{Place, Problem};

/// Largest file that is read: a job takes some hundred bytes.
const BYTES_MAX: u64 = 1 << 20;

/// Reads a job file, of which there may be no end.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Problem> {
    let refuse = |sentence: String| Problem::new(&Place::File, sentence);
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut bytes));
    read.map_err(|error| refuse(format!("this job file cannot be read: {error}; name a file in TOML")))?;
    match bytes.len() as u64 > BYTES_MAX {
        true => Err(refuse("this is larger than 1 MiB, and no job file; name a file in TOML".into())),
        false => Ok(bytes),
    }
}

/// The text of the bytes.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, Problem> {
    str::from_utf8(bytes).map_err(|error| {
        let line = Lines::of(bytes).place(error.valid_up_to());
        Problem::new(&line, "this line is not UTF-8, and so not TOML; save the file as UTF-8 text")
    })
}

/// Where the lines of a text begin.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    /// The lines of a text.
    pub(super) fn of(text: &[u8]) -> Lines {
        let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        Lines([0].into_iter().chain(ends.map(|(at, _)| at + 1)).collect())
    }

    /// The line in which a byte stands.
    pub(super) fn place(&self, at: usize) -> Place {
        Place::Line(self.0.partition_point(|begin| *begin <= at))
    }
}

/// SHA-256 in hexadecimal, as sha256sum(1) prints it.
pub(crate) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_and_one_that_is_no_text_are_refused() {
        assert!(read(Path::new("/dev/zero")).unwrap_err().sentence.contains("larger than 1 MiB"));
        assert!(read(Path::new("/")).unwrap_err().sentence.contains("cannot be read"));
        assert_eq!(text(b"[a]\n# \xff").unwrap_err().place, Place::Line(2));
    }

    #[test]
    fn the_hash_is_the_one_that_sha256sum_prints() {
        assert_eq!(hash(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
