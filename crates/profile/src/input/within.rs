//! The files of an archive of any kind: one after the other, as if they were one file. Each begins a line of its own.
//!
//! Compressed files are unpacked once, and trace maps are passed over. A file that cannot be read does not end the
//! reading: the others are read, and an error after the last of them names it. Files that seem to be the same are all
//! read, and noted.

use std::io::{self, Read};

use measure::quantity::counted;
use sys::file::awaited::unless_called_off;

use crate::input::bytes::Bytes;
use crate::input::compression::unpack_stream;
use crate::input::contents::{Comparison, shortened, shown};
use crate::input::packing::unpacked;

/// The ending of a trace's map, which is passed over in folders too: a package of incidents has one for each trace.
const TRACE_MAP: &str = ".trm";

/// Ends the last line of a whole file that has no line feed there: the next file would go on in it, and before an error
/// such a line counts as broken.
const LINE_FEED: &[u8] = b"\n";

/// Ends a line whose last number may be cut: the one in which a damaged file broke off, and the last one of a whole
/// file where it ends with a digit, because traces are packed while they are written, and in pieces. The NUL keeps it
/// from being read as a record.
const BROKEN_LINE_END: &[u8] = b"\0\n";

/// How many files that could not be read are named; the others are counted.
const NAMED_MAX: usize = 5;

/// Most bytes of what is said of a file that could not be read: that of an archive within this one says so of all its
/// own files, and names may be long.
const SENTENCE_BYTES_MAX: usize = 8 << 10;

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

/// The bytes of all files of an archive.
pub(super) fn files(archive: impl Archive + Send + 'static) -> Bytes {
    let files = FilesWithin::new(archive);
    let contents = files.comparison.found();
    Bytes::from_reader(files).with_contents(Some(contents))
}

/// Reads the files of an archive.
struct FilesWithin<A> {
    archive: A,
    open: Option<(String, Bytes)>,
    comparison: Comparison,
    /// How many bytes were handed out.
    offset: u64,
    /// The last byte that was handed out, where it ends no line: of the open file, or of the whole one before it.
    within_line: Option<u8>,
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
    fn new(archive: A) -> FilesWithin<A> {
        FilesWithin {
            archive,
            open: None,
            comparison: Comparison::default(),
            offset: 0,
            within_line: None,
            line_end: &[],
            is_over: false,
            whole: 0,
            lost: Vec::new(),
            further: 0,
            failure: None,
        }
    }

    fn begin(&mut self) {
        // The reader of the files can break off where it gets bytes, and any number of files may have none.
        match unless_called_off().and_then(|()| self.archive.next()) {
            Ok(Next::File(name, bytes)) => {
                self.end_whole_line();
                self.open = Some((name, bytes));
            }
            Ok(Next::LeftOut(sentence)) => self.leave_out(sentence),
            Ok(Next::End) => self.is_over = true,
            Err(error) => self.fail(error.to_string()),
        }
    }

    /// Ends the last line of a whole file, where it has no end; whether it had none.
    fn end_whole_line(&mut self) -> bool {
        let Some(last) = self.within_line.take() else { return false };
        self.line_end = if last.is_ascii_digit() { BROKEN_LINE_END } else { LINE_FEED };
        true
    }

    /// Ends the open file.
    fn close(&mut self) {
        if let Some((name, bytes)) = self.open.take() {
            self.comparison.end_file(name, bytes.contents().as_ref());
        }
    }

    /// Gives up the open file for this reason.
    fn break_off(&mut self, sentence: String) {
        self.close();
        let is_line_broken = self.within_line.take().is_some();
        self.leave_out(sentence);
        // Where the archive itself fails, an error comes next, before which a broken line is not read.
        if is_line_broken && !self.is_over {
            self.line_end = BROKEN_LINE_END;
        }
    }

    /// Goes on without a file, for this reason, if the archive itself can be read.
    fn leave_out(&mut self, sentence: String) {
        match self.archive.failure() {
            Some(failure) => self.fail(failure),
            None => self.lose(sentence),
        }
    }

