//! All constants: measured costs as multiples of a block in sequence, for several shares of cached blocks.

use std::time::Duration;

use measure::Finding;
use measure::schema::calibrate;
use measure::schema::calibrate::parameters::CONSTANT;
use sys::host::available_memory;

use super::bench::Bench;
use super::concurrency::{self, Sweep};
use super::cost::{Constant, Cost, SEQ_PAGE};
use super::estimate::{Estimate, mixed};
use super::pages::{self, PageRead};
use super::{parallel, processor};
use crate::error::ExperimentError;
use crate::journal::Journal;

/// Percent of the blocks that are cached. What lies between nothing and everything is measured, and computed from both
/// ends as well.
const SHARES: [u32; 5] = [0, 50, 90, 99, 100];

/// What the planner takes for the memory of the server and its operating system.
pub(super) const CACHE_SIZE: &str = "effective_cache_size";
const CONCURRENCY: &str = "effective_io_concurrency";

/// Everything that was measured.
pub(super) struct Constants {
    pub(super) all: Vec<Constant>,
    /// Blocks, where it is known.
    pub(super) cache_blocks: Option<f64>,
    pub(super) sweep: Sweep,
}

impl Constants {
    /// The constants that change which plan is chosen, for a share of cached blocks: those with a value.
    pub(super) fn for_planner(&self, cached: u32) -> Vec<(&'static str, f64)> {
        let of_share = self.all.iter().filter(|one| one.cached == cached && one.name != SEQ_PAGE);
        // Queries of one process say nothing about workers.
        let tested = of_share.filter(|one| !one.name.starts_with("parallel_"));
        let tested = tested.filter_map(|one| Some((one.name, one.measured?.value)));
        tested.chain(self.cache_blocks.map(|blocks| (CACHE_SIZE, blocks))).collect()
    }

    /// A constant for a share of cached blocks.
    pub(super) fn of(&self, name: &str, cached: u32) -> Option<&Constant> {
        self.all.iter().find(|one| one.name == name && one.cached == cached)
    }
}

/// Measures them and keeps a case for each.
pub(super) fn measure(bench: &mut Bench<'_>, journal: &mut dyn Journal) -> Result<Constants, ExperimentError> {
    let mut costs = processor::measure(bench, journal)?;
    match parallel::measure(bench, journal)? {
        Ok(more) => costs.extend(more),
        Err(reason) => journal.find(Finding::info(
            "absent-parallel",
            format!("parallel_tuple_cost and parallel_setup_cost were not measured, because {reason}."),
        )),
    }
    let mut constants = Constants { all: Vec::new(), cache_blocks: None, sweep: Sweep::new() };
    let mut settled = Vec::new();
    for read in PageRead::ALL {
        settled.push((read, pages::settled(bench, read)?));
    }
    for cached in bench_shares(bench) {
        let found = share(bench, cached, (&costs, &settled), &constants, journal)?;
        for constant in &found {
            journal.keep(constant.case(bench))?;
        }
        constants.all.extend(found);
    }
    report_absent(&constants, journal);
    constants.cache_blocks = cache_size(bench, journal)?;
    if bench.tables.is_private() {
        constants.sweep = concurrency::measure(bench, journal)?;
        keep_concurrency(bench, &constants.sweep, journal)?;
    }
    Ok(constants)
}

/// The shares that can be had: a given server's caches stay as they are.
fn bench_shares(bench: &Bench<'_>) -> Vec<u32> {
    if bench.tables.is_private() { SHARES.into() } else { vec![100] }
}

