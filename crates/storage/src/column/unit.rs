//! A unit: half a million rows of one column, encoded.

use super::bitmap;
use super::chunk::{Chunk, Place};
use super::encoding::{CodeLayout, Domain, Encoding, NullEncoding};
use super::filter::Filter;
use super::kernel::{self, Groups, Kernel, Mask};
use super::planes::Planes;
use super::predicate::Predicate;
use super::runs::Runs;
use super::texts::Texts;
use super::value::Datum;

/// Rows of one column, encoded.
#[derive(Debug)]
pub struct Unit {
    pub(super) rows: usize,
    pub(super) nulls: usize,
    pub(super) validity: Validity,
    pub(super) content: Content,
    pub(super) zone: Option<Zone>,
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
    /// The rank in a dictionary of texts.
    Text(Texts),
}

/// Where the codes are.
#[derive(Debug)]
pub(super) enum Codes {
    Planes { place: Place, width: usize },
    Runs(Runs),
}

/// The least and the greatest value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Zone {
    Integers(i64, i64),
    Texts(Box<[u8]>, Box<[u8]>),
}

impl Zone {
    /// Whether all, or none, of the values pass; `None` where some may. `None` for a predicate of another type.
    pub(super) fn verdict(&self, predicate: &Predicate) -> Option<bool> {
        match (self, predicate) {
            (Zone::Integers(min, max), Predicate::Integers(range)) => range.verdict(min, max),
            (Zone::Texts(min, max), Predicate::Texts(range)) => range.verdict(&**min, &**max),
            _ => None,
        }
    }
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

    /// How the values are kept.
    pub fn encoding(&self) -> Encoding {
        match &self.content {
            Content::Nothing => Encoding::Nothing,
            Content::Texts(_) => Encoding::Plain,
            Content::Coded { meaning, codes } => Encoding::Coded { domain: meaning.domain(), layout: codes.layout() },
        }
    }

    /// How the nulls are kept.
    pub fn null_encoding(&self) -> NullEncoding {
        match self.validity {
            Validity::All => NullEncoding::NoneNull,
            Validity::None => NullEncoding::AllNull,
            Validity::Bitmap(_) => NullEncoding::Bitmap,
        }
    }

    /// Bytes of everything that the unit keeps: codes, dictionary, nulls; not the room between units.
    pub fn bytes(&self) -> u64 {
        let validity = match &self.validity {
            Validity::Bitmap(place) => place.bytes(),
            Validity::All | Validity::None => 0,
        };
        validity + self.plain_memory() + self.planes_memory()
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
    /// predicate is about another type.
    pub(super) fn count(
        &self,
        chunks: &[Chunk],
        kernel: Kernel,
        predicate: &Predicate,
        counted: Mask<'_>,
    ) -> Option<Found> {
        let Some(mask) = self.mask(chunks) else { return Some(Found::default()) };
        let masks = [mask, counted];
        let (count, bytes) = match &self.content {
            Content::Nothing => (0, 0),
            Content::Texts(texts) => (count_texts(texts, predicate, masks)?, self.plain_memory()),
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

    /// The value of a row. Panics beyond the last one.
    pub(super) fn value<'a>(&'a self, chunks: &'a [Chunk], row: usize) -> Datum<'a> {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        let is_there = match &self.validity {
            Validity::All => true,
            Validity::None => false,
            Validity::Bitmap(place) => bitmap::is_set(place.of(chunks), row),
        };
        match &self.content {
            _ if !is_there => Datum::Null,
            Content::Nothing => Datum::Null,
            Content::Texts(texts) => Datum::Text(texts.get(row)),
            Content::Coded { meaning, codes } => meaning.value(codes.code(chunks, row)),
        }
    }
}

impl Meaning {
    fn domain(&self) -> Domain {
        match self {
            Meaning::Distance(0) => Domain::Number,
            Meaning::Distance(base) => Domain::Frame { base: *base },
            Meaning::Integer(entries) => Domain::Dictionary { entries: entries.len() },
            Meaning::Text(entries) => Domain::Dictionary { entries: entries.len() },
        }
    }

    /// Bytes of the dictionary.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Meaning::Distance(_) => 0,
            Meaning::Integer(entries) => size_of_val(&**entries),
            Meaning::Text(entries) => entries.bytes(),
        }
    }

    fn value(&self, code: u64) -> Datum<'_> {
        match self {
            Meaning::Distance(base) => Datum::Integer((*base as u64).wrapping_add(code) as i64),
            Meaning::Integer(entries) => Datum::Integer(entries[code as usize]),
            Meaning::Text(entries) => Datum::Text(entries.get(code as usize)),
        }
    }

    /// The predicate in codes; `None` where it is about another type.
    fn filter(&self, predicate: &Predicate, code_max: u64) -> Option<Filter> {
        match (self, predicate) {
            (Meaning::Distance(base), Predicate::Integers(range)) => Some(range.filter_of_distances(*base, code_max)),
            (Meaning::Integer(entries), Predicate::Integers(range)) => {
                Some(range.filter_of_ranks(entries.len(), |rank| &entries[rank]))
            }
            (Meaning::Text(entries), Predicate::Texts(range)) => {
                Some(range.filter_of_ranks(entries.len(), |rank| entries.get(rank)))
            }
            _ => None,
        }
    }
}

impl Codes {
    fn layout(&self) -> CodeLayout {
        match self {
            Codes::Planes { width, .. } => CodeLayout::Planes { width: *width },
            Codes::Runs(runs) => CodeLayout::Runs { runs: runs.len() },
        }
    }

    fn code(&self, chunks: &[Chunk], row: usize) -> u64 {
        match self {
            Codes::Planes { place, width } => Planes::new(place.of(chunks), *width).code(row),
            Codes::Runs(runs) => runs.code(row),
        }
    }
}

/// How many texts pass and are in both masks: each is compared.
fn count_texts(texts: &Texts, predicate: &Predicate, masks: [Mask<'_>; 2]) -> Option<u64> {
    let Predicate::Texts(range) = predicate else { return None };
    let passing = texts.iter().enumerate().filter(|(_, text)| range.passes(*text));
    Some(passing.map(|(row, _)| bitmap::count_between(masks, row, row + 1)).sum())
}
