//! What the experiment on nested loops asks of a subject: a table with an index whose rows lie in the order of its keys
//! or not, and joins with it that begin with nothing cached.

use std::path::PathBuf;
use std::time::Duration;

use dataset::keyed::{KeyedRows, KeyedShape};
use measure::quantity::Size;
use measure::{Finding, Nanos, Parameters};
use serde::{Deserialize, Serialize};

use crate::error::SubjectError;
use crate::opening::Progress;
use crate::subject::{Subject, TABLE_SEED};

/// Rows that prefetching looks ahead at most by default: twice what is in flight. The end of each request waits for the
/// last of its reads with fewer and fewer others.
pub const LOOK_AHEAD: usize = 128;

measure::words! {
    /// How the engine gathers the inner rows.
    pub enum JoinMethod ("method") {
        /// Each block before the next look-up
        OneAtATime = "one-at-a-time",
        /// The missing blocks of the rows ahead, in one request
        Prefetch = "prefetch",
        /// The missing blocks of a batch of outer rows, in one request, awaited before its rows, as published
        AwaitedBatch = "awaited-batch",
        /// The same, while the rows of the batch before are handed on
        Batch = "batch",
        /// A larger batch in the order of its blocks
        BatchedRowid = "batched-rowid",
    }
}

measure::words! {
    /// How reads are submitted.
    pub enum Io ("io") {
        /// Many reads at once
        Async = "async",
        /// One after the other
        Sync = "sync",
    }
}

/// What is asked for. A subject takes what it has a use for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// Rows of the inner table.
    pub rows: u64,
    /// Bytes of filler of a row.
    pub pad: u32,
    /// Methods; empty: all.
    pub methods: Vec<JoinMethod>,
    /// Rows of a batch; empty: the usual ones.
    pub batch_sizes: Vec<usize>,
    /// Rows that prefetching looks ahead at most.
    pub look_ahead: usize,
    /// Whether it always looks ahead that far.
    pub fixed_look_ahead: bool,
    /// How reads are submitted.
    pub io: Io,
    /// Whether reads go through the page cache, which is emptied before each join.
    pub buffered: bool,
    /// Bytes of the buffer pool.
    pub pool: Size,
    /// Reads in flight at most.
    pub depth: usize,
    /// How many reads a subject that reads ahead by itself may have in flight.
    pub concurrencies: Vec<u32>,
    /// Where the engine's tables lie.
    pub directory: PathBuf,
    /// The device that they are placed on, such as `model:ssd`; empty: they are read where they are.
    pub device: PathBuf,
    /// Whether tables that are there are loaded again.
    pub reload: bool,
}

impl Default for Asked {
    fn default() -> Asked {
        Asked {
            // 28 572 blocks of seven rows, seven times the pool.
            rows: 200_000,
            // As published.
            pad: 1000,
            methods: Vec::new(),
            batch_sizes: Vec::new(),
            look_ahead: LOOK_AHEAD,
            fixed_look_ahead: false,
            io: Io::Async,
            buffered: false,
            pool: Size(32 << 20),
            depth: 64,
            // None, the usual one before PostgreSQL 18 and from 18 on, and up to the most that there is.
            concurrencies: vec![0, 1, 16, 64, 256, 1000],
            directory: PathBuf::new(),
            device: PathBuf::new(),
            reload: false,
        }
    }
}

impl Asked {
    /// Reads that can be in flight: one where they follow one another.
    pub fn reads_in_flight(&self) -> usize {
        match self.io {
            Io::Sync => 1,
            Io::Async => self.depth,
        }
    }

    /// The inner table with this percentage of its rows out of order.
    pub fn table(&self, rand: u8) -> InnerTable {
        InnerTable { rows: self.rows, pad: self.pad, rand }
    }
}

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

impl InnerTable {
    /// What its rows look like.
    pub fn shape(&self) -> KeyedShape {
        KeyedShape { rand: self.rand, pad: self.pad }
    }

    /// Its rows.
    pub fn keyed_rows(&self) -> Result<KeyedRows, SubjectError> {
        Ok(KeyedRows::new(self.shape(), self.rows, TABLE_SEED)?)
    }

