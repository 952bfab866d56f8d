//! What a subject must be able to do for the experiment on access paths: hold one table of customers, and answer one
//! question about its rows by several paths.

use std::time::Duration;

use measure::schema::{Spec, scan};
use measure::{Finding, Metric, Nanos, Parameters};
use sys::counters::Tally;
use sys::valgrind::Simulated;

pub use storage::unit::Level;

use crate::error::SubjectError;
pub use crate::logical_reads::Cache;
use crate::opening::Progress;
use crate::subject::Subject;

measure::words! {
    /// A path to the rows, in the order in which they are measured.
    pub enum AccessPath ("path") {
        /// By the index on the postal code: another block for almost every row
        IndexBadClustering = "index-bad-clustering",
        /// By the index on the postal code, the rows collected first and fetched in order; on a server
        BitmapScan = "bitmap-scan",
        /// By the index on the customer's number: in the order of the rows
        IndexGoodClustering = "index-good-clustering",
        /// Every block of rows in order
        FullScan = "full-scan",
        /// Every columnar unit in order
        FullScanCompressed = "full-scan-compressed",
        /// Columns in memory, with the predicate
        ColumnScan = "column-scan",
        /// Columns in memory, without a predicate
        ColumnCount = "column-count",
        /// By an index that holds both columns of the question; on a server
        IndexOnlyScan = "index-only-scan",
    }
}

impl AccessPath {
    /// Whether several threads can share the engine's work.
    pub fn is_shared_by_threads(self) -> bool {
        matches!(self, AccessPath::FullScan | AccessPath::FullScanCompressed | AccessPath::ColumnScan)
    }

    /// Whether it compares the key of an index, and therefore no other column.
    pub fn is_index(self) -> bool {
        use AccessPath::{BitmapScan, IndexBadClustering, IndexGoodClustering, IndexOnlyScan};
        matches!(self, IndexBadClustering | BitmapScan | IndexGoodClustering | IndexOnlyScan)
    }

    /// Whether the engine counts the bytes that it touches: of an index it is not known how many lines of blocks it
    /// touches, and a count without a predicate reads no column.
    pub fn counts_bytes(self) -> bool {
        !self.is_index() && self != AccessPath::ColumnCount
    }
}

measure::words! {
    /// COUNT(cust_valid), and of which rows.
    pub enum Asked ("question") {
        /// COUNT(cust_valid) where cust_id > 0
        ///
        /// Every row passes. By the index on the postal code it is `cust_postal_code > '0'`.
        AllPass = "all-pass",
        /// COUNT(cust_valid)
        NoPredicate = "no-predicate",
        /// COUNT(cust_valid) where cust_year_of_birth > 1950
        ///
        /// About half of the rows pass, in no order.
        HalfPass = "half-pass",
    }
}

/// The table of customers, and how a subject is to keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessSettings {
    /// Rows of the table.
    pub rows: u64,
    /// Seed of the generated rows.
    pub seed: u64,
    /// What is asked.
    pub asked: Asked,
    /// Paths that are wanted; empty: all that the subject has.
    pub paths: Vec<AccessPath>,
    /// How hard columnar units are compressed.
    pub level: Level,
    /// Whether units of columns may be answered from their least and greatest value.
    pub zone_maps: bool,
    /// Threads that make the table; `None`: as many as are worth it.
    pub builders: Option<usize>,
    /// Bytes of memory that may be taken; `None`: no limit.
    pub memory: Option<u64>,
    /// What watches a pass besides the clocks.
    pub watch: Watch,
}

/// What watches a pass besides the clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// The counters of the processor and the kernel, as far as they can be had.
    #[default]
    Counters,
    /// Valgrind, under which this process runs: it counts the pass and nothing around it, after one like it that leaves
    /// its lines in the simulated caches.
    Valgrind,
}

impl Watch {
    /// How often the laps of a pass are run, the ones that are not counted included.
    pub(crate) fn rounds(self) -> u64 {
        match self {
            Watch::Counters => 1,
            Watch::Valgrind => 2,
        }
    }
}

