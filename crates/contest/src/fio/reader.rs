//! readpath as a contender: its command line, and what its run says.

use std::path::Path;

use measure::quantity::format_size;
use measure::schema::Spec;
use measure::schema::own_cost::NULL_DEVICE_READ;
use measure::schema::reads::{CPU_PER_READ, ELAPSED, IOPS, READ_LATENCY};
use measure::{Case, Run};

use crate::fio::workload::{Pattern, Reading, Turn, Workload};
use crate::kept_run::{run_of, statistics};
use crate::program::argv;

/// The reader on one file.
pub(crate) struct Reader<'a> {
    /// The binary.
    pub(crate) program: String,
    /// More arguments for it.
    pub(crate) more: &'a str,
    /// What it reads.
    pub(crate) file: &'a Path,
    /// How long it reads in one turn.
    pub(crate) milliseconds: u64,
}

impl Reader<'_> {
    /// A turn of the usual length.
    pub(crate) fn turn(&self, seed: u64) -> Turn {
        Turn { milliseconds: self.milliseconds, seed }
    }

    /// The reader's command line for one turn.
    pub(crate) fn command(&self, workload: &Workload, turn: Turn) -> Vec<String> {
        let pattern = match workload.pattern {
            Pattern::Random => "random",
            Pattern::Sequential => "sequential",
        };
        let mut command = argv([
            self.program.clone(),
            "disk".into(),
            self.file.display().to_string(),
            format!("--pattern={pattern}"),
            format!("--block-size={}", format_size(workload.block_bytes)),
            format!("--depth={}", workload.depth),
            format!("--duration={}ms", turn.milliseconds),
            format!("--seed={}", turn.seed),
        ]);
        command.extend(argv(["--direct", "--format=json", "--no-store", "--quiet"]));
        command.extend(argv(self.more.split_whitespace()));
        command
    }

    /// One turn: what was read, and what a read of the null device costs the reader, in ns.
    pub(crate) fn take_turn(&self, workload: &Workload, turn: Turn) -> Result<(Reading, Result<f64, String>), String> {
        let run = run_of(&self.command(workload, turn))?;
        let own_cost = statistics(&run.own_cost, &NULL_DEVICE_READ).map(|cost| cost.median);
        Ok((reading(&run)?, own_cost))
    }
}

/// Takes a reading from the run's cases.
///
/// A turn in which the rate changed for good has a case for each segment. fio averages over the change, so here it is
/// averaged too: rates by the time they held, CPU time by the reads, and the latency of the longest segment.
/// The rate is the mean of its windows, reads over time, as fio's is.
fn reading(run: &Run) -> Result<Reading, String> {
    if run.cases.is_empty() {
        return Err("readpath's run has no case".into());
    }
    let of = |case: &Case, spec: Spec| statistics(&case.metrics, &spec);
    let (mut reads, mut seconds, mut cpu_us, mut longest) = (0.0, 0.0, 0.0, (0.0, 0.0));
    for case in &run.cases {
        let elapsed = of(case, ELAPSED)?.median;
        let own_reads = of(case, IOPS)?.mean * elapsed;
        cpu_us += of(case, CPU_PER_READ)?.median * own_reads;
        reads += own_reads;
        seconds += elapsed;
        if elapsed > longest.0 {
            longest = (elapsed, of(case, READ_LATENCY)?.median);
        }
    }
    Ok(Reading { iops: reads / seconds, cpu_us: cpu_us / reads, latency_us: longest.1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::run::SCHEMA;

    fn case(iops: &[f64], seconds: f64, latency_us: f64) -> Case {
        let metrics = [
            IOPS.of_samples("test", iops).unwrap(),
            ELAPSED.single("test", seconds),
            READ_LATENCY.single("test", latency_us),
            CPU_PER_READ.single("test", 4.5),
        ];
        Case { metrics: metrics.into(), ..Case::default() }
    }

    fn run(cases: Vec<Case>) -> Run {
        Run { schema: SCHEMA.into(), experiment: "disk".into(), cases, ..Run::default() }
    }

    #[test]
    fn the_rate_is_the_mean_of_its_windows_and_the_rest_are_medians() {
        let reading = reading(&run(vec![case(&[14_000.0, 14_000.0, 12_800.0], 2.0, 79.0)])).unwrap();
        assert_eq!(reading, Reading { iops: 13_600.0, cpu_us: 4.5, latency_us: 79.0 });
    }

    #[test]
    fn a_rate_that_changed_is_averaged_over_the_whole_turn_as_fio_does() {
        let mut run = run(vec![case(&[1000.0], 3.0, 70.0), case(&[3000.0], 1.0, 30.0)]);
        assert_eq!(reading(&run).unwrap(), Reading { iops: 1500.0, cpu_us: 4.5, latency_us: 70.0 });
        run.cases.clear();
        assert!(reading(&run).is_err());
    }
}
