//! One case: passes over one path of one subject, and the metrics that follow from them.

use std::time::{Duration, Instant};

use measure::{Case, Metric, Nanos, Parameters, Unit};
use serde_json::json;
use subjects::access_paths::{AccessPath, Asked, PathFacts, ScanCost, ScanPass};

use super::bench::Bench;
use super::counters::{self, Seen};
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::{Conditions, Sensitivity};

/// A first pass of this length predicts the next ones: no cache holds what it went through.
const LONG_PASS: Nanos = Nanos::from_millis(500);

/// After this long a case takes no further sample, if it has [`SAMPLES_MIN`]: seven passes by an index with bad
/// clustering would take minutes where the table is large, and three say as much.
const CASE_TIME_MAX: Duration = Duration::from_secs(20);

/// Fewest samples of a case, unless fewer are asked for.
const SAMPLES_MIN: usize = 3;

/// A mebibyte, in bytes.
const MEBIBYTE: f64 = (1 << 20) as f64;

/// A case that was measured, as the findings need it.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) path: AccessPath,
    pub(super) threads: usize,
    /// Whether its passes run in this program.
    pub(super) is_in_process: bool,
    /// The kernel of the samples, and the one that valgrind counted, where it is another.
    pub(super) kernels: Option<(String, String)>,
    pub(super) case: Case,
}

impl Measured {
    /// The median of a metric.
    pub(super) fn value(&self, name: &str) -> Option<f64> {
        self.case.metric(name).map(Metric::median)
    }

    /// Nanoseconds of processor time a row.
    pub(super) fn row_time(&self) -> f64 {
        self.value("row_time").unwrap_or(0.0)
    }

    /// Seconds of a pass by the clock.
    pub(super) fn elapsed(&self) -> f64 {
        self.value("elapsed").unwrap_or(0.0)
    }

    /// Processor time over elapsed time and threads.
    pub(super) fn busy(&self) -> f64 {
        self.value("cpu").unwrap_or(0.0) / (self.elapsed() * self.threads as f64).max(1e-12)
    }

    /// Bytes a second, and the best of a read in sequence by as many threads.
    pub(super) fn bandwidth(&self) -> Option<(f64, f64)> {
        let best = self.case.metric("sequential_bandwidth")?.statistics.max;
        Some((self.value("bandwidth")? * MEBIBYTE, best * MEBIBYTE))
    }
}

/// What one case came to.
struct Samples {
    costs: Vec<ScanCost>,
    laps: f64,
    /// Bytes a second of memory that is read in sequence by as many threads, just before.
    ceiling: Vec<f64>,
    /// The same passes by the kernel that valgrind counted, where that is another one.
    by_counted_kernel: Option<(String, Vec<ScanCost>)>,
}

/// Measures a case and keeps it. Errors when it counts other rows than the path before.
pub(super) fn case(
    bench: &mut Bench<'_>,
    (path, facts): (AccessPath, &PathFacts),
    threads: usize,
    journal: &mut dyn Journal,
) -> Result<Measured, ExperimentError> {
    let what = bench.label(path, threads);
    journal.step(&what, Duration::from_millis(100 * bench.parameters.repeat as u64));
    let conditions = Conditions::now(bench.machine);
    let counted = bench.counted.of(path).cloned();
    let counted_kernel = counted.as_ref().and_then(|counted| counted.kernel.clone());
    let samples = samples(bench, facts, threads, counted_kernel.filter(|kernel| facts.kernel != Some(kernel)))?;
    let change = conditions.changed(bench.machine);
    bench.machine.note(&what, &change, Sensitivity::Core);
    check_answer(bench, path, &samples)?;
    let mut case = Case::new(parameters(bench, path, threads));
    case.parameters.extend(facts.parameters.clone());
    case.metrics = times(&samples, facts);
    case.metrics.extend(counts(&samples, facts));
    case.metrics.extend(counters::metrics(&Seen {
        costs: &samples.costs,
        laps: samples.laps,
        core_ghz: change.core_ghz.filter(|_| facts.sources.is_processor_time),
        counted: counted.as_ref(),
        by_counted_kernel: samples.by_counted_kernel.as_ref().map(|(kernel, costs)| (&**kernel, costs.as_slice())),
    }));
    case.metrics.extend(bytes(&samples, facts));
    case.metrics.extend(facts.metrics.iter().cloned());
    case.metrics.extend(change.metrics());
    counters::report_absences(&case, &samples.costs, journal);
    journal.keep(case.clone())?;
    let kernels = facts.kernel.map(String::from).zip(samples.by_counted_kernel.map(|(kernel, _)| kernel));
    Ok(Measured { path, threads, is_in_process: facts.sources.is_in_process, kernels, case })
}

