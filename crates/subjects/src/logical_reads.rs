//! What the experiment on logical I/O asks of a subject: tables of a shape, passes over them with everything cached,
//! and what each pass took.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use measure::quantity::counted;
use measure::{Finding, Nanos};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use crate::error::SubjectError;
use crate::opening::Progress;
use crate::subject::Subject;

/// The shape of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cell {
    /// Bytes of all columns of a row together.
    pub row_length: u32,
    /// Number of equal columns.
    pub columns: u32,
    /// Bytes of all columns of all rows together.
    pub payload: u64,
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = counted(self.row_length.into(), "byte", "bytes");
        write!(formatter, "{bytes} in {}", counted(self.columns.into(), "column", "columns"))
    }
}

/// A table to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Table {
    /// One of this shape, which the subject makes.
    Made(Cell),
    /// One that the subject has, where it can make none.
    Found(String),
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Table::Made(cell) => cell.fmt(formatter),
            Table::Found(name) => formatter.write_str(name),
        }
    }
}

/// A table that is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableFacts {
    /// Its blocks.
    pub pages: u64,
    /// Its rows.
    pub rows: u64,
    /// What readers find of the rows' visibility, where a subject notes that in the rows: a case parameter.
    pub visibility: Option<&'static str>,
    /// Scans that came first after a load, one for each load.
    pub first_scans: Option<FirstScans>,
    /// How passes over it are measured.
    pub sources: Sources,
}

/// Scans that each came first after a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstScans {
    /// What readers find of the rows' visibility then.
    pub visibility: &'static str,
    /// What each took.
    pub costs: Vec<Cost>,
    /// How that was measured.
    pub sources: Sources,
}

/// How the figures of a subject are obtained, for the run document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    /// Processor time.
    pub cpu: String,
    /// Elapsed time.
    pub elapsed: &'static str,
    /// Logical I/Os.
    pub gets: &'static str,
    /// Physical reads.
    pub physical_reads: &'static str,
    /// Rows.
    pub rows: &'static str,
    /// What one lap is, and several: `pass`, `passes`.
    pub lap: [&'static str; 2],
    /// What a pass that touches nothing is there.
    pub baseline: Baseline,
    /// Where blocks are cached, and what to do when they are not.
    pub cache: Cache,
}

/// What a pass with [`Touch::Nothing`] is, which is measured beside each other pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// The same gets, which tells the get from what is done with the block.
    Gets,
    /// All but the gets, whose cost is subtracted; in words: `a statement beside it`.
    Overhead(&'static str),
}

/// A cache in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Its name: `the buffer pool`.
    pub name: &'static str,
    /// What to do when blocks were not there, as a sentence.
    pub advice: &'static str,
}

measure::words! {
    /// In which order the blocks of a table come into the cache.
    pub enum Population ("population") {
        /// In the order of the table, many blocks a read
        FullScan = "full-scan",
        /// In random order, taking turns with blocks of another table
        Interleaved = "interleaved",
    }
}

measure::words! {
    /// Which blocks a pass gets, and in which order.
    pub enum Access ("access") {
        /// Every block in order, with all its rows
        ///
        /// Threads take neighbouring parts.
        FullScan = "full-scan",
        /// Rows by address in random order, one get each
        ///
        /// Threads take rows of their own.
        Rowid = "rowid",
        /// Rows by address in the order of the table: one get a block, its further rows are revisits
        RowidInOrder = "rowid-in-order",
        /// One block by all threads, with all its rows
        OnePage = "one-page",
        /// Rows by key in random order through an index on the first column
        Index = "index",
    }
}

/// What a pass touches of the rows it comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Touch {
    /// Nothing: see [`Baseline`].
    Nothing,
    /// The block's count of rows.
    Directory,
    /// The head of every row.
    Rows,
    /// Column N of every row, counted from 1.
    Column(u8),
}

impl fmt::Display for Touch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Touch::Nothing => formatter.pad("nothing"),
            Touch::Directory => formatter.pad("directory"),
            Touch::Rows => formatter.pad("rows"),
            Touch::Column(number) => write!(formatter, "column-{number}"),
        }
    }
}

/// What is touched, as it is asked for: the last column depends on the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TouchAxis {
    /// The same in every table.
    Every(Touch),
    /// The last column.
    LastColumn,
}

impl TouchAxis {
    /// What is touched in a table of this many columns.
    pub fn of(self, columns: u32) -> Touch {
        match self {
            TouchAxis::Every(touch) => touch,
            TouchAxis::LastColumn => Touch::Column(columns as u8),
        }
    }
}

impl fmt::Display for TouchAxis {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TouchAxis::Every(touch) => touch.fmt(formatter),
            TouchAxis::LastColumn => formatter.pad("column-last"),
        }
    }
}

