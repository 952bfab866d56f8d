//! The files of an archive of any kind: one after the other, as if they were one file.
//!
//! Compressed files are unpacked once, and trace maps are passed over. A file that cannot be read does not end the
//! reading: the others are read, and an error after the last of them names it.

use std::io::{self, Cursor, Read};
use std::mem;

use measure::quantity::counted;

use crate::input::bytes::Bytes;
use crate::input::compression::{Compression, MAGIC_BYTES};
use crate::input::expand::PACKED;

/// The ending of a trace's map, which is passed over in folders too: a package of incidents has one for each trace.
const TRACE_MAP: &str = ".trm";

/// Ends the line in which a damaged file broke off, so that the next file begins a line of its own. The NUL keeps the
/// broken line from being read as a record: its last number may be cut.
const LINE_END: &[u8] = b"\0\n";

/// How many files that could not be read are named; the others are counted.
const NAMED_MAX: usize = 5;

/// What is said of the files that are not named.
const OTHERS: &str = "the other files were read";

/// What follows in an archive.
pub(super) enum Next {
    /// A file: its name, and its bytes, unpacked.
    File(String, Bytes),
    /// A file that is not read: a sentence that names it and says why.
    LeftOut(String),
    /// No further file.
    End,
}

/// A kind of archive.
pub(super) trait Archive {
    /// Passes over what is left of the previous file, and opens the next one. An error means that the archive itself
    /// cannot be read any further.
    fn next(&mut self) -> io::Result<Next>;

    /// Why the archive itself could not be read within its open file; `None` where the fault is the file's own.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// Reads the files of an archive.
pub(super) struct FilesWithin<A> {
    archive: A,
    open: Option<(String, Bytes)>,
    /// Whether what was handed out of the open file ends within a line.
    is_within_line: bool,
    /// Bytes to hand out before any others.
    line_end: &'static [u8],
    is_over: bool,
    /// How many files were read to their ends.
    whole: u64,
    /// Why files could not be read, and how many further ones could not.
    lost: Vec<String>,
    further: u64,
    /// Why the archive ends early.
    failure: Option<String>,
}

impl<A: Archive> FilesWithin<A> {
    /// Nothing read yet.
    pub(super) fn new(archive: A) -> FilesWithin<A> {
        FilesWithin {
            archive,
            open: None,
            is_within_line: false,
            line_end: &[],
            is_over: false,
            whole: 0,
            lost: Vec::new(),
            further: 0,
            failure: None,
        }
    }

    fn begin(&mut self) {
        match self.archive.next() {
            Ok(Next::File(name, bytes)) => {
                self.is_within_line = false;
                self.open = Some((name, bytes));
            }
            Ok(Next::LeftOut(sentence)) => self.lose(sentence),
            Ok(Next::End) => self.is_over = true,
            Err(error) => self.fail(error.to_string()),
        }
    }

    /// Gives up the open file for this reason, and goes on after it if the archive itself can be read.
    fn break_off(&mut self, sentence: String) {
        self.open = None;
        if let Some(failure) = self.archive.failure() {
            return self.fail(failure);
        }
        if mem::take(&mut self.is_within_line) {
            self.line_end = LINE_END;
        }
        self.lose(sentence);
    }

    fn lose(&mut self, sentence: String) {
        if self.lost.len() < NAMED_MAX {
            self.lost.push(sentence);
        } else {
            self.further += 1;
        }
    }

    fn fail(&mut self, failure: String) {
        self.failure = Some(failure);
        self.is_over = true;
    }

    /// What comes after all files: an error if anything could not be read, on every call.
    fn ending(&self) -> io::Result<usize> {
        if self.lost.is_empty() && self.failure.is_none() {
            return Ok(0);
        }
        let mut sentences = self.lost.clone();
        if self.further > 0 {
            let files = counted(self.further, "further file", "further files");
            sentences.push(format!("{files} could not be read"));
        }
        match &self.failure {
            Some(failure) => sentences.push(failure.clone()),
            // An archive within this one has said so of its own files, which reads for all.
            None if self.whole > 0 && !sentences.iter().any(|sentence| sentence.ends_with(OTHERS)) => {
                sentences.push(OTHERS.into());
            }
            None => {}
        }
        Err(io::Error::other(sentences.join("; ")))
    }
}

impl<A: Archive> Read for FilesWithin<A> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let count = self.line_end.read(buffer)?;
            if count > 0 {
                return Ok(count);
            }
            if self.is_over {
                return self.ending();
            }
            let Some((name, bytes)) = &mut self.open else {
                self.begin();
                continue;
            };
            match bytes.read(buffer) {
                Ok(0) => {
                    self.open = None;
                    self.whole += 1;
                }
                Ok(count) => {
                    self.is_within_line = buffer[count - 1] != b'\n';
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
                Err(error) => {
                    let sentence = fault(name, &error);
                    self.break_off(sentence);
                }
            }
        }
    }
}

