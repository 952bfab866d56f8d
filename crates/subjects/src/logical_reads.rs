//! What a subject must be able to do for the experiment on logical I/O: tables of a shape, passes over them with
//! everything cached, and the count of what each pass took.

use std::sync::atomic::AtomicBool;

use measure::Nanos;

pub use crate::error::SubjectError;

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

/// A table that is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableFacts {
    /// Its blocks.
    pub pages: u64,
    /// Its rows.
    pub rows: u64,
    /// Whether blocks that are not cached are read past the page cache.
    pub direct: bool,
}

/// In which order the blocks of a table come into the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Population {
    /// In the order of the table, many blocks a read.
    FullScan,
    /// In random order, taking turns with blocks of another table.
    Interleaved,
}

impl Population {
    /// The name of the case parameter.
    pub fn name(self) -> &'static str {
        match self {
            Population::FullScan => "full-scan",
            Population::Interleaved => "interleaved",
        }
    }
}

/// Which blocks a pass gets, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Every block once, in order, with all its rows. Threads take neighbouring parts.
    FullScan,
    /// Rows by their addresses in random order, one get a row. Threads take rows of their own.
    Rowid,
    /// Rows by their addresses in the order of the table: one get a block, its further rows are revisits.
    RowidInOrder,
    /// One and the same block by all threads, with all its rows.
    OnePage,
}

impl Access {
    /// The name of the case parameter.
    pub fn name(self) -> &'static str {
        match self {
            Access::FullScan => "full-scan",
            Access::Rowid => "rowid",
            Access::RowidInOrder => "rowid-in-order",
            Access::OnePage => "one-page",
        }
    }
}

/// What a pass touches of the rows it comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Not even the block: it is got and let go.
    Nothing,
    /// The block's count of rows.
    Directory,
    /// The head of every row.
    Rows,
    /// Column N of every row, counted from 1.
    Column(u8),
}

impl Touch {
    /// The name of the case parameter.
    pub fn name(self) -> String {
        match self {
            Touch::Nothing => "nothing".into(),
            Touch::Directory => "directory".into(),
            Touch::Rows => "rows".into(),
            Touch::Column(number) => format!("column-{number}"),
        }
    }
}

/// A moment in the life of the table, to be read as of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(pub u64);

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
    pub as_of: Option<Moment>,
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
    /// Logical I/Os, by the subject's own count.
    pub gets: u64,
    /// Rows of blocks that were still held.
    pub pinned_revisits: u64,
    /// Rows that were read.
    pub rows: u64,
    /// Read requests to the operating system: none, when all was cached.
    pub physical_reads: u64,
    /// Blocks that had changed and were rebuilt as of the moment asked for.
    pub rebuilt_blocks: u64,
    /// Gets of undo blocks that this took; part of `gets`.
    pub undo_gets: u64,
    /// A sum over what was touched, the same for equal passes.
    pub folded: u64,
}

/// How blocks are read that are not cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColdRead {
    /// One block a read, in random order, one read at a time.
    SingleBlocks,
    /// 128 neighbouring blocks a read, in order.
    Ranges,
}

/// Blocks of a [`ColdRead::Ranges`].
pub const RANGE_BLOCKS: u32 = 128;

/// A subject that has tables of any shape, and counts its logical reads.
pub trait LogicalReads {
    /// Makes sure that the table of a cell is there, and turns to it. The one before leaves the cache.
    ///
    /// `progress` hears how many bytes of how many are written, while there is something to write.
    fn prepare(
        &mut self,
        cell: Cell,
        progress: &mut dyn FnMut(u64, u64),
        stop: &AtomicBool,
    ) -> Result<TableFacts, SubjectError>;

    /// Takes everything out of the cache, changes of rows included, and brings the whole table in again.
    fn populate(&mut self, population: Population, stop: &AtomicBool) -> Result<(), SubjectError>;

    /// Reads what is cached.
    fn read(&mut self, pass: &Pass) -> Result<Cost, SubjectError>;

    /// Changes this percentage of the rows, and gives the moment before.
    fn change_rows(&mut self, percent: u32) -> Result<Moment, SubjectError>;

    /// Takes everything out of the cache and reads at most so many blocks: nanoseconds a block, one value a read.
    fn read_cold(&mut self, how: ColdRead, blocks: u32, stop: &AtomicBool) -> Result<Vec<f64>, SubjectError>;
}
