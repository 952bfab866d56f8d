//! The cross-checks of the document, on one table: the order in which it came into the pool, the way to its blocks,
//! and what a block costs when it is not cached.

use std::time::Duration;

use measure::{Case, Finding, Metric, Parameters, Unit};
use serde_json::json;
use subjects::LogicalReads;
use subjects::logical_reads::{Access, Cell, ColdRead, Population, RANGE_BLOCKS, Touch};

use super::answers::{self, Physical};
use super::measuring::{self, Measured, Plan};
use super::{Bench, Setting};
use crate::error::ExperimentError;
use crate::journal::Journal;

/// Blocks that are read one at a time, and in large reads: 0.2 s each on a device of 1 GB/s.
const SINGLE_BLOCKS: u32 = 2500;
const RANGED_BLOCKS: u32 = 200 * RANGE_BLOCKS;

/// The table that is checked, where it is among those measured: it has some rows a block and some columns a row.
const PREFERRED: (u32, u32) = (250, 5);

/// Does the checks and says what they say.
pub(super) fn run(bench: &mut Bench<'_>, found: &[Measured], journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let cells = bench.parameters.cells();
    let preferred = cells.iter().find(|cell| (cell.row_length, cell.columns) == PREFERRED);
    let Some(cell) = preferred.or(cells.first()).copied() else { return Ok(()) };
    let facts = bench.prepare(cell, journal)?;
    let setting = Setting { cell, facts: &facts, changed_rows: 0, as_of: None };
    let scan = Plan { access: Access::FullScan, touch: Touch::Rows, threads: 1 };
    let of = |check: &str, value: &str| {
        Parameters::from_iter([("check".to_string(), json!(check)), (check.to_string(), json!(value))])
    };
    let in_order = measuring::case(bench, setting, scan, of("population", "full-scan"), journal)?;
    let by_rowid = Plan { access: Access::RowidInOrder, ..scan };
    let by_rowid = measuring::case(bench, setting, by_rowid, of("read_path", "rowid-in-order"), journal)?;
    bench.populate(Population::Interleaved, journal)?;
    let interleaved = measuring::case(bench, setting, scan, of("population", "interleaved"), journal)?;
    answers::cross_checks(found, [in_order, interleaved, by_rowid], journal);
    if !facts.direct {
        journal.find(Finding::warning(
            "absent-physical",
            "The physical cost of a block was not measured: the file system of the tables refuses direct I/O, so that \
             the page cache would answer. Name a directory on another one with --dir.",
        ));
        return Ok(());
    }
    let single = physical(bench, cell, ColdRead::SingleBlocks, journal)?;
    let ranged = physical(bench, cell, ColdRead::Ranges, journal)?;
    if let (Some(single), Some(lio)) = (single, in_order) {
        answers::physical_against_logical(&lio, Physical { single, ranged }, journal);
    }
    Ok(())
}

/// Reads blocks that are not in the pool; the median cost of a block in nanoseconds.
fn physical(
    bench: &mut Bench<'_>,
    cell: Cell,
    how: ColdRead,
    journal: &mut dyn Journal,
) -> Result<Option<f64>, ExperimentError> {
    let (blocks, blocks_per_read, access) = match how {
        ColdRead::SingleBlocks => (SINGLE_BLOCKS, 1, "random"),
        ColdRead::Ranges => (RANGED_BLOCKS, RANGE_BLOCKS, "sequential"),
    };
    journal.step(&format!("physical reads of {blocks_per_read} blocks"), Duration::from_millis(300));
    let samples = bench.engine.read_cold(how, blocks, bench.machine.stop.flag())?;
    let mut case = Case::new(Parameters::from_iter([
        ("row_length".to_string(), json!(cell.row_length)),
        ("columns".to_string(), json!(cell.columns)),
        ("check".to_string(), json!("physical")),
        ("access".to_string(), json!(access)),
        ("blocks_per_read".to_string(), json!(blocks_per_read)),
        ("payload".to_string(), json!(cell.payload)),
    ]));
    let source = format!("{}, from asking the pool to the verified block, over blocks", bench.machine.clock.name());
    let metric = Metric::of_samples("physical_block", Unit::Nanoseconds, &source, &samples);
    let median = metric.as_ref().map(Metric::median);
    case.metrics.extend(metric);
    if median.is_some() {
        journal.keep(case)?;
    }
    Ok(median)
}
