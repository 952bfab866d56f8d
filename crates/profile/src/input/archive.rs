//! Zip archives: their entries one after the other, as if they were one file.
//!
//! Compressed entries, and tar archives among the entries, are unpacked. Zip archives among them are not.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flate2::Crc;
use flate2::bufread;
use flate2::read::DeflateDecoder;
use sys::file::awaited::unless_called_off;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use crate::input::bytes::Bytes;
use crate::input::cut::{Explained, UpToCut};
use crate::input::tar;
use crate::input::within::{self, Archive, Next};

/// Where an entry stands, and what it holds.
struct Entry {
    name: String,
    begin: u64,
    packed_bytes: u64,
    is_deflated: bool,
    checksum: u32,
}

/// The entries of an archive that are left to be read; a sentence for one that cannot be.
struct Entries {
    file: File,
    left: VecDeque<Result<Entry, String>>,
}

/// What is said of an archive in which entries have the same name.
const DUPLICATE_NAMES: &str = "it has entries of the same name, and only the last one of each name is read";

/// The bytes of all files of an archive.
pub(super) fn unpack(file: File) -> io::Result<Bytes> {
    let mut archive = match ZipArchive::new(file.try_clone()?) {
        Ok(archive) => archive,
        Err(ZipError::InvalidArchive(_)) => {
            return Ok(within::files(WithoutList::new(file)?));
        }
        Err(error) => return Err(error.into()),
    };
    let mut left: VecDeque<Result<Entry, String>> = VecDeque::new();
    // The library knows entries by their names, those of folders too.
    if archive.has_duplicate_names() && hides_files(&file, archive.central_directory_start()).unwrap_or(true) {
        left.push_back(Err(DUPLICATE_NAMES.into()));
    }
    for place in 0..archive.len() {
        let entry = match archive.by_index_raw(place) {
            Ok(entry) => entry,
            Err(error) => {
                left.push_back(Err(format!("its entry number {} cannot be found ({error})", place + 1)));
                continue;
            }
        };
        if entry.is_dir() {
            continue;
        }
        let name = entry.name()?.into_owned();
        if within::is_map(name.as_bytes()) {
            continue;
        }
        let is_deflated = match entry.compression() {
            _ if entry.encrypted() => Err(format!("its entry {name} is encrypted")),
            CompressionMethod::Stored => Ok(false),
            CompressionMethod::Deflated => Ok(true),
            other => Err(format!("its entry {name} is compressed with {other}, which is not read")),
        };
        let begin = entry.data_start().ok_or_else(|| format!("its entry {name} has no place"));
        let (packed_bytes, checksum) = (entry.compressed_size(), entry.crc32());
        let listed = |is_deflated| begin.map(|begin| Entry { name, begin, packed_bytes, is_deflated, checksum });
        left.push_back(is_deflated.and_then(listed));
    }
    Ok(within::files(Entries { file, left }))
}

/// Bytes of an entry in the list of entries before its name, and what it begins with.
const LISTED_BYTES: usize = 46;
const LISTED: &[u8] = b"PK\x01\x02";

