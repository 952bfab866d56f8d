//! What a block costs that is not cached, in sequence and at random, and what it costs where part of the blocks is:
//! only on a private server, whose caches can be emptied.

use std::time::Duration;

use measure::Finding;
use measure::statistics::median;
use subjects::postgres::calibration::{Buffers, ChosenPlan, Clustering, Probe, Ways};

use super::bench::Bench;
use super::cost::Cost;
use crate::error::ExperimentError;
use crate::journal::Journal;

/// One of this many blocks is read at random: few rows of a sample lie in the same one.
const BLOCKS_A_ROW: u64 = 8;

/// How far the share of blocks that is cached may be from the one that was wanted.
const SHARE_ERROR_MAX: f64 = 0.02;

/// A kind of block read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageRead {
    Sequential,
    Random,
}

impl PageRead {
    pub(super) const ALL: [PageRead; 2] = [PageRead::Sequential, PageRead::Random];

    pub(super) fn constant(self) -> &'static str {
        match self {
            PageRead::Sequential => "seq_page_cost",
            PageRead::Random => "random_page_cost",
        }
    }

    fn probe(self, bench: &Bench<'_>) -> (Probe, Ways) {
        let rows = (bench.tables.sizes().blocks / BLOCKS_A_ROW).max(1);
        match self {
            PageRead::Sequential => (Probe::Dense { comparisons: 0 }, Ways::Only(ChosenPlan::FullScan)),
            PageRead::Random => (Probe::Fetch { clustering: Clustering::Random, rows }, Ways::Only(ChosenPlan::Index)),
        }
    }
}

/// Microseconds a block where `share` of the blocks is cached: what the statement takes longer than with all of them
/// cached, over its blocks, plus a cached block's own cost.
pub(super) fn measure(
    bench: &mut Bench<'_>,
    (read, share): (PageRead, f64),
    (cached, settled): (&Cost, f64),
    journal: &mut dyn Journal,
) -> Result<Cost, ExperimentError> {
    let (probe, ways) = read.probe(bench);
    let samples = bench.parameters.cold_samples();
    let what = format!("{} with {:.0} % of the blocks cached", read.constant(), share * 100.0);
    journal.step(&what, Duration::from_secs(2 * samples as u64));
    let base = median(&cached.micros).unwrap_or(0.0);
    let mut micros = Vec::new();
    for _ in 0..samples {
        bench.cool(journal)?;
        let mut held = 0.0;
        if share > 0.0 {
            bench.tables.warm(share)?;
            held = bench.tables.trim(share)?;
        }
        bench.tables.allow(ways)?;
        // EXPLAIN alone reads what the server has to know about the table, so that the statement does not.
        bench.tables.chosen(probe)?;
        let first = bench.tables.execute(probe, ways)?;
        if !is_share(bench, read, share, (held, first.buffers)) {
            continue;
        }
        let blocks = first.buffers.gets().max(1) as f64;
        micros.push((first.micros - settled) / blocks + base);
    }
    report_left_out(&what, samples - micros.len(), samples, journal);
    let source = format!(
        "execution time by EXPLAIN after the caches were emptied{}, less that of the same statement cached, over its \
         blocks, and the cached block's own",
        if share > 0.0 {
            ", part of the table was read again (proved by the server's counts and the page cache's)"
        } else {
            ""
        }
    );
    Ok(Cost { name: read.constant(), micros, source })
}

/// Whether `share` of the table's blocks was cached, and no more: of those that the statement asked for, that share was
/// in shared buffers by the server's own count, and the page cache `held` no more of its pages. What is cold is checked
/// where caches are emptied.
fn is_share(bench: &Bench<'_>, read: PageRead, share: f64, (held, found): (f64, Buffers)) -> bool {
    let blocks = bench.tables.sizes().blocks as f64;
    // Rows in no order: some share a block.
    let asked = match read {
        PageRead::Sequential => blocks,
        PageRead::Random => blocks * (1.0 - (-(blocks / BLOCKS_A_ROW as f64).max(1.0) / blocks).exp()),
    };
    // Of blocks in no order, the part that is cached scatters as that of draws from an urn.
    let scatter = match read {
        PageRead::Sequential => 0.0,
        PageRead::Random => 3.0 * (share * (1.0 - share) / asked).sqrt(),
    };
    let apart = (found.reads as f64 / asked - (1.0 - share)).abs();
    share == 0.0 || (apart <= SHARE_ERROR_MAX + scatter && held <= share + SHARE_ERROR_MAX)
}

fn report_left_out(what: &str, left_out: usize, of: usize, journal: &mut dyn Journal) {
    if left_out > 0 {
        let message = format!(
            "{left_out} of {of} samples of {what} were left out: by the server's counts or the page cache's, another \
             share was cached. Repeat the run with a larger --payload."
        );
        journal.find(Finding::warning("absent-constants", message));
    }
}

/// Microseconds of the same statement when all is cached.
pub(super) fn settled(bench: &mut Bench<'_>, read: PageRead) -> Result<f64, ExperimentError> {
    let (probe, ways) = read.probe(bench);
    bench.tables.warm(1.0)?;
    bench.tables.allow(ways)?;
    let mut micros = Vec::new();
    for _ in 0..bench.parameters.repeat {
        micros.push(bench.tables.execute(probe, ways)?.micros);
    }
    Ok(median(&micros).unwrap_or(0.0))
}
