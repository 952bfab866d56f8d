//! Zip archives: their entries one after the other, as if they were one file.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};

use flate2::Crc;
use flate2::read::DeflateDecoder;
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

/// The entries of an archive that are left to be read.
struct Entries {
    file: File,
    left: VecDeque<Entry>,
    open: Option<(Box<dyn Read + Send>, Crc, Entry)>,
}

/// The bytes of all files of an archive.
pub(crate) fn unpack(file: File) -> io::Result<Bytes> {
    let mut archive = ZipArchive::new(file.try_clone()?)?;
    let mut left = VecDeque::new();
    for place in 0..archive.len() {
        let entry = archive.by_index_raw(place)?;
        if entry.is_dir() {
            continue;
        }
        let name = entry.name()?.into_owned();
        let is_deflated = match entry.compression() {
            CompressionMethod::Stored => false,
            CompressionMethod::Deflated => true,
            other => return Err(io::Error::other(format!("its entry {name} is packed by {other}, which is not read"))),
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
                    "its entry {} is damaged: the checksum is another one",
                    entry.name
                )));
            }
            self.open = None;
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
    fn a_damaged_archive_is_an_error() {
        let sound = archive();
        let at = sound.windows(4).position(|window| window == b"two\n").unwrap();
        let mut damaged = sound.clone();
        damaged[at] = b'T';
        assert!(read(&damaged).unwrap_err().to_string().contains("traces/b.trc is damaged"));
        assert!(read(&sound[..sound.len() - 30]).is_err(), "its list of entries is cut");
    }
}