fn parameters(bench: &Bench<'_>, path: AccessPath, threads: usize) -> Parameters {
    let asked = if path == AccessPath::ColumnCount { Asked::NoPredicate } else { bench.parameters.question };
    let mut parameters = Parameters::new();
    if !bench.is_alone {
        parameters.insert("subject".into(), json!(bench.name));
    }
    parameters.insert("path".into(), json!(path.name()));
    parameters.insert("question".into(), json!(asked.name()));
    parameters.insert("threads".into(), json!(threads));
    parameters.insert("table_rows".into(), json!(bench.parameters.rows()));
    parameters
}

fn samples(
    bench: &mut Bench<'_>,
    facts: &PathFacts,
    threads: usize,
    counted_kernel: Option<String>,
) -> Result<Samples, ExperimentError> {
    let begun = Instant::now();
    let once = ScanPass { threads, laps: 1, kernel: None };
    // The first pass warms the caches; it predicts the next one only where no cache holds what it went through.
    let mut first = bench.subject.scan(&once)?;
    bench.machine.stop.check()?;
    if first.elapsed < LONG_PASS {
        first = bench.subject.scan(&once)?;
    }
    let laps = facts.sampling.time.0.div_ceil(first.elapsed.0.max(1)).clamp(1, facts.sampling.laps_max.into());
    let pass = ScanPass { laps: laps as u32, ..once };
    let mut samples = Samples {
        costs: Vec::new(),
        laps: laps as f64,
        ceiling: first.touched.filter(|bytes| *bytes > 0).map_or_else(Vec::new, |_| bench.bandwidth(threads)),
        by_counted_kernel: counted_kernel.map(|kernel| (kernel, Vec::new())),
    };
    while samples.costs.len() < bench.parameters.repeat {
        bench.machine.stop.check()?;
        samples.costs.push(bench.subject.scan(&pass)?);
        // In turn, so that both see the same machine.
        if let Some((kernel, costs)) = &mut samples.by_counted_kernel {
            costs.push(bench.subject.scan(&ScanPass { kernel: Some(kernel), ..pass })?);
        }
        if samples.costs.len() >= SAMPLES_MIN && begun.elapsed() >= CASE_TIME_MAX {
            break;
        }
    }
    Ok(samples)
}

/// All paths of all subjects count alike, and look at every row: otherwise no number of the run means anything.
fn check_answer(bench: &mut Bench<'_>, path: AccessPath, samples: &Samples) -> Result<(), ExperimentError> {
    let (rows, label) = (bench.parameters.rows(), bench.label(path, 1));
    for cost in &samples.costs {
        let (other, expected) = bench.expected.get_or_insert_with(|| (label.clone(), cost.count));
        if cost.count != *expected {
            let paths = [other.clone(), label];
            return Err(ExperimentError::PathsDisagree { paths, counts: [*expected, cost.count] });
        }
        if cost.rows != rows {
            let paths = ["the table".into(), label];
            return Err(ExperimentError::PathsDisagree { paths, counts: [rows, cost.rows] });
        }
    }
    Ok(())
}

/// The metric of one value a sample; `None` where one of them is not a number.
fn of(samples: &Samples, name: &str, unit: Unit, source: &str, value: impl Fn(&ScanCost) -> f64) -> Option<Metric> {
    let values: Vec<f64> = samples.costs.iter().map(value).collect();
    Metric::of_samples(name, unit, source, &values).filter(|_| values.iter().all(|value| value.is_finite()))
}

