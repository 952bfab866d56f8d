//! One case: passes with everything cached, each beside one that touches nothing.

use std::time::{Duration, Instant};

use measure::quantity::format_nanos;
use measure::schema::Spec;
use measure::schema::lio as schema;
use measure::schema::lio::findings as row;
use measure::schema::lio::parameters as named;
use measure::{Case, Finding, Metric, Nanos, Parameters, Statistics, Unit};
use subjects::LogicalReads;
use subjects::logical_reads::{
    Access, Baseline, Cost, Counted, Counts, FirstScans, Pass, Snapshot, Sources, Table, TableFacts, Touch,
};
use sys::process::sampler::Sampler;

use super::parameters::LioParameters;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::{Conditions, Machine, Sensitivity};
use crate::sampling::{self, SampleLength};

/// A sample lasts at least this long: two readings of the CPU clock, the start of a thread, the end of a statement and
/// the first rows, which are not fetched ahead, take some microseconds and vanish in it.
const SAMPLE: SampleLength = SampleLength { time: Nanos::from_millis(20), laps_max: 1 << 16 };

/// What every step of one subject is given.
pub(super) struct Bench<'a> {
    pub(super) parameters: &'a LioParameters,
    pub(super) machine: &'a Machine,
    pub(super) subject: &'a mut dyn LogicalReads,
    pub(super) sampler: Option<&'a Sampler>,
    /// Whether cases name their subject, because there are several.
    pub(super) names_subject: bool,
}

/// A table that is cached, and the state that its readers see.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'a> {
    pub(super) table: &'a Table,
    pub(super) facts: &'a TableFacts,
    pub(super) changed_rows: u32,
    pub(super) as_of: Option<Snapshot>,
}

/// What a case does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) access: Access,
    pub(super) touch: Touch,
    pub(super) threads: usize,
}

impl Plan {
    /// A full scan by one thread that touches the rows, as published.
    pub(super) const SCAN: Plan = Plan { access: Access::FullScan, touch: Touch::Rows, threads: 1 };
}

/// A case that was measured, as far as the findings need it. Medians.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) table: Table,
    pub(super) plan: Plan,
    pub(super) changed_rows: u32,
    /// Whether it is the first scan after a load.
    pub(super) is_first: bool,
    /// Nanoseconds of processor time a get.
    pub(super) lio: f64,
    /// Half of the distance from the least sample of `lio` to the largest, over the median.
    pub(super) spread: f64,
    /// Nanoseconds of a get that touches nothing, where that can be measured.
    pub(super) get: Option<f64>,
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

impl Measured {
    /// Whether it does by one thread what `many` does by several; no first scan after a load.
    pub(super) fn is_alone_of(&self, many: &Measured) -> bool {
        let alone = Plan { threads: 1, ..many.plan };
        !self.is_first && self.plan == alone && self.table == many.table
    }
}

/// Costs of the samples of one case.
struct Samples {
    costs: Vec<Cost>,
    /// The pass that touches nothing, beside each.
    baselines: Vec<Cost>,
    laps: f64,
    /// What one lap counted beside the samples, after them.
    counted: Counts,
    /// The statement of the pass that touches nothing, where it is one.
    statement: Option<String>,
}

impl Samples {
    /// What a sample counted: itself where it did, else what a lap counted beside it.
    fn count(&self, cost: &Cost, of: fn(&Counts) -> u64) -> f64 {
        cost.counts.as_ref().map_or(of(&self.counted) as f64 * self.laps, |counts| of(counts) as f64)
    }

    fn gets(&self, cost: &Cost) -> f64 {
        self.count(cost, |counts| counts.gets).max(1.0)
    }

    /// Nanoseconds of processor time a get.
    fn per_get(&self, cost: &Cost) -> f64 {
        cost.cpu.0 as f64 / self.gets(cost)
    }

    fn of_each(&self, of: impl Fn(&Cost) -> f64) -> Vec<f64> {
        self.costs.iter().map(of).collect()
    }

    /// Nanoseconds of processor time a get, less what the pass beside it took: below zero where that took longer.
    fn net(&self) -> Vec<f64> {
        let net = |(cost, beside): (&Cost, &Cost)| (cost.cpu.0 as f64 - beside.cpu.0 as f64) / self.gets(cost);
        self.pairs().map(net).collect()
    }

