//! Where the parts of a packed file end that can be unpacked side by side: frames of zstd, blocks of gzip whose headers
//! have their sizes (BGZF, as bgzip writes them), and streams of bzip2 (as pbzip2 writes them).
//!
//! A frame's end is found from the sizes of its blocks, without unpacking. A stream of bzip2 has no size: it ends where
//! the next one begins. What is not as it should be is no part: who unpacks the rest says what is wrong with it.

use std::fs::File;
use std::io;

/// Least bytes of a part: smaller frames are put together.
const PART_BYTES: u64 = 1 << 20;

/// Most bytes of a frame that is a part: a larger one would be unpacked far ahead of its turn, or not ahead at all.
const FRAME_BYTES_MAX: u64 = 64 << 20;

/// How much is read at a time of a file whose parts have no sizes.
const WINDOW_BYTES: usize = 256 << 10;

/// How a block of bzip2 begins, and the bytes of a stream's header before the first one.
const BZIP2_BLOCK: &[u8; 6] = b"1AY&SY";
const BZIP2_HEADER_BYTES: usize = 4;

/// How packed files divide into parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Frames of zstd.
    Zstandard,
    /// Members of gzip with their sizes.
    Gzip,
    /// Streams of bzip2.
    Bzip2,
}

/// Finds the parts of a file one after the other.
#[derive(Debug)]
pub(super) struct Parts {
    file: File,
    layout: Layout,
    at: u64,
    size: u64,
}

impl Parts {
    /// The parts from the beginning on.
    pub(super) fn new(file: File, layout: Layout) -> io::Result<Parts> {
        let size = file.metadata()?.len();
        Ok(Parts { file, layout, at: 0, size })
    }

    /// Begin and end of the next part; `None` at the end. What cannot be divided is one part up to the file's end.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, u64)>> {
        let begin = self.at;
        while self.at < self.size && self.at - begin < PART_BYTES {
            let end = match self.layout {
                Layout::Zstandard => self.zstandard_end()?,
                Layout::Gzip => self.gzip_end()?,
                Layout::Bzip2 => self.bzip2_end(begin + PART_BYTES)?,
            };
            self.at = end.filter(|end| *end <= self.size).unwrap_or(self.size);
        }
        Ok((self.at > begin).then_some((begin, self.at)))
    }

    /// Bytes of the file; fewer where it ends.
    fn bytes<const LENGTH: usize>(&self, at: u64) -> io::Result<[u8; LENGTH]> {
        let mut bytes = [0; LENGTH];
        rustix::io::pread(&self.file, &mut bytes, at)?;
        Ok(bytes)
    }

    /// The end of the frame here (RFC 8878, 3.1).
    fn zstandard_end(&self) -> io::Result<Option<u64>> {
        let [m0, m1, m2, m3, descriptor, rest @ ..] = self.bytes::<8>(self.at)?;
        let [r0, r1, r2] = rest;
        let magic = u32::from_le_bytes([m0, m1, m2, m3]);
        if magic & 0xFFFF_FFF0 == 0x184D_2A50 {
            return Ok(Some(self.at + 8 + u64::from(u32::from_le_bytes([descriptor, r0, r1, r2]))));
        }
        if magic != 0xFD2F_B528 {
            return Ok(None);
        }
        let is_single = descriptor & 0x20 != 0;
        let size_bytes = [u64::from(is_single), 2, 4, 8][usize::from(descriptor >> 6)];
        let dictionary_bytes = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let mut at = self.at + 5 + u64::from(!is_single) + dictionary_bytes + size_bytes;
        loop {
            let [b0, b1, b2] = self.bytes::<3>(at)?;
            let header = u32::from_le_bytes([b0, b1, b2, 0]);
            // A block of one byte that is repeated has that byte alone.
            let bytes = if header >> 1 & 3 == 1 { 1 } else { u64::from(header >> 3) };
            at += 3 + bytes;
            if header & 1 == 1 {
                return Ok(Some(at + if descriptor & 4 == 4 { 4 } else { 0 }));
            }
            if at >= self.size || at - self.at > FRAME_BYTES_MAX {
                return Ok(None);
            }
        }
    }

    /// The end of the member here, where its header has an extra field `BC` with its size less one, first of all.
    fn gzip_end(&self) -> io::Result<Option<u64>> {
        match self.bytes::<18>(self.at)? {
            [0x1f, 0x8b, 8, flags, _, _, _, _, _, _, _, _, b'B', b'C', 2, 0, low, high] if flags & 4 == 4 => {
                Ok(Some(self.at + u64::from(u16::from_le_bytes([low, high])) + 1))
            }
            _ => Ok(None),
        }
    }

    /// Where the first stream of bzip2 from this place on begins. Of a stream the first block alone has the mark of a
    /// block right behind a header: the others begin anywhere within a byte.
    fn bzip2_end(&self, from: u64) -> io::Result<Option<u64>> {
        let mut window = vec![0; WINDOW_BYTES];
        let mut at = from;
        while at < self.size && at - self.at <= FRAME_BYTES_MAX {
            let count = rustix::io::pread(&self.file, &mut window, at)?;
            if count == 0 {
                break;
            }
            let has_header = |mark: &usize| matches!(window[..*mark], [.., b'B', b'Z', b'h', b'1'..=b'9']);
            if let Some(mark) = memchr::memmem::find_iter(&window[..count], BZIP2_BLOCK).find(has_header) {
                return Ok(Some(at + (mark - BZIP2_HEADER_BYTES) as u64));
            }
            // One may lie across the window's end.
            at += count.saturating_sub(BZIP2_HEADER_BYTES + BZIP2_BLOCK.len() - 1).max(1) as u64;
        }
        Ok(None)
    }
}
