//! One case: passes over one path, and what they say.

use std::time::{Duration, Instant};

use measure::{Case, Finding, Metric, Nanos, Unit};
use serde_json::json;
use storage::page_id::PAGE_SIZE;
use subjects::AccessPaths;
use subjects::access_paths::{AccessPath, Kernel, PathFacts, ScanCost, ScanPass, Structure, Watch};

use super::counters::Seen;
use super::{Bench, Prepared, case_parameters, counters};
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::{Conditions, Sensitivity};

/// A sample lasts at least this long: two readings of the CPU clock of half a microsecond vanish in it.
const SAMPLE_TIME: Nanos = Nanos::from_millis(20);

/// A first pass of this length tells how long the next ones are: no cache holds what it went through.
const LONG_PASS: Nanos = Nanos::from_millis(500);

/// Most laps of a sample. A count of columns takes well under a microsecond.
const LAPS_MAX: u64 = 1 << 17;

/// After so long a case takes no further sample, if it has [`SAMPLES_MIN`]: seven passes by an index with bad
/// clustering would take minutes where the table is large, and three say as much.
const CASE_TIME_MAX: Duration = Duration::from_secs(20);

/// Fewest samples of a case, unless fewer are asked for.
const SAMPLES_MIN: usize = 3;

/// A case that was measured, as far as the answers need it. Medians.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) path: AccessPath,
    pub(super) threads: usize,
    /// Nanoseconds of processor time a row.
    pub(super) row_time: f64,
    /// Seconds of a pass by the clock.
    pub(super) elapsed: f64,
    /// Processor time over elapsed time and threads.
    pub(super) busy: f64,
    pub(super) rows: f64,
    /// Gets of blocks of the table over its blocks.
    pub(super) visits: Option<f64>,
    pub(super) table_gets: f64,
    pub(super) cycles_per_row: Option<f64>,
    pub(super) ipc: Option<f64>,
    /// The kernel of the samples, and the one that valgrind counted with what a row costs by it, where it is another.
    pub(super) kernels: Option<(Kernel, Kernel, f64)>,
    /// Accesses a row that no cache answered.
    pub(super) memory_per_row: Option<f64>,
    pub(super) bytes_touched: Option<f64>,
    /// Bytes a second, and of a read in sequence by as many threads.
    pub(super) bandwidth: Option<(f64, f64)>,
    pub(super) units_unread: u64,
    pub(super) units_read: u64,
}

/// What one case came to.
struct Samples {
    costs: Vec<ScanCost>,
    laps: f64,
    /// Bytes a second of memory that is read in sequence by as many threads, just before.
    ceiling: Vec<f64>,
    /// The same by the kernel that valgrind counted, where that is another one.
    by_counted_kernel: Option<(Kernel, Vec<ScanCost>)>,
}

/// Measures a case and keeps it. Errors when its answer is another one than that of the path before.
pub(super) fn case(
    bench: &mut Bench<'_>,
    path: AccessPath,
    prepared: &Prepared,
    threads: usize,
    journal: &mut dyn Journal,
) -> Result<Measured, ExperimentError> {
    let facts = &prepared.facts;
    let what = if threads > 1 { format!("{} by {threads} threads", path.name()) } else { path.name().to_string() };
    journal.step(&what, Duration::from_millis(100 * bench.parameters.repeat as u64));
    let conditions = Conditions::now(bench.machine);
    let counted_kernel = bench.counted.of(path).and_then(|counted| counted.kernel);
    let samples = samples(bench, threads, counted_kernel.filter(|kernel| facts.kernel != Some(*kernel)))?;
    let change = conditions.changed(bench.machine);
    bench.machine.note(&what, &change, Sensitivity::Core);
    check_answer(bench, path, &samples)?;
    report_misses(&samples, &what, journal);
    let mut case = Case::new(case_parameters(bench, path, threads));
    if let Some(kernel) = facts.kernel {
        case.parameters.insert("kernel".into(), json!(kernel.name()));
    }
    case.metrics = times(&samples);
    case.metrics.extend(counts(&samples, facts));
    case.metrics.extend(counters::metrics(&Seen {
        costs: &samples.costs,
        laps: samples.laps,
        core_ghz: change.core_ghz,
        counted: bench.counted.of(path),
        by_counted_kernel: samples.by_counted_kernel.as_ref().map(|(kernel, costs)| (*kernel, costs.as_slice())),
    }));
    case.metrics.extend(bytes(&samples, path));
    case.metrics.extend(structure(facts, path));
    let source = "wall clock; what another path made before is there already";
    case.metrics.push(Metric::single("preparation", Unit::Seconds, source, prepared.time.as_seconds()));
    case.metrics.extend(change.metrics());
    counters::report_absences(&case, &samples.costs, journal);
    let kernels = facts.kernel.zip(samples.by_counted_kernel.as_ref().map(|(kernel, _)| *kernel));
    let kernels = kernels.zip(case.metric("counted_row_time").map(Metric::median));
    let kernels = kernels.map(|((best, counted), row_time)| (best, counted, row_time));
    let measured = Measured { kernels, ..measured(&case, path, threads, &samples) };
    journal.keep(case)?;
    Ok(measured)
}

