//! What a person would measure by hand, out of a trace: what a logical I/O costs, how long reads take and who
//! probably answers them, how many blocks a request has.

mod document;
mod latency;
mod logical_io;
mod modes;
mod request_size;
mod tiers;

use crate::event::block_wait::{BlockWait, BlockWaitKind};
use crate::event::{Cost, Merge, StatementKind, Ticks};
use crate::tables::sampled::Sampled;
use crate::tables::{Profile, StatementProfile};

pub use latency::{Bucket, LatencyDistribution};
pub use logical_io::{Costs, Fit, LogicalIo, StatementWork, logical_io};
pub use modes::{Modes, Weighted, modes};
pub use request_size::RequestSizes;
pub use tiers::{Tier, TierLabel, tiers};

/// The latency and the size of the requests of one kind.
#[derive(Clone, Debug, Default)]
pub struct Accesses {
    /// How long each took.
    pub latency: LatencyDistribution,
    /// How many blocks each had.
    pub sizes: RequestSizes,
    /// How many of them storage cells answered.
    pub of_cells: u64,
}

/// Listens to waits for blocks.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    /// By kind.
    accesses: [Accesses; BlockWaitKind::COUNT],
    block_bytes: Option<u64>,
}

impl Readings {
    /// The requests of a kind; `None` where the trace has none.
    pub fn accesses(&self, kind: BlockWaitKind) -> Option<&Accesses> {
        Some(&self.accesses[kind as usize]).filter(|accesses| accesses.latency.count() > 0)
    }

    /// The tiers that reads of a kind show, fastest first.
    pub fn tiers(&self, kind: BlockWaitKind) -> Vec<Tier> {
        let Some(accesses) = self.accesses(kind) else { return Vec::new() };
        let blocks = accesses.sizes.statistics().map_or(1.0, |statistics| statistics.mean);
        let mut tiers = tiers(&accesses.latency, blocks);
        if accesses.of_cells.saturating_mul(2) > accesses.latency.count() {
            // The flash of a cell answers as fast as the memory of the host would.
            let fastest = tiers.iter_mut().filter(|tier| tier.label == TierLabel::FileSystemCache);
            fastest.for_each(|tier| tier.label = TierLabel::StorageCache);
        }
        tiers
    }

    /// The size of a block, where lines of single-block reads have bytes.
    pub fn block_bytes(&self) -> Option<u64> {
        self.block_bytes
    }

    fn learn_block_bytes(&mut self, wait: &BlockWait) {
        let is_block_size = |bytes: &u64| bytes.is_power_of_two() && (2048..=32_768).contains(bytes);
        if wait.kind == BlockWaitKind::SingleBlock && self.block_bytes.is_none() {
            self.block_bytes = wait.bytes.filter(is_block_size);
        }
    }

    /// Adds what one line says.
    pub fn add(&mut self, block_wait: &BlockWait, elapsed: Ticks) {
        self.learn_block_bytes(block_wait);
        let kind = match block_wait.kind {
            // A sequential read of several blocks exists too; as a latency it belongs to its like.
            BlockWaitKind::SingleBlock if block_wait.blocks.is_some_and(|blocks| blocks > 1) => {
                BlockWaitKind::MultiBlock
            }
            kind => kind,
        };
        let accesses = &mut self.accesses[kind as usize];
        accesses.latency.record(elapsed);
        accesses.of_cells += u64::from(block_wait.is_of_cell);
        if !matches!(kind, BlockWaitKind::Buffer | BlockWaitKind::Grant) {
            accesses.sizes.record(block_wait, elapsed);
        }
    }
}

/// The command type of a query, and that of statements of which none is known.
const QUERIES: [i64; 2] = [3, 0];

/// What the queries of a profile did by themselves, parse calls left out: their CPU goes into finding a plan, and would
/// make a get look dear where a program parses often. That of changes goes into undo and the log, that of a commit into
/// the log alone. Empty where the source does not know CPU time, or has it of another time or other processes than the
/// gets.
pub fn statement_works(profile: &Profile) -> Vec<StatementWork> {
    let is_unequal = |sampled: &Sampled| sampled.is_counted_in_part || sampled.time_of_workers().is_some();
    if profile.sampled.as_deref().is_some_and(is_unequal) {
        return Vec::new();
    }
    let is_parse = |name: u16| profile.context.call_name(name) == "PARSE";
    let work = |statement: &StatementProfile| {
        statement.own.cpu?;
        let known = profile.context.statement(statement.statement)?;
        if !QUERIES.contains(&known.command) || known.kind == StatementKind::NoCursor {
            return None;
        }
        let mut own = Cost::default();
        let mut rows = 0_u64;
        for (_, sums) in statement.calls.iter().filter(|(name, _)| !is_parse(**name)) {
            own.merge(&sums.own);
            rows = rows.saturating_add(sums.rows);
        }
        let gets = own.consistent_gets.saturating_add(own.current_gets);
        Some(StatementWork { statement: statement.statement, cpu: own.cpu.unwrap_or_default(), gets, rows })
    };
    profile.statements.iter().filter_map(work).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::tests::{context, hear, wait};

    #[test]
    fn reads_are_kept_apart_by_kind_and_nothing_else_is_counted() {
        let file = ["file#", "block#", "blocks"].as_slice();
        let context = context(&[
            ("db file sequential read", file),
            ("db file scattered read", file),
            ("log file sync", &["buffer#"]),
        ]);
        let mut readings = Readings::default();
        for wait in [
            wait(0, 40, [4, 100, 1]),
            wait(0, 60, [4, 101, 1]),
            wait(0, 500, [4, 102, 3]),
            wait(1, 900, [4, 200, 8]),
            wait(2, 9999, [1, 2, 3]),
        ] {
            hear(&context, &wait, |wait, time| readings.add(wait, time));
        }
        let single = readings.accesses(BlockWaitKind::SingleBlock).unwrap();
        assert_eq!((single.latency.count(), single.latency.time().micros()), (2, 100.0));
        let multi = readings.accesses(BlockWaitKind::MultiBlock).unwrap();
        assert_eq!((multi.latency.count(), multi.sizes.blocks()), (2, 11));
        assert!(readings.accesses(BlockWaitKind::DirectRead).is_none());
    }

    #[test]
    fn the_size_of_a_block_is_taken_from_lines_that_have_bytes() {
        let context = context(&[("cell single block physical read", &["cellhash#", "diskhash#", "bytes"])]);
        let mut readings = Readings::default();
        hear(&context, &wait(0, 300, [1, 2, 12]), |wait, time| readings.add(wait, time));
        assert_eq!(readings.block_bytes(), None);
        hear(&context, &wait(0, 300, [1, 2, 16_384]), |wait, time| readings.add(wait, time));
        assert_eq!(readings.block_bytes(), Some(16_384));
    }
}
