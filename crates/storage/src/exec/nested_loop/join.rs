//! What a join is asked, and what it gives.

use std::sync::atomic::AtomicBool;

use crate::page::row::RowView;

/// How the rows of the inner table are gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Each row is fetched before the next key is looked up.
    OneAtATime,
    /// Looks ahead in the addresses of the rows to come.
    Prefetch(Distance),
    /// Outer rows are gathered, this many at a time, and the blocks of their rows awaited before the rows.
    AwaitedBatch(usize),
    /// Outer rows are gathered, this many at a time; the blocks of the next ones come while the rows are handed on.
    Batch(usize),
    /// Rows are gathered, this many at a time or a few more, and fetched in the order of their blocks.
    BatchedRowid(usize),
}

/// How far `Prefetch` looks ahead, in rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Distance {
    /// From one row on: twice as far after a row that had to be read, one row less after one that was cached.
    UpTo(usize),
    /// Always so far.
    Fixed(usize),
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Join<'q> {
    /// The keys of the outer rows, in the order of those; a null matches nothing. At most 2^32 - 1.
    pub outer: &'q [Option<i64>],
    /// The column of the inner table that is summed, from 1: whole numbers.
    pub column: u8,
    /// Most pages that are asked for at once; see [`Pool::pages_ahead`](crate::pool::Pool::pages_ahead).
    pub pages_at_once: usize,
    /// How.
    pub method: Method,
    /// Raised where the user asks to stop: the join then ends early.
    pub stop: &'q AtomicBool,
}

/// What was found and what it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JoinResult {
    /// Pairs of an outer and an inner row.
    pub rows: u64,
    /// Outer rows without an inner one.
    pub unmatched: u64,
    /// The sum of the inner column over all pairs, modulo 2^64, nulls left out. It does not depend on the order.
    pub sum: i64,
    /// Gets of pages of the index.
    pub index_gets: u64,
    /// Gets of pages of the table.
    pub table_gets: u64,
    /// Uses of pages that were still held, of either.
    pub pinned_revisits: u64,
    /// Requests for missing blocks that were waited for: one for each block that is got alone, one for all that were
    /// gathered.
    pub requests: u64,
    /// Blocks that these brought.
    pub blocks: u64,
    /// Requests for the index among them.
    pub index_requests: u64,
    /// Blocks of the index among them.
    pub index_blocks: u64,
}

/// Hears of each pair: the number of the outer row, from 0, and the inner row.
pub type Emit<'e> = &'e mut dyn FnMut(u32, RowView<'_>);
