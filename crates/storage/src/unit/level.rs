//! How hard a unit is compressed, and how many rows it holds.

use measure::words::Word;

measure::words! {
    /// The four levels: two for data that is queried, two for data that is kept.
    pub enum Level ("level") {
        /// LZ4: the quickest to read
        QueryLow = "query-low",
        /// Zstandard at its level 3
        QueryHigh = "query-high",
        /// Zstandard at level 9, over longer units
        ArchiveLow = "archive-low",
        /// Zstandard at level 16, over the longest units: the smallest; two minutes to make 7 million rows on two cores
        ArchiveHigh = "archive-high",
    }
}

/// What presses the bytes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    /// LZ4's block format.
    Lz4,
    /// Zstandard at this level.
    Zstd(i32),
}

impl Level {
    /// Rows of every unit but the last: the more, the better they compress, and the more a single row costs.
    pub fn rows_per_unit(self) -> u32 {
        match self {
            Level::QueryLow => 4096,
            Level::QueryHigh => 8192,
            Level::ArchiveLow => 16_384,
            Level::ArchiveHigh => 32_768,
        }
    }

    pub(super) fn codec(self) -> Codec {
        match self {
            Level::QueryLow => Codec::Lz4,
            Level::QueryHigh => Codec::Zstd(3),
            Level::ArchiveLow => Codec::Zstd(9),
            // Of 23 columns of customers level 19 makes nothing smaller, and takes twice the time.
            Level::ArchiveHigh => Codec::Zstd(16),
        }
    }

    pub(super) fn code(self) -> u8 {
        self as u8 + 1
    }

    pub(super) fn of_code(code: u8) -> Option<Level> {
        Level::all().find(|level| level.code() == code)
    }
}
