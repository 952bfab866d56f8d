//! Tar archives: their files one after the other, as if they were one file.
//!
//! Compressed files within an archive are unpacked, and so are tar archives within it; zip archives are not.
//! The library reads the headers alone: the files that its archive gives borrow the archive, and what is handed out
//! here has to own all that it reads.

use std::io::{self, Read};
use std::mem;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sys::file::awaited::unless_called_off;
use tar::{EntryType, Header, PaxExtensions};

use crate::input::bytes::Bytes;
use crate::input::contents::shown;
use crate::input::peeked::Peeked;
use crate::input::within::{self, Archive, Next, is_map};

/// Bytes of a header; the contents of a file are filled up to a multiple of them.
pub(super) const BLOCK_BYTES: usize = 512;

/// Where a header has its magic, whose first bytes POSIX's and GNU's have in common.
const MAGIC: Range<usize> = 257..262;

/// Largest file that is believed: no file system holds a larger one.
const SIZE_MAX: u64 = 1 << 60;

/// Most bytes of an extended header (POSIX.1-2001, pax) or a long name (GNU) that are looked at.
const EXTENSION_BYTES: u64 = 1 << 20;

/// Most archives around one that is unpacked: each level of packing can make a few bytes a thousand times as many.
const DEPTH_MAX: usize = 4;

const CUT: &str = "the tar archive is truncated";
const DAMAGED: &str = "the tar archive is damaged: a header has no sound checksum or size";
const SPARSE: &str = "the tar archive holds a file with holes (sparse), which is not read: unpack it first";
const BEHIND: &str = "a second tar archive follows the first and is not read";

/// How much is read at a time of what is passed over, and after the end of an archive; whole blocks.
const PASSED_BYTES: u64 = 64 << 10;

/// The files of an archive. Bytes that are no archive stay as they are.
pub(super) fn unpack(bytes: Bytes) -> Bytes {
    unpack_to(bytes, DEPTH_MAX)
}

/// The same of bytes that are a file of another archive.
pub(super) fn unpack_within(bytes: Bytes) -> Bytes {
    unpack_to(bytes, DEPTH_MAX - 1)
}

/// The same with this number of archives within one another that are unpacked below this one.
fn unpack_to(bytes: Bytes, depth_left: usize) -> Bytes {
    let whole = Peeked::new(bytes, BLOCK_BYTES);
    if is_header(whole.head()) { within::files(Files::new(whole, depth_left)) } else { Bytes::from_reader(whole) }
}

/// Whether a block of bytes is the header of a file in an archive.
pub(super) fn is_header(block: &[u8]) -> bool {
    if block.len() != BLOCK_BYTES || !block[MAGIC].starts_with(b"ustar") {
        return false;
    }
    let header = Header::from_byte_slice(block);
    let mut again = header.clone();
    again.set_cksum();
    matches!((header.cksum(), again.cksum()), (Ok(given), Ok(sum)) if given == sum)
}

/// What an extended header or a long name says of the file behind it.
#[derive(Default)]
struct Extension {
    size: Option<u64>,
    name: Option<Vec<u8>>,
}

impl Extension {
    fn of_header(text: &[u8]) -> io::Result<Extension> {
        let mut extension = Extension::default();
        for record in PaxExtensions::new(text).flatten() {
            match record.key_bytes() {
                b"size" => extension.size = record.value().ok().and_then(|size| size.parse().ok()),
                b"path" => extension.name = Some(record.value_bytes().to_vec()),
                key if key.starts_with(b"GNU.sparse.") => return Err(io::Error::other(SPARSE)),
                _ => {}
            }
        }
        Ok(extension)
    }
}

/// An archive from its open file on.
struct Rest {
    bytes: Peeked<Bytes>,
    /// Bytes of the open file that are left.
    left: u64,
    /// Why the archive could not be read within it.
    failure: Option<String>,
}

/// The open file of an archive. What unpacks it has to own its reader, so that both share the archive.
#[derive(Clone)]
struct OpenFile(Arc<Mutex<Rest>>);

impl OpenFile {
    fn rest(&self) -> MutexGuard<'_, Rest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for OpenFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut rest = self.rest();
        let most = usize::try_from(rest.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        if most == 0 {
            return Ok(0);
        }
        let outcome = rest.bytes.read(&mut buffer[..most]);
        let error = match outcome {
            Ok(0) => cut(),
            Err(error) => error,
            Ok(count) => {
                rest.left -= count as u64;
                return Ok(count);
            }
        };
        if error.kind() != io::ErrorKind::Interrupted {
            rest.failure = Some(error.to_string());
        }
        Err(error)
    }
}