/// Whether the list of entries, which begins at this place, has two files of one name that are read: neither folders
/// nor trace maps.
fn hides_files(file: &File, begin: u64) -> io::Result<bool> {
    let mut list = BufReader::new(Bytes::from_file(file.try_clone()?, begin, 0));
    let mut names = HashSet::new();
    let mut listed = [0; LISTED_BYTES];
    while list.read_exact(&mut listed).is_ok() && listed.starts_with(LISTED) {
        let short = |at: usize| u16::from_le_bytes([listed[at], listed[at + 1]]);
        let mut name = vec![0; usize::from(short(28))];
        list.read_exact(&mut name)?;
        let behind = u64::from(short(30)) + u64::from(short(32));
        io::copy(&mut Read::by_ref(&mut list).take(behind), &mut io::sink())?;
        let is_read = !name.ends_with(b"/") && !name.ends_with(b"\\") && !within::is_map(&name);
        if is_read && !names.insert(name) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Archive for Entries {
    fn next(&mut self) -> io::Result<Next> {
        let entry = match self.left.pop_front() {
            Some(Ok(entry)) => entry,
            Some(Err(sentence)) => return Ok(Next::LeftOut(sentence)),
            None => return Ok(Next::End),
        };
        let end = entry.begin.saturating_add(entry.packed_bytes);
        let packed = Bytes::from_file(self.file.try_clone()?, entry.begin, end).take(entry.packed_bytes);
        let reader: Box<dyn Read + Send> = match entry.is_deflated {
            true => Box::new(UpToCut::of_careful(DeflateDecoder::new(packed), "zip")),
            false => Box::new(packed),
        };
        Ok(opened(entry.name, Checked { reader, sum: Crc::new(), checksum: entry.checksum }))
    }
}

/// An entry whose bytes these are, which may be those of a tar archive.
fn opened(name: String, entry: impl Read + Send + 'static) -> Next {
    match within::opened(name, entry) {
        Next::File(name, bytes) => Next::File(name, tar::unpack_within(bytes)),
        next => next,
    }
}

/// What is said of an entry that does not have the checksum in the list.
const WRONG_CHECKSUM: &str = "the data is damaged: the checksum in the zip archive does not match";

/// The bytes of an entry, and after them an error if their checksum is not the one in the list.
struct Checked {
    reader: Box<dyn Read + Send>,
    sum: Crc,
    checksum: u32,
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.sum.update(&buffer[..count]);
        if count == 0 && !buffer.is_empty() && self.sum.sum() != self.checksum {
            return Err(Explained::error(io::ErrorKind::InvalidData, WRONG_CHECKSUM));
        }
        Ok(count)
    }
}

/// Bytes of the header before an entry.
const HEADER_BYTES: usize = 30;

/// The first bytes of such a header, and of what may stand behind an entry whose size was not known before it.
const HEADER: &[u8] = b"PK\x03\x04";
const DESCRIPTOR: &[u8] = b"PK\x07\x08";

/// How much is read at a time of what is passed over.
const PASSED_BYTES: usize = 64 << 10;

/// What an archive says that ends before the list of its entries.
const CUT: &str = "the zip archive is truncated: its central directory, at the end, is missing";

/// The entries of an archive that was cut, by the headers before them, up to the cut; then the error that says so.
struct WithoutList {
    open: OpenEntry,
    /// Whether a descriptor stands behind the entry.
    has_descriptor: bool,
}

/// Where such an archive stands.
enum Place {
    Between(BufReader<File>),
    Stored(io::Take<BufReader<File>>),
    Deflated(bufread::DeflateDecoder<BufReader<File>>),
    /// It cannot be read any further, for this reason.
    Failed(String),
}

/// The open entry. What unpacks it has to own its reader, so that both share the archive.
#[derive(Clone)]
struct OpenEntry(Arc<Mutex<Place>>);

impl OpenEntry {
    fn place(&self) -> MutexGuard<'_, Place> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The archive behind the entry, all of which has been read.
    fn leave(&self) -> io::Result<BufReader<File>> {
        match mem::replace(&mut *self.place(), Place::Failed(CUT.into())) {
            Place::Between(file) => Ok(file),
            Place::Stored(reader) => Ok(reader.into_inner()),
            Place::Deflated(reader) => Ok(reader.into_inner()),
            Place::Failed(failure) => Err(io::Error::other(failure)),
        }
    }
}

impl Read for OpenEntry {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut place = self.place();
        let outcome = match &mut *place {
            Place::Between(_) => Ok(0),
            Place::Stored(reader) => read_stored(reader, buffer),
            Place::Deflated(reader) => reader.read(buffer).map_err(|error| io::Error::new(error.kind(), CUT)),
            Place::Failed(failure) => Err(io::Error::other(failure.clone())),
        };
        if let Some(error) = outcome.as_ref().err().filter(|error| error.kind() != io::ErrorKind::Interrupted) {
            *place = Place::Failed(error.to_string());
        }
        outcome
    }
}

/// Reads of an entry that is stored as it is, whose size is known before it.
fn read_stored(entry: &mut io::Take<BufReader<File>>, buffer: &mut [u8]) -> io::Result<usize> {
    match entry.read(buffer)? {
        0 if entry.limit() > 0 && !buffer.is_empty() => Err(cut()),
        count => Ok(count),
    }
}

