//! What rows from another process cost: a scan by one worker, which hands over every row, against the same scan
//! without. EXPLAIN discards the rows.

use std::time::Duration;

use subjects::postgres::calibration::{ChosenPlan, Probe, Ways};

use super::bench::Bench;
use super::cost::Cost;
use super::estimate::line;
use crate::error::ExperimentError;
use crate::journal::Journal;

/// Parts of the rows that are handed over; each time all rows are read.
const PARTS: [u64; 4] = [64, 16, 4, 2];

/// The setting that makes one worker run a whole plan; it had another name before 16.
const FORCING: &str = "debug_parallel_query";
const FORCING_BEFORE_16: &str = "force_parallel_mode";

/// Both costs.
pub(super) const COSTS: [&str; 2] = ["parallel_tuple_cost", "parallel_setup_cost"];

/// Measures both costs; the reason where the server started no worker.
pub(super) fn measure(
    bench: &mut Bench<'_>,
    journal: &mut dyn Journal,
) -> Result<Result<Vec<Cost>, String>, ExperimentError> {
    journal.step("a row from a parallel worker", Duration::from_secs(5));
    let forcing = if bench.tables.facts().major() < 16 { FORCING_BEFORE_16 } else { FORCING };
    bench.tables.warm()?;
    bench.tables.allow(Ways::Only(ChosenPlan::FullScan))?;
    // Scans that share the table among workers would divide the work; only the forced one may start.
    bench.tables.set("min_parallel_table_scan_size", "1TB")?;
    let mut lines = Vec::new();
    for _ in 0..bench.parameters.repeat {
        let mut points = Vec::new();
        for part in PARTS {
            let rows = bench.tables.sizes().rows / part;
            let alone = run(bench, rows, ("0", forcing, "off"))?;
            let handed = run(bench, rows, ("1", forcing, "on"))?;
            // Without a worker, nothing is handed over.
            if handed.1 > 0 {
                points.push((rows as f64, handed.0 - alone.0));
            }
        }
        lines.extend(line(&points));
    }
    for setting in ["min_parallel_table_scan_size", forcing, "max_parallel_workers_per_gather"] {
        bench.tables.reset(setting)?;
    }
    bench.tables.set("max_parallel_workers_per_gather", "0")?;
    if lines.is_empty() {
        return Ok(Err("the server started no worker: see max_worker_processes and max_parallel_workers".into()));
    }
    let source = "execution time by EXPLAIN with one worker that hands over a part of the rows, less the same without; \
                  line over four parts";
    let of = |name, ending: &str, micros| Cost { name, micros, source: format!("{source}, {ending}") };
    let [tuple, setup] = COSTS;
    Ok(Ok(vec![
        of(tuple, "its slope", lines.iter().map(|line| line.slope).collect()),
        of(setup, "its beginning", lines.iter().map(|line| line.intercept).collect()),
    ]))
}

/// Microseconds and workers.
fn run(
    bench: &mut Bench<'_>,
    rows: u64,
    (workers, forcing, force): (&str, &str, &str),
) -> Result<(f64, u64), ExperimentError> {
    bench.tables.set("max_parallel_workers_per_gather", workers)?;
    bench.tables.set(forcing, force)?;
    let taken = bench.tables.execute(Probe::Rows { rows }, Ways::Only(ChosenPlan::FullScan))?;
    Ok((taken.micros, taken.workers))
}
