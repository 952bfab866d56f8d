//! Compressed files, known by their first bytes.

use std::io::{self, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

use crate::input::bytes::Bytes;

/// How many bytes tell how a file is compressed.
pub(crate) const MAGIC_BYTES: usize = 4;

/// How much is read of a compressed file at a time.
const READ_BYTES: usize = 128 << 10;

/// A way to compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip (RFC 1952); one member after the other is one file.
    Gzip,
    /// Zstandard (RFC 8878); one frame after the other is one file.
    Zstandard,
}

impl Compression {
    /// By the first bytes of a file.
    pub fn of(head: &[u8]) -> Option<Compression> {
        match head {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Compression::Zstandard),
            _ => None,
        }
    }

    /// The bytes that were compressed.
    pub(crate) fn unpack(self, reader: impl Read + Send + 'static) -> io::Result<Bytes> {
        let reader = BufReader::with_capacity(READ_BYTES, reader);
        Ok(match self {
            Compression::Gzip => Bytes::from_reader(MultiGzDecoder::new(reader)),
            Compression::Zstandard => Bytes::from_reader(zstd::stream::read::Decoder::with_buffer(reader)?),
        })
    }
}

/// The bytes of a stream, unpacked if its first bytes say that it is packed.
pub(crate) fn unpack_stream(mut stream: impl Read + Send + 'static) -> io::Result<Bytes> {
    let mut head = Vec::new();
    (&mut stream).take(MAGIC_BYTES as u64).read_to_end(&mut head)?;
    let compression = Compression::of(&head);
    let whole = Cursor::new(head).chain(stream);
    match compression {
        Some(compression) => compression.unpack(whole),
        None => Ok(Bytes::from_reader(whole)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read(packed: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut bytes = unpack_stream(Cursor::new(packed))?;
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
    }

    #[test]
    fn a_packed_file_that_is_cut_is_an_error() {
        for packed in [gzip(&[b'x'; 5000]), zstd::encode_all(&[b'x'; 5000][..], 1).unwrap()] {
            assert!(read(packed[..packed.len() - 5].to_vec()).is_err());
        }
    }
}
