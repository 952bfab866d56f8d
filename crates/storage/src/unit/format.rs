//! The bytes of a unit, and the checks that stand between them and their use.
//!
//! All numbers are little-endian. A header of [`HEADER_BYTES`], then for each column two entries of [`ENTRY_BYTES`]
//! (its nulls, its values), then the sections in that order without gaps. The byte map is in docs/formats.md.

use std::ops::Range;

use thiserror::Error;

use super::level::Level;

/// The letters that every unit begins with.
pub const MAGIC: [u8; 4] = *b"rpcu";

/// The version of the format.
pub const FORMAT_VERSION: u16 = 1;

/// Bytes of the header: letters, version, level, columns, rows, bytes of the unit, checksum of the header and entries.
pub const HEADER_BYTES: usize = 20;

/// Bytes of an entry: offset, stored bytes, raw bytes, checksum of the stored bytes.
pub const ENTRY_BYTES: usize = 16;

/// Sections of a column.
pub(super) const SECTIONS: usize = 2;

/// Where the checksum of the header stands; it is left out of what it is made from.
const CHECKSUM_AT: usize = 16;

/// The largest number of columns: header and entries stand in the first block.
pub const COLUMNS_MAX: usize = 200;

/// The most rows of a unit.
pub const ROWS_MAX: u32 = 1 << 16;

/// The most bytes of one section, stored or raw.
pub const SECTION_BYTES_MAX: u32 = 64 << 20;

/// Why a unit must not be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum UnitDamage {
    /// Fewer bytes than a header, or than it announces.
    #[error("it ends before its header does")]
    Short,
    /// Other letters.
    #[error("it does not begin like a unit of this engine")]
    Foreign,
    /// Written by a version that this one does not know.
    #[error("its format version is {0} and this program reads version {FORMAT_VERSION}")]
    Version(u16),
    /// The checksum of the header or of a section does not match.
    #[error("the checksum of {what} is {stored:#010x} and its bytes give {computed:#010x}")]
    Checksum {
        /// Of what.
        what: String,
        /// What the unit says.
        stored: u32,
        /// What the bytes give.
        computed: u32,
    },
    /// A header whose numbers contradict each other.
    #[error("its header says what cannot be: {0}")]
    Header(&'static str),
    /// A section that does not hold what it should.
    #[error("column {column} is damaged: {reason}")]
    Column {
        /// Which, from 1.
        column: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// A block that holds no part of a unit.
    #[error("a block of it holds something else")]
    Block,
}

/// Where a section stands in the unit and what it must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// First byte, from the unit's start.
    pub offset: u32,
    /// Bytes as stored; equal to `raw` where compressing did not help.
    pub stored: u32,
    /// Bytes after decompression; 0 for a section without content.
    pub raw: u32,
    /// CRC32C of the stored bytes.
    pub checksum: u32,
}

impl Entry {
    /// The bytes of the unit that the section takes.
    pub fn range(&self) -> Range<usize> {
        self.offset as usize..self.offset as usize + self.stored as usize
    }

    fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        let fields = [self.offset, self.stored, self.raw, self.checksum];
        for (place, field) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(fields) {
            *place = field.to_le_bytes();
        }
        bytes
    }

    fn of_bytes(bytes: &[u8]) -> Entry {
        let field = |index: usize| u32_at(bytes, index * 4);
        Entry { offset: field(0), stored: field(1), raw: field(2), checksum: field(3) }
    }
}

/// A section of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// A bit for each row, set where there is no value; empty where every row has one.
    Nulls,
    /// The values.
    Values,
}

/// What a unit says of itself, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// How it was compressed.
    pub level: Level,
    /// Rows of the unit.
    pub rows: u32,
    /// Bytes of the whole unit.
    pub bytes: u32,
    /// Nulls and values of each column, in turn.
    pub(super) entries: Vec<Entry>,
}

impl Header {
    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.entries.len() / SECTIONS
    }

    /// Bytes of header and entries for this many columns.
    pub fn bytes_for(columns: usize) -> usize {
        HEADER_BYTES + ENTRY_BYTES * SECTIONS * columns
    }

    /// Where a section of a column (from 0) stands. `None` where there is no such column.
    pub fn entry(&self, column: usize, section: Section) -> Option<Entry> {
        self.entries.get(SECTIONS * column + section as usize).copied()
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Header::bytes_for(self.columns()));
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes.extend([self.level.code(), self.columns() as u8]);
        bytes.extend_from_slice(&self.rows.to_le_bytes());
        bytes.extend_from_slice(&self.bytes.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        self.entries.iter().for_each(|entry| bytes.extend_from_slice(&entry.to_bytes()));
        let checksum = checksum_of_header(&bytes);
        bytes[CHECKSUM_AT..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads and checks header and entries at the beginning of `bytes`, which may go on.
    ///
    /// What passes has its sections one after the other, within the unit and of a size that can be.
    pub fn parse(bytes: &[u8]) -> Result<Header, UnitDamage> {
        let fixed = bytes.get(..HEADER_BYTES).ok_or(UnitDamage::Short)?;
        if fixed[..4] != MAGIC {
            return Err(UnitDamage::Foreign);
        }
        let version = u16::from_le_bytes([fixed[4], fixed[5]]);
        if version != FORMAT_VERSION {
            return Err(UnitDamage::Version(version));
        }
        let columns = usize::from(fixed[7]);
        let whole = bytes.get(..Header::bytes_for(columns)).ok_or(UnitDamage::Short)?;
        let (stored, computed) = (u32_at(whole, CHECKSUM_AT), checksum_of_header(whole));
        if stored != computed {
            return Err(UnitDamage::Checksum { what: "its header".into(), stored, computed });
        }
        let level = Level::of_code(fixed[6]).ok_or(UnitDamage::Header("a level that is none"))?;
        let (rows, bytes) = (u32_at(whole, 8), u32_at(whole, 12));
        let entries: Vec<Entry> = whole[HEADER_BYTES..].chunks_exact(ENTRY_BYTES).map(Entry::of_bytes).collect();
        check(rows, bytes, columns, &entries)?;
        Ok(Header { level, rows, bytes, entries })
    }
}

fn check(rows: u32, bytes: u32, columns: usize, entries: &[Entry]) -> Result<(), UnitDamage> {
    if columns == 0 || columns > COLUMNS_MAX {
        return Err(UnitDamage::Header("its number of columns"));
    }
    if rows == 0 || rows > ROWS_MAX {
        return Err(UnitDamage::Header("its number of rows"));
    }
    let mut next = Header::bytes_for(columns) as u64;
    for entry in entries {
        if u64::from(entry.offset) != next || entry.stored.max(entry.raw) > SECTION_BYTES_MAX {
            return Err(UnitDamage::Header("the place or size of a section"));
        }
        next += u64::from(entry.stored);
    }
    if next != u64::from(bytes) {
        return Err(UnitDamage::Header("its own size"));
    }
    Ok(())
}

fn checksum_of_header(bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&bytes[..CHECKSUM_AT]), &bytes[HEADER_BYTES..])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |chunk| u32::from_le_bytes(*chunk))
}
