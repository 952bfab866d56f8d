//! What a block costs that the operating system has cached and the server has not: by a table beyond the buffers.

use std::time::Duration;

use subjects::postgres::calibration::verification_set::Scanned;

use super::bench::Bench;
use super::cost::Cost;
use crate::error::ExperimentError;
use crate::journal::Journal;

/// One of this many blocks is read at random in a sample: all samples together read each block at most once.
const BLOCKS_A_ROW: u64 = 64;

/// Share of a statement's blocks that has to come from outside the buffers: with fewer, the rest is noise.
pub(super) const READS_MIN: f64 = 0.3;

/// A block in sequence and one at random, the samples of one pass; `cached` are their costs in the buffers.
pub(super) fn measure(
    bench: &mut Bench<'_>,
    pass: usize,
    [cached_page, cached_random]: [f64; 2],
    journal: &mut dyn Journal,
) -> Result<[Cost; 2], ExperimentError> {
    journal.step("a block that the operating system has cached", Duration::from_secs(2));
    bench.tables.allow_single_process()?;
    let (mut pages, mut randoms) = (Vec::new(), Vec::new());
    for sample in 0..bench.parameters.repeat {
        pages.extend(in_sequence(bench, cached_page)?);
        randoms.extend(at_random(bench, pass * bench.parameters.repeat + sample, cached_random)?);
    }
    let sequence = "execution time by EXPLAIN of a scan of a table beyond the buffers, less that of a scan within \
                    them, over the blocks that were read";
    let random = "execution time by EXPLAIN of rows fetched by an index beyond the buffers, less the same by the index \
                  alone and what blocks in the buffers cost, over the blocks that were read";
    Ok([
        Cost { name: "seq_page_cost", micros: pages, source: sequence.into() },
        Cost { name: "random_page_cost", micros: randoms, source: random.into() },
    ])
}

fn in_sequence(bench: &mut Bench<'_>, cached: f64) -> Result<Option<f64>, ExperimentError> {
    let within = bench.tables.scan_of(Scanned::Within)?;
    let beyond = bench.tables.scan_of(Scanned::Beyond)?;
    let [blocks_within, blocks_beyond] = [within, beyond].map(|scan| scan.buffers.gets() as f64);
    let reads = beyond.buffers.reads as f64;
    let a_block = beyond.micros / blocks_beyond - within.micros / blocks_within;
    let is_enough = reads > blocks_beyond * READS_MIN && within.buffers.reads == 0;
    Ok(is_enough.then(|| cached + a_block * blocks_beyond / reads))
}

fn at_random(bench: &mut Bench<'_>, at: usize, cached: f64) -> Result<Option<f64>, ExperimentError> {
    let (counted, fetched) = bench.tables.fetch_beyond(at as u64, BLOCKS_A_ROW)?;
    let reads = fetched.buffers.reads.saturating_sub(counted.buffers.reads) as f64;
    let hits = fetched.buffers.hits.saturating_sub(counted.buffers.hits) as f64;
    let is_enough = reads > (reads + hits) * READS_MIN && reads > 0.0;
    Ok(is_enough.then(|| (fetched.micros - counted.micros - hits * cached) / reads))
}
