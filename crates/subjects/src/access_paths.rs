//! What a subject must be able to do for the experiment on access paths: one table of customers, six ways to its rows,
//! and one question to all of them.

use std::sync::atomic::AtomicBool;

use measure::Nanos;

/// The machine instructions that scan columns.
pub use storage::column::Kernel;
/// How hard columnar units are compressed.
pub use storage::unit::Level;
use sys::counters::Tally;

use crate::logical_reads::SubjectError;

/// A way to the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessPath {
    /// Range scan of the index on `cust_postal_code`, every row fetched: hardly two rows of a block follow each other.
    IndexBadClustering,
    /// Range scan of the index on `cust_id`, every row fetched: the rows stand in its order.
    IndexGoodClustering,
    /// Every block of rows, in order.
    FullScan,
    /// Every hybrid columnar unit, in order.
    FullScanCompressed,
    /// Columns in memory, with a predicate.
    ColumnScan,
    /// Columns in memory, without one.
    ColumnCount,
}

impl AccessPath {
    /// All of them, in the order in which they are measured.
    pub const ALL: [AccessPath; 6] = [
        AccessPath::IndexBadClustering,
        AccessPath::IndexGoodClustering,
        AccessPath::FullScan,
        AccessPath::FullScanCompressed,
        AccessPath::ColumnScan,
        AccessPath::ColumnCount,
    ];

    /// The name of the case parameter.
    pub fn name(self) -> &'static str {
        match self {
            AccessPath::IndexBadClustering => "index-bad-clustering",
            AccessPath::IndexGoodClustering => "index-good-clustering",
            AccessPath::FullScan => "full-scan",
            AccessPath::FullScanCompressed => "full-scan-compressed",
            AccessPath::ColumnScan => "column-scan",
            AccessPath::ColumnCount => "column-count",
        }
    }

    /// Whether it goes by an index.
    pub fn is_index(self) -> bool {
        matches!(self, AccessPath::IndexBadClustering | AccessPath::IndexGoodClustering)
    }

    /// Whether several threads can share its work.
    pub fn is_shared_by_threads(self) -> bool {
        matches!(self, AccessPath::FullScan | AccessPath::FullScanCompressed | AccessPath::ColumnScan)
    }

    /// What must be in memory for it.
    pub fn structure(self) -> Structure {
        match self {
            AccessPath::IndexBadClustering | AccessPath::IndexGoodClustering | AccessPath::FullScan => Structure::Rows,
            AccessPath::FullScanCompressed => Structure::Units,
            AccessPath::ColumnScan | AccessPath::ColumnCount => Structure::Columns,
        }
    }
}

/// What is in memory. Only one of them is at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Structure {
    /// Blocks of rows, and an index.
    Rows,
    /// Hybrid columnar units.
    Units,
    /// Columns.
    Columns,
}

impl Structure {
    /// All of them, in the order of the paths.
    pub const ALL: [Structure; 3] = [Structure::Rows, Structure::Units, Structure::Columns];

    /// The name in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Structure::Rows => "the blocks of rows",
            Structure::Units => "the columnar units",
            Structure::Columns => "the columns",
        }
    }
}

/// COUNT(cust_valid), and of which rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asked {
    /// `cust_id > 0`, by the index on the postal code `cust_postal_code > '0'`: every row passes.
    AllPass,
    /// Every row, without a comparison.
    NoPredicate,
    /// `cust_year_of_birth > 1950`: about half of the rows pass, in no order.
    HalfPass,
}

impl Asked {
    /// The name of the case parameter.
    pub fn name(self) -> &'static str {
        match self {
            Asked::AllPass => "all-pass",
            Asked::NoPredicate => "no-predicate",
            Asked::HalfPass => "half-pass",
        }
    }
}

/// What a structure takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryNeed {
    /// Which.
    pub structure: Structure,
    /// Bytes at its largest, with what building it takes.
    pub bytes: u64,
}

