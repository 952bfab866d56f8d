//! One case: passes with everything cached, each beside one in the same order that touches nothing.

use std::time::Duration;

use measure::{Case, Finding, Metric, Nanos, Parameters, Unit};
use serde_json::json;
use subjects::LogicalReads;
use subjects::logical_reads::{Access, Cell, Cost, Pass, Touch};

use super::{Bench, Setting, shape};
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Conditions;

/// A sample lasts at least this long: the CPU clock's two readings of half a microsecond, the start of a thread and
/// the first rows, which are not fetched ahead, vanish in it.
const SAMPLE_TIME: Nanos = Nanos::from_millis(20);

/// Most laps of a sample.
const LAPS_MAX: u64 = 1 << 16;

/// What a case does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) access: Access,
    pub(super) touch: Touch,
    pub(super) threads: usize,
}

/// A case that was measured, as far as the answers need it. Medians.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) cell: Cell,
    pub(super) plan: Plan,
    pub(super) changed_rows: u32,
    /// Nanoseconds of processor time a get.
    pub(super) lio: f64,
    /// The same of a get that touches nothing.
    pub(super) get: f64,
    /// Nanoseconds of elapsed time a get.
    pub(super) elapsed: f64,
    /// Nanoseconds by core cycles and the core's frequency.
    pub(super) by_cycles: Option<f64>,
    /// Nanoseconds of processor time a block of the table.
    pub(super) block: f64,
    /// Rows a get.
    pub(super) rows_per_get: f64,
    /// Share of the blocks that were rebuilt.
    pub(super) rebuilt: f64,
}

/// Costs of the samples of one case.
struct Samples {
    costs: Vec<Cost>,
    gets_only: Vec<Cost>,
    laps: f64,
}

/// Measures a case and keeps it; `extra` are further parameters of it.
pub(super) fn case(
    bench: &mut Bench<'_>,
    setting: Setting<'_>,
    plan: Plan,
    extra: Parameters,
    journal: &mut dyn Journal,
) -> Result<Option<Measured>, ExperimentError> {
    let what = name(&setting, &plan);
    journal.step(&what, Duration::from_millis(60 * bench.parameters.repeat as u64));
    let conditions = Conditions::now(bench.machine);
    let samples = samples(bench, &setting, &plan)?;
    let change = conditions.changed(bench.machine);
    bench.machine.note(&what, &change, crate::machine::Sensitivity::Core);
    bench.check_stop()?;
    let mut case = Case::new(parameters(&setting, &plan, extra, bench));
    case.metrics = metrics(&samples, &setting, &plan, bench);
    case.metrics.extend(change.metrics());
    report_misses(&samples, &what, journal);
    let measured = measured(&case, &setting, &plan, bench);
    journal.keep(case)?;
    Ok(measured)
}

fn name(setting: &Setting<'_>, plan: &Plan) -> String {
    let threads = if plan.threads > 1 { format!(" by {} threads", plan.threads) } else { String::new() };
    let changed =
        if setting.changed_rows > 0 { format!(", {} % changed", setting.changed_rows) } else { String::new() };
    let (access, touch) = (plan.access.name(), plan.touch.name());
    format!("{}, {access}, touching {touch}{threads}{changed}", shape(&setting.cell))
}

fn samples(bench: &mut Bench<'_>, setting: &Setting<'_>, plan: &Plan) -> Result<Samples, ExperimentError> {
    let Plan { access, touch, threads } = *plan;
    let pass = Pass { access, touch, threads, laps: 1, as_of: setting.as_of };
    let gets = Pass { touch: Touch::Nothing, as_of: None, ..pass };
    let (pass, gets) = (long_enough(bench, pass)?, long_enough(bench, gets)?);
    let mut samples = Samples { costs: Vec::new(), gets_only: Vec::new(), laps: f64::from(pass.laps) };
    for _ in 0..bench.parameters.repeat {
        bench.check_stop()?;
        samples.costs.push(sampled(bench, &pass)?);
        samples.gets_only.push(bench.engine.read(&gets)?);
    }
    Ok(samples)
}