    /// The sum of the values of these keys: what each join over them has to find.
    pub fn sum(&self, keys: Keys) -> Result<i64, SubjectError> {
        let rows = self.keyed_rows()?;
        Ok(keys.iter(self.rows).fold(0, |sum: i64, key| sum.wrapping_add(rows.value(key))))
    }
}

/// Keys of the outer rows of one join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys {
    /// The first, from 1.
    pub first: u64,
    /// How many follow one another, after the last key the first again.
    pub count: u64,
}

impl Keys {
    /// The keys of turn `number`, others than those of the turn before as long as there are enough. Unless they
    /// `may_repeat`, no turn goes beyond the last key.
    pub fn of_turn(number: u64, count: u64, rows: u64, may_repeat: bool) -> Keys {
        if may_repeat {
            return Keys { first: 1 + number.wrapping_mul(count) % rows, count };
        }
        let count = count.min(rows);
        let places = (rows / count.max(1)).max(1);
        Keys { first: 1 + number % places * count, count }
    }

    /// The keys, of a table of this many rows.
    pub fn iter(self, rows: u64) -> impl Iterator<Item = i64> {
        (0..self.count).map(move |number| ((self.first.saturating_sub(1) + number) % rows) as i64 + 1)
    }
}

/// A table that is ready, and the variants of its join.
#[derive(Clone, Debug)]
pub struct InnerFacts {
    /// Groups of variants; those of one group take turns.
    pub groups: Vec<Group>,
    /// Whether keys may come several times in a join, and go on from the first after the last.
    pub keys_may_repeat: bool,
    /// Whether times are those of a model, which is at rest before each join and repeats itself.
    pub is_virtual: bool,
    /// About how long a join takes, with emptying caches before it.
    pub join_time: Duration,
    /// How the figures are obtained.
    pub sources: Sources,
}

/// Ways to join that take turns.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What it is called in sentences, between two groups: `io_method worker`; empty where that needs no word.
    pub name: String,
    /// Whether reads go past the page cache.
    pub is_direct: bool,
    /// Case parameters of all its joins.
    pub parameters: Parameters,
    /// The variants, in the order in which they take their first turn.
    pub variants: Vec<JoinVariant>,
    /// Why gathering cannot gain anything in this group.
    pub gathers_nothing: Option<Finding>,
}

/// A way to join: what gathers its reads, and how many.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinVariant {
    /// The case parameter `method`.
    pub method: &'static str,
    /// Case parameters besides.
    pub parameters: Parameters,
    /// Rows that it gathers, or a number of reads in flight: what one method may have in several sizes.
    pub size: Option<u64>,
    /// Whether it gathers rows at all.
    pub is_gathered: bool,
}

/// How the figures are obtained, for the run document; empty where there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// Elapsed time.
    pub elapsed: &'static str,
    /// Time of waiting for reads.
    pub waiting: &'static str,
    /// Processor time.
    pub cpu: &'static str,
    /// Blocks that were read or found.
    pub blocks: &'static str,
    /// Requests of the operator.
    pub requests: &'static str,
    /// Gets.
    pub gets: &'static str,
    /// Reads in flight.
    pub in_flight: &'static str,
    /// What the page cache held.
    pub page_cache: &'static str,
    /// What is explained of joins apart, which take keys of their own.
    pub explained: Option<&'static str>,
}

/// One join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinPass {
    /// Which variant of the group.
    pub variant: usize,
    /// The outer rows.
    pub keys: Keys,
    /// The outer rows of another join, which is to be explained.
    pub explained: Option<Keys>,
}

/// What a join took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JoinCost {
    /// The sum that it found; `None` in a dry run.
    pub sum: Option<i64>,
    /// From the beginning to the end.
    pub elapsed: Nanos,
    /// Processor time.
    pub cpu: Option<Nanos>,
    /// Blocks of the table.
    pub table: BlockCost,
    /// Blocks of the index.
    pub index: BlockCost,
    /// Reads of the table in flight while waiting, on average.
    pub in_flight: Option<f64>,
    /// Share of the files that stayed in the page cache when it was emptied of them, 0 to 1.
    pub left_in_page_cache: Option<f64>,
    /// What was explained of a join apart.
    pub explained: Option<Explained>,
}