/// How a column in memory came out.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnFacts {
    /// Its name.
    pub name: String,
    /// Ways in which its units are kept, with how many units each.
    pub encodings: Vec<(String, usize)>,
    /// Bytes of its units.
    pub bytes: u64,
    /// How many times smaller than in rows.
    pub compression_ratio: Option<f64>,
}

/// What is known of a path before it is taken.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathFacts {
    /// Blocks of the rows, or of the units; `None` for columns.
    pub blocks: Option<u64>,
    /// Bytes of the structure without its index.
    pub bytes: u64,
    /// Table-block changes met when the index is walked in the order of its keys.
    pub clustering_factor: Option<u64>,
    /// Leaves of the index.
    pub leaf_blocks: Option<u64>,
    /// How many times smaller than the rows: by blocks for units, by bytes of values for columns.
    pub compression_ratio: Option<f64>,
    /// Columns in memory.
    pub columns: Vec<ColumnFacts>,
    /// The machine instructions that scan columns where a pass names no others: the widest that this processor has.
    pub kernel: Option<Kernel>,
}

/// One pass over the path that was prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanPass {
    /// What is asked.
    pub asked: Asked,
    /// Threads that share the work; 1 where the path has no parts.
    pub threads: usize,
    /// How often it is done, one time after the other.
    pub laps: u32,
    /// Whether units of columns may be answered from their least and greatest value.
    pub zone_maps: ZoneMaps,
    /// The machine instructions that scan columns; `None`: those of [`PathFacts`].
    pub kernel: Option<Kernel>,
    /// What watches it besides the clocks.
    pub watch: Watch,
}

/// What watches a pass besides the clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// The counters of the processor and the kernel, as far as they can be had.
    Counters,
    /// Valgrind, under which this process runs: it counts the pass and nothing around it, after one like it that leaves
    /// its lines in the simulated caches.
    Valgrind,
}

impl Watch {
    /// How often the laps of a pass are gone through, those that nobody looks at included.
    pub(crate) fn rounds(self) -> u64 {
        match self {
            Watch::Counters => 1,
            Watch::Valgrind => 2,
        }
    }
}

/// Whether zone maps are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneMaps {
    /// They are.
    On,
    /// They are not: the codes of every row are read.
    Off,
}

/// What a pass found and took, all laps and threads together but for the answer, which is that of one lap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScanCost {
    /// Processor time, summed over the threads.
    pub cpu: Nanos,
    /// From the first thread's start to the last one's end.
    pub elapsed: Nanos,
    /// What the processor and the kernel counted, summed over the threads.
    pub tally: Tally,
    /// Logical I/Os, by the count of the buffer pool's gate.
    pub gets: u64,
    /// Gets of blocks of the table among them; `None` where all are.
    pub table_gets: Option<u64>,
    /// Blocks used again while still held.
    pub pinned_revisits: u64,
    /// Read requests to the operating system: none, when all was cached.
    pub physical_reads: u64,
    /// Rows that one lap looked at or answered for.
    pub rows: u64,
    /// The answer of one lap.
    pub count: u64,
    /// Bytes of columns that were read; `None` for paths that read blocks.
    pub column_bytes: Option<u64>,
    /// Units of columns that one lap answered for without reading their codes.
    pub units_unread: u64,
    /// Units of columns that one lap read.
    pub units_read: u64,
}

/// A subject that has the table of customers, and ways to its rows.
pub trait AccessPaths {
    /// What the structures of these paths take, one after the other.
    fn memory_needed(&self, paths: &[AccessPath], stop: &AtomicBool) -> Result<Vec<MemoryNeed>, SubjectError>;

    /// Makes sure that the path's structure is in memory, and turns to it. What no path needs any more is let go of.
    fn prepare(&mut self, path: AccessPath, stop: &AtomicBool) -> Result<PathFacts, SubjectError>;

    /// Takes the path that was prepared.
    fn scan(&mut self, pass: &ScanPass) -> Result<ScanCost, SubjectError>;
}
