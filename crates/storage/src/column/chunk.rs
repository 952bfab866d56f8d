//! Where the lines of a column lie: in few large pieces, on huge pages where they are large enough.
//!
//! Each unit by itself would be too small for a huge page, and a scan from one page of 4 KiB to the next reaches a
//! tenth less of the memory's bandwidth.

use std::ops::Range;

use sys::memory::{HUGE_PAGE, Pages, Region};

use super::line::{LINE_BYTES, Line};
use crate::error::StorageError;

/// Lines of a piece at most: 16 MiB, of which the last unit that does not fit leaves a twelfth unused at 19 bits a row.
const CHUNK_LINES_MAX: usize = (16 << 20) / LINE_BYTES;

/// Columns that are smaller than this lie in plain memory: a huge page would be mostly empty.
const SMALL_LINES: usize = HUGE_PAGE / 2 / LINE_BYTES;

/// A piece of memory.
#[derive(Debug)]
pub(super) enum Chunk {
    /// Plain memory.
    Small(Vec<Line>),
    /// Mapped by itself, on huge pages where the system grants them.
    Large(Region),
}

impl Chunk {
    /// Bytes that a chunk for `lines` lines really takes.
    fn bytes_for(lines: usize) -> usize {
        let bytes = lines * LINE_BYTES;
        if lines < SMALL_LINES { bytes } else { bytes.next_multiple_of(HUGE_PAGE) }
    }

    fn new(lines: usize) -> Result<Chunk, StorageError> {
        if lines < SMALL_LINES {
            return Ok(Chunk::Small(vec![[0; LINE_BYTES]; lines]));
        }
        let no_room = |error| StorageError::NoMemory { what: "a column", needed: (lines * LINE_BYTES) as u64, error };
        Region::new(lines * LINE_BYTES, Pages::Huge).map(Chunk::Large).map_err(no_room)
    }

    /// Its lines.
    pub(super) fn lines(&self) -> &[Line] {
        match self {
            Chunk::Small(lines) => lines,
            Chunk::Large(region) => region.bytes().as_chunks().0,
        }
    }

    fn lines_mut(&mut self) -> &mut [Line] {
        match self {
            Chunk::Small(lines) => lines,
            Chunk::Large(region) => region.bytes_mut().as_chunks_mut().0,
        }
    }
}

/// Where some lines lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The chunk's number within its column.
    pub(super) chunk: usize,
    /// The lines of it.
    pub(super) lines: Range<usize>,
}

impl Place {
    /// Bytes of the lines.
    pub(super) fn bytes(&self) -> u64 {
        (self.lines.len() * LINE_BYTES) as u64
    }

    /// The lines themselves. Panics where the chunks are not those that the place was made in.
    pub(super) fn of<'a>(&self, chunks: &'a [Chunk]) -> &'a [Line] {
        if self.lines.is_empty() {
            return &[];
        }
        &chunks[self.chunk].lines()[self.lines.clone()]
    }
}

/// The chunks of one column, the last of which still has room.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    chunks: Vec<Chunk>,
    used: usize,
}

impl Chunks {
    /// Bytes that [`place`](Chunks::place) would take from the system for `lines` more lines.
    pub(super) fn bytes_wanted(&self, lines: usize, units_to_come: usize) -> usize {
        if lines <= self.room() { 0 } else { Chunk::bytes_for(chunk_lines(lines, units_to_come)) }
    }

    /// A place for `lines` lines, and the lines. `units_to_come`, this one included, says how large a new chunk should
    /// be. Errors when the system has no memory.
    pub(super) fn place(&mut self, lines: usize, units_to_come: usize) -> Result<(Place, &mut [Line]), StorageError> {
        if lines > self.room() {
            self.chunks.push(Chunk::new(chunk_lines(lines, units_to_come))?);
            self.used = 0;
        }
        let range = self.used..self.used + lines;
        self.used = range.end;
        let chunk = self.chunks.len().saturating_sub(1);
        let taken = match self.chunks.last_mut() {
            Some(last) => &mut last.lines_mut()[range.clone()],
            None => &mut [],
        };
        Ok((Place { chunk, lines: range }, taken))
    }

    /// All chunks, in order.
    pub(super) fn finish(self) -> Vec<Chunk> {
        self.chunks
    }

    fn room(&self) -> usize {
        self.chunks.last().map_or(0, |chunk| chunk.lines().len() - self.used)
    }
}

/// Lines of a new chunk: for as many whole units of this size as are to come and fit the limit.
fn chunk_lines(lines: usize, units_to_come: usize) -> usize {
    let units = (CHUNK_LINES_MAX / lines.max(1)).clamp(1, units_to_come.max(1));
    lines * units
}

/// Bytes of the chunks that this many bytes of lines take at most: each chunk leaves less than a unit or a huge page
/// unused, and both are a few MiB.
pub(super) fn bytes_at_most(line_bytes: u64) -> u64 {
    let unused = (4 << 20) + HUGE_PAGE as u64;
    let in_use = (CHUNK_LINES_MAX * LINE_BYTES) as u64 - unused;
    line_bytes + line_bytes / in_use * unused + if line_bytes == 0 { 0 } else { HUGE_PAGE as u64 }
}

/// Bytes of chunks.
pub(super) fn bytes_of(chunks: &[Chunk]) -> u64 {
    chunks.iter().map(|chunk| (chunk.lines().len() * LINE_BYTES) as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_do_not_overlap_and_take_what_was_said_before() {
        let mut chunks = Chunks::default();
        let (mut places, mut said) = (Vec::new(), 0);
        for (index, lines) in [10, 0, 3, 20_000, 20_000, 40_000, 300_000, 1].into_iter().enumerate() {
            said += chunks.bytes_wanted(lines, 8 - index);
            let (place, taken) = chunks.place(lines, 8 - index).unwrap();
            taken.fill([index as u8 + 1; LINE_BYTES]);
            places.push((place, lines));
        }
        let chunks = chunks.finish();
        assert_eq!(bytes_of(&chunks), said as u64);
        for (index, (place, lines)) in places.iter().enumerate() {
            assert_eq!(place.of(&chunks).len(), *lines);
            assert!(place.of(&chunks).iter().all(|line| *line == [index as u8 + 1; LINE_BYTES]));
        }
    }

    #[test]
    fn the_last_units_of_a_column_take_no_chunk_for_units_that_never_come() {
        let mut chunks = Chunks::default();
        assert_eq!(chunks.bytes_wanted(20_000, 1), HUGE_PAGE);
        assert_eq!(chunks.bytes_wanted(100, 1), 100 * LINE_BYTES);
        chunks.place(100, 1).unwrap();
        assert_eq!(chunks.bytes_wanted(1, 1), LINE_BYTES);
    }
}