/// A path that a subject has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathOffer {
    /// Which.
    pub path: AccessPath,
    /// Whether several threads can share its work.
    pub is_shared_by_threads: bool,
    /// Whether the bytes that it touches may be counted, which are compared with the bandwidth of the memory.
    pub counts_bytes: bool,
    /// Why it cannot answer the question; `None` where it can.
    pub absence: Option<&'static str>,
}

impl PathOffer {
    /// A path of a planner whose statements one thread runs: which bytes it touches is not known.
    pub(crate) fn of_planner(path: AccessPath, absence: Option<&'static str>) -> PathOffer {
        PathOffer { path, is_shared_by_threads: false, counts_bytes: false, absence }
    }
}

/// What a structure takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryNeed {
    /// What is in memory, in words.
    pub structure: &'static str,
    /// Bytes at its largest, with what building it takes.
    pub bytes: u64,
}

/// How the instructions of a pass can be counted where the processor counts none.
#[derive(Clone, Debug)]
pub enum Counting {
    /// A pass runs in this program: the same pass in a child under valgrind shows what it executes. The word of `--on`
    /// that opens the subject there.
    InChild(&'static str),
    /// The subject has counted them.
    Counted(Vec<CountedRows>),
    /// Not at all.
    None,
}

/// What one path does for some rows.
#[derive(Clone, Debug)]
pub struct CountedRows {
    /// The path.
    pub path: AccessPath,
    /// Rows.
    pub rows: u64,
    /// Blocks that were asked for.
    pub gets: u64,
    /// How it was counted, behind the name of the tool.
    pub how: &'static str,
    /// Instructions, branches, and caches where they mean something.
    pub events: Simulated,
}

/// How long a sample of a path must last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// A sample lasts at least this long.
    pub time: Nanos,
    /// Most laps of a sample.
    pub laps_max: u32,
    /// What a lap is taken to last where their number is announced, as on a server in use; `None` where it is measured.
    pub lap_time: Option<Nanos>,
}

/// How the figures of a path are obtained: the sources of their metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    /// Time that a pass costs.
    pub cpu: String,
    /// Whether that is processor time, so that cycles follow from it.
    pub is_processor_time: bool,
    /// Whether a pass runs in this program, with nothing but reading in its cost.
    pub is_in_process: bool,
    /// Time that passes.
    pub elapsed: &'static str,
    /// Rows that are looked at.
    pub rows: &'static str,
    /// Gets of blocks.
    pub gets: &'static str,
    /// Blocks that were not cached.
    pub physical_reads: &'static str,
    /// Bytes that are touched.
    pub touched: &'static str,
    /// Where blocks are cached, and what to do when they are not.
    pub cache: Cache,
}

/// What is known of a path before it is taken.
#[derive(Clone, Debug, PartialEq)]
pub struct PathFacts {
    /// What the subject adds to the parameters of the path's cases.
    pub parameters: Parameters,
    /// What is known of the path and its structure.
    pub metrics: Vec<Metric>,
    /// The machine instructions that scan where a pass names no others, by their name.
    pub kernel: Option<&'static str>,
    /// How long a sample must last.
    pub sampling: Sampling,
    /// How the figures of its passes are obtained.
    pub sources: Sources,
}

/// Blocks of a planner's path, and the gets of one pass over its rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathBlocks {
    pub(crate) table: u64,
    /// Those of the index that the path goes by.
    pub(crate) index: Option<u64>,
    pub(crate) gets: u64,
    pub(crate) rows: u64,
}

impl PathBlocks {
    /// What they are as metrics; `counted` is how blocks were counted.
    pub(crate) fn metrics(&self, path: AccessPath, counted: &str) -> Vec<Metric> {
        let PathBlocks { table, index, gets, rows } = *self;
        let mut metrics = vec![
            scan::BLOCKS.count(&format!("blocks of the table ({counted})"), table),
            scan::GETS_PER_ROW.single("gets over rows", gets as f64 / rows as f64),
        ];
        let Some(index) = index else { return metrics };
        metrics.push(scan::INDEX_BLOCKS.count(&format!("blocks of the index ({counted})"), index));
        if path != AccessPath::IndexOnlyScan && table > 0 {
            let source = "gets less the blocks of the index, over the blocks of the table";
            metrics.push(scan::VISITS_PER_BLOCK.single(source, gets.saturating_sub(index) as f64 / table as f64));
        }
        metrics
    }
}