/// The files of an archive that are left to be read.
struct Files {
    open: OpenFile,
    /// Bytes that fill up its last block.
    filling: u64,
    /// What is known of the next file.
    extension: Extension,
    /// How many archives within one another are unpacked below this one.
    depth_left: usize,
}

impl Files {
    fn new(bytes: Peeked<Bytes>, depth_left: usize) -> Files {
        let rest = Rest { bytes, left: 0, failure: None };
        Files { open: OpenFile(Arc::new(Mutex::new(rest))), filling: 0, extension: Extension::default(), depth_left }
    }

    /// Goes to the next header, and opens the file after it; `None` if there is no file to read there.
    fn next_header(&mut self) -> io::Result<Option<Next>> {
        self.pass_over();
        let filling = mem::take(&mut self.filling);
        self.skip(filling)?;
        let block = self.read_up_to(BLOCK_BYTES as u64)?;
        // Blocks of zeros end an archive; some programs leave them out.
        if block.iter().all(|byte| *byte == 0) {
            return self.behind().map(|()| Some(Next::End));
        }
        if block.len() < BLOCK_BYTES {
            return Err(cut());
        }
        if !is_header(&block) {
            return Err(damaged());
        }
        let header = Header::from_byte_slice(&block);
        let own = header.entry_size().map_err(|_| damaged());
        match header.entry_type() {
            EntryType::XHeader => self.extension = Extension::of_header(&self.text(own?)?)?,
            EntryType::GNULongName => {
                let text = self.text(own?)?;
                let name = text.split(|byte| *byte == 0).next().unwrap_or_default();
                self.extension.name = Some(name.to_vec());
            }
            EntryType::Regular | EntryType::Continuous => {
                let extension = mem::take(&mut self.extension);
                let size = believed(extension.size.map_or(own, Ok)?)?;
                let name = extension.name.unwrap_or_else(|| header.path_bytes().into_owned());
                self.open.rest().left = size;
                self.filling = filling_of(size);
                return Ok(self.begin(&name));
            }
            // These have no contents, whatever their size.
            EntryType::Link
            | EntryType::Symlink
            | EntryType::Char
            | EntryType::Block
            | EntryType::Directory
            | EntryType::Fifo => self.extension = Extension::default(),
            EntryType::GNUSparse => return Err(io::Error::other(SPARSE)),
            // Long targets of links, and what holds for all files.
            _ => {
                let size = believed(own?)?;
                self.skip(size + filling_of(size))?;
            }
        }
        Ok(None)
    }

    /// Begins the open file: unpacks it where it is compressed or an archive, and leaves out what holds no trace of its
    /// own.
    fn begin(&self, name: &[u8]) -> Option<Next> {
        let is_read = !is_map(name);
        is_read.then(|| match within::opened(String::from_utf8_lossy(name).into_owned(), self.open.clone()) {
            Next::File(name, bytes) => self.unpacked(name, bytes),
            next => next,
        })
    }

    /// A file of this archive, whose own files are given where it is an archive as well.
    fn unpacked(&self, name: String, bytes: Bytes) -> Next {
        let whole = Peeked::new(bytes, BLOCK_BYTES);
        match (is_header(whole.head()), self.depth_left.checked_sub(1)) {
            (false, _) => Next::File(name, Bytes::from_reader(whole)),
            (true, Some(depth_left)) => Next::File(name, within::files(Files::new(whole, depth_left))),
            (true, None) => Next::LeftOut(too_deep(&name)),
        }
    }

    /// Reads what follows the end of the archive, because the checksum of a compressed one comes last. The last write
    /// to a tape may be filled up with anything (POSIX, pax, ustar format), so only another archive there is a fault.
    fn behind(&mut self) -> io::Result<()> {
        loop {
            let bytes = self.read_up_to(PASSED_BYTES)?;
            if bytes.chunks(BLOCK_BYTES).any(is_header) {
                return Err(io::Error::other(BEHIND));
            }
            if bytes.is_empty() {
                return Ok(());
            }
            // There may be much of it, and the reader of the files gets nothing at which it could break off.
            unless_called_off()?;
        }
    }

