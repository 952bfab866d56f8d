//! The cross-checks as published, on one table: the order in which it came into the cache, the way to its blocks, and
//! what a block costs that is not cached.

use std::time::Duration;

use device::audit::{Audit, AuditCounts};
use device::tier::{Evidence, Stored, Tier};
use measure::quantity::counted;
use measure::schema::lio::parameters as named;
use measure::schema::subjects::findings as row;
use measure::schema::{Parameter, lio as schema};
use measure::{Case, Finding, Metric, Parameters};
use storage::page::id::PAGE_SIZE;
use subjects::logical_reads::{Access, ColdRead, Population, RANGE_BLOCKS, Table};
use sys::counters::CycleCounter;
use sys::file::Caching;

use super::findings::{self, Physical, is_preferred};
use super::measuring::{self, Bench, Measured, Plan, Setting};
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;

/// Blocks that are read one at a time, and in large reads: 0.2 s each on a device of 1 GB/s.
const SINGLE_BLOCKS: u32 = 2500;
const RANGED_BLOCKS: u32 = 200 * RANGE_BLOCKS;

/// Does the checks on the engine where it is alone, and reports what they show.
pub(super) fn run(bench: &mut Bench<'_>, found: &[Measured], journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    // The flame graph shows the passes that were asked for, and no others.
    bench.sampler = None;
    let tables = bench.subject.tables()?;
    let Some(table) = tables.iter().find(|table| is_preferred(table)).or(tables.first()) else { return Ok(()) };
    let facts = bench.subject.prepare(table, &mut |what, expected| journal.step(what, expected))?;
    let setting = Setting { table, facts: &facts, changed_rows: 0, as_of: None };
    // Before the checks read every block: storage with a cache of its own would answer these sooner afterwards.
    let single = physical(bench, table, ColdRead::SingleBlocks, journal)?;
    let ranged = match single {
        Some(_) => physical(bench, table, ColdRead::Ranges, journal)?,
        None => None,
    };
    let of = |check: Parameter, value: &str| Parameters::from_iter([named::CHECK.of(check.name), check.of(value)]);
    let mut in_order = None;
    let mut by_rowid = None;
    if populate(bench, Population::FullScan, journal)? {
        in_order = measuring::case(bench, setting, Plan::SCAN, of(named::POPULATION, "full-scan"), journal)?;
        let plan = Plan { access: Access::RowidInOrder, ..Plan::SCAN };
        by_rowid = measuring::case(bench, setting, plan, of(named::READ_PATH, "rowid-in-order"), journal)?;
    }
    let mut interleaved = None;
    if populate(bench, Population::Interleaved, journal)? {
        interleaved = measuring::case(bench, setting, Plan::SCAN, of(named::POPULATION, "interleaved"), journal)?;
    }
    let checked = [&in_order, &interleaved, &by_rowid].map(Option::as_ref);
    findings::cross_checks(found, checked, uncounted(bench.machine).as_deref(), journal);
    if let (Some(lio), Some(single)) = (&in_order, single) {
        findings::physical_against_logical(lio, Physical { single, ranged }, journal);
    }
    Ok(())
}

/// Why no cycles can be counted on this machine, where they cannot.
pub(super) fn uncounted(machine: &Machine) -> Option<String> {
    let no_time = || "the core's frequency, which makes a time of them, was not measured".to_string();
    let no_counter = CycleCounter::of_this_thread().err().map(|reason| reason.to_string());
    no_counter.or_else(|| machine.host.core_ghz.is_none().then(no_time))
}

/// Whether the subject can bring its table in like this; else that is a finding.
fn populate(bench: &mut Bench<'_>, population: Population, journal: &mut dyn Journal) -> Result<bool, ExperimentError> {
    journal.step("bringing the table into the cache", Duration::from_secs(1));
    let populated = bench.subject.populate(population, None)?;
    Ok(journal.unless_absent(populated).is_some())
}

/// Reads blocks that are not cached; the median cost of a block in nanoseconds, `None` where the subject cannot.
fn physical(
    bench: &mut Bench<'_>,
    table: &Table,
    how: ColdRead,
    journal: &mut dyn Journal,
) -> Result<Option<f64>, ExperimentError> {
    let (blocks, blocks_per_read, access) = match how {
        ColdRead::SingleBlocks => (SINGLE_BLOCKS, 1, "random"),
        ColdRead::Ranges => (RANGED_BLOCKS, RANGE_BLOCKS, "sequential"),
    };
    let each = counted(blocks_per_read.into(), "block", "blocks");
    journal.step(&format!("physical reads of {each}"), Duration::from_millis(300));
    let audit = (!bench.machine.is_rehearsal()).then(|| Audit::begin(&[]));
    let read = bench.subject.read_cold(how, blocks)?;
    let Some(samples) = journal.unless_absent(read) else { return Ok(None) };
    let asked = samples.len() as u64 * u64::from(blocks_per_read) * PAGE_SIZE as u64;
    if let Some(absence) = audit.and_then(|audit| not_from_storage(asked, audit.end())) {
        journal.find(absence);
        return Ok(None);
    }
    let mut parameters = Parameters::new();
    if let Table::Made(cell) = table {
        parameters.extend([named::ROW_LENGTH.of(cell.row_length), named::COLUMNS.of(cell.columns)]);
    }
    let of_check = [named::CHECK.of("physical"), named::ACCESS.of(access)];
    parameters.extend(of_check.into_iter().chain([named::BLOCKS_PER_READ.of(blocks_per_read)]));
    if let Table::Made(cell) = table {
        parameters.extend([named::PAYLOAD.of(cell.payload)]);
    }
    let mut case = Case::new(parameters);
    let source = format!("{}, from asking the pool to the verified block, over blocks", bench.machine.clock.name());
    let metric = schema::PHYSICAL_BLOCK.of_samples(&source, &samples);
    let median = metric.as_ref().map(Metric::median);
    case.metrics.extend(metric);
    if median.is_some() {
        journal.keep(case)?;
    }
    Ok(median)
}

/// Why direct reads of this many bytes have no physical cost: some file systems accept direct I/O and answer from
/// memory. `None` where the kernel counted the bytes as fetched or counts nothing here, and where nothing was read.
pub(super) fn not_from_storage(asked: u64, counts: AuditCounts) -> Option<Finding> {
    let (caching, stored) = (Caching::Direct, Stored::default());
    let evidence = Evidence { caching, issued: asked, sharing_pages: None, counts, stored, layer: None };
    let verdict = evidence.verdict();
    let message = || {
        format!(
            "The physical cost of a block was not measured: {}, so memory may have answered. Name a directory on \
             another file system with --dir.",
            verdict.proof
        )
    };
    let is_from_memory = asked > 0 && !matches!(verdict.tier, Tier::Storage | Tier::Unknown);
    is_from_memory.then(|| row::ABSENT_PHYSICAL_HERE.of(message()))
}