fn share(
    bench: &mut Bench<'_>,
    cached: u32,
    (costs, settled): (&[Cost], &[(PageRead, f64)]),
    before: &Constants,
    journal: &mut dyn Journal,
) -> Result<Vec<Constant>, ExperimentError> {
    let mut of_share = costs.to_vec();
    for &(read, settled) in settled {
        let Some(cost) = of_share.iter_mut().find(|cost| cost.name == read.constant()) else { continue };
        if cached < 100 {
            let measured = pages::measure(bench, (read, f64::from(cached) / 100.0), (cost, settled), journal)?;
            *cost = measured;
        }
    }
    let unit = of_share.iter().find(|cost| cost.name == SEQ_PAGE).map_or(Vec::new(), |cost| cost.micros.clone());
    let mut found = Vec::new();
    for cost in &of_share {
        let now = bench.tables.setting(cost.name)?;
        let mut constant = Constant::of(cost, &unit, cached, now);
        if bench.tables.is_rehearsal() {
            constant.measured = Some(Estimate { value: now, low: now, high: now });
        }
        let ends = (costs.iter().find(|other| other.name == cost.name), before.of(cost.name, 0));
        if let ((Some(all), Some(none)), 1..100) = (ends, cached) {
            let is_page = PageRead::ALL.iter().any(|read| read.constant() == cost.name);
            let computed = mixed(&all.micros, &none.cost.micros, f64::from(cached) / 100.0);
            constant.computed = if is_page { computed } else { Vec::new() };
        }
        found.push(constant);
    }
    Ok(found)
}

/// The server's buffers and what the page cache could grow to, in blocks.
fn cache_size(bench: &mut Bench<'_>, journal: &mut dyn Journal) -> Result<Option<f64>, ExperimentError> {
    journal.step(CACHE_SIZE, Duration::from_secs(1));
    let now = bench.tables.setting(CACHE_SIZE)?;
    let is_local = bench.tables.is_local();
    let facts = bench.tables.facts();
    let Some(available) = available_memory().filter(|_| is_local) else {
        journal.find(Finding::info(
            "absent-cache-size",
            "effective_cache_size was not measured, because the memory of the server's machine cannot be seen from \
             here. Run readpath there.",
        ));
        return Ok(None);
    };
    let bytes = (facts.buffer_bytes + available) as f64;
    let block = facts.block_bytes as f64;
    let mut case = bench.case("constant", [CONSTANT.of(CACHE_SIZE)]);
    let source = "shared_buffers, and MemAvailable of /proc/meminfo: what the page cache could grow to at this moment";
    case.metrics.push(calibrate::NOW_BYTES.single("pg_settings of the session", now * block));
    case.metrics.push(calibrate::VALUE_BYTES.single(source, bytes));
    journal.keep(case)?;
    Ok(Some((bytes / block).floor()))
}

fn keep_concurrency(bench: &mut Bench<'_>, sweep: &Sweep, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let now = bench.tables.setting(CONCURRENCY)?;
    let Some((value, _, _)) = concurrency::enough(sweep) else { return Ok(()) };
    let mut case = bench.case("constant", [CONSTANT.of(CONCURRENCY)]);
    let source = "the least of the values tried that is within 10 % of the fastest one's median, cold bitmap scans";
    case.metrics.push(calibrate::NOW_COUNT.single("pg_settings of the session", now));
    case.metrics.push(calibrate::VALUE_COUNT.single(source, f64::from(value)));
    journal.keep(case)?;
    Ok(())
}

/// A constant without a positive value is absent, and without the unit all are.
fn report_absent(constants: &Constants, journal: &mut dyn Journal) {
    for cached in SHARES {
        let of_share = constants.all.iter().filter(|one| one.cached == cached);
        // What has no sample has a finding of its own.
        let has_samples = |one: &&Constant| !one.cost.micros.is_empty();
        let is_absent = |one: &&Constant| one.measured.is_none() && has_samples(one);
        let absent: Vec<&str> = of_share.clone().filter(is_absent).map(|one| one.name).collect();
        if absent.is_empty() || of_share.clone().any(|one| one.name == SEQ_PAGE && !has_samples(&one)) {
            continue;
        }
        let what = match absent.contains(&SEQ_PAGE) {
            true => "a block in sequence, so that all constants are absent".to_string(),
            false => absent.join(" and "),
        };
        journal.find(Finding::warning(
            "absent-constants",
            format!(
                "With {cached} % of the blocks cached no cost above 0 came out for {what}: what it adds to a statement \
                 is less than the noise of this machine. Repeat the run when the machine is quiet, or with a larger \
                 --payload."
            ),
        ));
    }
}