    /// What is left of the open file is not read.
    fn pass_over(&mut self) {
        self.filling += mem::take(&mut self.open.rest().left);
    }

    /// The contents of what stands in front of a file and is about it.
    fn text(&mut self, size: u64) -> io::Result<Vec<u8>> {
        let size = believed(size)?;
        let text = self.read_up_to(size.min(EXTENSION_BYTES))?;
        self.skip(size + filling_of(size) - text.len() as u64)?;
        Ok(text)
    }

    /// The next bytes, at most this number; fewer at the end.
    fn read_up_to(&mut self, most: u64) -> io::Result<Vec<u8>> {
        let mut taken = Vec::new();
        Read::by_ref(&mut self.open.rest().bytes).take(most).read_to_end(&mut taken)?;
        Ok(taken)
    }

    fn skip(&mut self, count: u64) -> io::Result<()> {
        let mut left = count;
        while left > 0 {
            match self.read_up_to(left.min(PASSED_BYTES))?.len() as u64 {
                0 => return Err(cut()),
                passed => left -= passed,
            }
            // As behind the archive, and only where much is left.
            if left > 0 {
                unless_called_off()?;
            }
        }
        Ok(())
    }
}

impl Archive for Files {
    fn next(&mut self) -> io::Result<Next> {
        // A decoder may take an archive that fails for the end of its file.
        if let Some(failure) = self.failure() {
            return Err(io::Error::other(failure));
        }
        loop {
            if let Some(next) = self.next_header()? {
                return Ok(next);
            }
            // As behind the archive: any number of folders may follow one another.
            unless_called_off()?;
        }
    }

    fn failure(&self) -> Option<String> {
        self.open.rest().failure.clone()
    }
}

/// What is said of an archive within too many others.
fn too_deep(name: &str) -> String {
    let (name, others) = (shown(name), DEPTH_MAX + 1);
    format!("its file {name} is a tar archive, which is not read within {others} others: unpack it first")
}

/// A size that is no sign of damage.
fn believed(size: u64) -> io::Result<u64> {
    if size <= SIZE_MAX { Ok(size) } else { Err(damaged()) }
}

/// Bytes that fill up the last block of a file of this size.
fn filling_of(size: u64) -> u64 {
    size.next_multiple_of(BLOCK_BYTES as u64) - size
}

fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, CUT)
}

