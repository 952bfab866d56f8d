//! One case: passes over one path of one subject, and the metrics that follow from them.

use std::time::Duration;

use measure::schema::Spec;
use measure::schema::scan::{self as schema, findings as row, parameters as named};
use measure::{Case, Metric, Parameters};
use subjects::access_paths::{AccessPath, Asked, PathFacts, ScanCost};

use super::bench::Bench;
use super::counters::{self, Seen};
use super::samples::Samples;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::{Conditions, Sensitivity};
use crate::sampling;

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
    pub(super) fn value(&self, spec: Spec) -> Option<f64> {
        spec.median(&self.case)
    }

    /// Nanoseconds of processor time a row.
    pub(super) fn row_time(&self) -> f64 {
        self.value(schema::ROW_TIME).unwrap_or(0.0)
    }

    /// Seconds of a pass by the clock.
    pub(super) fn elapsed(&self) -> f64 {
        self.value(schema::ELAPSED).unwrap_or(0.0)
    }

    /// Processor time over elapsed time and threads.
    pub(super) fn busy(&self) -> f64 {
        self.value(schema::CPU).unwrap_or(0.0) / (self.elapsed() * self.threads as f64).max(1e-12)
    }

    /// Bytes a second, and the best of a read in sequence by as many threads.
    pub(super) fn bandwidth(&self) -> Option<(f64, f64)> {
        let best = schema::SEQUENTIAL_BANDWIDTH.in_case(&self.case)?.statistics.max;
        Some((self.value(schema::BANDWIDTH)? * MEBIBYTE, best * MEBIBYTE))
    }
}

/// Measures a case and keeps it. Errors when it counts other rows than the path before.
pub(super) fn case(
    bench: &mut Bench<'_>,
    (path, facts): (AccessPath, &PathFacts),
    threads: usize,
    journal: &mut dyn Journal,
) -> Result<Measured, ExperimentError> {
    let what = bench.label(path, threads);
    // How long a pass takes is not known before the first one.
    journal.step(&what, Duration::ZERO);
    let conditions = Conditions::now(bench.machine);
    let counted = bench.counted.of(path).cloned();
    let counted_kernel = counted.as_ref().and_then(|counted| counted.kernel.clone());
    let counted_kernel = counted_kernel.filter(|kernel| facts.kernel != Some(kernel));
    let samples = Samples::take(bench, facts, threads, counted_kernel, &mut |left| journal.step(&what, left))?;
    let change = conditions.changed(bench.machine);
    bench.machine.note(&what, &change, Sensitivity::Core);
    check_answer(bench, (path, threads), &samples)?;
    journal.find_all(sampling::missing(&row::NOT_ALL_CACHED, &what, misses(&samples), facts.sources.cache));
    let mut case = Case::new(parameters(bench, path, threads));
    case.parameters.extend(facts.parameters.clone());
    case.metrics = times(&samples, facts);
    case.metrics.extend(counts(&samples, facts));
    case.metrics.extend(counters::metrics(&Seen {
        samples: &samples,
        core_ghz: change.core_ghz.filter(|_| facts.sources.is_processor_time),
        counted: counted.as_ref(),
    }));
    case.metrics.extend(bytes(&samples, facts));
    case.metrics.extend(facts.metrics.iter().cloned());
    case.metrics.extend(change.metrics());
    counters::report_absences((&case, &bench.on()), &samples.costs, journal);
    journal.keep(case.clone())?;
    let kernels = facts.kernel.map(String::from).zip(samples.by_counted_kernel.map(|(kernel, _)| kernel));
    Ok(Measured { path, threads, is_in_process: facts.sources.is_in_process, kernels, case })
}

/// Blocks that were not cached, of the pass that missed most.
fn misses(samples: &Samples) -> u64 {
    let read = samples.costs.iter().map(|cost| cost.physical_reads).max().unwrap_or(0);
    (read as f64 / samples.laps).ceil() as u64
}

fn parameters(bench: &Bench<'_>, path: AccessPath, threads: usize) -> Parameters {
    let asked = if path == AccessPath::ColumnCount { Asked::NoPredicate } else { bench.parameters.question() };
    let subject = (!bench.is_alone).then(|| named::SUBJECT.of(bench.name.as_str()));
    let others = [
        named::PATH.of(path.name()),
        named::QUESTION.of(asked.name()),
        named::THREADS.of(threads),
        named::TABLE_ROWS.of(bench.parameters.rows()),
    ];
    subject.into_iter().chain(others).collect()
}

