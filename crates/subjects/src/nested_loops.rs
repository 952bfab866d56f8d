//! What a subject must be able to do for the experiment on nested loops: a table with an index whose rows lie in the
//! order of its keys or not, and joins with it that begin with nothing cached.

use std::sync::atomic::AtomicBool;

use measure::Nanos;
use storage::exec::nested_loop::{JoinResult, Method};

use crate::logical_reads::SubjectError;

/// The inner table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InnerTable {
    /// Rows, whose keys are 1 to this.
    pub rows: u64,
    /// Bytes of filler of a row.
    pub pad: u32,
    /// Per cent of the rows that lie out of the order of the keys.
    pub rand: u8,
}

/// A table that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InnerFacts {
    /// Its blocks.
    pub table_blocks: u64,
    /// Blocks of the index.
    pub index_blocks: u64,
    /// Blocks that are met by going through the index, one behind the other.
    pub clustering_factor: u64,
}

/// One join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinPass {
    /// How the inner rows are gathered.
    pub method: Method,
    /// The key of the first outer row; the others follow one by one, from the last key on from the first again.
    pub first_key: u64,
    /// Outer rows.
    pub outer_rows: u64,
}

/// What a pass waited for reads of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReadCost {
    /// Time spent waiting for reads, handing them over included.
    pub time: Nanos,
    /// Reads of the operating system or device.
    pub reads: u64,
    /// Blocks that were read.
    pub blocks: u64,
    /// Reads in flight while waiting, on average; `None` without reads.
    pub in_flight: Option<f64>,
}

/// What a pass took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PassCost<T> {
    /// What it found.
    pub found: T,
    /// From the beginning to the end, in the time of the device: of a model the processor takes none of it.
    pub elapsed: Nanos,
    /// Processor time of the process.
    pub cpu: Nanos,
    /// Reads of the table.
    pub table: ReadCost,
    /// Reads of the index.
    pub index: ReadCost,
    /// Share of the files that stayed in the page cache when it was emptied of them, 0 to 1; `None` where it was not
    /// emptied, or the system does not tell.
    pub left_in_page_cache: Option<f64>,
}

/// A join.
pub type JoinCost = PassCost<JoinResult>;

/// What a full scan of the inner table found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scanned {
    /// Its rows.
    pub rows: u64,
    /// The sum of the column that joins sum.
    pub sum: i64,
}

/// A subject that joins with one inner table at a time.
pub trait NestedLoops {
    /// Makes sure that a table and its index are there, and turns to them.
    ///
    /// `progress` hears how many bytes of how many are written, while there is something to write.
    fn prepare(
        &mut self,
        table: InnerTable,
        progress: &mut dyn FnMut(u64, u64),
        stop: &AtomicBool,
    ) -> Result<InnerFacts, SubjectError>;

    /// Joins with nothing cached.
    fn join(&mut self, pass: &JoinPass) -> Result<JoinCost, SubjectError>;

    /// Joins twice, and tells what the second time took, which finds cached what the first one read.
    fn join_again(&mut self, pass: &JoinPass) -> Result<JoinCost, SubjectError>;

    /// Reads the whole table in its order with nothing cached, looking at the column that joins sum.
    fn scan(&mut self) -> Result<PassCost<Scanned>, SubjectError>;
}
