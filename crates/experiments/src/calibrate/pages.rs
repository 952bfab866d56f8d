//! What a block costs that no cache holds, in sequence and at random: only on a private server, whose caches can be
//! emptied.

use std::time::Duration;

use measure::statistics::median;
use subjects::postgres::calibration::{ChosenPlan, Clustering, Probe, Ways};

use super::bench::Bench;
use super::cost::Cost;
use crate::error::ExperimentError;
use crate::journal::Journal;

/// One of this many blocks is read at random: few rows of a sample lie in the same one.
const BLOCKS_A_ROW: u64 = 8;

measure::words! {
    /// A kind of block read, by the name of its cost.
    pub(super) enum PageRead ("cost") {
        /// One block behind the other.
        Sequential = "seq_page_cost",
        /// Blocks at random.
        Random = "random_page_cost",
    }
}

impl PageRead {
    pub(super) fn probe(self, bench: &Bench<'_>) -> (Probe, Ways) {
        let rows = (bench.tables.sizes().blocks / BLOCKS_A_ROW).max(1);
        match self {
            PageRead::Sequential => (Probe::Dense { comparisons: 0 }, Ways::Only(ChosenPlan::FullScan)),
            PageRead::Random => (Probe::Fetch { clustering: Clustering::Random, rows }, Ways::Only(ChosenPlan::Index)),
        }
    }
}

/// Microseconds a block: what the statement takes longer than with all of them cached, over its blocks, plus a cached
/// block's own cost, of which `cached` are the pass's samples.
pub(super) fn measure_cold(
    bench: &mut Bench<'_>,
    read: PageRead,
    cached: &[f64],
    journal: &mut dyn Journal,
) -> Result<Cost, ExperimentError> {
    let (probe, ways) = read.probe(bench);
    let samples = bench.parameters.cold_samples_a_pass();
    journal.step(&format!("{} with nothing cached", read.name()), Duration::from_secs(2 * samples as u64));
    let settled = settled(bench, read)?;
    let base = median(cached).unwrap_or(0.0);
    let mut micros = Vec::new();
    for _ in 0..samples {
        bench.cool(journal)?;
        bench.tables.allow(ways)?;
        // EXPLAIN alone reads what the server has to know about the table, so that the statement does not.
        bench.tables.chosen(probe)?;
        let first = bench.tables.execute(probe, ways)?;
        micros.push((first.micros - settled) / first.buffers.gets().max(1) as f64 + base);
    }
    let source = "execution time by EXPLAIN after the caches were emptied, less that of the same statement cached, \
                  over its blocks, and the cached block's own";
    Ok(Cost { name: read.name(), micros, source: source.into() })
}

/// Microseconds of the same statement when all is cached.
pub(super) fn settled(bench: &mut Bench<'_>, read: PageRead) -> Result<f64, ExperimentError> {
    let (probe, ways) = read.probe(bench);
    bench.tables.warm()?;
    bench.tables.allow(ways)?;
    let mut micros = Vec::new();
    for _ in 0..bench.parameters.repeat {
        micros.push(bench.tables.execute(probe, ways)?.micros);
    }
    Ok(median(&micros).unwrap_or(0.0))
}