/// A pass whose readers' stacks are sampled where that was asked for.
fn sampled(bench: &mut Bench<'_>, pass: &Pass) -> Result<Cost, ExperimentError> {
    if let Some(sampler) = &bench.sampler {
        sampler.resume();
    }
    let cost = bench.engine.read(pass);
    if let Some(sampler) = &bench.sampler {
        sampler.pause();
    }
    Ok(cost?)
}

/// The pass with as many laps as a sample needs, found with unmeasured ones, which also warm the caches.
fn long_enough(bench: &mut Bench<'_>, pass: Pass) -> Result<Pass, ExperimentError> {
    bench.engine.read(&pass)?;
    let once = bench.engine.read(&pass)?;
    let laps = SAMPLE_TIME.0.div_ceil(once.elapsed.0.max(1)).clamp(1, LAPS_MAX);
    Ok(Pass { laps: laps as u32, ..pass })
}

fn parameters(setting: &Setting<'_>, plan: &Plan, extra: Parameters, bench: &Bench<'_>) -> Parameters {
    let mut parameters = Parameters::new();
    parameters.insert("row_length".into(), json!(setting.cell.row_length));
    parameters.insert("columns".into(), json!(setting.cell.columns));
    parameters.insert("access".into(), json!(plan.access.name()));
    parameters.insert("touch".into(), json!(plan.touch.name()));
    parameters.insert("threads".into(), json!(plan.threads));
    parameters.insert("changed_rows".into(), json!(setting.changed_rows));
    parameters.insert("payload".into(), json!(setting.cell.payload));
    parameters.insert("seed".into(), json!(bench.parameters.seed));
    parameters.extend(extra);
    parameters
}

/// What a case says. Counts and times are those of one pass: a sample of several, one after the other, is divided.
fn metrics(samples: &Samples, setting: &Setting<'_>, plan: &Plan, bench: &Bench<'_>) -> Vec<Metric> {
    let per_get = |cost: &Cost| cost.cpu.0 as f64 / cost.gets.max(1) as f64;
    let clock = "CPU clock of the threads (CLOCK_THREAD_CPUTIME_ID)";
    let lio: Vec<f64> = samples.costs.iter().map(per_get).collect();
    let get: Vec<f64> = samples.gets_only.iter().map(per_get).collect();
    let micros = |values: &[f64]| values.iter().map(|value| value / 1e3).collect::<Vec<f64>>();
    let pages = if plan.access == Access::FullScan { setting.facts.pages as f64 } else { f64::NAN };
    let mut metrics = vec![
        Metric::of_samples("lio", Unit::Microseconds, &format!("{clock} over gets"), &micros(&lio)),
        Metric::of_samples("get", Unit::Nanoseconds, &format!("{clock}, the same gets, nothing touched"), &get),
    ];
    if let Some(walk) = row_walk(samples, setting, plan) {
        let source = "lio less get, over rows a get, sample by sample";
        metrics.push(Metric::of_samples("row_walk", Unit::Nanoseconds, source, &walk));
    }
    if setting.as_of.is_some() && pages.is_finite() {
        let block: Vec<f64> = samples.costs.iter().map(|cost| cost.cpu.0 as f64 / samples.laps / pages).collect();
        let source = format!("{clock} over blocks of the table");
        metrics.push(Metric::of_samples("block", Unit::Microseconds, &source, &micros(&block)));
    }
    metrics.extend(times(samples, clock));
    metrics.extend(counts(samples, plan));
    let ghz = bench.machine.host.core_ghz;
    if let (Some(cycles), Some(ghz)) = (cycles(samples), ghz) {
        let source = format!("processor's cycle counter, user mode, over gets at {ghz:.3} GHz");
        metrics.push(Metric::of_samples("lio_by_cycles", Unit::Nanoseconds, &source, &cycles));
    }
    metrics.into_iter().flatten().collect()
}

