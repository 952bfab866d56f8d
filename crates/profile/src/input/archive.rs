//! Zip archives: their entries one after the other, as if they were one file.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};

use flate2::Crc;
use flate2::bufread;
use flate2::read::DeflateDecoder;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use crate::input::bytes::Bytes;

/// Where an entry stands, and what it holds.
struct Entry {
    name: String,
    begin: u64,
    packed_bytes: u64,
    is_deflated: bool,
    checksum: u32,
}

/// The ending of a trace's map, which is passed over in folders too: a package of incidents has one for each trace.
pub(super) const TRACE_MAP: &str = ".trm";

/// The entries of an archive that are left to be read.
struct Entries {
    file: File,
    left: VecDeque<Entry>,
    open: Option<(Box<dyn Read + Send>, Crc, Entry)>,
}

/// The bytes of all files of an archive.
pub(crate) fn unpack(file: File) -> io::Result<Bytes> {
    let mut archive = match ZipArchive::new(file.try_clone()?) {
        Ok(archive) => archive,
        Err(ZipError::InvalidArchive(_)) => return Ok(Bytes::from_reader(WithoutList::new(file)?)),
        Err(error) => return Err(error.into()),
    };
    let mut left = VecDeque::new();
    for place in 0..archive.len() {
        let entry = archive.by_index_raw(place)?;
        if entry.is_dir() {
            continue;
        }
        let name = entry.name()?.into_owned();
        if name.ends_with(TRACE_MAP) {
            continue;
        }
        let is_deflated = match entry.compression() {
            CompressionMethod::Stored => false,
            CompressionMethod::Deflated => true,
            other => {
                return Err(io::Error::other(format!(
                    "its entry {name} is compressed with {other}, which is not read"
                )));
            }
        };
        if entry.encrypted() {
            return Err(io::Error::other(format!("its entry {name} is encrypted")));
        }
        let begin = entry.data_start().ok_or_else(|| io::Error::other(format!("its entry {name} has no place")))?;
        left.push_back(Entry {
            begin,
            packed_bytes: entry.compressed_size(),
            is_deflated,
            checksum: entry.crc32(),
            name,
        });
    }
    Ok(Bytes::from_reader(Entries { file, left, open: None }))
}

impl Read for Entries {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some((reader, checksum, entry)) = &mut self.open else {
                let Some(entry) = self.left.pop_front() else { return Ok(0) };
                let end = entry.begin + entry.packed_bytes;
                let packed = Bytes::from_file(self.file.try_clone()?, entry.begin, end).take(entry.packed_bytes);
                let reader: Box<dyn Read + Send> =
                    if entry.is_deflated { Box::new(DeflateDecoder::new(packed)) } else { Box::new(packed) };
                self.open = Some((reader, Crc::new(), entry));
                continue;
            };
            let count = reader.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                checksum.update(&buffer[..count]);
                return Ok(count);
            }
            if checksum.sum() != entry.checksum {
                return Err(io::Error::other(format!(
                    "its entry {} is damaged: the checksum does not match",
                    entry.name
                )));
            }
            self.open = None;
        }
    }
}

/// Bytes of the header before an entry.
const HEADER_BYTES: usize = 30;

/// The first bytes of such a header, and of what may stand behind an entry whose size was not known before it.
const HEADER: &[u8] = b"PK\x03\x04";
const DESCRIPTOR: &[u8] = b"PK\x07\x08";

/// What an archive says that ends before the list of its entries.
const CUT: &str = "the zip archive is truncated: its central directory, at the end, is missing";

/// The entries of an archive that was cut, by the headers before them, up to the cut; then the error that says so.
struct WithoutList {
    /// Between entries.
    file: Option<BufReader<File>>,
    open: Option<OpenEntry>,
    /// Whether a descriptor stands behind the entry.
    has_descriptor: bool,
}

enum OpenEntry {
    Stored(io::Take<BufReader<File>>),
    Deflated(bufread::DeflateDecoder<BufReader<File>>),
}

impl WithoutList {
    fn new(mut file: File) -> io::Result<WithoutList> {
        file.rewind()?;
        Ok(WithoutList { file: Some(BufReader::new(file)), open: None, has_descriptor: false })
    }

    /// Opens the next entry; an error where none is there, or none that can be read.
    fn next(&mut self) -> io::Result<()> {
        let cut = || io::Error::new(io::ErrorKind::UnexpectedEof, CUT);
        let mut file = self.file.take().ok_or_else(cut)?;
        if std::mem::take(&mut self.has_descriptor) {
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
        let skipped = u64::from(short(26)) + u64::from(short(28));
        io::copy(&mut Read::by_ref(&mut file).take(skipped), &mut io::sink())?;
        self.has_descriptor = flags & 8 != 0;
        self.open = Some(match method {
            0 if !self.has_descriptor && flags & 1 == 0 => OpenEntry::Stored(file.take(u64::from(size))),
            8 if flags & 1 == 0 => OpenEntry::Deflated(bufread::DeflateDecoder::new(file)),
            _ => return Err(cut()),
        });
        Ok(())
    }
}

impl Read for WithoutList {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let count = match &mut self.open {
                None => {
                    self.next()?;
                    continue;
                }
                Some(OpenEntry::Stored(reader)) => reader.read(buffer)?,
                Some(OpenEntry::Deflated(reader)) => {
                    reader.read(buffer).map_err(|error| io::Error::new(error.kind(), CUT))?
                }
            };
            if count > 0 {
                return Ok(count);
            }
            self.file = self.open.take().map(|open| match open {
                OpenEntry::Stored(reader) => reader.into_inner(),
                OpenEntry::Deflated(reader) => reader.into_inner(),
            });
        }
    }
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
        let mut writer = ZipWriter::new(io::Cursor::new(Vec::new()));
        for (name, text) in [("a.trc", "one\n"), ("a.trm", "map\n"), ("b.trc", "two\n")] {
            writer.start_file(name, SimpleFileOptions::default()).unwrap();
            writer.write_all(text.as_bytes()).unwrap();
        }
        assert_eq!(read(&writer.finish().unwrap().into_inner()).unwrap(), b"one\ntwo\n");
    }

    #[test]
    fn a_damaged_archive_is_an_error() {
        let sound = archive();
        let at = sound.windows(4).position(|window| window == b"two\n").unwrap();
        let mut damaged = sound.clone();
        damaged[at] = b'T';
        assert!(read(&damaged).unwrap_err().to_string().contains("traces/b.trc is damaged"));
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
            assert!(error.contains("zip archive is truncated"), "{error}");
        }
    }
}
