//! Compressed files, known by their first bytes.

use std::fs::File;
use std::io::{self, BufReader, Read};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;

use crate::input::bytes::Bytes;
use crate::input::cut::{Members, UpToCut};
use crate::input::frames::{Layout, Parts};
use crate::input::peeked::Peeked;
use crate::input::side_by_side::{SideBySide, Unpack};

/// How many bytes tell how a file is compressed.
pub(crate) const MAGIC_BYTES: usize = 6;

/// How much is read of a compressed file at a time.
const READ_BYTES: usize = 128 << 10;

/// A way to compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip (RFC 1952); one member after the other is one file.
    Gzip,
    /// Zstandard (RFC 8878); one frame after the other is one file.
    Zstandard,
    /// xz; one stream after the other is one file.
    Xz,
    /// A zip archive; one entry after the other is one file.
    Zip,
    /// bzip2; one stream after the other is one file.
    Bzip2,
}

/// Why an archive that comes through a pipe is not read.
const PIPED_ZIP: &str = "it is a zip archive, which is read from a file and not from standard input or a pipe, because \
    its list of entries stands at its end: save it as a file, and name that file";

impl Compression {
    /// By the first bytes of a file.
    pub fn of(head: &[u8]) -> Option<Compression> {
        match head {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            // A frame, or one that is stepped over: pzstd begins with one.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Compression::Zstandard),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
            [b'P', b'K', 3, 4, ..] => Some(Compression::Zip),
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some(Compression::Bzip2),
            _ => None,
        }
    }

    /// The bytes that were compressed.
    pub(crate) fn unpack(self, reader: impl Read + Send + 'static) -> io::Result<Bytes> {
        let reader = BufReader::with_capacity(READ_BYTES, reader);
        Ok(match self {
            Compression::Gzip => Bytes::from_reader(UpToCut::of_careful(Members(MultiGzDecoder::new(reader)), "gzip")),
            Compression::Zstandard => {
                let decoder = zstd::stream::read::Decoder::with_buffer(reader)?;
                Bytes::from_reader(UpToCut::of_careful(decoder, "zstd"))
            }
            Compression::Xz => Bytes::from_reader(UpToCut::new(XzReader::new(reader, true), "xz")),
            Compression::Zip => return Err(io::Error::other(PIPED_ZIP)),
            Compression::Bzip2 => Bytes::from_reader(UpToCut::of_careful(MultiBzDecoder::new(reader), "bzip2")),
        })
    }

    /// The bytes that were compressed into a plain file: side by side where it has parts that can be. Zip archives are
    /// not unpacked here.
    pub(crate) fn unpack_file(self, file: File) -> io::Result<Bytes> {
        let (layout, unpack): (Layout, Unpack) = match self {
            Compression::Zstandard => (Layout::Zstandard, |bytes| Compression::Zstandard.unpack(bytes)),
            Compression::Gzip => (Layout::Gzip, |bytes| Compression::Gzip.unpack(bytes)),
            Compression::Bzip2 => (Layout::Bzip2, |bytes| Compression::Bzip2.unpack(bytes)),
            Compression::Xz | Compression::Zip => return self.unpack(file),
        };
        let first = Parts::new(file.try_clone()?, layout)?.next()?;
        if first.is_none_or(|(_, end)| file.metadata().is_ok_and(|data| end >= data.len())) {
            return self.unpack(file);
        }
        let parts = Parts::new(file.try_clone()?, layout)?;
        Ok(Bytes::from_reader(SideBySide::new(file, parts, unpack)))
    }
}

/// The bytes of a stream, unpacked if its first bytes say that it is packed; `None` where it is a zip archive, whose
/// list of entries stands at its end.
pub(super) fn unpack_stream(stream: impl Read + Send + 'static) -> io::Result<Option<Bytes>> {
    let whole = Peeked::new(stream, MAGIC_BYTES);
    match Compression::of(whole.head()) {
        None => Ok(Some(Bytes::from_reader(whole))),
        Some(Compression::Zip) => Ok(None),
        Some(compression) => compression.unpack(whole).map(Some),
    }
}