/// Reads what was not unpacked of an entry. There may be much of it, and the reader of the files gets nothing at which
/// it could break off.
fn pass_over(entry: &mut OpenEntry) -> io::Result<()> {
    let mut passed = vec![0; PASSED_BYTES];
    loop {
        match entry.read(&mut passed) {
            Ok(0) => return Ok(()),
            Ok(_) => unless_called_off()?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

impl WithoutList {
    fn new(mut file: File) -> io::Result<WithoutList> {
        file.rewind()?;
        let place = Place::Between(BufReader::new(file));
        Ok(WithoutList { open: OpenEntry(Arc::new(Mutex::new(place))), has_descriptor: false })
    }

    /// Opens the next entry and gives its name; an error where none is there, or none that can be read.
    fn next_header(&mut self) -> io::Result<Vec<u8>> {
        pass_over(&mut self.open)?;
        let mut file = self.open.leave()?;
        if mem::take(&mut self.has_descriptor) {
            let has_name = file.fill_buf()?.starts_with(DESCRIPTOR);
            file.read_exact(&mut [0; 16][..if has_name { 16 } else { 12 }]).map_err(|_| cut())?;
        }
        let mut header = [0; HEADER_BYTES];
        file.read_exact(&mut header).map_err(|_| cut())?;
        if !header.starts_with(HEADER) {
            return Err(cut());
        }
        let short = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        let size = u32::from_le_bytes([header[18], header[19], header[20], header[21]]);
        let (flags, method) = (short(6), short(8));
        let mut name = vec![0; usize::from(short(26))];
        file.read_exact(&mut name).map_err(|_| cut())?;
        io::copy(&mut Read::by_ref(&mut file).take(u64::from(short(28))), &mut io::sink())?;
        self.has_descriptor = flags & 8 != 0;
        let place = match method {
            0 if !self.has_descriptor && flags & 1 == 0 => Place::Stored(file.take(u64::from(size))),
            8 if flags & 1 == 0 => Place::Deflated(bufread::DeflateDecoder::new(file)),
            _ => return Err(cut()),
        };
        *self.open.place() = place;
        Ok(name)
    }
}

impl Archive for WithoutList {
    fn next(&mut self) -> io::Result<Next> {
        loop {
            let name = self.next_header()?;
            if !name.ends_with(b"/") && !within::is_map(&name) {
                return Ok(opened(String::from_utf8_lossy(&name).into_owned(), self.open.clone()));
            }
            // As within an entry: any number of folders may follow one another.
            unless_called_off()?;
        }
    }

    fn failure(&self) -> Option<String> {
        match &*self.open.place() {
            Place::Failed(failure) => Some(failure.clone()),
            _ => None,
        }
    }
}

fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, CUT)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn archive() -> Vec<u8> {
        let mut writer = ZipWriter::new(io::Cursor::new(Vec::new()));
        writer.add_directory("traces", SimpleFileOptions::default()).unwrap();
        for (name, text, method) in [
            ("traces/a.trc", "one\n".repeat(1000), CompressionMethod::Deflated),
            ("traces/b.trc", "two\n".to_owned(), CompressionMethod::Stored),
        ] {
            writer.start_file(name, SimpleFileOptions::default().compression_method(method)).unwrap();
            writer.write_all(text.as_bytes()).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    /// An archive with these files.
    fn of_files(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = ZipWriter::new(io::Cursor::new(Vec::new()));
        for (name, contents) in files {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(contents).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// A tar archive with one file, of this name.
    fn tar_of(name: &str, contents: &[u8]) -> Vec<u8> {
        let mut archive = ::tar::Builder::new(Vec::new());
        let mut header = ::tar::Header::new_ustar();
        header.set_size(contents.len() as u64);
        archive.append_data(&mut header, name, contents).unwrap();
        archive.into_inner().unwrap()
    }

    /// What is read, and the error behind it.
    fn read_on(bytes: &[u8]) -> (String, String) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let (mut bytes, mut all) = (unpack(file).unwrap(), Vec::new());
        let failure = loop {
            match bytes.append(&mut all, 100) {
                Ok(0) => break String::new(),
                Ok(_) => {}
                Err(error) => break error.to_string(),
            }
        };
        (String::from_utf8_lossy(&all).into_owned(), failure)
    }

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let mut all = Vec::new();
        unpack(file)?.read_to_end(&mut all)?;
        Ok(all)
    }

    #[test]
    fn the_entries_of_an_archive_are_read_one_after_the_other() {
        assert_eq!(read(&archive()).unwrap(), ["one\n".repeat(1000), "two\n".into()].concat().into_bytes());
    }

    #[test]
    fn the_maps_of_traces_are_passed_over() {
        let map = gzip(b"map\n");
        let files: [(&str, &[u8]); 4] =
            [("a.trc", b"one\n"), ("a.trm", b"map\n"), ("c.trm.gz", &map), ("b.trc", b"two\n")];
        assert_eq!(read(&of_files(&files)).unwrap(), b"one\ntwo\n");
    }

    #[test]
    fn compressed_entries_of_an_archive_are_unpacked_once() {
        let long = "one\n".repeat(100_000);
        let (packed, twice) = (gzip(long.as_bytes()), gzip(&gzip(b"six\n")));
        let zstandard = zstd::encode_all(&b"two\n"[..], 1).unwrap();
        let files: [(&str, &[u8]); 4] =
            [("a.trc.gz", &packed), ("b.trc.zst", &zstandard), ("c.trc", b"ten\n"), ("d.trc.gz.gz", &twice)];
        let whole = of_files(&files);
        let expected = long + "two\nten\n" + &*String::from_utf8_lossy(&gzip(b"six\n"));
        assert_eq!(read_on(&whole), (expected.clone(), String::new()));
        let (text, failure) = read_on(&whole[..whole.len() - 30]);
        // Its last bytes are no line, and are not lost before an error.
        assert_eq!((text, failure), (expected + "\n", CUT.into()), "without the list of entries");
    }

    #[test]
    fn a_damaged_entry_hides_no_entry_behind_it() {
        let packed = gzip(b"one\ntim=12");
        let files: [(&str, &[u8]); 3] =
            [("a.trc.gz", &packed[..packed.len() - 3]), ("b.zip", b"PK\x03\x04 and so on"), ("c.trc", b"two\n")];
        let whole = of_files(&files);
        let said = "in its file a.trc.gz, the gzip data is truncated; its file b.zip is a zip archive, which is not \
                    read: unpack it first; ";
        let (text, failure) = read_on(&whole);
        assert_eq!((&*text, failure), ("one\ntim=12\0\ntwo\n", said.to_string() + "the other files were read"));
        let (text, failure) = read_on(&whole[..whole.len() - 30]);
        assert_eq!((&*text, failure), ("one\ntim=12\0\ntwo\n", said.to_string() + CUT));
    }

    #[test]
    fn a_zip_archive_around_tar_archives_is_no_way_to_one_more_of_them() {
        let around = |levels: usize| (0..levels).fold(tar_of("a.trc", b"one\n"), |within, _| tar_of("t.tar", &within));
        // The zip archive and three others are around the innermost one, as the guide has it.
        for (levels, is_read) in [(0, true), (3, true), (4, false)] {
            let (text, failure) = read_on(&of_files(&[("all.tar", &around(levels)[..])]));
            assert_eq!((text == "one\n", failure.is_empty()), (is_read, is_read), "{levels}: {failure}");
            assert_eq!(failure.contains("is a tar archive, which is not read within"), !is_read, "{failure}");
        }
    }

    #[test]
    fn an_entry_that_cannot_be_found_hides_no_other_one() {
        let files: [(&str, &[u8]); 3] = [("a.trc", b"one\n"), ("b.trc", b"two\n"), ("c.trc", b"six\n")];
        let mut archive = of_files(&files);
        let second = archive.windows(4).skip(1).position(|window| window == HEADER).unwrap() + 1;
        archive[second] ^= 1;
        let (text, failure) = read_on(&archive);
        assert_eq!(text, "one\nsix\n");
        assert!(failure.starts_with("its entry number 2 cannot be found ("), "{failure}");
        assert!(failure.ends_with("); the other files were read"), "{failure}");
    }

    #[test]
    fn entries_of_the_same_name_are_not_lost_in_silence() {
        let files: [(&str, &[u8]); 3] = [("a.trc", b"one\n"), ("b.trc", b"two\n"), ("c.trc", b"six\n")];
        let mut archive = of_files(&files);
        let is_second = |at: &usize| archive[*at..].starts_with(b"b.trc");
        let places: Vec<usize> = (0..archive.len()).filter(is_second).collect();
        assert_eq!(places.len(), 2, "before the entry and in the list of entries");
        places.into_iter().for_each(|at| archive[at] = b'a');
        let said = DUPLICATE_NAMES.to_string() + "; the other files were read";
        assert_eq!(read_on(&archive), ("two\nsix\n".into(), said));
    }

    #[test]
    fn a_folder_or_a_map_that_is_listed_twice_is_not_called_a_lost_file() {
        let files: [(&str, &[u8]); 6] = [
            ("a/", b""),
            ("b/", b""),
            ("x.trm", b"map\n"),
            ("y.trm", b"map\n"),
            ("a.trc", b"one\n"),
            ("b.trc", b"two\n"),
        ];
        let mut archive = of_files(&files);
        for (name, first) in [(&b"b/"[..], b'a'), (b"y.trm", b'x')] {
            let is_name = |at: &usize| archive[*at..].starts_with(name);
            let places: Vec<usize> = (0..archive.len()).filter(is_name).collect();
            assert_eq!(places.len(), 2, "before the entry and in the list of entries");
            places.into_iter().for_each(|at| archive[at] = first);
        }
        assert!(ZipArchive::new(io::Cursor::new(archive.clone())).unwrap().has_duplicate_names());
        assert_eq!(read_on(&archive), ("one\ntwo\n".into(), String::new()));
    }

    #[test]
    fn a_tar_archive_within_an_archive_hides_no_entry_behind_it() {
        let archive = |text: &[u8]| {
            let mut header = ::tar::Header::new_ustar();
            header.set_size(text.len() as u64);
            let mut builder = ::tar::Builder::new(Vec::new());
            builder.append_data(&mut header, "a.trc", text).unwrap();
            builder.into_inner().unwrap()
        };
        let (first, second) = (archive(b"one\n"), gzip(&archive(b"two\n")));
        let files: [(&str, &[u8]); 3] = [("a.tar", &first), ("b.tar.gz", &second), ("c.trc", b"six\n")];
        assert_eq!(read_on(&of_files(&files)), ("one\ntwo\nsix\n".into(), String::new()));
    }

    #[test]
    fn a_damaged_archive_is_an_error() {
        let sound = archive();
        let at = sound.windows(4).position(|window| window == b"two\n").unwrap();
        let mut damaged = sound.clone();
        damaged[at] = b'T';
        let said = read(&damaged).unwrap_err().to_string();
        assert!(said.starts_with("in its file traces/b.trc, the data is damaged: the checksum"), "{said}");
    }

    #[test]
    fn a_wrong_checksum_of_an_entry_is_not_called_damage_of_the_format_within_it() {
        let zstandard = zstd::encode_all(&b"one\n"[..], 1).unwrap();
        for (name, packed) in [("a.trc.gz", gzip(b"one\n")), ("a.trc.zst", zstandard)] {
            let files: [(&str, &[u8]); 1] = [(name, &packed)];
            let mut archive = of_files(&files);
            let mut sum = Crc::new();
            sum.update(&packed);
            let checksum = sum.sum().to_le_bytes();
            // It stands before the entry and in the list of entries.
            let places: Vec<usize> = (0..archive.len() - 4).filter(|at| archive[*at..*at + 4] == checksum).collect();
            assert!(places.len() >= 2, "{places:?}");
            for at in places {
                archive[at] ^= 1;
            }
            let said = format!("in its file {name}, {WRONG_CHECKSUM}");
            assert_eq!(read_on(&archive), ("one\n".into(), said));
        }
    }

    #[test]
    fn the_entries_before_the_cut_of_an_archive_are_read_and_the_cut_is_said() {
        let sound = archive();
        let at = sound.windows(4).position(|window| window == b"two\n").unwrap();
        for (cut, expected) in [(sound.len() - 30, "two\n"), (at + 2, "tw"), (at - 20, "")] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&sound[..cut]).unwrap();
            let mut all = Vec::new();
            let error = unpack(file).unwrap().read_to_end(&mut all).unwrap_err().to_string();
            assert_eq!(String::from_utf8_lossy(&all), "one\n".repeat(1000) + expected, "cut at {cut}");
            assert_eq!(error, CUT, "cut at {cut}");
        }
        let name = b"traces/a.trc";
        let begin = sound.windows(name.len()).position(|window| window == name).unwrap() + name.len();
        assert_eq!(read_on(&sound[..begin + 2]), (String::new(), CUT.into()), "within the first bytes of an entry");
    }
}
