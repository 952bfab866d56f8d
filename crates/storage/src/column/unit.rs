//! A unit: half a million rows of one column, encoded.

use super::chunk::{Chunk, Place};
use super::filter::Filter;
use super::kernel::{self, Groups, Kernel, Mask};
use super::planes::Planes;
use super::predicate::ValueRange;
use super::runs::Runs;
use super::texts::Texts;

/// Rows of one column, encoded.
#[derive(Debug)]
pub struct Unit {
    pub(super) rows: usize,
    pub(super) nulls: usize,
    pub(super) validity: Validity,
    pub(super) content: Content,
    /// The least and the greatest number; `None` for texts, and where there is none.
    pub(super) zone: Option<(i64, i64)>,
    pub(super) plain_bytes: u64,
}

/// Which rows have values.
#[derive(Debug)]
pub(super) enum Validity {
    All,
    None,
    Bitmap(Place),
}

/// The values.
#[derive(Debug)]
pub(super) enum Content {
    Nothing,
    Coded { meaning: Meaning, codes: Codes },
    Texts(Texts),
}

/// What a code stands for.
#[derive(Debug)]
pub(super) enum Meaning {
    /// The distance from this number.
    Distance(i64),
    /// The rank in a dictionary of numbers.
    Integer(Box<[i64]>),
    /// The number of an entry of a dictionary of texts.
    Text(Texts),
}

/// Where the codes are.
#[derive(Debug)]
pub(super) enum Codes {
    Planes { place: Place, width: usize },
    Runs(Runs),
}

/// What was found in a unit, and how many bytes were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) count: u64,
    pub(super) bytes: u64,
}

impl Unit {
    /// Rows, nulls among them.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Rows without a value.
    pub fn nulls(&self) -> usize {
        self.nulls
    }

    /// How the values are kept, without the figures that differ from unit to unit.
    pub fn encoding(&self) -> &'static str {
        let (meaning, codes) = match &self.content {
            Content::Nothing => return "nothing",
            Content::Texts(_) => return "plain",
            Content::Coded { meaning, codes } => (meaning, codes),
        };
        match (meaning, codes) {
            (Meaning::Distance(0), Codes::Planes { .. }) => "bit-packing",
            (Meaning::Distance(_), Codes::Planes { .. }) => "frame of reference",
            (Meaning::Distance(_), Codes::Runs(_)) => "run-length",
            (Meaning::Integer(_) | Meaning::Text(_), Codes::Planes { .. }) => "dictionary",
            (Meaning::Integer(_) | Meaning::Text(_), Codes::Runs(_)) => "dictionary and run-length",
        }
    }

    /// Bits of a code; `None` where there are no codes in planes.
    pub fn width(&self) -> Option<usize> {
        match &self.content {
            Content::Coded { codes: Codes::Planes { width, .. }, .. } => Some(*width),
            _ => None,
        }
    }

    /// How the nulls are kept.
    pub fn null_encoding(&self) -> &'static str {
        match self.validity {
            Validity::All => "no nulls",
            Validity::None => "all null",
            Validity::Bitmap(_) => "nulls in a bitmap",
        }
    }

    /// Bytes of everything that the unit keeps: codes, dictionary, nulls; not the room between units.
    pub fn bytes(&self) -> u64 {
        self.mask_bytes() + self.plain_memory() + self.planes_memory()
    }

    /// Bytes that the same values take in rows, a length byte each among them: what compression is measured against.
    pub fn plain_bytes(&self) -> u64 {
        self.plain_bytes
    }

    /// The same unit where this many chunks precede its own.
    pub(super) fn moved_by(mut self, chunks: usize) -> Unit {
        if let Validity::Bitmap(place) = &mut self.validity {
            place.chunk += chunks;
        }
        if let Content::Coded { codes: Codes::Planes { place, .. }, .. } = &mut self.content {
            place.chunk += chunks;
        }
        self
    }

    /// Bytes outside the column's chunks.
    pub(super) fn plain_memory(&self) -> u64 {
        let bytes = match &self.content {
            Content::Nothing => 0,
            Content::Texts(texts) => texts.bytes(),
            Content::Coded { meaning, codes } => {
                meaning.bytes() + if let Codes::Runs(runs) = codes { runs.bytes() } else { 0 }
            }
        };
        bytes as u64
    }

    fn planes_memory(&self) -> u64 {
        match &self.content {
            Content::Coded { codes: Codes::Planes { place, .. }, .. } => place.bytes(),
            _ => 0,
        }
    }

    /// The rows that have values; `None` where no row has one.
    pub(super) fn mask<'a>(&self, chunks: &'a [Chunk]) -> Option<Mask<'a>> {
        match &self.validity {
            Validity::All => Some(Mask::all()),
            Validity::None => None,
            Validity::Bitmap(place) => Some(Mask::of(place.of(chunks))),
        }
    }

    /// Bytes of the bitmap that a scan reads.
    pub(super) fn mask_bytes(&self) -> u64 {
        if let Validity::Bitmap(place) = &self.validity { place.bytes() } else { 0 }
    }

    /// How many rows pass `predicate`, have a value here, and are in `counted`.
    ///
    /// Nothing is concluded from the least and the greatest value: the codes of all rows are read. `None` where the
    /// values are texts.
    pub(super) fn count(
        &self,
        chunks: &[Chunk],
        kernel: Kernel,
        predicate: ValueRange,
        counted: Mask<'_>,
    ) -> Option<Found> {
        let Some(mask) = self.mask(chunks) else { return Some(Found::default()) };
        let masks = [mask, counted];
        let (count, bytes) = match &self.content {
            Content::Nothing => (0, 0),
            Content::Texts(_) => return None,
            Content::Coded { meaning, codes: Codes::Runs(runs) } => {
                (runs.count(&meaning.filter(predicate, u64::MAX)?, masks), self.plain_memory())
            }
            Content::Coded { meaning, codes: Codes::Planes { place, width } } => {
                let planes = Planes::new(place.of(chunks), *width);
                let filter = meaning.filter(predicate, planes.code_max())?;
                let groups = Groups { planes, masks, rows: self.rows };
                (kernel::count(kernel, &groups, &filter), self.plain_memory() + self.planes_memory())
            }
        };
        Some(Found { count, bytes: bytes + self.mask_bytes() })
    }
}

impl Meaning {
    /// Bytes of the dictionary.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Meaning::Distance(_) => 0,
            Meaning::Integer(entries) => size_of_val(&**entries),
            Meaning::Text(entries) => entries.bytes(),
        }
    }

    /// The predicate in codes; `None` where they stand for texts.
    fn filter(&self, predicate: ValueRange, code_max: u64) -> Option<Filter> {
        match self {
            Meaning::Distance(base) => Some(predicate.filter_of_distances(*base, code_max)),
            Meaning::Integer(entries) => Some(predicate.filter_of_ranks(entries)),
            Meaning::Text(_) => None,
        }
    }
}