fn damaged() -> io::Error {
    io::Error::other(DAMAGED)
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use measure::random::SplitMix64;

    use super::*;
    use crate::input::{self, Compression, Given};

    /// More damaged files than one archive names.
    const DAMAGED_FILES: usize = 6;

    /// A file of an archive with its header, filled up.
    fn with_contents(mut header: Header, contents: &[u8]) -> Vec<u8> {
        header.set_cksum();
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend_from_slice(contents);
        bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES), 0);
        bytes
    }

    fn member(name: &str, kind: EntryType, contents: &[u8]) -> Vec<u8> {
        let mut header = Header::new_ustar();
        header.set_path(name).unwrap();
        header.set_entry_type(kind);
        header.set_size(contents.len() as u64);
        with_contents(header, contents)
    }

    fn file(name: &str, contents: &str) -> Vec<u8> {
        member(name, EntryType::Regular, contents.as_bytes())
    }

    fn archive() -> Vec<u8> {
        let end = vec![0; 2 * BLOCK_BYTES];
        let folder = member("traces/", EntryType::Directory, b"");
        let map = file("traces/a.trm", "map\n");
        [folder, file("traces/a.trc", &"one\n".repeat(200)), map, file("b.trc", "two\n"), end].concat()
    }

    fn read(bytes: Vec<u8>) -> (String, Option<String>) {
        read_unpacked(Bytes::from_reader(Cursor::new(bytes)))
    }

    fn read_unpacked(bytes: Bytes) -> (String, Option<String>) {
        let (mut bytes, mut all) = (unpack(bytes), Vec::new());
        let failure = loop {
            match bytes.append(&mut all, 100) {
                Ok(0) => break None,
                Ok(_) => {}
                Err(error) => break Some(error.to_string()),
            }
        };
        (String::from_utf8_lossy(&all).into_owned(), failure)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    struct Failing;

    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("why"))
        }
    }

    #[test]
    fn the_files_of_an_archive_are_read_one_after_the_other_without_their_headers() {
        let files = "one\n".repeat(200) + "two\n";
        assert_eq!(read(archive()), (files.clone(), None));
        let without_end = archive().len() - 2 * BLOCK_BYTES;
        assert_eq!(read(archive()[..without_end].to_vec()), (files, None));
    }

    #[test]
    fn an_archive_is_known_by_its_bytes_packed_or_not() {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in [("a", archive()), ("b", gzip(&archive()))] {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let mut all = String::new();
            input::open(&Given::File(path)).unwrap().read_to_string(&mut all).unwrap();
            assert_eq!(all, "one\n".repeat(200) + "two\n", "{name}");
        }
    }

    #[test]
    fn compressed_files_of_an_archive_are_unpacked() {
        let compressed = |name: &str, contents: &[u8]| member(name, EntryType::Regular, contents);
        let zstandard = zstd::encode_all(&b"two\n"[..], 1).unwrap();
        let files = [
            compressed("a.trc.gz", &gzip("one\n".repeat(300_000).as_bytes())),
            compressed("a.trm.gz", &gzip(b"map\n")),
            compressed("b.trc.zst", &zstandard),
            file("c.trc", "six\n"),
            compressed("d.trc", &gzip(b"ten\n")),
        ];
        let all = "one\n".repeat(300_000) + "two\nsix\nten\n";
        assert_eq!(read([files.concat(), vec![0; 2 * BLOCK_BYTES]].concat()), (all, None));
        // What is wrong with one has its name.
        let whole = gzip(b"one\n");
        let (text, failure) = read(compressed("a.trc.gz", &whole[..whole.len() - 3]));
        assert_eq!((&*text, &*failure.unwrap()), ("one\n", "in its file a.trc.gz, the gzip data is truncated"));
    }

    #[test]
    fn a_zip_archive_within_an_archive_is_named_and_hides_no_file_behind_it() {
        let zip = member("a.zip", EntryType::Regular, b"PK\x03\x04 and so on");
        let (text, failure) = read([zip, file("b.trc", "two\n"), vec![0; BLOCK_BYTES]].concat());
        assert_eq!(text, "two\n");
        let said = "its file a.zip is a zip archive, which is not read: unpack it first; the other files were read";
        assert_eq!(failure.unwrap(), said);
    }

    #[test]
    fn a_tar_archive_within_another_is_no_text_and_its_files_have_the_names_of_both() {
        let end = vec![0; 2 * BLOCK_BYTES];
        let inner = [file("a.trc", "one"), file("b.trc", "two\n"), end.clone()].concat();
        let whole = |name: &str, contents: &[u8]| member(name, EntryType::Regular, contents);
        let packed = gzip(&inner);
        let parts = [file("first.trc", "six"), whole("b.tar", &inner), whole("c.tgz", &packed), file("last", "ten\n")];
        let outer = [parts.concat(), end.clone()].concat();
        assert_eq!(read(outer.clone()), ("six\none\ntwo\none\ntwo\nten\n".into(), None));
        let mut bytes = unpack(Bytes::from_reader(Cursor::new(outer)));
        let contents = bytes.contents().unwrap();
        bytes.read_to_end(&mut Vec::new()).unwrap();
        let files = (0..9).map_while(|number| contents.file(number));
        let found: Vec<(String, u64)> = files.map(|file| (file.name, file.begin)).collect();
        let names = ["first.trc", "b.tar/a.trc", "b.tar/b.trc", "c.tgz/a.trc", "c.tgz/b.trc", "last"];
        let expected = names.into_iter().zip((0..6_u64).map(|place| 4 * place));
        assert_eq!(found, expected.map(|(name, begin)| (name.to_string(), begin)).collect::<Vec<_>>());
        // An archive may be packed so that each level makes it larger without end.
        let around = |levels: usize| {
            (0..levels).fold(inner.clone(), |within, _| [whole("t.tar", &within), end.clone()].concat())
        };
        assert_eq!(read(around(DEPTH_MAX)), ("one\ntwo\n".into(), None));
        let (text, failure) = read(around(DEPTH_MAX + 1));
        let said = failure.unwrap();
        assert!(text.is_empty() && said.contains("is a tar archive, which is not read within 5 others"), "{said}");
    }

    #[test]
    fn long_names_of_archives_within_one_another_make_no_sentence_without_end() {
        // In the middle of a letter it cannot be cut.
        let long = "a".to_string() + &"é".repeat(1 << 15);
        let named = |contents: &[u8]| {
            let name = member("x", EntryType::GNULongName, long.as_bytes());
            [name, member("t", EntryType::Regular, contents)].concat()
        };
        let packed = gzip(b"one\n");
        let damaged = named(&packed[..packed.len() - 3]).repeat(DAMAGED_FILES);
        let within = named(&damaged).repeat(2);
        let (text, failure) = read([named(&within), file("b.trc", "two\n")].concat());
        assert_eq!(text, "one\n".repeat(2 * DAMAGED_FILES) + "two\n");
        let said = failure.unwrap();
        assert!(said.starts_with("in its file aéé") && said.ends_with("…; the other files were read"), "{said}");
        assert!(said.len() < 9 << 10, "{} bytes", said.len());
    }

    #[test]
    fn a_damaged_file_of_an_archive_hides_no_file_behind_it() {
        let cut = gzip(b"one\ntim=12");
        let files = [
            member("a.trc.gz", EntryType::Regular, &cut[..cut.len() - 3]),
            file("b.trc", "two\n"),
            member("c.trc.gz", EntryType::Regular, b"\x1f\x8b\x09 and so on"),
            member("d.trc.gz", EntryType::Regular, &gzip(b"six\n")),
        ];
        let (text, failure) = read([files.concat(), vec![0; 2 * BLOCK_BYTES]].concat());
        assert_eq!(text, "one\ntim=12\0\ntwo\nsix\n", "the broken line is no record");
        let said = failure.unwrap();
        assert!(said.starts_with("in its file a.trc.gz, the gzip data is truncated; in its file c.trc.gz, "), "{said}");
        assert!(said.ends_with("; the other files were read"), "{said}");
    }

    #[test]
    fn an_archive_that_is_cut_within_a_compressed_file_is_no_damage_of_that_file() {
        let mut random = SplitMix64::new(5);
        let noise: Vec<u8> = (0..500).flat_map(|_| random.next_u64().to_le_bytes()).collect();
        let whole = member("a.trc.gz", EntryType::Regular, &gzip(&noise));
        assert_eq!(read(whole[..3 * BLOCK_BYTES].to_vec()).1, Some(CUT.into()));
    }

    #[test]
    fn a_checksum_that_does_not_match_is_found_behind_the_end_of_an_archive() {
        let mut packed = gzip(&archive());
        let checksum = packed.len() - 8;
        packed[checksum] ^= 1;
        let (text, failure) = read_unpacked(Compression::Gzip.unpack(Cursor::new(packed)).unwrap());
        assert_eq!(text, "one\n".repeat(200) + "two\n");
        assert!(failure.unwrap().contains("the gzip data is damaged"));
    }

    #[test]
    fn an_archive_behind_another_one_is_not_lost_without_a_word() {
        let (text, failure) = read([archive(), archive()].concat());
        let files = "one\n".repeat(200) + "two\n";
        assert_eq!((text, failure), (files.clone(), Some(BEHIND.into())));
        assert_eq!(read([archive(), vec![b'x'; 5000]].concat()), (files, None), "what fills up a tape");
    }

    #[test]
    fn an_archive_that_is_cut_or_damaged_is_read_so_far_and_says_so() {
        let whole = archive();
        let cut = |at: usize| read(whole[..at].to_vec());
        assert_eq!(cut(2 * BLOCK_BYTES + 4), ("one\n".into(), Some(CUT.into())), "within a file");
        assert_eq!(cut(whole.len() - 4 * BLOCK_BYTES + 9), ("one\n".repeat(200), Some(CUT.into())), "within a header");
        let mut damaged = whole.clone();
        damaged[whole.len() - 4 * BLOCK_BYTES] ^= 1;
        assert_eq!(read(damaged), ("one\n".repeat(200), Some(DAMAGED.into())));
        let mut header = Header::new_ustar();
        header.set_size(1 << 61);
        assert_eq!(read(with_contents(header, b"x")), (String::new(), Some(DAMAGED.into())));
    }

    #[test]
    fn a_whole_last_line_before_the_damage_of_an_archive_is_kept_and_a_cut_one_is_not() {
        let (first, second) = (file("a.trc", "one"), file("b.trc", "two"));
        let mut damaged = [first.clone(), second.clone()].concat();
        damaged[first.len()] ^= 1;
        assert_eq!(read(damaged), ("one\n".into(), Some(DAMAGED.into())));
        let cut = [first, second[..BLOCK_BYTES + 2].to_vec()].concat();
        assert_eq!(read(cut), ("one\ntw".into(), Some(CUT.into())));
    }

    #[test]
    fn headers_of_any_bytes_give_no_more_than_the_archive_holds() {
        const KIND: usize = 156;
        let sound = archive();
        let headers: Vec<usize> = (0..sound.len() / BLOCK_BYTES).map(|block| block * BLOCK_BYTES).collect();
        let headers: Vec<usize> = headers.into_iter().filter(|at| is_header(&sound[*at..*at + BLOCK_BYTES])).collect();
        let mut random = SplitMix64::new(11);
        let mut below = |count: usize| random.below(count as u64) as usize;
        for _ in 0..3000 {
            let mut bytes = sound.clone();
            let at = headers[below(headers.len())];
            let block = &mut bytes[at..at + BLOCK_BYTES];
            block[KIND] = b"0xgLKS17"[below(8)];
            for _ in 0..below(4) {
                block[below(BLOCK_BYTES)] = below(256) as u8;
            }
            // With its sum right, a header is read whatever it holds.
            let mut header = Header::from_byte_slice(block).clone();
            header.set_cksum();
            block.copy_from_slice(header.as_bytes());
            assert!(read(bytes).0.chars().count() <= sound.len());
        }
    }

    #[test]
    fn what_is_no_archive_stays_as_it_is_with_its_error() {
        let mut no_checksum = archive();
        no_checksum[0] ^= 1;
        assert!(read(no_checksum).0.starts_with("uraces/\0"));
        for length in [0, 4, BLOCK_BYTES, 3 * BLOCK_BYTES] {
            assert_eq!(read(vec![b'x'; length]), ("x".repeat(length), None));
        }
        for length in [4, 2 * BLOCK_BYTES] {
            let failing = Cursor::new(vec![b'x'; length]).chain(Failing);
            let (mut bytes, mut all) = (unpack(Bytes::from_reader(failing)), Vec::new());
            assert_eq!(bytes.append(&mut all, 5000).unwrap(), length);
            assert_eq!(bytes.append(&mut all, 5000).unwrap_err().to_string(), "why");
        }
    }

    #[test]
    fn the_first_read_of_packed_bytes_gives_more_than_what_was_looked_at() {
        let mut bytes = unpack(Bytes::from_reader(Cursor::new(vec![b'x'; 5000])));
        assert_eq!(bytes.read(&mut [0; 4000]).unwrap(), 4000);
        assert_eq!(bytes.read(&mut [0; 4000]).unwrap(), 1000);
    }

    #[test]
    fn sizes_beyond_eight_gibibytes_are_read_in_both_forms() {
        let contents = "z".repeat(70_000);
        let mut header = Header::new_ustar();
        header.set_size(0);
        let of_extension = member("x", EntryType::XHeader, b"14 size=70000\n");
        let extended = [of_extension, with_contents(header.clone(), contents.as_bytes())].concat();
        assert_eq!(read(extended), (contents.clone(), None));
        // GNU's form: the number in binary behind its mark.
        header.as_old_mut().size = [0x80, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x11, 0x70];
        assert_eq!(read(with_contents(header, contents.as_bytes())), (contents, None));
    }

    #[test]
    fn what_a_long_name_stands_for_is_passed_over_where_it_is_a_map() {
        let long = "t/".repeat(60) + "a.trm";
        let record = format!("{} path={long}\n", long.len() + 10);
        let of_gnu = member("x", EntryType::GNULongName, format!("{long}\0").as_bytes());
        let of_posix = member("x", EntryType::XHeader, record.as_bytes());
        for extension in [of_gnu, of_posix] {
            let all = [extension, file("t", "map\n"), file("b.trc", "two\n")].concat();
            assert_eq!(read(all), ("two\n".into(), None));
        }
    }

    #[test]
    fn a_file_with_holes_is_no_trace_that_ends_early() {
        let of_posix = member("x", EntryType::XHeader, b"22 GNU.sparse.major=1\n");
        let of_gnu = member("b.trc", EntryType::GNUSparse, b"");
        for all in [[of_posix, file("b.trc", "two\n")].concat(), of_gnu] {
            assert_eq!(read(all), (String::new(), Some(SPARSE.into())));
        }
    }
}
