//! How hard a unit is compressed, and how many rows it holds.

/// The four levels: two for data that is queried, two for data that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// LZ4: the quickest to read.
    QueryLow,
    /// Zstandard at its level 3.
    QueryHigh,
    /// Zstandard at level 9, over longer units.
    ArchiveLow,
    /// Zstandard at level 19, over the longest units: the smallest, and slow to make.
    ArchiveHigh,
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
    /// All levels, from the quickest to the smallest.
    pub const ALL: [Level; 4] = [Level::QueryLow, Level::QueryHigh, Level::ArchiveLow, Level::ArchiveHigh];

    /// The name on the command line and in run documents.
    pub fn name(self) -> &'static str {
        match self {
            Level::QueryLow => "query-low",
            Level::QueryHigh => "query-high",
            Level::ArchiveLow => "archive-low",
            Level::ArchiveHigh => "archive-high",
        }
    }

    /// The level of this name.
    pub fn of_name(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }

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
            Level::ArchiveHigh => Codec::Zstd(19),
        }
    }

    pub(super) fn code(self) -> u8 {
        match self {
            Level::QueryLow => 1,
            Level::QueryHigh => 2,
            Level::ArchiveLow => 3,
            Level::ArchiveHigh => 4,
        }
    }

    pub(super) fn of_code(code: u8) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.code() == code)
    }
}