/// Whether a file of this name is a trace's map, compressed or not.
pub(super) fn is_map(name: &[u8]) -> bool {
    let unpacked = PACKED.iter().find_map(|ending| name.strip_suffix(ending.as_bytes()));
    unpacked.unwrap_or(name).ends_with(TRACE_MAP.as_bytes())
}

/// The bytes of a file within an archive, unpacked where it is compressed; `None` where it is a zip archive.
pub(super) fn unpack(mut file: impl Read + Send + 'static) -> io::Result<Option<Bytes>> {
    let mut head = Vec::new();
    (&mut file).take(MAGIC_BYTES as u64).read_to_end(&mut head)?;
    let compression = Compression::of(&head);
    let whole = Cursor::new(head).chain(file);
    match compression {
        None => Ok(Some(Bytes::from_reader(whole))),
        Some(Compression::Zip) => Ok(None),
        Some(compression) => compression.unpack(whole).map(Some),
    }
}

/// What is said of a zip archive within an archive: its list of files stands at its end.
pub(super) fn zip_archive(name: &str) -> String {
    format!("its file {name} is a zip archive, which is not read: unpack it first")
}

/// What is wrong with a file of an archive.
pub(super) fn fault(name: &str, error: &io::Error) -> String {
    format!("in its file {name}, {error}")
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// Files with these bytes, some of which fail after them.
    struct Made(VecDeque<(Vec<u8>, bool)>);

    impl Archive for Made {
        fn next(&mut self) -> io::Result<Next> {
            let left = self.0.len();
            let Some((bytes, fails)) = self.0.pop_front() else { return Ok(Next::End) };
            let bytes = Cursor::new(bytes);
            let file = if fails { Bytes::from_reader(bytes.chain(Failing)) } else { Bytes::from_reader(bytes) };
            Ok(Next::File(format!("{left}.trc"), file))
        }
    }

    struct Failing;

    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("why"))
        }
    }

    fn read(files: Vec<(&str, bool)>) -> (String, String) {
        let files = files.into_iter().map(|(text, fails)| (text.as_bytes().to_vec(), fails)).collect();
        let (mut within, mut all) = (FilesWithin::new(Made(files)), Vec::new());
        // One byte at a time, so that each place is between two reads.
        let failure = loop {
            let mut byte = [0];
            match within.read(&mut byte) {
                Ok(0) => break String::new(),
                Ok(_) => all.push(byte[0]),
                Err(error) => break error.to_string(),
            }
        };
        let again = within.read(&mut [0]).map_or_else(|error| error.to_string(), |_| String::new());
        assert_eq!(again, failure, "a second read says the same");
        (String::from_utf8(all).unwrap(), failure)
    }

    #[test]
    fn a_line_within_which_a_file_broke_off_does_not_swallow_the_next_file() {
        let (text, failure) = read(vec![("one\ntim=12", true), ("two\n", false), ("six\n", true), ("ten", false)]);
        assert_eq!(text, "one\ntim=12\0\ntwo\nsix\nten");
        assert_eq!(failure, "in its file 4.trc, why; in its file 2.trc, why; the other files were read");
        // A file that is whole goes on in the next one, and one that gave nothing breaks no line.
        let (text, _) = read(vec![("on", false), ("", true), ("e\n", false)]);
        assert_eq!(text, "one\n");
    }

    #[test]
    fn what_an_archive_within_says_of_its_other_files_is_not_said_twice() {
        let inner = FilesWithin::new(Made(VecDeque::from([(vec![], true), (b"one\n".to_vec(), false)])));
        let outer =
            VecDeque::from([("b.tar", Bytes::from_reader(inner)), ("c.trc", Bytes::from_reader(Cursor::new("")))]);
        struct Named(VecDeque<(&'static str, Bytes)>);
        impl Archive for Named {
            fn next(&mut self) -> io::Result<Next> {
                Ok(self.0.pop_front().map_or(Next::End, |(name, bytes)| Next::File(name.into(), bytes)))
            }
        }
        let mut all = String::new();
        let failure = FilesWithin::new(Named(outer)).read_to_string(&mut all).unwrap_err().to_string();
        assert_eq!(failure, "in its file b.tar, in its file 2.trc, why; the other files were read");
    }

    #[test]
    fn an_archive_of_damaged_files_names_some_of_them_and_counts_the_others() {
        let (_, failure) = read(vec![("", true); 7]);
        assert!(failure.starts_with("in its file 7.trc, why; in its file 6.trc, why; "), "{failure}");
        assert!(failure.ends_with("in its file 3.trc, why; 2 further files could not be read"), "{failure}");
        assert_eq!(read(vec![("one\n", false)]), ("one\n".into(), String::new()));
    }
}