/// What the blocks of a table or an index took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCost {
    /// Blocks that were read.
    pub read: u64,
    /// Blocks that were found in memory.
    pub hits: Option<u64>,
    /// Time of waiting for reads.
    pub waiting: Option<Nanos>,
    /// Times that the operator asked for blocks.
    pub requests: Option<u64>,
    /// Gets.
    pub gets: Option<u64>,
}

/// What a subject explains of a join; explaining takes time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Explained {
    /// Blocks of table and index that were read.
    pub read: u64,
    /// Blocks that were found in memory.
    pub hits: u64,
    /// Time of waiting for reads; `None` where the subject does not time them.
    pub waiting: Option<Nanos>,
}

/// What a full scan of the inner table took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanCost {
    /// From the beginning to the end.
    pub elapsed: Nanos,
    /// Time of waiting for reads; `None` where the subject does not time them.
    pub waiting: Option<Nanos>,
    /// Blocks of the table.
    pub blocks: u64,
    /// Processor time.
    pub cpu: Option<Nanos>,
    /// Rows.
    pub rows: u64,
}

/// Look-ups that found everything cached, or should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachedCost {
    /// From the beginning to the end.
    pub elapsed: Nanos,
    /// Look-ups.
    pub lookups: u64,
    /// Blocks that were read all the same.
    pub read: u64,
}

/// Random reads of the table's file without a join.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceReads {
    /// Microseconds a read, one after the other.
    pub alone: f64,
    /// The same with as many in flight as the joins may have.
    pub together: f64,
    /// How many that are.
    pub depth: usize,
    /// Why the two may not be those of the storage and cannot be compared; `None` where they are.
    pub not_from_storage: Option<String>,
}

/// A subject that joins with one inner table at a time.
pub trait NestedLoops: Subject {
    /// Refuses more outer rows of a join than it has memory for.
    fn check_outer_rows(&self, _count: u64) -> Result<(), SubjectError> {
        Ok(())
    }

    /// Makes sure that a table and its index are there, and turns to them.
    fn prepare(&mut self, table: InnerTable, progress: &mut Progress<'_>) -> Result<InnerFacts, SubjectError>;

    /// Turns to a group of the table's, by its number; otherwise why it cannot be measured.
    fn turn_to(&mut self, _group: usize) -> Result<Result<(), Finding>, SubjectError> {
        Ok(Ok(()))
    }

    /// Joins with as little cached as can be.
    fn join(&mut self, pass: &JoinPass) -> Result<JoinCost, SubjectError>;

    /// Joins as many outer rows, or fewer, with everything cached.
    fn join_cached(&mut self, _outer_rows: u64) -> Result<Option<CachedCost>, SubjectError> {
        Ok(None)
    }

    /// Reads the whole table in its order with nothing cached, looking at the column that joins sum.
    fn scan(&mut self) -> Result<Option<ScanCost>, SubjectError> {
        Ok(None)
    }

    /// Reads random blocks of the table without a join.
    fn read_alone(&mut self) -> Result<Option<DeviceReads>, SubjectError> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_take_other_keys_and_none_beyond_the_last_unless_keys_may_repeat() {
        let turns: Vec<u64> = (0..4).map(|number| Keys::of_turn(number, 300, 1000, false).first).collect();
        assert_eq!(turns, [1, 301, 601, 1]);
        assert_eq!(Keys::of_turn(9, 5000, 1000, false), Keys { first: 1, count: 1000 });
        assert_eq!(Keys::of_turn(9, 0, 1000, false), Keys { first: 1, count: 0 });
        assert_eq!(Keys::of_turn(3, 300, 1000, true), Keys { first: 901, count: 300 });
        assert_eq!(Keys { first: 999, count: 4 }.iter(1000).collect::<Vec<_>>(), [999, 1000, 1, 2]);
    }
}