impl FromStr for TouchAxis {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<TouchAxis, &'static str> {
        let touch = match word {
            "directory" => Touch::Directory,
            "rows" => Touch::Rows,
            "column-last" => return Ok(TouchAxis::LastColumn),
            _ => {
                let number = word.strip_prefix("column-").and_then(|number| number.parse().ok());
                Touch::Column(number.ok_or("write directory, rows, column-N (counted from 1) or column-last")?)
            }
        };
        Ok(TouchAxis::Every(touch))
    }
}

impl Serialize for TouchAxis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TouchAxis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TouchAxis, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A state of the table, to be read as of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot(pub u64);

/// One pass over the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Which blocks.
    pub access: Access,
    /// What of them.
    pub touch: Touch,
    /// Threads that share the work.
    pub threads: usize,
    /// How often each thread does its part, one time after the other.
    pub laps: u32,
    /// The state to see; `None` takes the blocks as they are.
    pub as_of: Option<Snapshot>,
}

/// What a pass took, all laps and threads together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Processor time, summed over the threads.
    pub cpu: Nanos,
    /// From the first thread's start to the last one's end.
    pub elapsed: Nanos,
    /// Core cycles in user mode, summed over the threads; `None` where the machine hides them.
    pub cycles: Option<u64>,
    /// What was counted while it was measured; `None` where counting would cost too much, see [`LogicalReads::count`].
    pub counts: Option<Counts>,
    /// A sum over what was touched, the same for equal passes; 0 where nothing is summed.
    pub folded: u64,
}

/// What passes counted, by the subject's own count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Logical I/Os.
    pub gets: u64,
    /// Rows that were read.
    pub rows: u64,
    /// Blocks or requests that were not cached: none, when all was.
    pub physical_reads: u64,
    /// What only a subject with versions of blocks counts.
    pub versions: Option<VersionCounts>,
}

/// What a subject counts that holds blocks and rebuilds earlier versions of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VersionCounts {
    /// Rows of blocks that were still held.
    pub pinned_revisits: u64,
    /// Blocks that had changed and were rebuilt as of the snapshot asked for.
    pub rebuilt_blocks: u64,
    /// Gets of undo blocks that this took; part of [`Counts::gets`].
    pub undo_gets: u64,
}

/// What one unmeasured lap counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// The counts.
    pub counts: Counts,
    /// The statement, where the pass is one.
    pub statement: Option<String>,
}

/// How blocks are read that are not cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColdRead {
    /// One block a read, in random order, one read at a time.
    SingleBlocks,
    /// [`RANGE_BLOCKS`] neighbouring blocks a read, in order.
    Ranges,
}

/// Blocks of a [`ColdRead::Ranges`].
pub const RANGE_BLOCKS: u32 = 128;

/// What a run asks of each subject, known before one is opened.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Where tables lie that stay for the next run.
    pub directory: PathBuf,
    /// The shapes of the tables.
    pub cells: Vec<Cell>,
    /// Ways to the blocks.
    pub accesses: Vec<Access>,
    /// What is touched.
    pub touches: Vec<TouchAxis>,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Percentages of rows that changed.
    pub changed_rows: Vec<u32>,
    /// Picks random orders.
    pub seed: u64,
    /// Whether tables that are there are loaded again.
    pub reload: bool,
}

impl Asked {
    /// The largest percentage of rows that changes.
    pub fn changed_rows_max(&self) -> u32 {
        self.changed_rows.iter().copied().max().unwrap_or(0)
    }
}

/// A subject that has tables of any shape, and counts its logical reads.
///
/// What it cannot do it answers with an absence; an error ends the run.
pub trait LogicalReads: Subject {
    /// The tables that it can be read from: those asked for, or what it has where it can make none.
    fn tables(&mut self) -> Result<Vec<Table>, SubjectError>;

    /// Makes sure that a table is there with all that the ways to its blocks need, and turns to it. The one before
    /// leaves the cache.
    fn prepare(&mut self, table: &Table, progress: &mut Progress<'_>) -> Result<TableFacts, SubjectError>;

    /// Takes everything out of the cache, changes of rows included, and brings the whole table in again; then changes
    /// this percentage of the rows and gives the snapshot before, where a percentage is given.
    fn populate(
        &mut self,
        population: Population,
        changed_rows: Option<u32>,
    ) -> Result<Result<Option<Snapshot>, Finding>, SubjectError>;

    /// Makes one lap of a pass that is not measured: it warms the caches and counts.
    fn count(&mut self, pass: &Pass) -> Result<Result<Counted, Finding>, SubjectError>;

    /// What a lap is taken to last where their number is announced, as on a server in use; `None` where it is measured.
    fn lap_time(&self, _pass: &Pass) -> Option<Nanos> {
        None
    }

    /// Reads what is cached.
    fn read(&mut self, pass: &Pass) -> Result<Cost, SubjectError>;

    /// Empties the cache and reads at most `blocks` blocks: nanoseconds a block, one value a read.
    fn read_cold(&mut self, how: ColdRead, blocks: u32) -> Result<Result<Vec<f64>, Finding>, SubjectError>;
}