fn samples(bench: &mut Bench<'_>, threads: usize, counted_kernel: Option<Kernel>) -> Result<Samples, ExperimentError> {
    let begun = Instant::now();
    let once = ScanPass {
        asked: bench.parameters.asked,
        threads,
        laps: 1,
        zone_maps: bench.parameters.zone_maps,
        kernel: None,
        watch: Watch::Counters,
    };
    // The first pass warms the caches; it tells how long a pass is only where that is no matter of caches.
    let mut elapsed = bench.engine.scan(&once)?.elapsed;
    bench.check_stop()?;
    if elapsed < LONG_PASS {
        elapsed = bench.engine.scan(&once)?.elapsed;
    }
    let laps = SAMPLE_TIME.0.div_ceil(elapsed.0.max(1)).clamp(1, LAPS_MAX);
    let pass = ScanPass { laps: laps as u32, ..once };
    let ceiling = bench.stream.as_ref().map(|stream| stream.measure(&bench.machine.clock, threads, Nanos::ZERO));
    let mut samples = Samples {
        costs: Vec::new(),
        laps: laps as f64,
        ceiling: ceiling.map(|result| result.bytes_per_second).unwrap_or_default(),
        by_counted_kernel: counted_kernel.map(|kernel| (kernel, Vec::new())),
    };
    while samples.costs.len() < bench.parameters.repeat {
        bench.check_stop()?;
        samples.costs.push(bench.engine.scan(&pass)?);
        // In turn, so that both see the same machine.
        if let Some((kernel, costs)) = &mut samples.by_counted_kernel {
            costs.push(bench.engine.scan(&ScanPass { kernel: Some(*kernel), ..pass })?);
        }
        if samples.costs.len() >= SAMPLES_MIN && begun.elapsed() >= CASE_TIME_MAX {
            break;
        }
    }
    Ok(samples)
}

/// All paths answer alike, and look at every row: otherwise no number of the run means anything.
fn check_answer(bench: &mut Bench<'_>, path: AccessPath, samples: &Samples) -> Result<(), ExperimentError> {
    let rows = bench.parameters.rows;
    for cost in &samples.costs {
        let (other, expected) = *bench.expected.get_or_insert((path, cost.count));
        if cost.count != expected {
            return Err(ExperimentError::PathsDisagree {
                paths: [other.name(), path.name()],
                counts: [expected, cost.count],
            });
        }
        if cost.rows != rows {
            let paths = ["the table", path.name()];
            return Err(ExperimentError::PathsDisagree { paths, counts: [rows, cost.rows] });
        }
    }
    Ok(())
}

/// The metric of one value a sample.
fn of(samples: &Samples, name: &str, unit: Unit, source: &str, value: impl Fn(&ScanCost) -> f64) -> Option<Metric> {
    Metric::of_samples(name, unit, source, &samples.costs.iter().map(value).collect::<Vec<_>>())
}

fn times(samples: &Samples) -> Vec<Metric> {
    let laps = samples.laps;
    let clock = "CPU clock of the threads";
    let gets = |cost: &ScanCost| cost.gets as f64;
    let has_gets = samples.costs.iter().all(|cost| cost.gets > 0);
    let row_time = |cost: &ScanCost| cost.cpu.0 as f64 / laps / cost.rows.max(1) as f64;
    let get_time = |cost: &ScanCost| cost.cpu.0 as f64 / gets(cost);
    let elapsed = |cost: &ScanCost| cost.elapsed.as_seconds() / laps;
    let metrics = [
        of(samples, "elapsed", Unit::Seconds, "first start to last end, one pass", elapsed),
        of(samples, "cpu", Unit::Seconds, &format!("{clock}, one pass"), |cost| cost.cpu.as_seconds() / laps),
        of(samples, "row_time", Unit::Nanoseconds, &format!("{clock} over rows"), row_time),
        of(samples, "get_time", Unit::Nanoseconds, &format!("{clock} over gets"), get_time).filter(|_| has_gets),
    ];
    metrics.into_iter().flatten().collect()
}

fn counts(samples: &Samples, facts: &PathFacts) -> Vec<Metric> {
    let Some(cost) = samples.costs.last() else { return Vec::new() };
    let count = |name: &str, source: &str, value: f64| Metric::single(name, Unit::Count, source, value);
    let gate = "the buffer pool's gate, one pass";
    let reader = "counted by the reader, one pass";
    let mut counts = vec![
        count("rows", reader, cost.rows as f64),
        count("count", "the answer: rows that pass and have a cust_valid", cost.count as f64),
        count("gets", gate, cost.gets as f64 / samples.laps),
        count("pinned_revisits", gate, cost.pinned_revisits as f64 / samples.laps),
        count("physical_reads", gate, cost.physical_reads as f64),
        count("laps", "passes of a sample, one after the other", samples.laps),
    ];
    if let (Some(table_gets), Some(blocks)) = (cost.table_gets, facts.blocks) {
        let gets = table_gets as f64 / samples.laps;
        counts.push(count("table_gets", "gets of blocks of the table, one pass", gets));
        let source = "gets of blocks of the table over its blocks";
        counts.push(Metric::single("visits_per_block", Unit::Ratio, source, gets / blocks as f64));
    }
    if facts.kernel.is_some() {
        counts.push(count("units_read", reader, cost.units_read as f64));
        counts.push(count("units_unread", "units answered for by their zone map or nulls", cost.units_unread as f64));
    }
    counts
}

