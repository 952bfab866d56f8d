//! One case on a server: the first scan after a load, or reads of blocks whose rows are visible to all.

use std::time::Duration;

use measure::{Case, Finding, Metric, Nanos, Parameters, Unit};
use serde_json::json;
use server::Buffers;
use subjects::logical_reads::{Cell, Touch};
use subjects::postgres::layout::Layout;
use subjects::postgres::logical_reads::{FirstScan, Question, ServerTable, Way};
use subjects::postgres::statement::StatementCost;

use super::{Bench, shape};
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::{Conditions, Sensitivity};
use crate::on_server::share::Start;

/// A sample takes the backend at least this long: the end of a statement and the process's falling asleep, some
/// microseconds, vanish in it.
pub(super) const SAMPLE_TIME: Nanos = Nanos::from_millis(20);

/// Most statements of a sample.
pub(super) const LAPS_MAX: u64 = 256;

/// Loads, each with its first scan. A load takes ten times as long as a scan, so that there are few.
const FIRST_SCANS: usize = 3;

/// What rows a statement finds.
pub(in crate::lio) const FIRST_SCAN: &str = "first-scan";
pub(in crate::lio) const ALL_VISIBLE: &str = "all-visible";

/// A case that was measured, as far as the answers need it. Medians.
#[derive(Clone, Copy, Debug)]
pub(in crate::lio) struct MeasuredOnServer {
    pub(in crate::lio) cell: Cell,
    pub(in crate::lio) way: Way,
    pub(in crate::lio) touch: Touch,
    pub(in crate::lio) is_first: bool,
    /// Nanoseconds a get.
    pub(in crate::lio) lio: f64,
    /// Half of the distance from the least sample to the largest, over the median.
    pub(in crate::lio) spread: f64,
}

/// Fills the table some times and scans it each time.
pub(super) fn first_scans(
    bench: &mut Bench<'_>,
    layout: &Layout,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let cell = layout.cell();
    let mut scans: Vec<FirstScan> = Vec::new();
    for number in 1..=FIRST_SCANS {
        journal.step(&format!("first scan {number} of {}", shape(&cell)), Duration::from_secs(1));
        scans.push(bench.reads.first_scan(layout)?);
    }
    let gets = "blocks fetched, counted by the session (pg_stat_get_xact_blocks_fetched)";
    let reads = "blocks fetched and not hit (pg_stat_get_xact_blocks_hit)";
    let counts = |of: fn(&FirstScan) -> u64| -> Vec<f64> { scans.iter().map(|scan| of(scan) as f64).collect() };
    let costs: Vec<StatementCost> = scans.iter().map(|scan| scan.cost).collect();
    let lio: Vec<f64> = scans.iter().map(|scan| scan.cost.cost.0 as f64 / scan.gets.max(1) as f64 / 1e3).collect();
    let source = format!("{} over gets", bench.reads.meter().source());
    let mut case = Case::new(parameters(bench, &cell, (Way::FullScan, Touch::Rows), FIRST_SCAN));
    case.metrics.extend(Metric::of_samples("lio", Unit::Microseconds, &source, &lio));
    case.metrics.extend(times(bench.reads.meter().source(), &costs, 1.0));
    case.metrics.extend(Metric::of_samples("gets", Unit::Count, gets, &counts(|scan| scan.gets)));
    case.metrics.extend(Metric::of_samples("physical_reads", Unit::Count, reads, &counts(|scan| scan.physical_reads)));
    case.metrics.push(rows_metric(layout.rows()));
    note_found(bench, &case, &cell, (Way::FullScan, Touch::Rows), true);
    journal.keep(case)?;
    Ok(())
}

/// Measures one way and one touch of a table whose rows are visible to all.
pub(super) fn case(
    bench: &mut Bench<'_>,
    table: &ServerTable,
    way: Way,
    touch: Touch,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let cell = table.layout.cell();
    let what = format!("{} of {}, touching {}", way.name(), shape(&cell), touch.name());
    journal.step(&format!("{}: {what}", bench.name), Duration::from_millis(60 * bench.parameters.repeat as u64));
    let question = bench.reads.question(table, way, touch);
    // Unmeasured: it warms the caches, and shows that the planner goes this way.
    let blocks = bench.reads.blocks(&question, table)?;
    bench.activity.look(bench.reads.schema().session()).map_err(subjects::logical_reads::SubjectError::from)?;
    let conditions = Conditions::now(bench.machine);
    let samples = samples(bench, &question)?;
    let change = conditions.changed(bench.machine);
    bench.machine.note(&what, &change, Sensitivity::Core);
    bench.activity.look(bench.reads.schema().session()).map_err(subjects::logical_reads::SubjectError::from)?;
    // Once more: a block that left the buffers meanwhile is seen here.
    let after = bench.reads.blocks(&question, table)?;
    let mut case = Case::new(parameters(bench, &cell, (way, touch), ALL_VISIBLE));
    case.metrics = metrics(bench, &samples, &question, after);
    case.metrics.extend(change.metrics());
    report_misses(&what, blocks, after, journal);
    note_found(bench, &case, &cell, (way, touch), false);
    journal.keep(case)?;
    Ok(())
}

/// Costs of the samples of a case, each beside one of the statement that does all but reading.
struct Samples {
    costs: Vec<StatementCost>,
    beside: Vec<StatementCost>,
    laps: u32,
}