    /// Pairs of a sample and the one beside it.
    fn pairs(&self) -> impl Iterator<Item = (&Cost, &Cost)> {
        self.costs.iter().zip(&self.baselines)
    }
}

/// Measures a case and keeps it; `extra` are further parameters of it. `None` where the subject cannot do it, which is
/// then a finding.
pub(super) fn case(
    bench: &mut Bench<'_>,
    setting: Setting<'_>,
    plan: Plan,
    extra: Parameters,
    journal: &mut dyn Journal,
) -> Result<Option<Measured>, ExperimentError> {
    let what = name(&setting, &plan, bench);
    // How long a lap takes is not known before the first one.
    journal.step(&what, Duration::ZERO);
    let pass = Pass { access: plan.access, touch: plan.touch, threads: plan.threads, laps: 1, as_of: setting.as_of };
    let counted = bench.subject.count(&pass)?;
    let Some(Counted { counts: before, .. }) = journal.unless_absent(counted) else { return Ok(None) };
    let conditions = Conditions::now(bench.machine);
    let samples = samples(bench, &setting.facts.sources, pass, &mut |left| journal.step(&what, left))?;
    let change = conditions.changed(bench.machine);
    bench.machine.note(&what, &change, Sensitivity::Core);
    bench.machine.stop.check()?;
    let mut case = Case::new(parameters(&setting, &plan, extra, bench));
    case.metrics = metrics(&samples, &setting, &plan, bench);
    case.metrics.extend(change.metrics());
    let counted_in_samples: Option<u64> =
        samples.costs.iter().chain(&samples.baselines).map(|cost| Some(cost.counts?.physical_reads)).sum();
    // A block that is read once and then stays is seen before the samples only, one that leaves meanwhile after them.
    let beside = before.physical_reads.min(samples.counted.physical_reads);
    let misses = counted_in_samples.unwrap_or(beside);
    journal.find_all(sampling::missing(&row::NOT_ALL_CACHED, &what, misses, setting.facts.sources.cache));
    let measured = measured(&case, &setting, &plan);
    journal.find_all(lost_in_overhead(&samples, &setting.facts.sources, &what).filter(|_| measured.is_none()));
    journal.keep(case)?;
    Ok(measured)
}

/// Why a case has no cost of a get: what is taken off takes as long as the reads.
fn lost_in_overhead(samples: &Samples, sources: &Sources, what: &str) -> Option<Finding> {
    let Baseline::Overhead(beside) = sources.baseline else { return None };
    let median = |costs: &[Cost]| {
        let laps: Vec<f64> = costs.iter().map(|cost| cost.cpu.0 as f64 / samples.laps).collect();
        Statistics::of_samples(&laps).map(|statistics| statistics.median)
    };
    let (all, overhead) = (median(&samples.costs)?, median(&samples.baselines)?);
    let message = format!(
        "The cost of a logical I/O in {what} is absent: one {} took {} of CPU time, {beside} {}, and what is left is \
         no more than noise. Repeat it on a quiet machine, or ask for a larger table.",
        sources.lap[0],
        format_nanos(all),
        format_nanos(overhead)
    );
    Some(row::ABSENT_LIO.of(message).with("pass", all, Unit::Nanoseconds).with("overhead", overhead, Unit::Nanoseconds))
}

/// Keeps the scans that came first after the loads of a table.
pub(super) fn first_scans(
    bench: &mut Bench<'_>,
    setting: Setting<'_>,
    scans: &FirstScans,
    journal: &mut dyn Journal,
) -> Result<Option<Measured>, ExperimentError> {
    let facts = TableFacts { visibility: Some(scans.visibility), ..setting.facts.clone() };
    let setting = Setting { facts: &facts, ..setting };
    let sources = &scans.sources;
    let of = |of: &dyn Fn(&Cost, &Counts) -> f64| -> Vec<f64> {
        scans.costs.iter().filter_map(|cost| Some(of(cost, cost.counts.as_ref()?))).collect()
    };
    let source = format!("{} over gets", sources.cpu);
    let lio = of(&|cost, counts| cost.cpu.0 as f64 / counts.gets.max(1) as f64 / 1e3);
    let counted =
        |spec: Spec, source, count: fn(&Counts) -> u64| spec.of_samples(source, &of(&|_, counts| count(counts) as f64));
    let mut case = Case::new(parameters(&setting, &Plan::SCAN, Parameters::new(), bench));
    case.metrics.extend(schema::LIO.of_samples(&source, &lio));
    case.metrics.extend(times(&scans.costs, 1.0, sources).into_iter().flatten());
    case.metrics.extend(counted(schema::GETS, sources.gets, |counts| counts.gets));
    case.metrics.extend(counted(schema::PHYSICAL_READS, sources.physical_reads, |counts| counts.physical_reads));
    case.metrics.push(schema::ROWS.count(sources.rows, facts.rows));
    let measured = measured(&case, &setting, &Plan::SCAN).map(|one| Measured { is_first: true, ..one });
    journal.keep(case)?;
    Ok(measured)
}

