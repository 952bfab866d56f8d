//! How many blocks one request reads or writes.

use measure::Statistics;

use super::latency::{quantile, statistics};
use crate::event::Ticks;
use crate::event::block_wait::{BLOCKS_PER_REQUEST_MAX, BlockWait};

/// Blocks a request, exactly: one counter for each possible number.
#[derive(Clone, Debug, Default)]
pub struct RequestSizes {
    counts: Vec<u64>,
    /// Requests of the operating system, where lines say how many.
    requests: u64,
    /// Blocks of the lines that say how many requests.
    blocks_of_requests: u64,
    /// Time of the lines with a number of blocks.
    time: Ticks,
}

impl RequestSizes {
    /// Adds what one line says: nothing where its number of blocks is absent or beyond belief.
    pub fn record(&mut self, wait: &BlockWait, elapsed: Ticks) {
        let Some(blocks) = wait.blocks else { return };
        let index = blocks as usize;
        if index >= self.counts.len() {
            self.counts.resize((index + 1).min(BLOCKS_PER_REQUEST_MAX as usize + 1), 0);
        }
        self.counts[index] += 1;
        self.time = Ticks(self.time.0.saturating_add(elapsed.0));
        if let Some(requests) = wait.requests {
            self.requests += u64::from(requests);
            self.blocks_of_requests += u64::from(blocks);
        }
    }

    /// Lines with a number of blocks.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Their blocks.
    pub fn blocks(&self) -> u64 {
        self.counts.iter().enumerate().map(|(blocks, count)| blocks as u64 * count).sum()
    }

    /// Blocks a request of the operating system, where lines say how many requests a wait stands for.
    pub fn blocks_per_system_request(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.blocks_of_requests as f64 / self.requests as f64)
    }

    /// Mean time a block in µs.
    pub fn micros_per_block(&self) -> Option<f64> {
        let blocks = self.blocks();
        (blocks > 0).then(|| self.time.micros() / blocks as f64)
    }

    /// Statistics of blocks a line; `None` where no line has them.
    pub fn statistics(&self) -> Option<Statistics> {
        let count = self.count();
        let sizes = || self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let (min, max) = (sizes().next()?.0 as f64, sizes().next_back()?.0 as f64);
        let mean = self.blocks() as f64 / count as f64;
        let squares: f64 = sizes().map(|(blocks, count)| (blocks as f64 - mean).powi(2) * *count as f64).sum();
        let values = || sizes().map(|(blocks, count)| (blocks as f64, *count));
        let at = |fraction| quantile(values(), count, fraction).unwrap_or(max);
        Some(statistics(count, (min, max), mean, squares / (count.max(2) - 1) as f64, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::block_wait::BlockWaitKind;

    fn line(blocks: Option<u32>, requests: Option<u32>) -> BlockWait {
        let kind = BlockWaitKind::ParallelRead;
        BlockWait { kind, address: None, blocks, requests, bytes: None, class: None, is_of_cell: false }
    }

    #[test]
    fn blocks_a_request_are_those_of_the_lines() {
        let mut sizes = RequestSizes::default();
        for blocks in [38, 69, 121] {
            sizes.record(&line(Some(blocks), Some(blocks / 2)), Ticks::from_micros(228));
        }
        sizes.record(&line(None, None), Ticks::from_micros(1_000_000));
        let statistics = sizes.statistics().unwrap();
        assert_eq!((statistics.n, statistics.min, statistics.median, statistics.max), (3, 38.0, 69.0, 121.0));
        assert_eq!((statistics.mean, sizes.micros_per_block()), (76.0, Some(3.0)));
        assert_eq!(sizes.blocks_per_system_request(), Some(228.0 / 113.0));
        assert_eq!(sizes.count(), 3, "without the line that has no number of blocks");
    }

    #[test]
    fn what_no_line_says_is_absent() {
        let sizes = RequestSizes::default();
        assert_eq!((sizes.statistics(), sizes.micros_per_block()), (None, None));
        assert_eq!(sizes.blocks_per_system_request(), None);
    }
}