fn samples(bench: &mut Bench<'_>, question: &Question) -> Result<Samples, ExperimentError> {
    let once = bench.reads.measure(question, 1)?;
    let laps = SAMPLE_TIME.0.div_ceil(once.cost.0.max(1)).clamp(1, LAPS_MAX) as u32;
    // A rehearsal takes no time: one statement stands for all laps there.
    let laps = if once.cost.0 == 0 { 1 } else { laps };
    let mut samples = Samples { costs: Vec::new(), beside: Vec::new(), laps };
    let start = Start::now(bench.machine);
    for _ in 0..bench.parameters.repeat {
        samples.beside.push(bench.reads.measure_beside(question, laps)?);
        samples.costs.push(bench.reads.measure(question, laps)?);
    }
    let backend = samples.costs.iter().chain(&samples.beside).map(|cost| cost.cost.0).sum();
    bench.shares.add(start, Nanos(backend), bench.machine);
    Ok(samples)
}

fn parameters(bench: &Bench<'_>, cell: &Cell, (way, touch): (Way, Touch), visibility: &str) -> Parameters {
    let mut parameters = Parameters::new();
    parameters.insert("subject".into(), json!(bench.name));
    parameters.insert("row_length".into(), json!(cell.row_length));
    parameters.insert("columns".into(), json!(cell.columns));
    parameters.insert("access".into(), json!(way.name()));
    parameters.insert("touch".into(), json!(touch.name()));
    parameters.insert("threads".into(), json!(1));
    parameters.insert("changed_rows".into(), json!(0));
    parameters.insert("payload".into(), json!(cell.payload));
    parameters.insert("seed".into(), json!(bench.parameters.seed));
    parameters.insert("visibility".into(), json!(visibility));
    parameters
}

/// What a case says. Counts and times are those of one statement.
fn metrics(bench: &Bench<'_>, samples: &Samples, question: &Question, blocks: Buffers) -> Vec<Metric> {
    let gets = blocks.gets().max(1) as f64;
    let laps = f64::from(samples.laps);
    let net = samples.costs.iter().zip(&samples.beside).map(|(cost, beside)| cost.cost.since(beside.cost).0 as f64);
    let lio: Vec<f64> = net.map(|nanos| nanos / laps / gets / 1e3).collect();
    let source = format!("{}, less that of a statement beside it, over gets", bench.reads.meter().source());
    let explained = "EXPLAIN (ANALYZE, BUFFERS), one statement";
    let count = |name: &str, value: u64| Metric::single(name, Unit::Count, explained, value as f64);
    let mut metrics: Vec<Metric> = Vec::new();
    metrics.extend(Metric::of_samples("lio", Unit::Microseconds, &source, &lio));
    metrics.extend(times(bench.reads.meter().source(), &samples.costs, laps));
    let beside: Vec<f64> = samples.beside.iter().map(|cost| cost.cost.0 as f64 / laps / 1e3).collect();
    let what = format!("{}, `{}`", bench.reads.meter().source(), question.beside);
    metrics.extend(Metric::of_samples("statement_beside", Unit::Microseconds, &what, &beside));
    metrics.push(count("gets", blocks.gets()));
    metrics.push(count("physical_reads", blocks.reads));
    metrics.push(rows_metric(question.count));
    metrics.push(Metric::single("rows_per_block", Unit::Count, "rows over blocks got", question.count as f64 / gets));
    metrics.push(Metric::single("laps", Unit::Count, "statements of a sample, one after the other", laps));
    metrics
}

fn rows_metric(rows: u64) -> Metric {
    Metric::single("rows", Unit::Count, "counted by the statement", rows as f64)
}

pub(super) fn times(meter: &str, costs: &[StatementCost], laps: f64) -> Vec<Metric> {
    let seconds = |of: fn(&StatementCost) -> Nanos| -> Vec<f64> {
        costs.iter().map(|cost| of(cost).as_seconds() / laps).collect()
    };
    let source = format!("{meter}, one statement");
    let elapsed = "sending the statement to its answer, one statement";
    let cpu = Metric::of_samples("cpu", Unit::Seconds, &source, &seconds(|cost| cost.cost));
    let elapsed = Metric::of_samples("elapsed", Unit::Seconds, elapsed, &seconds(|cost| cost.elapsed));
    cpu.into_iter().chain(elapsed).collect()
}

fn note_found(bench: &mut Bench<'_>, case: &Case, cell: &Cell, (way, touch): (Way, Touch), is_first: bool) {
    let Some(lio) = case.metric("lio") else { return };
    let statistics = &lio.statistics;
    let spread = (statistics.max - statistics.min) / 2.0 / statistics.median.max(f64::MIN_POSITIVE);
    bench.found.push(MeasuredOnServer { cell: *cell, way, touch, is_first, lio: lio.median() * 1e3, spread });
}

/// All was to be in shared buffers.
pub(super) fn report_misses(what: &str, before: Buffers, after: Buffers, journal: &mut dyn Journal) {
    let reads = before.reads.min(after.reads);
    if reads > 0 {
        journal.find(Finding::warning(
            "not-all-cached",
            format!(
                "{reads} of {} blocks were not in shared buffers in {what}: the cost contains reading them. Ask for a \
                 smaller --payload.",
                after.gets()
            ),
        ));
    }
}