    fn lose(&mut self, sentence: String) {
        if self.lost.len() < NAMED_MAX {
            self.lost.push(shortened(&sentence, SENTENCE_BYTES_MAX).into_owned());
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
                self.offset += count as u64;
                return Ok(count);
            }
            if self.is_over {
                let ending = self.ending();
                if ending.is_err() && self.end_whole_line() {
                    continue;
                }
                return ending;
            }
            let Some((name, bytes)) = &mut self.open else {
                self.begin();
                continue;
            };
            match bytes.read(buffer) {
                Ok(0) => {
                    self.close();
                    self.whole += 1;
                }
                Ok(count) => {
                    self.comparison.add(name, bytes.contents().as_ref(), self.offset, &buffer[..count]);
                    self.offset += count as u64;
                    self.within_line = Some(buffer[count - 1]).filter(|last| *last != b'\n');
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
    unpacked(&String::from_utf8_lossy(name).to_lowercase()).ends_with(TRACE_MAP)
}

/// A file of an archive whose bytes these are, unpacked where it is compressed.
pub(super) fn opened(name: String, file: impl Read + Send + 'static) -> Next {
    match unpack_stream(file) {
        Ok(Some(bytes)) => Next::File(name, bytes),
        Ok(None) => Next::LeftOut(zip_archive(&name)),
        Err(error) => Next::LeftOut(fault(&name, &error)),
    }
}

/// What is said of a zip archive within an archive: its list of files stands at its end.
fn zip_archive(name: &str) -> String {
    format!("its file {} is a zip archive, which is not read: unpack it first", shown(name))
}

/// What is wrong with a file of an archive.
fn fault(name: &str, error: &io::Error) -> String {
    format!("in its file {}, {error}", shown(name))
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::io::Cursor;

    use super::*;
    use crate::input::foreign::{SERVER_LOGS, TRACES};
    use crate::input::{Contents, Duplicates};

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

    /// Files that are archives or not.
    struct Named(VecDeque<(&'static str, Bytes)>);

    impl Archive for Named {
        fn next(&mut self) -> io::Result<Next> {
            Ok(self.0.pop_front().map_or(Next::End, |(name, bytes)| Next::File(name.into(), bytes)))
        }
    }

    fn made(files: &[(&str, bool)]) -> Made {
        Made(files.iter().map(|(text, fails)| (text.as_bytes().to_vec(), *fails)).collect())
    }

    /// An archive of these files, in another one before a whole file.
    fn within_another(files: &[(&str, bool)]) -> Named {
        let inner = super::files(made(files));
        Named(VecDeque::from([("b.tar", inner), ("c.trc", Bytes::from_reader(Cursor::new("end")))]))
    }

    fn read(files: Vec<(&str, bool)>) -> (String, String) {
        read_all(made(&files))
    }

    fn read_all(archive: impl Archive) -> (String, String) {
        let (mut within, mut all) = (FilesWithin::new(archive), Vec::new());
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
        assert_eq!(text, "one\ntim=12\0\ntwo\nsix\nten\n");
        assert_eq!(failure, "in its file 4.trc, why; in its file 2.trc, why; the other files were read");
    }

    #[test]
    fn the_last_line_of_a_whole_file_is_kept_before_and_behind_a_damaged_one() {
        for (files, expected) in [
            (vec![("one", false), ("two", false)], "one\ntwo"),
            (vec![("one", false), ("", true), ("two\n", false)], "one\ntwo\n"),
            (vec![("one", false), ("two\nx", true), ("six", false)], "one\ntwo\nx\0\nsix\n"),
            (vec![("", true), ("one", false)], "one\n"),
            (vec![("one", false), ("", false), ("", true)], "one\n"),
        ] {
            let (text, failure) = read(files.clone());
            assert_eq!(text, expected, "{files:?}");
            assert_eq!(failure.is_empty(), files.iter().all(|(_, fails)| !fails), "{failure}");
        }
    }

    #[test]
    fn a_last_line_whose_number_may_be_cut_is_no_record_before_another_file_or_an_error() {
        let (text, _) = read(vec![("tim=12", false), ("34\nx=5", false), ("", true)]);
        assert_eq!(text, "tim=12\0\n34\nx=5\0\n");
        let (text, _) = read(vec![("", true), ("tim=12", false)]);
        assert_eq!(text, "tim=12\0\n");
        // At the end of all files, who reads them sees it.
        assert_eq!(read(vec![("tim=12", false)]).0, "tim=12");
    }

    #[test]
    fn a_damaged_file_of_an_archive_within_breaks_no_line_of_its_other_files() {
        for (files, expected) in [
            ([("one", false), ("", true)], "one\nend\n"),
            ([("", true), ("one", false)], "one\nend\n"),
            ([("one", false), ("tim=12", true)], "one\ntim=12\0\nend\n"),
        ] {
            assert_eq!(read_all(within_another(&files)).0, expected, "{files:?}");
        }
    }

    #[test]
    fn what_an_archive_within_says_of_its_other_files_is_not_said_twice() {
        let (_, failure) = read_all(within_another(&[("", true), ("one\n", false)]));
        assert_eq!(failure, "in its file b.tar, in its file 2.trc, why; the other files were read");
    }

    /// What is found of the files of an archive.
    fn contents_of(mut bytes: Bytes) -> Contents {
        let contents = bytes.contents().unwrap();
        // Damage of a file ends in an error, and hides no copy of it.
        let _ = bytes.read_to_end(&mut Vec::new());
        contents.take()
    }

    fn duplicates_in(bytes: Bytes) -> Duplicates {
        contents_of(bytes).duplicates
    }

    fn pair(first: &str, second: &str) -> Option<[String; 2]> {
        Some([first.to_string(), second.to_string()])
    }

    #[test]
    fn a_file_that_an_archive_has_twice_is_noted() {
        let twice = [("tim=1\n", false), ("tim=2\n", false), ("tim=1\n", false), ("", false), ("", false)];
        let found = duplicates_in(files(made(&twice)));
        assert_eq!(found, Duplicates { first: pair("5.trc", "3.trc"), further: 0 });
        let within = duplicates_in(files(within_another(&twice)));
        assert_eq!(within, Duplicates { first: pair("b.tar/5.trc", "b.tar/3.trc"), further: 0 });
        let more = [("tim=1\n", true), ("tim=1\n", false), ("tim=1\n", true)];
        assert_eq!(duplicates_in(files(made(&more))), Duplicates { first: pair("3.trc", "2.trc"), further: 1 });
        // The size alone, or the beginning alone, makes no two files the same.
        let long = "tim=1\n".repeat(20_000);
        let different = [("tim=1\n", false), ("tim=2\n", false), (&*long, false), (&long[6..], false)];
        assert_eq!(duplicates_in(files(made(&different))), Duplicates::default());
    }

    #[test]
    fn a_file_that_an_archive_within_has_too_is_noted() {
        let both = [("tim=1\n", false), ("tim=2\n", false)];
        let inner = || files(made(&both));
        let one = |text: &'static str| Bytes::from_reader(Cursor::new(text));
        let found = |parts: Vec<(&'static str, Bytes)>| duplicates_in(files(Named(VecDeque::from(parts))));
        let of_two = |first: &str, second: &str| Duplicates { first: pair(first, second), further: 0 };
        let behind = found(vec![("b.tar", inner()), ("a.trc", one("tim=1\n"))]);
        assert_eq!(behind, of_two("b.tar/2.trc", "a.trc"));
        let ahead = found(vec![("a.trc", one("tim=2\n")), ("b.tar", inner())]);
        assert_eq!(ahead, of_two("a.trc", "b.tar/1.trc"));
        let of_one = || files(made(&both[..1]));
        assert_eq!(found(vec![("b.tar", inner()), ("c.tar", of_one())]), of_two("b.tar/2.trc", "c.tar"));
        assert_eq!(found(vec![("b.tar", inner()), ("c.tar", inner())]), of_two("b.tar", "c.tar"), "once for all files");
        assert_eq!(found(vec![("c.tar", of_one())]), Duplicates::default(), "it is not like itself");
        let deeper = files(Named(VecDeque::from([("b.tar", inner())])));
        let deep = found(vec![("o.tar", deeper), ("a.trc", one("tim=1\n"))]);
        assert_eq!(deep, of_two("o.tar/b.tar/2.trc", "a.trc"));
    }

    #[test]
    fn a_trace_and_a_server_log_in_one_archive_are_noted() {
        let both = [("a note\n", false), ("tim=1\n", false), ("LOG:  duration: 4.000 ms\n", false), ("tim=2\n", false)];
        let kinds = |bytes: Bytes| contents_of(bytes).kinds;
        let found = kinds(files(made(&both)));
        assert_eq!(found.mixed(), Some(vec![(TRACES, "3.trc"), (SERVER_LOGS, "2.trc")]));
        let within = kinds(files(within_another(&both)));
        assert_eq!(within.mixed(), Some(vec![(TRACES, "b.tar/3.trc"), (SERVER_LOGS, "b.tar/2.trc")]));
        let one = kinds(files(made(&both[..2])));
        assert_eq!((one.first(TRACES), one.first(SERVER_LOGS), one.mixed()), (Some("1.trc"), None, None));
    }

    #[test]
    fn the_file_is_known_in_which_a_byte_of_an_archive_stands() {
        let files_of = |bytes: &mut Bytes| {
            let contents = bytes.contents().unwrap();
            let mut all = Vec::new();
            // It ends with the error of a damaged file.
            let _ = bytes.read_to_end(&mut all);
            let text = String::from_utf8_lossy(&all);
            let named = |word: &str| {
                let number = contents.number_at(text.find(word).unwrap() as u64);
                contents.file(number.unwrap()).map(|file| (file.name, file.kind)).unwrap()
            };
            let begins: Vec<u64> = (0..9).map_while(|number| contents.file(number)).map(|file| file.begin).collect();
            (["note", "LOG", "tim="].map(named), begins, contents.next_begin(0))
        };
        // One without a byte is in no place, and the end of a line that was put in belongs to the file before.
        let all = [("a note", false), ("", false), ("LOG:  duration: 4.000 ms", true), ("tim=1\n", false)];
        let (named, begins, next) = files_of(&mut files(made(&all)));
        let expected = [("4.trc", None), ("2.trc", Some(SERVER_LOGS)), ("1.trc", Some(TRACES))];
        assert_eq!(named, expected.map(|(name, kind)| (name.to_string(), kind)));
        assert_eq!((begins, next), (vec![0, 7, 33], Some(7)));
        let contents = files(made(&all)).contents().unwrap();
        assert_eq!((contents.number_at(0), contents.next_begin(0)), (None, None), "nothing was read");
    }

    #[test]
    fn what_a_file_of_an_archive_within_holds_is_known_of_it_and_not_of_the_archive_alone() {
        let both = [("LOG:  duration: 4.000 ms\n", false), ("tim=1\n", false)];
        let mut bytes = files(within_another(&both));
        let contents = bytes.contents().unwrap();
        bytes.read_to_end(&mut Vec::new()).unwrap();
        let files = (0..9).map_while(|number| contents.file(number));
        let found: Vec<_> = files.map(|file| (file.name, file.kind)).collect();
        let expected = [("b.tar/2.trc", Some(SERVER_LOGS)), ("b.tar/1.trc", Some(TRACES)), ("c.trc", None)];
        assert_eq!(found, expected.map(|(name, kind)| (name.to_string(), kind)));
    }

    #[test]
    fn a_file_in_which_nothing_takes_time_counts_nothing_twice() {
        let note = "x".repeat(100_000);
        let twice = [("read me\n", false), ("read me\n", false), (&*note, false), (&*note, false)];
        assert_eq!(duplicates_in(files(made(&twice))), Duplicates::default());
        // What takes time may stand far behind the beginning.
        let late = note + "\nWAIT #1: nam='x' ela= 1 tim=2\n";
        let twice = [(&*late, false), (&*late, false)];
        assert_eq!(duplicates_in(files(made(&twice))).first, pair("2.trc", "1.trc"));
    }

    #[test]
    fn an_archive_of_damaged_files_names_some_of_them_and_counts_the_others() {
        let (_, failure) = read(vec![("", true); 7]);
        assert!(failure.starts_with("in its file 7.trc, why; in its file 6.trc, why; "), "{failure}");
        assert!(failure.ends_with("in its file 3.trc, why; 2 further files could not be read"), "{failure}");
        assert_eq!(read(vec![("one\n", false)]), ("one\n".into(), String::new()));
    }
}
