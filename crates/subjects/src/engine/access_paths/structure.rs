//! Which structure each path needs in memory. Only one is there at a time.

use std::time::Duration;

use measure::words::Word;
use storage::page::id::PAGE_SIZE;

use crate::access_paths::{AccessPath, Asked, Level, PathOffer};

/// Frames of a pool beyond what is known to be needed.
pub(super) const SPARE_PAGES: u64 = 1024;

/// Bytes that the pool keeps about a block besides its frame.
const BYTES_ABOUT_A_PAGE: u64 = 64;

/// What is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Structure {
    /// Blocks of rows, and an index.
    Rows,
    /// Hybrid columnar units.
    Units,
    /// Columns.
    Columns,
}

impl Structure {
    /// All of them, in the order of the paths.
    pub(super) const ALL: [Structure; 3] = [Structure::Rows, Structure::Units, Structure::Columns];

    /// What a path needs; `None` for a path that the engine does not have.
    pub(super) fn of(path: AccessPath) -> Option<Structure> {
        match path {
            AccessPath::IndexBadClustering | AccessPath::IndexGoodClustering | AccessPath::FullScan => {
                Some(Structure::Rows)
            }
            AccessPath::FullScanCompressed => Some(Structure::Units),
            AccessPath::ColumnScan | AccessPath::ColumnCount => Some(Structure::Columns),
            AccessPath::BitmapScan | AccessPath::IndexOnlyScan => None,
        }
    }

    /// The name in sentences.
    pub(super) fn name(self) -> &'static str {
        match self {
            Structure::Rows => "the blocks of rows",
            Structure::Units => "the columnar units",
            Structure::Columns => "the columns",
        }
    }

    /// About how long `builders` threads take to make it, as measured on cores of an EPYC.
    pub(super) fn making_time(self, rows: u64, level: Level, builders: usize) -> Duration {
        let nanos_a_row = match (self, level) {
            (Structure::Rows, _) => 500,
            (Structure::Columns, _) | (Structure::Units, Level::QueryLow) => 1500,
            (Structure::Units, Level::QueryHigh) => 2500,
            (Structure::Units, Level::ArchiveLow) => 5000,
            (Structure::Units, Level::ArchiveHigh) => 35_000,
        };
        Duration::from_nanos(rows.saturating_mul(nanos_a_row) / builders.max(1) as u64)
    }
}

/// What blocks take in a pool.
pub(super) fn pool_bytes(blocks: u64) -> u64 {
    (blocks + SPARE_PAGES) * (PAGE_SIZE as u64 + BYTES_ABOUT_A_PAGE)
}

/// The engine's paths.
pub(super) fn offers(asked: Asked) -> Vec<PathOffer> {
    let offer = |path: AccessPath| {
        Structure::of(path)?;
        let (is_shared_by_threads, counts_bytes) = (path.is_shared_by_threads(), path.counts_bytes());
        Some(PathOffer { path, is_shared_by_threads, counts_bytes, absence: absence(path, asked) })
    };
    AccessPath::all().filter_map(offer).collect()
}

fn absence(path: AccessPath, asked: Asked) -> Option<&'static str> {
    match (path, asked) {
        (AccessPath::ColumnCount, Asked::HalfPass) => Some("it counts without a predicate"),
        (AccessPath::ColumnScan, Asked::NoPredicate) => {
            Some("it is the scan with a predicate, and column-count without")
        }
        (path, Asked::HalfPass) if path.is_index() => Some("an index scan compares its key and no other column"),
        _ => None,
    }
}