/// What a row takes; only where rows are walked and nothing else is done.
fn row_walk(samples: &Samples, setting: &Setting<'_>, plan: &Plan) -> Option<Vec<f64>> {
    if setting.changed_rows > 0 || matches!(plan.touch, Touch::Directory | Touch::Nothing) {
        return None;
    }
    let of = |(cost, gets): (&Cost, &Cost)| {
        let difference = cost.cpu.0 as f64 / cost.gets as f64 - gets.cpu.0 as f64 / gets.gets as f64;
        difference * cost.gets as f64 / cost.rows as f64
    };
    Some(samples.costs.iter().zip(&samples.gets_only).map(of).collect())
}

fn times(samples: &Samples, clock: &str) -> Vec<Option<Metric>> {
    let seconds = |of: fn(&Cost) -> Nanos| -> Vec<f64> {
        samples.costs.iter().map(|cost| of(cost).as_seconds() / samples.laps).collect()
    };
    vec![
        Metric::of_samples("cpu", Unit::Seconds, &format!("{clock}, one pass"), &seconds(|cost| cost.cpu)),
        Metric::of_samples(
            "elapsed",
            Unit::Seconds,
            "first start to last end, one pass",
            &seconds(|cost| cost.elapsed),
        ),
    ]
}

fn counts(samples: &Samples, plan: &Plan) -> Vec<Option<Metric>> {
    let Some(cost) = samples.costs.last() else { return Vec::new() };
    let count = |name: &str, source: &str, value: u64| {
        Some(Metric::single(name, Unit::Count, source, value as f64 / samples.laps))
    };
    let gate = "the buffer pool's gate, one pass";
    let reader = "counted by the reader, one pass";
    let mut counts = vec![
        count("gets", gate, cost.gets),
        count("rows", reader, cost.rows),
        Some(Metric::single(
            "rows_per_block",
            Unit::Count,
            "rows over blocks got",
            cost.rows as f64 / (cost.gets - cost.undo_gets).max(1) as f64,
        )),
        count("pinned_revisits", gate, cost.pinned_revisits),
        count("physical_reads", gate, cost.physical_reads),
        count("rebuilt_blocks", reader, cost.rebuilt_blocks),
        count("undo_gets", reader, cost.undo_gets),
        Some(Metric::single("laps", Unit::Count, "passes of a sample, one after the other", samples.laps)),
    ];
    if plan.threads > 1 {
        let rates: Vec<f64> =
            samples.costs.iter().map(|cost| cost.gets as f64 / cost.elapsed.as_seconds().max(1e-9)).collect();
        counts.push(Metric::of_samples("gets_per_second", Unit::PerSecond, "gets of all threads over elapsed", &rates));
    }
    counts
}

/// Cycles a get of each sample; `None` where the machine hides them.
fn cycles(samples: &Samples) -> Option<Vec<f64>> {
    samples.costs.iter().map(|cost| Some(cost.cycles? as f64 / cost.gets.max(1) as f64)).collect()
}

/// All was to be cached: a physical read means that the pool is not what it should be.
fn report_misses(samples: &Samples, what: &str, journal: &mut dyn Journal) {
    let misses: u64 = samples.costs.iter().chain(&samples.gets_only).map(|cost| cost.physical_reads).sum();
    if misses > 0 {
        journal.find(Finding::warning(
            "not-all-cached",
            format!(
                "{misses} physical reads happened in {what}, where everything was to be cached: the cost contains \
                 them. Please report this with the run document."
            ),
        ));
    }
}

fn measured(case: &Case, setting: &Setting<'_>, plan: &Plan, bench: &Bench<'_>) -> Option<Measured> {
    let median = |name: &str| case.metric(name).map(Metric::median);
    let (lio, gets, cpu) = (median("lio")? * 1e3, median("gets")?, median("cpu")?);
    let blocks = gets - median("undo_gets")?;
    let ghz = bench.machine.host.core_ghz;
    Some(Measured {
        cell: setting.cell,
        plan: *plan,
        changed_rows: setting.changed_rows,
        lio,
        get: median("get")?,
        elapsed: median("elapsed")? * 1e9 / gets,
        by_cycles: median("lio_by_cycles").zip(ghz).map(|(cycles, ghz)| cycles / ghz),
        block: cpu * 1e9 / blocks,
        rows_per_get: median("rows")? / gets,
        rebuilt: median("rebuilt_blocks")? / blocks,
    })
}