/// All paths of all subjects count alike, and look at every row: otherwise no number of the run means anything.
fn check_answer(
    bench: &mut Bench<'_>,
    (path, threads): (AccessPath, usize),
    samples: &Samples,
) -> Result<(), ExperimentError> {
    let (rows, label) = (bench.parameters.rows(), bench.label(path, threads));
    // The other kernel's time is reported too.
    let by_kernel = samples.by_counted_kernel.iter();
    let by_kernel = by_kernel.map(|(kernel, costs)| (format!("{label} with the {kernel} kernel"), costs));
    for (label, costs) in [(label.clone(), &samples.costs)].into_iter().chain(by_kernel) {
        for cost in costs {
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
    }
    Ok(())
}

fn times(samples: &Samples, facts: &PathFacts) -> Vec<Metric> {
    let laps = samples.laps;
    let (cpu, elapsed) = (&facts.sources.cpu, facts.sources.elapsed);
    let nanos = |cost: &ScanCost| cost.cpu.0 as f64;
    let row_time = |cost: &ScanCost| nanos(cost) / laps / cost.rows.max(1) as f64;
    let metrics = [
        samples.metric(schema::ELAPSED, elapsed, |cost| cost.elapsed.as_seconds() / laps),
        samples.metric(schema::CPU, &format!("{cpu}, one pass"), |cost| cost.cpu.as_seconds() / laps),
        samples.metric(schema::ROW_TIME, &format!("{cpu}, over rows"), row_time),
        samples.metric(schema::GET_TIME, &format!("{cpu}, over gets"), |cost| nanos(cost) / cost.gets as f64),
    ];
    metrics.into_iter().flatten().collect()
}

fn counts(samples: &Samples, facts: &PathFacts) -> Vec<Metric> {
    let Some(cost) = samples.costs.last() else { return Vec::new() };
    let sources = &facts.sources;
    let of_a_pass = |count: u64| count as f64 / samples.laps;
    let mut counts = vec![
        schema::ROWS.count(sources.rows, cost.rows),
        schema::COUNT.count("the answer: rows that pass and have a cust_valid", cost.count),
        schema::GETS.single(sources.gets, of_a_pass(cost.gets)),
    ];
    let revisits = |revisits| schema::PINNED_REVISITS.single(sources.gets, of_a_pass(revisits));
    counts.extend(cost.pinned_revisits.map(revisits));
    counts.push(schema::PHYSICAL_READS.single(sources.physical_reads, of_a_pass(cost.physical_reads)));
    counts.push(schema::LAPS.single("passes of a sample, one after the other", samples.laps));
    if let (Some(table_gets), Some(blocks)) = (cost.table_gets.map(of_a_pass), facts.value(&schema::BLOCKS)) {
        counts.push(schema::TABLE_GETS.single("gets of blocks of the table, one pass", table_gets));
        let source = "gets of blocks of the table over its blocks";
        counts.push(schema::VISITS_PER_BLOCK.single(source, table_gets / blocks));
    }
    if let Some(units) = cost.units {
        counts.push(schema::UNITS_READ.count(sources.rows, units.read));
        counts.push(schema::UNITS_UNREAD.count("units counted from their zone map or nulls alone", units.unread));
    }
    counts
}

/// What was touched of the memory, and how fast, against a read in sequence.
fn bytes(samples: &Samples, facts: &PathFacts) -> Vec<Metric> {
    let touched = samples.costs.last().and_then(|cost| cost.touched).map(|bytes| bytes as f64 / samples.laps);
    let Some(touched) = touched else { return Vec::new() };
    let mut metrics = vec![schema::BYTES_TOUCHED.single(facts.sources.touched, touched)];
    if touched <= 0.0 {
        return metrics;
    }
    let rate = |cost: &ScanCost| touched * samples.laps / cost.elapsed.as_seconds().max(1e-9);
    metrics.extend(samples.metric(schema::BANDWIDTH, "bytes_touched over elapsed", |cost| rate(cost) / MEBIBYTE));
    let ceiling: Vec<f64> = samples.ceiling.iter().map(|rate| rate / MEBIBYTE).collect();
    let source = "512 MiB summed in order by as many threads, just before";
    metrics.extend(schema::SEQUENTIAL_BANDWIDTH.of_samples(source, &ceiling));
    // Whatever disturbs makes it lower, and next to busy neighbours the middle of three was a tenth of the best.
    if let Some(best) = samples.ceiling.iter().copied().max_by(f64::total_cmp) {
        let source = "bandwidth over the best of sequential_bandwidth";
        metrics.extend(samples.metric(schema::BANDWIDTH_SHARE, source, |cost| rate(cost) / best * 100.0));
    }
    metrics
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Stop;
    use crate::machine::Machine;
    use crate::scan::counted::CountedPaths;
    use crate::scan::parameters::ScanParameters;
    use crate::scan::tests::{Fake, Log, ROWS};

    #[test]
    fn a_kernel_that_counts_otherwise_than_the_fastest_ends_the_run() {
        let parameters = ScanParameters { rows: Some(ROWS), ..ScanParameters::default() };
        let machine = Machine::observe(Stop::default()).rehearsal();
        let cost = |count: u64| ScanCost { rows: ROWS, count, ..ScanCost::default() };
        let outcome = |count: u64, threads: usize| {
            let mut bench = Bench {
                parameters: &parameters,
                machine: &machine,
                child: None,
                subject: &mut Fake::new("here", &Log::default()),
                name: "here".into(),
                is_alone: true,
                expected: &mut None,
                counted: CountedPaths::default(),
                stream: None,
            };
            let by_counted_kernel = Some(("avx2".to_string(), vec![cost(count)]));
            let samples = Samples { costs: vec![cost(900)], laps: 1.0, ceiling: Vec::new(), by_counted_kernel };
            let of = (AccessPath::ColumnScan, threads);
            check_answer(&mut bench, of, &samples).map_err(|error| error.to_string())
        };
        assert_eq!(outcome(900, 1), Ok(()));
        let refused = outcome(899, 1).unwrap_err();
        let said = "column-scan and column-scan with the avx2 kernel counted 900 and 899";
        assert!(refused.starts_with(said), "{refused}");
        let refused = outcome(899, 2).unwrap_err();
        let said = "column-scan by 2 threads and column-scan by 2 threads with the avx2 kernel counted 900 and 899";
        assert!(refused.starts_with(said), "{refused}");
    }
}