/// The same of a pipe or a terminal.
pub(super) fn unpack_pipe(pipe: impl Read + Send + 'static) -> io::Result<Bytes> {
    unpack_stream(pipe)?.ok_or_else(|| io::Error::other(PIPED_ZIP))
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read(packed: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut bytes = unpack_pipe(Cursor::new(packed))?;
        let mut all = Vec::new();
        while bytes.append(&mut all, 7)? > 0 {}
        Ok(all)
    }

    #[test]
    fn what_is_packed_is_unpacked_whatever_its_name() {
        assert_eq!(read(b"WAIT".to_vec()).unwrap(), b"WAIT");
        assert_eq!(read(b"W".to_vec()).unwrap(), b"W");
        assert_eq!(read([gzip(b"one\n"), gzip(b"two\n")].concat()).unwrap(), b"one\ntwo\n");
        let frames = [zstd::encode_all(&b"one\n"[..], 1).unwrap(), zstd::encode_all(&b"two\n"[..], 1).unwrap()];
        assert_eq!(read(frames.concat()).unwrap(), b"one\ntwo\n");
        assert_eq!(read([xz(b"one\n"), xz(b"two\n")].concat()).unwrap(), b"one\ntwo\n");
        assert_eq!(read([bzip2(b"one\n"), bzip2(b""), bzip2(b"two\n")].concat()).unwrap(), b"one\ntwo\n");
    }

    fn xz(text: &[u8]) -> Vec<u8> {
        let mut writer = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
        writer.write_all(text).unwrap();
        writer.finish().unwrap()
    }

    fn bzip2(text: &[u8]) -> Vec<u8> {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read_file(packed: &[u8], most: usize) -> io::Result<Vec<u8>> {
        let mut file = tempfile::tempfile()?;
        file.write_all(packed)?;
        rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(0))?;
        let compression = Compression::of(packed).unwrap();
        let mut bytes = compression.unpack_file(file)?;
        let mut all = Vec::new();
        while bytes.append(&mut all, most)? > 0 {}
        Ok(all)
    }

    /// Bytes that do not pack well, so that frames are long.
    fn noise(count: usize, seed: u64) -> Vec<u8> {
        let mut random = measure::random::SplitMix64::new(seed);
        (0..count / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect()
    }

    fn bgzf(text: &[u8]) -> Vec<u8> {
        let of_block = |block: &[u8]| {
            let mut packed = flate2::GzBuilder::new()
                .extra(vec![b'B', b'C', 2, 0, 0, 0])
                .write(Vec::new(), flate2::Compression::fast());
            packed.write_all(block).unwrap();
            let mut packed = packed.finish().unwrap();
            let size = u16::try_from(packed.len() - 1).unwrap().to_le_bytes();
            packed[16..18].copy_from_slice(&size);
            packed
        };
        text.chunks(32 << 10).flat_map(of_block).collect()
    }

    #[test]
    fn parts_side_by_side_are_the_file_in_order() {
        let texts: Vec<Vec<u8>> = (0..9).map(|seed| noise(700_000, seed)).collect();
        let frames: Vec<u8> = texts.iter().flat_map(|text| zstd::encode_all(&text[..], 1).unwrap()).collect();
        let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3][..], &frames].concat();
        let streams: Vec<u8> = texts.iter().flat_map(|text| bzip2(text)).collect();
        for (packed, most) in [
            (&frames, 100_000),
            (&frames, 7 << 20),
            (&skippable, 1 << 20),
            (&bgzf(&texts.concat()), 99_999),
            (&streams, 1 << 20),
        ] {
            assert!(read_file(packed, most).unwrap() == texts.concat());
        }
    }

    #[test]
    fn a_damaged_part_is_an_error_behind_what_came_before() {
        let texts: Vec<Vec<u8>> = (0..6).map(|seed| noise(1 << 20, seed)).collect();
        let frames: Vec<Vec<u8>> = texts.iter().map(|text| zstd::encode_all(&text[..], 1).unwrap()).collect();
        let whole = frames.concat();
        assert!(read_file(&whole[..whole.len() - 9], 1 << 20).is_err());
        assert!(read_file(&[&whole[..], b"no frame at all"].concat(), 1 << 20).is_err());
        let mut damaged = whole;
        damaged[frames[0].len()] ^= 0xFF;
        assert!(read_file(&damaged, 1 << 20).is_err());
    }

    #[test]
    fn a_packing_that_is_not_read_is_named_with_what_to_do() {
        let said = read(b"PK\x03\x04 and so on".to_vec()).unwrap_err().to_string();
        for part in ["zip archive", "from a file and not from standard input", "save it as a file"] {
            assert!(said.contains(part), "{said}");
        }
    }

    #[test]
    fn what_unpacks_of_a_cut_xz_is_read_and_the_rest_is_a_sentence() {
        // Blocks of 100 kB, so that a cut in the last one leaves the others.
        let text = noise(400_000, 3);
        let mut options = lzma_rust2::XzOptions::with_preset(1);
        options.set_block_size(std::num::NonZeroU64::new(100_000));
        let mut writer = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
        writer.write_all(&text).unwrap();
        let packed = writer.finish().unwrap();
        let mut bytes = unpack_pipe(Cursor::new(packed[..packed.len() * 7 / 8].to_vec())).unwrap();
        let mut all = Vec::new();
        let error = loop {
            match bytes.append(&mut all, 1 << 20) {
                Ok(count) => assert!(count > 0, "it ends without a word"),
                Err(error) => break error.to_string(),
            }
        };
        assert!(all.len() >= 300_000 && text.starts_with(&all), "{}", all.len());
        assert!(error.contains("xz data is truncated"), "{error}");
    }

    #[test]
    fn what_follows_a_whole_gzip_is_not_called_damage_of_it() {
        let backup = b"-- end of the backup --".to_vec();
        for (behind, what) in
            [(vec![0; 512], "no"), (backup, "no"), (vec![0; 4], "no whole"), (b"\n".to_vec(), "no whole")]
        {
            let mut bytes = unpack_pipe(Cursor::new([gzip(b"one\n"), behind].concat())).unwrap();
            let mut all = Vec::new();
            assert_eq!(bytes.append(&mut all, 100).unwrap(), 4);
            let said = bytes.append(&mut all, 100).unwrap_err().to_string();
            assert_eq!((&*all, &*said), (&b"one\n"[..], &*format!("what follows its gzip data is {what} gzip data")));
        }
        let damaged = [b"\x1f\x8b\x09".to_vec(), vec![0; 50]].concat();
        assert!(read(damaged).unwrap_err().to_string().contains("is damaged"), "nothing was unpacked of it");
    }

    #[test]
    fn a_packed_file_that_is_cut_is_an_error_that_says_so_in_the_same_words() {
        let text = noise(40_000, 5);
        let zstandard = zstd::encode_all(&text[..], 1).unwrap();
        for (packing, packed) in
            [("gzip", gzip(&text)), ("zstd", zstandard), ("xz", xz(&text)), ("bzip2", bzip2(&text))]
        {
            for missing in [5, packed.len() / 2] {
                let said = read(packed[..packed.len() - missing].to_vec()).unwrap_err().to_string();
                assert_eq!(said, format!("the {packing} data is truncated"), "{missing}");
            }
        }
    }
}