fn name(setting: &Setting<'_>, plan: &Plan, bench: &Bench<'_>) -> String {
    let threads = if plan.threads > 1 { format!(" by {} threads", plan.threads) } else { String::new() };
    let changed =
        if setting.changed_rows > 0 { format!(", {} % changed", setting.changed_rows) } else { String::new() };
    let subject = if bench.names_subject { format!("{}: ", bench.subject.name()) } else { String::new() };
    let touched = touched(plan.touch, setting.table);
    format!("{subject}{}, {}, touching {touched}{threads}{changed}", setting.table, plan.access.name())
}

/// What is touched, by the page's word for it: the last column is one thing in all tables, whatever its number.
pub(super) fn touched(touch: Touch, table: &Table) -> String {
    match (touch, table) {
        (Touch::Column(number), Table::Made(cell)) if u32::from(number) == cell.columns => "column-last".into(),
        _ => touch.to_string(),
    }
}

/// Takes the samples of a pass. `expect` hears about how long the rest takes, as soon as a lap has shown it.
fn samples(
    bench: &mut Bench<'_>,
    sources: &Sources,
    pass: Pass,
    expect: &mut dyn FnMut(Duration),
) -> Result<Samples, ExperimentError> {
    let baseline = Pass { touch: Touch::Nothing, as_of: None, ..pass };
    let (pass, sample) = long_enough(bench, pass)?;
    let statement = bench.subject.count(&baseline)?.ok().and_then(|counted| counted.statement);
    let (baseline, sample_of_baseline) = match sources.baseline {
        Baseline::Gets => long_enough(bench, baseline)?,
        // It is subtracted, and takes as many laps, which are shorter: the first sample shows how long.
        Baseline::Overhead(_) => (Pass { laps: pass.laps, ..baseline }, Duration::ZERO),
    };
    let (begun, assumed, all) = (Instant::now(), sample.saturating_add(sample_of_baseline), bench.parameters.repeat);
    let (mut costs, mut baselines) = (Vec::new(), Vec::new());
    for done in 0..all {
        bench.machine.stop.check()?;
        expect(sampling::time_left(sampling::each(begun.elapsed(), done, assumed), (done, all)));
        costs.push(sampled(bench, &pass)?);
        baselines.push(bench.subject.read(&baseline)?);
    }
    let counted = bench.subject.count(&pass)?.map_or(Counts::default(), |counted| counted.counts);
    Ok(Samples { costs, baselines, laps: f64::from(pass.laps), counted, statement })
}

/// A pass whose readers' stacks are sampled where that was asked for.
fn sampled(bench: &mut Bench<'_>, pass: &Pass) -> Result<Cost, ExperimentError> {
    if let Some(sampler) = bench.sampler {
        sampler.resume();
    }
    let cost = bench.subject.read(pass);
    if let Some(sampler) = bench.sampler {
        sampler.pause();
    }
    Ok(cost?)
}

/// The pass with as many laps as a sample needs, by an unmeasured one or by what was announced; and about how long they
/// take.
fn long_enough(bench: &mut Bench<'_>, pass: Pass) -> Result<(Pass, Duration), ExperimentError> {
    let once = bench.subject.read(&pass)?;
    let lap = bench.subject.lap_time(&pass).unwrap_or(once.cpu.min(once.elapsed));
    let laps = SAMPLE.laps(lap);
    Ok((Pass { laps, ..pass }, Duration::from(once.elapsed).saturating_mul(laps)))
}

