//! Cuts a file into chunks at line ends, in order, with little memory whatever the file's size.

use std::io;
use std::mem;

use sys::file::awaited::unless_called_off;

use crate::input::SharedContents;
use crate::input::bytes::Bytes;
use crate::source::oracle::mark;
use crate::source::oracle::scan::{ChunkEnd, LINE_MAX};

/// Lines at which a chunk is cut if one of them stands near its end: hardly ever is one of these within a text or a
/// block of values, so that the next chunk can be scanned before this one.
const GOOD_BEGINNINGS: [&[u8]; 6] = [b"WAIT #", b"FETCH #", b"EXEC #", b"PARSE #", b"CLOSE #", b"====="];

/// How far back from a chunk's end a good place to cut is looked for.
const SEARCH_BYTES: usize = 16 << 10;

/// How much is read at once to see what follows a chunk.
const AHEAD_BYTES: usize = 4 << 10;

/// Longest line of the mark of a trace at its greatest size.
const SIZE_LIMIT_LINE_MAX: usize = 128;

/// Most bytes that are read at once.
const READ_BYTES: usize = 1 << 20;

/// Where a chunk stands, and how it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) offset: u64,
    pub(crate) end: ChunkEnd,
}

/// Hands out the chunks of one file.
#[derive(Debug)]
pub(crate) struct Chunks {
    source: Bytes,
    /// The files of an archive, each of which begins a chunk; `None` where none does.
    files: Option<SharedContents>,
    chunk_bytes: usize,
    offset: u64,
    /// Bytes that were read and belong to the next chunk.
    leftover: Vec<u8>,
    is_source_at_end: bool,
    is_over: bool,
    /// Whether the reading was called off before it began: a follower looks once more after the signal.
    was_called_off: bool,
    /// What ended the reading; what was read before is handed out first.
    failure: Option<io::Error>,
}

impl Chunks {
    /// Begins a file. A chunk has about `chunk_bytes`, and at least a line.
    pub(crate) fn new(source: Bytes, chunk_bytes: usize) -> Chunks {
        Chunks {
            source,
            files: None,
            chunk_bytes: chunk_bytes.max(1),
            offset: 0,
            leftover: Vec::new(),
            is_source_at_end: false,
            is_over: false,
            was_called_off: unless_called_off().is_err(),
            failure: None,
        }
    }

    /// The same, where each file of an archive begins a chunk: what is counted of a chunk is of one file.
    pub(crate) fn by_file(source: Bytes, chunk_bytes: usize) -> Chunks {
        let files = source.contents();
        Chunks { files, ..Chunks::new(source, chunk_bytes) }
    }

    /// Whether the last chunk was handed out, and the error behind it.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over && self.failure.is_none()
    }

    /// Whether the bytes come as a stream.
    pub(crate) fn is_stream(&self) -> bool {
        self.source.is_stream()
    }

    /// Puts the next chunk's bytes in place of what `bytes` holds; `None` after the last. The last one may be empty. An
    /// error comes behind all that could be read.
    pub(crate) fn next(&mut self, bytes: &mut Vec<u8>) -> io::Result<Option<Chunk>> {
        if self.is_over {
            return self.failure.take().map_or(Ok(None), Err);
        }
        let chunk = self.next_or_end(bytes);
        match self.failure.take_if(|_| self.is_over && bytes.is_empty()) {
            Some(failure) => Err(failure),
            None => Ok(Some(chunk)),
        }
    }

    fn next_or_end(&mut self, bytes: &mut Vec<u8>) -> Chunk {
        bytes.clear();
        bytes.append(&mut self.leftover);
        let mut wanted = self.chunk_bytes;
        loop {
            self.fill(bytes, wanted);
            if let Some(length) = self.length_of_file(bytes.len()) {
                self.leftover.extend_from_slice(&bytes[length..]);
                bytes.truncate(length);
                return self.chunk(bytes, ChunkEnd::Line);
            }
            if self.is_source_at_end && bytes.len() <= wanted {
                self.is_over = true;
                if self.failure.is_none() {
                    return self.chunk(bytes, ChunkEnd::File);
                }
                // The file does not end here: its last line is none, and more of a text may follow.
                bytes.truncate(memchr::memrchr(b'\n', bytes).map_or(0, |feed| feed + 1));
                return self.chunk(bytes, ChunkEnd::Line);
            }
            if let Some(cut) = cut(bytes, self.chunk_bytes) {
                let cut = self.behind_size_limit(bytes, cut);
                self.leftover.extend_from_slice(&bytes[cut..]);
                bytes.truncate(cut);
                return self.chunk(bytes, ChunkEnd::Line);
            }
            if bytes.len() > LINE_MAX {
                return self.within_line(bytes);
            }
            wanted = (wanted * 2).max(4096);
        }
    }

    /// How many of the bytes that were read are of the first file among them; `None` where all are. A file of an
    /// archive begins a line.
    fn length_of_file(&self, bytes: usize) -> Option<usize> {
        let next = self.files.as_ref()?.next_begin(self.offset)?;
        usize::try_from(next - self.offset).ok().filter(|length| *length < bytes)
    }

    /// Reads until there are this many bytes, a file of an archive ends among them, or the source ends.
    fn fill(&mut self, bytes: &mut Vec<u8>, wanted: usize) {
        while bytes.len() < wanted && !self.is_source_at_end && self.length_of_file(bytes.len()).is_none() {
            let most = (wanted - bytes.len()).min(READ_BYTES);
            self.append(bytes, most);
        }
    }

    /// Reads some bytes; what cannot be read is the end.
    fn append(&mut self, bytes: &mut Vec<u8>, most: usize) {
        let count = self.source.append(bytes, most).unwrap_or_else(|failure| {
            self.failure = Some(failure);
            0
        });
        self.is_source_at_end = count == 0;
    }

    /// The place to cut, but behind the mark of a trace at its greatest size where that follows: the mark says that the
    /// line before it was cut, and both have to be in one chunk.
    fn behind_size_limit(&mut self, bytes: &mut Vec<u8>, cut: usize) -> usize {
        while bytes.len() < cut + 2 + mark::SIZE_LIMIT.len() && !self.is_source_at_end {
            self.append(bytes, AHEAD_BYTES);
        }
        let feeds = bytes[cut..].iter().take(2).take_while(|byte| **byte == b'\n').count();
        if !bytes[cut + feeds..].starts_with(mark::SIZE_LIMIT) {
            return cut;
        }
        while bytes.len() < cut + SIZE_LIMIT_LINE_MAX && !self.is_source_at_end {
            self.append(bytes, AHEAD_BYTES);
        }
        let rest = &bytes[cut + feeds..];
        memchr::memchr(b'\n', rest).map_or(bytes.len(), |length| cut + feeds + length + 1)
    }

    fn chunk(&mut self, bytes: &[u8], end: ChunkEnd) -> Chunk {
        let left_out = if let ChunkEnd::WithinLine(left_out) = end { left_out } else { 0 };
        let offset = self.offset;
        self.offset += bytes.len() as u64 + left_out;
        Chunk { offset, end }
    }

    /// A line without an end as far as was read: all but its beginning streams by.
    fn within_line(&mut self, bytes: &mut Vec<u8>) -> Chunk {
        let mut left_out = (bytes.len() - LINE_MAX) as u64;
        bytes.truncate(LINE_MAX);
        while !self.is_source_at_end {
            let mut more = mem::take(&mut self.leftover);
            more.clear();
            self.append(&mut more, LINE_MAX);
            self.leftover = more;
            if let Some(length) = memchr::memchr(b'\n', &self.leftover) {
                self.leftover.drain(..=length);
                left_out += length as u64 + 1;
                return self.chunk(bytes, ChunkEnd::WithinLine(left_out));
            }
            left_out += self.leftover.len() as u64;
            // The whole file may be one line, and its reader can break off behind a line only. What was read before
            // is kept: it is no fault of the file's.
            self.is_source_at_end |= !self.was_called_off && unless_called_off().is_err();
        }
        self.leftover.clear();
        self.chunk(bytes, ChunkEnd::WithinLine(left_out))
    }
}