/// Whether a subject with these paths can answer the question by one of those that are wanted; else the reason.
pub(crate) fn check_wanted(name: &str, offers: &[PathOffer], settings: &AccessSettings) -> Result<(), String> {
    let is_wanted = |offer: &&PathOffer| settings.paths.is_empty() || settings.paths.contains(&offer.path);
    let wanted = || offers.iter().filter(is_wanted);
    if wanted().any(|offer| offer.absence.is_none()) {
        return Ok(());
    }
    Err(match wanted().next() {
        Some(offer) => format!(
            "--path {} cannot answer --question {}: {}; leave one of the two out",
            offer.path,
            settings.asked,
            offer.absence.unwrap_or_default()
        ),
        None => {
            let names = |paths: &mut dyn Iterator<Item = AccessPath>| paths.map(AccessPath::name).collect::<Vec<_>>();
            let wanted = names(&mut settings.paths.iter().copied()).join(",");
            let has = names(&mut offers.iter().map(|offer| offer.path)).join(", ");
            format!(
                "--path {wanted} names no path of {name}, which has {has}: add one, or name another subject by --on"
            )
        }
    })
}

impl PathFacts {
    /// The value of one of the metrics.
    pub fn value(&self, spec: &Spec) -> Option<f64> {
        self.metrics.iter().find(|metric| metric.name == spec.name).map(Metric::median)
    }
}

/// One pass over the path that was prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanPass<'a> {
    /// Threads that share the work; 1 where the path has no parts.
    pub threads: usize,
    /// How often it is done, one time after the other.
    pub laps: u32,
    /// The machine instructions that scan, by their name; `None`: those of [`PathFacts`].
    pub kernel: Option<&'a str>,
}

/// What a pass found and took, all laps and threads together but for the answer, which is that of one lap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScanCost {
    /// Processor time, summed over the threads, or what stands for it.
    pub cpu: Nanos,
    /// From the first thread's start to the last one's end.
    pub elapsed: Nanos,
    /// What the processor and the kernel counted, summed over the threads.
    pub tally: Tally,
    /// Logical I/Os, by the subject's own count.
    pub gets: u64,
    /// Gets of blocks of the table among them; `None` where they are not told apart.
    pub table_gets: Option<u64>,
    /// Blocks used again while still held; `None` where that is not counted.
    pub pinned_revisits: Option<u64>,
    /// Reads of blocks that were not cached: none, when all was.
    pub physical_reads: u64,
    /// Rows that one lap looked at or answered for.
    pub rows: u64,
    /// The answer of one lap.
    pub count: u64,
    /// Bytes that were touched; `None` where only lines of blocks are.
    pub touched: Option<u64>,
    /// Units of columns; `None` for paths that read blocks.
    pub units: Option<Units>,
}

/// Units of columns in one lap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// Read.
    pub read: u64,
    /// Answered for without reading their codes.
    pub unread: u64,
}

/// A subject that has the table of customers, and paths to its rows.
pub trait AccessPaths: Subject {
    /// The paths that it has, each with the reason where it cannot answer the question.
    fn paths(&self, asked: Asked) -> Vec<PathOffer>;

    /// Settles which paths will be prepared, and forecasts what they take of this machine's memory, one structure after
    /// the other. Errors where the subject has no room for them.
    fn plan(&mut self, paths: &[AccessPath]) -> Result<Vec<MemoryNeed>, SubjectError>;

    /// Counts the instructions of the planned paths, or says how they can be counted. Each path may take `limit`.
    fn count_instructions(
        &mut self,
        _asked: Asked,
        _limit: Duration,
        _progress: &mut Progress<'_>,
    ) -> Result<Counting, SubjectError> {
        Ok(Counting::None)
    }

    /// Makes sure that the path is there and everything it reads is cached, and turns to it and to the question;
    /// otherwise why it cannot be taken.
    fn prepare(
        &mut self,
        path: AccessPath,
        asked: Asked,
        progress: &mut Progress<'_>,
    ) -> Result<Result<PathFacts, Finding>, SubjectError>;

    /// Takes the path that was prepared.
    fn scan(&mut self, pass: &ScanPass<'_>) -> Result<ScanCost, SubjectError>;
}