fn parameters(setting: &Setting<'_>, plan: &Plan, extra: Parameters, bench: &Bench<'_>) -> Parameters {
    let mut parameters = Parameters::new();
    if bench.names_subject {
        parameters.extend([named::SUBJECT.of(bench.subject.name())]);
    }
    match setting.table {
        Table::Made(cell) => {
            parameters.extend([named::ROW_LENGTH.of(cell.row_length), named::COLUMNS.of(cell.columns)]);
        }
        Table::Found(name) => parameters.extend([named::TABLE.of(name.as_str())]),
    }
    parameters.extend([
        named::ACCESS.of(plan.access.name()),
        named::TOUCH.of(plan.touch.to_string()),
        named::THREADS.of(plan.threads),
        named::CHANGED_ROWS.of(setting.changed_rows),
    ]);
    if let Table::Made(cell) = setting.table {
        parameters.extend([named::PAYLOAD.of(cell.payload), named::SEED.of(bench.parameters.seed)]);
    }
    parameters.extend(setting.facts.visibility.map(|visibility| named::VISIBILITY.of(visibility)));
    parameters.extend(extra);
    parameters
}

/// What a case says. Counts and times are those of one lap.
fn metrics(samples: &Samples, setting: &Setting<'_>, plan: &Plan, bench: &Bench<'_>) -> Vec<Metric> {
    let sources = &setting.facts.sources;
    let clock = &sources.cpu;
    let mut metrics = parts(samples, setting, plan);
    if setting.as_of.is_some() && plan.access == Access::FullScan {
        let pages = setting.facts.pages as f64;
        let block = samples.of_each(|cost| cost.cpu.0 as f64 / samples.laps / pages / 1e3);
        let source = format!("{clock} over blocks of the table");
        metrics.push(schema::BLOCK.of_samples(&source, &block));
    }
    metrics.extend(times(&samples.costs, samples.laps, sources));
    metrics.extend(counts(samples, sources).into_iter().map(Some));
    if plan.threads > 1 {
        let rates = samples.of_each(|cost| samples.gets(cost) / cost.elapsed.as_seconds().max(1e-9));
        let source = "gets of all threads over elapsed";
        metrics.push(schema::GETS_PER_SECOND.of_samples(source, &rates));
    }
    metrics.push(bench.machine.host.core_ghz.and_then(|ghz| lio_by_cycles(samples, sources, ghz)));
    metrics.into_iter().flatten().collect()
}

/// The cost of a get, and its parts as far as the pass that touches nothing tells them apart.
fn parts(samples: &Samples, setting: &Setting<'_>, plan: &Plan) -> Vec<Option<Metric>> {
    let clock = &setting.facts.sources.cpu;
    let micros = |values: Vec<f64>| values.iter().map(|value| value / 1e3).collect::<Vec<f64>>();
    if let Baseline::Overhead(beside) = setting.facts.sources.baseline {
        let source = format!("{clock}, less that of {beside}, over gets");
        let lio = schema::LIO.of_samples(&source, &micros(samples.net()));
        let lio = lio.filter(|lio| lio.median() > 0.0);
        let Some(statement) = &samples.statement else { return vec![lio] };
        let overheads: Vec<f64> = samples.baselines.iter().map(|cost| cost.cpu.0 as f64 / samples.laps).collect();
        let source = format!("{clock}, `{statement}`");
        return vec![lio, schema::STATEMENT_BESIDE.of_samples(&source, &micros(overheads))];
    }
    let lio = samples.of_each(|cost| samples.per_get(cost));
    let get: Vec<f64> = samples.baselines.iter().map(|cost| samples.per_get(cost)).collect();
    let source = "lio less get, over rows a get, sample by sample";
    vec![
        schema::LIO.of_samples(&format!("{clock} over gets"), &micros(lio)),
        schema::GET.of_samples(&format!("{clock}, the same gets, nothing touched"), &get),
        row_walk(samples, setting, plan).and_then(|walk| schema::ROW_WALK.of_samples(source, &walk)),
    ]
}

/// What a row takes; only where rows are walked and nothing else is done.
fn row_walk(samples: &Samples, setting: &Setting<'_>, plan: &Plan) -> Option<Vec<f64>> {
    if setting.changed_rows > 0 || matches!(plan.touch, Touch::Directory | Touch::Nothing) {
        return None;
    }
    let of = |(cost, baseline): (&Cost, &Cost)| {
        let difference = samples.per_get(cost) - samples.per_get(baseline);
        difference * samples.gets(cost) / samples.count(cost, |counts| counts.rows)
    };
    Some(samples.pairs().map(of).collect())
}