fn times(samples: &Samples, facts: &PathFacts) -> Vec<Metric> {
    let laps = samples.laps;
    let (cpu, elapsed) = (&facts.sources.cpu, facts.sources.elapsed);
    let nanos = |cost: &ScanCost| cost.cpu.0 as f64;
    let metrics = [
        of(samples, "elapsed", Unit::Seconds, elapsed, |cost| cost.elapsed.as_seconds() / laps),
        of(samples, "cpu", Unit::Seconds, &format!("{cpu}, one pass"), |cost| cost.cpu.as_seconds() / laps),
        of(samples, "row_time", Unit::Nanoseconds, &format!("{cpu}, over rows"), |cost| {
            nanos(cost) / laps / cost.rows.max(1) as f64
        }),
        of(samples, "get_time", Unit::Nanoseconds, &format!("{cpu}, over gets"), |cost| nanos(cost) / cost.gets as f64),
    ];
    metrics.into_iter().flatten().collect()
}

fn counts(samples: &Samples, facts: &PathFacts) -> Vec<Metric> {
    let Some(cost) = samples.costs.last() else { return Vec::new() };
    let count = |name: &str, source: &str, value: f64| Metric::single(name, Unit::Count, source, value);
    let sources = &facts.sources;
    let of_a_pass = |count: u64| count as f64 / samples.laps;
    let mut counts = vec![
        count("rows", sources.rows, cost.rows as f64),
        count("count", "the answer: rows that pass and have a cust_valid", cost.count as f64),
        count("gets", sources.gets, of_a_pass(cost.gets)),
    ];
    counts.extend(cost.pinned_revisits.map(|revisits| count("pinned_revisits", sources.gets, of_a_pass(revisits))));
    counts.push(count("physical_reads", sources.physical_reads, of_a_pass(cost.physical_reads)));
    counts.push(count("laps", "passes of a sample, one after the other", samples.laps));
    if let (Some(table_gets), Some(blocks)) = (cost.table_gets.map(of_a_pass), facts.value("blocks")) {
        counts.push(count("table_gets", "gets of blocks of the table, one pass", table_gets));
        let source = "gets of blocks of the table over its blocks";
        counts.push(Metric::single("visits_per_block", Unit::Ratio, source, table_gets / blocks));
    }
    if let Some(units) = cost.units {
        counts.push(count("units_read", sources.rows, units.read as f64));
        counts.push(count("units_unread", "units answered for by their zone map or nulls", units.unread as f64));
    }
    counts
}

/// What was touched of the memory, and how fast, against a read in sequence.
fn bytes(samples: &Samples, facts: &PathFacts) -> Vec<Metric> {
    let touched = samples.costs.last().and_then(|cost| cost.touched).map(|bytes| bytes as f64 / samples.laps);
    let Some(touched) = touched else { return Vec::new() };
    let mut metrics = vec![Metric::single("bytes_touched", Unit::Bytes, facts.sources.touched, touched)];
    if touched <= 0.0 {
        return metrics;
    }
    let rate = |cost: &ScanCost| touched * samples.laps / cost.elapsed.as_seconds().max(1e-9);
    let source = "bytes_touched over elapsed";
    metrics.extend(of(samples, "bandwidth", Unit::MebibytesPerSecond, source, |cost| rate(cost) / MEBIBYTE));
    let ceiling: Vec<f64> = samples.ceiling.iter().map(|rate| rate / MEBIBYTE).collect();
    let source = "512 MiB summed in order by as many threads, just before";
    metrics.extend(Metric::of_samples("sequential_bandwidth", Unit::MebibytesPerSecond, source, &ceiling));
    // Whatever disturbs makes it lower, and next to busy neighbours the middle of three was a tenth of the best.
    if let Some(best) = samples.ceiling.iter().copied().max_by(f64::total_cmp) {
        let source = "bandwidth over the best of sequential_bandwidth";
        metrics.extend(of(samples, "bandwidth_share", Unit::Percent, source, |cost| rate(cost) / best * 100.0));
    }
    metrics
}
