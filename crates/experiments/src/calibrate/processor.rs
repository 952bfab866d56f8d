//! What a row, an entry of an index, a comparison and a cached block cost the processor: statements on cached tables
//! that differ in one thing, in turn, so that a disturbance affects all of them.

use std::time::Duration;

use subjects::postgres::calibration::{ChosenPlan, Clustering, Probe, Ways};

use super::bench::Bench;
use super::cost::Cost;
use super::estimate::line;
use crate::error::ExperimentError;
use crate::journal::Journal;

/// Comparisons a row.
const COMPARISONS: [u32; 4] = [1, 2, 4, 8];

/// Parts of the rows that an index is walked for.
const PARTS: [u64; 3] = [4, 2, 1];

/// One round of statements, microseconds of each.
struct Round {
    /// No comparison, with many rows a block and with few.
    dense: f64,
    sparse: f64,
    compared: Vec<(f64, f64)>,
    entries: Vec<(f64, f64)>,
    /// As many rows as there are blocks, by an index alone, and fetched from the table.
    counted: f64,
    fetched: f64,
}

/// What one round says, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Solved {
    seq_page: f64,
    random_page: f64,
    tuple: f64,
    index_tuple: f64,
    operator: f64,
}

/// Measures them in one pass.
pub(super) fn measure(bench: &mut Bench<'_>, journal: &mut dyn Journal) -> Result<Vec<Cost>, ExperimentError> {
    journal.step("a row, an entry, a comparison and a cached block", Duration::from_secs(5));
    bench.tables.warm()?;
    let mut solved = Vec::new();
    for _ in 0..bench.parameters.repeat {
        let round = round(bench)?;
        solved.extend(solve(bench, &round));
        bench.look(journal);
    }
    let meter = bench.tables.meter_source();
    let of = |name, how: &str, value: fn(&Solved) -> f64| {
        let samples = solved.iter().map(value).collect();
        Cost { name, micros: samples, source: format!("{meter}; {how}") }
    };
    Ok(vec![
        of("seq_page_cost", "scans of many and of few rows a block", |one| one.seq_page),
        of("random_page_cost", "rows fetched by an index, less the same by the index alone", |one| one.random_page),
        of("cpu_tuple_cost", "a full scan with one column compared, less blocks and comparisons", |one| one.tuple),
        of("cpu_index_tuple_cost", "index-only scans of three lengths, less rows and comparisons", |one| {
            one.index_tuple
        }),
        of("cpu_operator_cost", "1, 2, 4 and 8 comparisons a row", |one| one.operator),
    ])
}

fn round(bench: &mut Bench<'_>) -> Result<Round, ExperimentError> {
    let sizes = bench.tables.sizes();
    let tables = &mut bench.tables;
    tables.allow(Ways::Only(ChosenPlan::FullScan))?;
    let dense = tables.processor_micros(Probe::Dense { comparisons: 0 }, sizes.rows, 1)?;
    let sparse = tables.processor_micros(Probe::Sparse, sizes.sparse_rows, 5)?;
    let mut compared = Vec::new();
    for comparisons in COMPARISONS {
        let micros = tables.processor_micros(Probe::Dense { comparisons }, sizes.rows, 1)?;
        compared.push((f64::from(comparisons), micros));
    }
    tables.allow(Ways::IndexOnly)?;
    let clustering = Clustering::Random;
    let mut entries = Vec::new();
    for part in PARTS {
        let rows = sizes.rows / part;
        entries.push((rows as f64, tables.processor_micros(Probe::Count { clustering, rows }, rows, 1)?));
    }
    let rows = sizes.blocks.max(1);
    let counted = tables.processor_micros(Probe::Count { clustering, rows }, rows, 3)?;
    tables.allow(Ways::Only(ChosenPlan::Index))?;
    let fetched = tables.processor_micros(Probe::Count { clustering, rows }, rows, 3)?;
    Ok(Round { dense, sparse, compared, entries, counted, fetched })
}

/// The costs behind a round, by the planner's own formulas: a counted row costs a tuple and an operator (count's
/// transition), a compared one another operator for each comparison; an entry of an index costs an index tuple and one
/// comparison besides its row.
///
/// Source: src/backend/optimizer/path/costsize.c of PostgreSQL, `cost_seqscan`, `cost_agg`, `cost_index`;
/// `genericcostestimate` in selfuncs.c.
fn solve(bench: &Bench<'_>, round: &Round) -> Option<Solved> {
    let sizes = bench.tables.sizes();
    let [rows, blocks] = [sizes.rows as f64, sizes.blocks as f64];
    let [sparse_rows, sparse_blocks] = [sizes.sparse_rows as f64, sizes.sparse_blocks as f64];
    // Two scans, two unknowns: rows and blocks.
    let determinant = blocks * sparse_rows - sparse_blocks * rows;
    let seq_page = (round.dense * sparse_rows - round.sparse * rows) / determinant;
    let compared = line(&round.compared)?;
    let operator = compared.slope / rows;
    let tuple = (compared.intercept - blocks * seq_page) / rows - operator;
    let index_tuple = line(&round.entries)?.slope - tuple - 2.0 * operator;
    let random_page = (round.fetched - round.counted) / blocks;
    (determinant != 0.0).then_some(Solved { seq_page, random_page, tuple, index_tuple, operator })
}