fn times(costs: &[Cost], laps: f64, sources: &Sources) -> Vec<Option<Metric>> {
    let [lap, _] = sources.lap;
    let seconds =
        |of: fn(&Cost) -> Nanos| -> Vec<f64> { costs.iter().map(|cost| of(cost).as_seconds() / laps).collect() };
    let (cpu, elapsed) = (format!("{}, one {lap}", sources.cpu), format!("{}, one {lap}", sources.elapsed));
    vec![
        schema::CPU.of_samples(&cpu, &seconds(|cost| cost.cpu)),
        schema::ELAPSED.of_samples(&elapsed, &seconds(|cost| cost.elapsed)),
    ]
}

fn counts(samples: &Samples, sources: &Sources) -> Vec<Metric> {
    let Some(cost) = samples.costs.last() else { return Vec::new() };
    let [lap, laps] = sources.lap;
    let versions = cost.counts.and_then(|counts| counts.versions);
    let each = |spec: Spec, source: &str, of: fn(&Counts) -> u64| {
        spec.single(&format!("{source}, one {lap}"), samples.count(cost, of) / samples.laps)
    };
    let blocks = samples.gets(cost) - versions.map_or(0.0, |versions| versions.undo_gets as f64);
    let rows = samples.count(cost, |counts| counts.rows);
    let mut counts = vec![
        each(schema::GETS, sources.gets, |counts| counts.gets),
        schema::ROWS.single(sources.rows, rows / samples.laps),
        schema::ROWS_PER_BLOCK.single("rows over blocks got", rows / blocks.max(1.0)),
        each(schema::PHYSICAL_READS, sources.physical_reads, |counts| counts.physical_reads),
    ];
    if let Some(versions) = versions {
        let (gate, reader) = (format!("{}, one {lap}", sources.gets), format!("counted by the reader, one {lap}"));
        let of = |spec: Spec, source: &str, value: u64| spec.single(source, value as f64 / samples.laps);
        counts.push(of(schema::PINNED_REVISITS, &gate, versions.pinned_revisits));
        counts.push(of(schema::REBUILT_BLOCKS, &reader, versions.rebuilt_blocks));
        counts.push(of(schema::UNDO_GETS, &reader, versions.undo_gets));
    }
    counts.push(schema::LAPS.single(&format!("{laps} of a sample, one after the other"), samples.laps));
    counts
}

/// The cost of a get by core cycles, in nanoseconds of a core that runs at `ghz`, as `lio` has it by the CPU clock;
/// `None` where the machine hides the cycles.
fn lio_by_cycles(samples: &Samples, sources: &Sources, ghz: f64) -> Option<Metric> {
    let less = match sources.baseline {
        Baseline::Overhead(beside) => Some(format!(", less that of {beside}")),
        Baseline::Gets => None,
    };
    let nanos = |(cost, beside): (&Cost, &Cost)| {
        let overhead = if less.is_some() { beside.cycles? } else { 0 };
        Some((cost.cycles? as f64 - overhead as f64) / samples.gets(cost) / ghz)
    };
    let nanos: Option<Vec<f64>> = samples.pairs().map(nanos).collect();
    let less = less.as_deref().unwrap_or_default();
    let source = format!("processor's cycle counter, user mode{less}, over gets at {ghz:.3} GHz");
    schema::LIO_BY_CYCLES.of_samples(&source, &nanos?).filter(|by_cycles| by_cycles.median() > 0.0)
}

fn measured(case: &Case, setting: &Setting<'_>, plan: &Plan) -> Option<Measured> {
    let median = |spec: Spec| spec.median(case);
    let (lio, gets, cpu) = (schema::LIO.in_case(case)?, median(schema::GETS)?.max(1.0), median(schema::CPU)?);
    let blocks = (gets - median(schema::UNDO_GETS).unwrap_or(0.0)).max(1.0);
    let statistics = &lio.statistics;
    Some(Measured {
        table: setting.table.clone(),
        plan: *plan,
        changed_rows: setting.changed_rows,
        is_first: false,
        lio: lio.median() * 1e3,
        spread: (statistics.max - statistics.min) / 2.0 / statistics.median.max(f64::MIN_POSITIVE),
        get: median(schema::GET),
        elapsed: median(schema::ELAPSED)? * 1e9 / gets,
        by_cycles: median(schema::LIO_BY_CYCLES),
        block: cpu * 1e9 / blocks,
        rows_per_get: median(schema::ROWS)? / gets,
        rebuilt: median(schema::REBUILT_BLOCKS).unwrap_or(0.0) / blocks,
    })
}