/// What was touched of the memory, and how fast beside a read in sequence.
fn bytes(samples: &Samples, path: AccessPath) -> Vec<Metric> {
    let Some(touched) = samples.costs.last().and_then(|cost| touched(cost, path, samples.laps)) else {
        return Vec::new();
    };
    let source = match path.structure() {
        Structure::Columns => "bytes of codes, dictionaries and nulls that were read, one pass",
        _ => "gets times the size of a block, one pass",
    };
    let mut metrics = vec![Metric::single("bytes_touched", Unit::Bytes, source, touched)];
    if touched <= 0.0 {
        return metrics;
    }
    let rate = |cost: &ScanCost| touched * samples.laps / cost.elapsed.as_seconds().max(1e-9);
    let mebibyte = f64::from(1 << 20);
    let source = "bytes_touched over elapsed";
    metrics.extend(of(samples, "bandwidth", Unit::MebibytesPerSecond, source, |cost| rate(cost) / mebibyte));
    let ceiling: Vec<f64> = samples.ceiling.iter().map(|rate| rate / mebibyte).collect();
    let source = "512 MiB summed in order by as many threads, just before";
    metrics.extend(Metric::of_samples("sequential_bandwidth", Unit::MebibytesPerSecond, source, &ceiling));
    // Whatever disturbs makes it lower, and beside busy neighbours the middle of three was a tenth of the best.
    if let Some(best) = samples.ceiling.iter().copied().max_by(f64::total_cmp) {
        let source = "bandwidth over the best of sequential_bandwidth";
        metrics.extend(of(samples, "bandwidth_share", Unit::Percent, source, |cost| rate(cost) / best * 100.0));
    }
    metrics
}

/// Bytes that one pass touches; `None` for an index, which touches lines of blocks.
fn touched(cost: &ScanCost, path: AccessPath, laps: f64) -> Option<f64> {
    match cost.column_bytes {
        Some(bytes) => Some(bytes as f64 / laps),
        None if path.is_index() => None,
        None => Some(cost.gets as f64 / laps * PAGE_SIZE as f64),
    }
}

/// What is known of the path's structure.
fn structure(facts: &PathFacts, path: AccessPath) -> Vec<Metric> {
    let mut metrics = Vec::new();
    let mut add = |name: &str, unit, source: &str, value: Option<f64>| {
        metrics.extend(value.map(|value| Metric::single(name, unit, source, value)));
    };
    add("blocks", Unit::Count, "blocks of the table or of its units", facts.blocks.map(|blocks| blocks as f64));
    add("structure_bytes", Unit::Bytes, "memory of the structure without its index", Some(facts.bytes as f64));
    if path.is_index() {
        let source = "table-block changes met when the index is walked in key order";
        add("clustering_factor", Unit::Count, source, facts.clustering_factor.map(|factor| factor as f64));
        add("leaf_blocks", Unit::Count, "leaves of the index", facts.leaf_blocks.map(|leaves| leaves as f64));
    }
    let source = "size in rows over size here";
    add("compression_ratio", Unit::Ratio, source, facts.compression_ratio);
    metrics
}

/// All was to be in memory: a physical read means that the pool is not what it should be.
fn report_misses(samples: &Samples, what: &str, journal: &mut dyn Journal) {
    let misses: u64 = samples.costs.iter().map(|cost| cost.physical_reads).sum();
    if misses > 0 {
        journal.find(Finding::warning(
            "not-all-cached",
            format!(
                "{misses} physical reads happened in {what}, where everything was to be in memory: the cost contains \
                 them. Please report this with the run document."
            ),
        ));
    }
}

fn measured(case: &Case, path: AccessPath, threads: usize, samples: &Samples) -> Measured {
    let median = |name: &str| case.metric(name).map(Metric::median);
    let value = |name: &str| median(name).unwrap_or(0.0);
    let (elapsed, cpu) = (value("elapsed"), value("cpu"));
    let last = samples.costs.last().cloned().unwrap_or_default();
    let mebibyte = f64::from(1 << 20);
    let bandwidth = median("bandwidth").zip(case.metric("sequential_bandwidth").map(|metric| metric.statistics.max));
    Measured {
        path,
        threads,
        row_time: value("row_time"),
        elapsed,
        busy: cpu / (elapsed * threads as f64).max(1e-12),
        rows: value("rows"),
        visits: median("visits_per_block"),
        table_gets: value("table_gets"),
        cycles_per_row: median("cycles_per_row"),
        ipc: median("ipc"),
        kernels: None,
        memory_per_row: median("cache_misses_per_row"),
        bytes_touched: median("bytes_touched"),
        bandwidth: bandwidth.map(|(own, best)| (own * mebibyte, best * mebibyte)),
        units_unread: last.units_unread,
        units_read: last.units_read,
    }
}
