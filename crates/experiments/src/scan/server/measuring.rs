//! One case on a server: passes over one path, and what they say.

use std::time::{Duration, Instant};

use measure::{Case, Finding, Metric, Nanos, Parameters, Unit};
use serde_json::json;
use subjects::access_paths::{Asked, ScanCost};
use subjects::postgres::access_paths::{ServerPath, ServerPathFacts, ServerScan};
use subjects::postgres::statement::Meter;

use super::Bench;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::{Conditions, Sensitivity};
use crate::on_server::share::Start;
use crate::scan::counted::Counted;
use crate::scan::counters::{self, Seen};

/// A sample lasts at least this long: the end of a statement, some microseconds, vanishes in it.
const SAMPLE_TIME: Nanos = Nanos::from_millis(50);
const LAPS_MAX: u64 = 256;

/// After so long a case takes no further sample, if it has [`SAMPLES_MIN`].
const CASE_TIME_MAX: Duration = Duration::from_secs(20);
const SAMPLES_MIN: usize = 3;

/// How instructions were counted.
const SINGLE_USER: &str = " of the backend in single-user mode, what rows of a larger table add";

/// A case that was measured, as far as the answers need it. Medians.
#[derive(Clone, Copy, Debug)]
pub(super) struct MeasuredOnServer {
    pub(super) path: ServerPath,
    /// Nanoseconds a row.
    pub(super) row_time: f64,
    /// Blocks asked for in a pass.
    pub(super) gets: f64,
    pub(super) instructions_per_row: Option<f64>,
    pub(super) correlation: Option<f64>,
}

/// Measures a case and keeps it. Errors when its answer is another one than that of the path before.
pub(super) fn case(bench: &mut Bench<'_>, path: ServerPath, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let facts = bench.paths.prepare(path, bench.parameters.asked)?;
    check_answer(bench, path, facts.count)?;
    report_misses(path, &facts, journal);
    let conditions = Conditions::now(bench.machine);
    let (scans, laps) = samples(bench, path, facts.count)?;
    let change = conditions.changed(bench.machine);
    bench.machine.note(path.name(), &change, Sensitivity::Core);
    let costs: Vec<ScanCost> = scans.iter().map(|scan| cost(bench, scan, &facts, laps)).collect();
    let is_processor_time = matches!(bench.paths.meter(), Meter::Account(_));
    let mut case = Case::new(parameters(bench, path));
    case.metrics = times(bench, &costs, laps);
    case.metrics.extend(counts(bench, path, &facts, laps));
    let counted = counted(bench, path);
    case.metrics.extend(counters::metrics(&Seen {
        costs: &costs,
        laps,
        core_ghz: change.core_ghz.filter(|_| is_processor_time),
        counted: counted.as_ref(),
        by_counted_kernel: None,
    }));
    case.metrics.extend(change.metrics());
    counters::report_absences(&case, &costs, journal);
    let value = |name: &str| case.metric(name).map(Metric::median);
    bench.found.push(MeasuredOnServer {
        path,
        row_time: value("row_time").unwrap_or(0.0),
        gets: value("gets").unwrap_or(0.0),
        instructions_per_row: value("instructions_per_row"),
        correlation: facts.correlation,
    });
    journal.keep(case)?;
    Ok(())
}

fn parameters(bench: &Bench<'_>, path: ServerPath) -> Parameters {
    let mut parameters = Parameters::new();
    parameters.insert("subject".into(), json!(bench.name));
    parameters.insert("path".into(), json!(path.name()));
    parameters.insert("question".into(), json!(bench.parameters.asked.name()));
    parameters.insert("threads".into(), json!(1));
    parameters.insert("table_rows".into(), json!(bench.parameters.rows));
    parameters
}

/// Samples, and the passes of each.
fn samples(bench: &mut Bench<'_>, path: ServerPath, count: u64) -> Result<(Vec<ServerScan>, f64), ExperimentError> {
    let asked: Asked = bench.parameters.asked;
    let first = bench.paths.scan(path, asked, count, 1)?.elapsed;
    // A rehearsal takes no time: one statement stands for all laps there.
    let is_rehearsal = bench.paths.session().is_rehearsal();
    let laps = if is_rehearsal { 1 } else { SAMPLE_TIME.0.div_ceil(first.0.max(1)).clamp(1, LAPS_MAX) };
    let start = Start::now(bench.machine);
    let begun = Instant::now();
    let mut scans: Vec<ServerScan> = Vec::new();
    while scans.len() < bench.parameters.repeat {
        scans.push(bench.paths.scan(path, asked, count, laps as u32)?);
        if scans.len() >= SAMPLES_MIN && begun.elapsed() >= CASE_TIME_MAX {
            break;
        }
    }
    bench.shares.add(start, Nanos(scans.iter().map(|scan| scan.cost.0).sum()), bench.machine);
    Ok((scans, laps as f64))
}