/// Where to cut: behind a line end, near `wanted` bytes; `None` when there is no line end.
fn cut(bytes: &[u8], wanted: usize) -> Option<usize> {
    let within = &bytes[..bytes.len().min(wanted)];
    let Some(last) = memchr::memrchr(b'\n', within) else {
        return memchr::memchr(b'\n', &bytes[within.len()..]).map(|length| within.len() + length + 1);
    };
    let begin = last.saturating_sub(SEARCH_BYTES);
    let good = memchr::memrchr_iter(b'\n', &bytes[begin..last])
        .map(|at| begin + at + 1)
        .find(|at| GOOD_BEGINNINGS.iter().any(|beginning| bytes[*at..].starts_with(beginning)));
    Some(good.unwrap_or(last + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(text: &[u8], chunk_bytes: usize) -> Vec<(u64, Vec<u8>, ChunkEnd)> {
        let mut chunks = Chunks::new(Bytes::from_reader(io::Cursor::new(text.to_vec())), chunk_bytes);
        let (mut all, mut bytes) = (Vec::new(), Vec::new());
        while let Some(chunk) = chunks.next(&mut bytes).unwrap() {
            all.push((chunk.offset, bytes.clone(), chunk.end));
        }
        all
    }

    #[test]
    fn chunks_put_together_are_the_file() {
        let text = b"one\ntwo\n\nWAIT #1\nthree\nfour";
        for chunk_bytes in 1..40 {
            let all = chunks(text, chunk_bytes);
            assert_eq!(all.iter().flat_map(|(_, bytes, _)| bytes.clone()).collect::<Vec<_>>(), text);
            assert!(all.iter().rev().skip(1).all(|(_, bytes, end)| bytes.ends_with(b"\n") && *end == ChunkEnd::Line));
            assert_eq!(all.last().unwrap().2, ChunkEnd::File);
        }
        assert_eq!(chunks(b"", 10), [(0, Vec::new(), ChunkEnd::File)]);
    }

    #[test]
    fn a_line_without_end_is_left_out_and_counted() {
        let text = ["a\n".as_bytes(), &vec![b'x'; LINE_MAX * 5], b"\nb\n"].concat();
        for chunk_bytes in [1, 100, LINE_MAX, LINE_MAX * 2] {
            let all = chunks(&text, chunk_bytes);
            let long = all.iter().find(|(_, _, end)| matches!(end, ChunkEnd::WithinLine(_))).unwrap();
            assert_eq!((long.0, long.1.len(), long.2), (2, LINE_MAX, ChunkEnd::WithinLine(LINE_MAX as u64 * 4 + 1)));
            assert_eq!(all.iter().find(|(_, bytes, _)| bytes.starts_with(b"b\n")).unwrap().0, text.len() as u64 - 2);
        }
    }

    #[test]
    fn a_chunk_is_cut_before_a_record_if_there_is_one() {
        let text = b"END OF STMT\nEXEC #1\n Bind#0\n  value=1\n  value=2\n";
        assert_eq!(chunks(text, text.len() - 1)[0].1, b"END OF STMT\n");
    }
}