/// A sample as the engine's are, without what a statement costs that does nothing.
fn cost(bench: &Bench<'_>, scan: &ServerScan, facts: &ServerPathFacts, laps: f64) -> ScanCost {
    let nothing = Nanos((bench.nothing.0 as f64 * laps) as u64);
    ScanCost {
        cpu: scan.cost.since(nothing),
        elapsed: scan.elapsed,
        tally: scan.tally.clone(),
        gets: facts.buffers.gets() * laps as u64,
        physical_reads: facts.buffers.reads * laps as u64,
        rows: bench.parameters.rows,
        count: facts.count,
        ..ScanCost::default()
    }
}

fn counted(bench: &Bench<'_>, path: ServerPath) -> Option<Counted> {
    let found = bench.instructions.iter().find(|counted| counted.path == path)?;
    let (rows, gets, events) = (found.rows, found.gets, found.events.clone());
    Some(Counted { rows, gets, kernel: None, how: SINGLE_USER, events, units: None })
}

fn times(bench: &Bench<'_>, costs: &[ScanCost], laps: f64) -> Vec<Metric> {
    let source = format!("{}, less that of a statement that does nothing", bench.paths.meter().source());
    let of = |name: &str, unit, how: &str, value: &dyn Fn(&ScanCost) -> f64| {
        let values: Vec<f64> = costs.iter().map(value).collect();
        Metric::of_samples(name, unit, how, &values).filter(|_| values.iter().all(|value| value.is_finite()))
    };
    let cpu = |cost: &ScanCost| cost.cpu.0 as f64 / laps;
    let elapsed = "from sending the statement to its answer, one pass";
    let metrics = [
        of("elapsed", Unit::Seconds, elapsed, &|cost| cost.elapsed.as_seconds() / laps),
        of("cpu", Unit::Seconds, &format!("{source}, one pass"), &|cost| cpu(cost) / 1e9),
        of("row_time", Unit::Nanoseconds, &format!("{source}, over rows"), &|cost| cpu(cost) / cost.rows as f64),
        of("get_time", Unit::Nanoseconds, &format!("{source}, over gets"), &|cost| {
            cost.cpu.0 as f64 / cost.gets as f64
        }),
    ];
    metrics.into_iter().flatten().collect()
}

fn counts(bench: &Bench<'_>, path: ServerPath, facts: &ServerPathFacts, laps: f64) -> Vec<Metric> {
    let count = |name: &str, source: &str, value: u64| Metric::single(name, Unit::Count, source, value as f64);
    let explain = "EXPLAIN (ANALYZE, BUFFERS), one pass";
    let mut metrics = vec![
        count("rows", "rows of the table", bench.parameters.rows),
        count("count", "the answer: rows that pass and have a cust_valid", facts.count),
        count("gets", explain, facts.buffers.gets()),
        count("physical_reads", "blocks that were not in shared buffers, by EXPLAIN, one pass", facts.buffers.reads),
        count("blocks", "blocks of the table (pg_relation_size)", facts.blocks),
        Metric::single("laps", Unit::Count, "passes of a sample, one after the other", laps),
    ];
    let per_row = facts.buffers.gets() as f64 / bench.parameters.rows as f64;
    metrics.push(Metric::single("gets_per_row", Unit::Ratio, "gets over rows", per_row));
    let optional = [
        ("index_blocks", "blocks of the index (pg_relation_size)", facts.index_blocks),
        ("heap_fetches", "rows that were looked for in the table all the same, by EXPLAIN", facts.heap_fetches),
        ("exact_heap_blocks", "blocks of which the bitmap knew every row, by EXPLAIN", facts.exact_blocks),
    ];
    let there = optional.into_iter().filter_map(|(name, source, value)| Some(count(name, source, value?)));
    metrics.extend(there);
    let correlation = facts.correlation.map(|value| {
        let source = "pg_stats: how the order of rows follows that of the index's key, -1 to 1";
        Metric::single("correlation", Unit::Ratio, source, value)
    });
    metrics.extend(correlation);
    let touches_table = path != ServerPath::IndexOnlyScan && facts.blocks > 0;
    if let (Some(index), true) = (facts.index_blocks, touches_table) {
        let visits = facts.buffers.gets().saturating_sub(index) as f64 / facts.blocks as f64;
        let source = "gets less the blocks of the index, over the blocks of the table";
        metrics.push(Metric::single("visits_per_block", Unit::Ratio, source, visits));
    }
    metrics
}

/// All paths count alike, the engine's too: otherwise no number of the run means anything.
fn check_answer(bench: &mut Bench<'_>, path: ServerPath, count: u64) -> Result<(), ExperimentError> {
    let (other, expected) = *bench.expected.get_or_insert((path.name(), count));
    if count == expected {
        return Ok(());
    }
    Err(ExperimentError::PathsDisagree { paths: [other, path.name()], counts: [expected, count] })
}

/// All was to be in shared buffers.
fn report_misses(path: ServerPath, facts: &ServerPathFacts, journal: &mut dyn Journal) {
    if facts.buffers.reads > 0 {
        journal.find(Finding::warning(
            "not-all-cached",
            format!(
                "{} blocks of {} came from the operating system in each pass of {}: the cost contains that. Give \
                 fewer --rows, or the server more shared_buffers.",
                facts.buffers.reads,
                facts.buffers.gets(),
                path.name()
            ),
        ));
    }
}
